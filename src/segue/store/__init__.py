"""The stores. What is kept where, and why, is told at the top of schema.sql; opening.py opens them.

The index of transcripts is beside them and needs none of what they load, so they are loaded when first named.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # not asked of typing: that takes long to load
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
        from segue.store import open_stores  # lazy: see above

        return getattr(open_stores, name)
    raise AttributeError(f"module 'segue.store' has no attribute '{name}'")
