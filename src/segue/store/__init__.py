"""The stores. schema.sql explains what is stored where; open_stores.py opens them.

They load lazily: the index of transcripts, which is separate, does not need them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing is slow
    from segue.store.open_stores import (
        HANDOFF,
        MARK,
        SESSION,
        Change,
        Local,
        Noun,
        Shared,
        backups_folder,
        connect,
        exists,
        mark,
        open_local,
        open_shared,
        plan_for,
        shared_file,
    )

__all__ = [
    "HANDOFF",
    "MARK",
    "SESSION",
    "Change",
    "Local",
    "Noun",
    "Shared",
    "backups_folder",
    "connect",
    "exists",
    "mark",
    "open_local",
    "open_shared",
    "plan_for",
    "shared_file",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        from segue.store import open_stores  # lazy: see the docstring

        return getattr(open_stores, name)
    raise AttributeError(f"module 'segue.store' has no attribute '{name}'")
