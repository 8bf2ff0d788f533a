"""Why a headless run of an agent stopped, as far as its output shows. Values only.

The `exit_reason` file of each agent reads them from the output of its program. What no output can show (the program
died, hung or was stopped) is added by the caller that runs it.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from segue.model import Limit

LONGEST_SAID = 300


class Why(StrEnum):
    LIMIT = "limit"
    """A limit of the account or of a model. Window, scope and reset are as reported."""
    OVERLOADED = "overloaded"
    """The vendor cannot serve now, or cannot be reached: the same attempt later may work."""
    CONTEXT = "context"
    """The conversation no longer fits into the context window."""
    REFUSED = "refused"
    """No login, a wrong key, no credit, an unknown model: retrying is useless until the user acts."""
    CRASHED = "crashed"
    """It ended in the middle of its work, for an unknown reason."""
    HUNG = "hung"
    ASKED = "asked"
    """The user, or a cap that they set, stopped it."""


class Stop(Struct, frozen=True, kw_only=True):
    """Why a run ended before its work was done."""

    why: Why
    said: str = ""
    """The program's own message, on one line."""
    limit: Limit | None = None


class Output(Struct, frozen=True, kw_only=True):
    """The output of a headless run, so far or complete."""

    exit_code: int | None
    """None if unknown: the run is still going, or another process started it."""
    stdout: str
    """The end of the output; may begin in the middle of a line."""
    stderr: str
