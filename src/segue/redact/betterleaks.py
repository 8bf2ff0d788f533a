"""A second opinion: a maintained set of rules for hundreds of vendors, if it is installed.

It is asked only of what looks made up by a machine and what our own rules did not take, with what stands around
it on its line, one question at a time: so it answers the same whatever else is in the text, and it is loaded
only when there is something to ask. It brings a runtime of its own that does not survive a fork: in a child of a
process that has asked, our own rules are alone.
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
"""No token that the library knows is longer; what is, our own rules know."""


class Answer(NamedTuple):
    kind: str
    secret: str


def _is_sure(finding: betterleaks.Finding) -> bool:
    """Its rules for whatever bears the name of a key also take ids, and those for private keys all that stands
    between their marks: for both we have our own."""
    return bool(finding.secret) and not finding.rule_id.startswith(("generic", "private-key"))


Ask = Callable[[str], tuple[Answer, ...]]


@cache
def _library() -> tuple[str, Ask | None]:
    try:
        import betterleaks  # lazy: a fifth of a second, for the few texts that need it
    except ImportError:
        return f"{OWN}; the library '{NAME}' is not installed", None
    try:
        betterleaks.scan_string("x")
    except (OSError, AttributeError, betterleaks.BetterleaksError) as error:
        return f"{OWN}; the library '{NAME}' does not run here ({type(error).__name__})", None
    process = os.getpid()

    def ask(window: str) -> tuple[Answer, ...]:
        # Its runtime does not live on in a forked child: a call would never return.
        if os.getpid() != process:
            return ()
        try:
            found = betterleaks.scan_string(window)
        except betterleaks.BetterleaksError:
            return ()
        return tuple(Answer(each.rule_id, each.secret) for each in found if _is_sure(each))

    return f"{OWN} and {NAME}", ask


def asked(window: str) -> tuple[Answer, ...]:
    """What the library finds in a line of ASCII."""
    _, ask = _library()
    return ask(window) if ask else ()


def rules() -> str:
    """Which rules there are here, in words. The library is not loaded to tell."""
    return _library()[0] if _library.cache_info().currsize or not _is_installed() else f"{OWN} and {NAME}"


@cache
def _is_installed() -> bool:
    return find_spec(NAME) is not None
