"""How an agent's headless run stopped, as far as what it printed tells. Values only.

Each agent's own file makes them of its program's output (`stop_of`); what nobody can read out of an output, that a
program died, hung, or was told to end, is for whoever runs it to say.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from segue.model import Limit

LONGEST_SAID = 300


class Why(StrEnum):
    LIMIT = "limit"
    """A limit of the account or of a model; the limit tells its window, scope and reset as far as they were told."""
    OVERLOADED = "overloaded"
    """The vendor cannot serve now, or cannot be reached: the same try later may work."""
    CONTEXT = "context"
    """The conversation no longer fits."""
    REFUSED = "refused"
    """No login, a wrong key, no credit, a model that is not there: useless to try again until the person acts."""
    CRASHED = "crashed"
    """It ended in mid-work, and nothing tells why."""
    HUNG = "hung"
    """No sign of life."""
    ASKED = "asked"
    """The person, or a cap that they set, ended it."""


class Stop(Struct, frozen=True, kw_only=True):
    """Why a run is over before its work is."""

    why: Why
    said: str = ""
    """The program's own sentence, on one line."""
    limit: Limit | None = None


class Output(Struct, frozen=True, kw_only=True):
    """What a headless run has printed, so far or to its end."""

    exit_code: int | None
    """None where it is not known: it still runs, or another process started it."""
    stdout: str
    """The end of what it printed; may begin in mid-line."""
    stderr: str
