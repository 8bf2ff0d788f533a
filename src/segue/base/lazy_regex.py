"""Patterns that are compiled when they are first used: most of the hundreds that the rules have are not needed by most
commands, and compiling them all takes longer than what those commands do."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:  # not asked of typing: that takes long to load
    from typing import Any

KEPT = ("search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn")


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern as `re.compile` makes it. A text that is none is told of only when it is used."""
    return _Lazy(text, flags)  # type: ignore[return-value] # it does all that a pattern does


class _Lazy:
    def __init__(self, text: str, flags: int) -> None:
        self._given = (text, flags)

    def __getattr__(self, name: str) -> Any:
        # Only what is not there yet is asked for here: from the second time on it is as quick as a pattern's own.
        compiled = re.compile(*self._given)
        for kept in KEPT:
            setattr(self, kept, getattr(compiled, kept))
        return getattr(compiled, name)

    def __repr__(self) -> str:
        return repr(re.compile(*self._given))
