"""Patterns that are compiled at first use. Most commands need few of the hundreds of patterns, and compiling all
takes longer than most commands run."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:  # not from typing, which is slow to load
    from typing import Any

KEPT = ("search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn")


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern as `re.compile` makes it. An invalid one raises only when it is used."""
    return _Lazy(text, flags)  # type: ignore[return-value] # it does all that a pattern does


class _Lazy:
    def __init__(self, text: str, flags: int) -> None:
        self._given = (text, flags)

    def __getattr__(self, name: str) -> Any:
        # Called only for missing attributes: after the first use, calls are as fast as a pattern's own.
        compiled = re.compile(*self._given)
        for kept in KEPT:
            setattr(self, kept, getattr(compiled, kept))
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return repr(re.compile(*self._given))
