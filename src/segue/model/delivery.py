"""How a handoff gets to its target: the ways there are, and the record of one that was taken. Pure.

Apart from the other nouns, because a handoff keeps it.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from segue.base.clock import Moment


class Way(StrEnum):
    """How work reaches an agent, best first."""

    RESUME = "resume"
    """A transcript of the target's own is gone on with."""
    NATIVE = "native"
    """The conversation is written in the target's own format, and opened by the target's own resume."""
    PROMPT = "prompt"
    """The brief is the first message of a fresh run."""


class Mode(StrEnum):
    OPEN = "open"
    """For a person, who types."""
    HEADLESS = "headless"
    """To the end, with nobody there."""


class Claims(Struct, frozen=True, kw_only=True):
    """The claims of the agents that had the work, as they were checked before a return."""

    checked: int
    """How many could be checked."""
    unconfirmed: int
    since: tuple[str, ...] = ()
    """The handoffs after which those were made that could not be confirmed."""
    changed: tuple[str, ...] = ()
    """Commits and pushes that the user forbade, where no transcript shows by whom."""

    def __str__(self) -> str:
        noun = "claim" if self.checked == 1 else "claims"
        return f"{self.unconfirmed} of {self.checked} {noun} could not be confirmed"


class Delivery(Struct, frozen=True, kw_only=True):
    """One delivery, as it was settled before the target was started, and as it was found afterwards."""

    way: Way
    mode: Mode
    why: str = ""
    """Why it was no better way."""
    model: str = ""
    """The model that the target is to use; empty for its own choice."""
    project: str = ""
    """The folder that the target is started in."""
    transcript: str = ""
    """The id of the target's transcript, as soon as it is known."""
    path: str = ""
    """The file that it is in, and which part of it."""
    part: str = ""
    turns: int = 0
    """How many turns of the conversation were carried along."""
    tokens: int = 0
    """What the target reads: the brief and the conversation."""
    counter: str = ""
    """Who counted them."""
    cost_usd: float | None = None
    """What reading that costs once, where the price is known."""
    redacted: int = 0
    """How many secrets were replaced."""
    arguments: tuple[str, ...] = ()
    """What the person passed along for the target's program."""
    keeper: str = ""
    """The agent in whose format the target keeps its transcript, where that is another."""
    reason: str = ""
    """Why the person hands the work over, in their words; empty where they did not say."""
    prompt: str | None = None
    """The hash of what was said to the target, once it was."""
    tree: str = ""
    """The git tree of the project's files when the target was started; empty where there is none."""
    head: str = ""
    """The commit that was checked out then."""
    tree_at: Moment = ""
    """When that was."""
    attempts: int = 0
    """How often the target was started."""
    claims: Claims | None = None
    """Of a return: what was checked before it."""
    has_arrived: bool = False
    """Whether the target's own records showed that it has the handoff."""
