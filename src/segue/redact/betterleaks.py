"""A second opinion from betterleaks, a maintained set of rules for hundreds of vendors, if it is installed.

It is asked only about runs that look machine-made and that our own rules did not find, each with its surroundings on
the line, one at a time. So its answer does not depend on the rest of the text, and it is loaded only when needed. Its
runtime does not survive a fork: in a child of a process that has used it, only our own rules work.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import betterleaks

OWN = "own rules"
NAME = "betterleaks"
LONGEST = 512
"""No token that the library knows is longer; longer ones are covered by our own rules."""


class Answer(NamedTuple):
    kind: str
    secret: str


def _is_sure(finding: betterleaks.Finding) -> bool:
    """Its generic rules also match ids, and its private-key rules match everything between the markers: we have our
    own for both."""
    return bool(finding.secret) and not finding.rule_id.startswith(("generic", "private-key"))


Ask = Callable[[str], tuple[Answer, ...]]


@cache
def _library() -> tuple[str, Ask | None]:
    try:
        import betterleaks  # lazy: loading takes a fifth of a second, and few texts need it
    except ImportError:
        return f"{OWN}; the library '{NAME}' is not installed", None
    try:
        betterleaks.scan_string("x")
    except (OSError, AttributeError, betterleaks.BetterleaksError) as error:
        return f"{OWN}; the library '{NAME}' does not run here ({type(error).__name__})", None
    process = os.getpid()

    def ask(window: str) -> tuple[Answer, ...]:
        # Its runtime does not survive a fork: a call in the child would never return.
        if os.getpid() != process:
            return ()
        try:
            found = betterleaks.scan_string(window)
        except betterleaks.BetterleaksError:
            return ()
        return tuple(Answer(each.rule_id, each.secret) for each in found if _is_sure(each))

    return f"{OWN} and {NAME}", ask


def asked(window: str) -> tuple[Answer, ...]:
    """The library's findings in a line of ASCII."""
    _, ask = _library()
    return ask(window) if ask else ()


def rules() -> str:
    """The available rules, in words. Does not load the library."""
    return _library()[0] if _library.cache_info().currsize or not _is_installed() else f"{OWN} and {NAME}"


@cache
def _is_installed() -> bool:
    return find_spec(NAME) is not None
