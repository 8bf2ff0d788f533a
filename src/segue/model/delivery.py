"""The delivery of a handoff: the methods, and the record of one delivery. Pure."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from segue.base.clock import Moment


class Way(StrEnum):
    """The method of delivery, best first."""

    RESUME = "resume"
    """A transcript of the target's own is resumed."""
    NATIVE = "native"
    """The conversation is written in the target's format, and the target resumes it."""
    PROMPT = "prompt"
    """The brief is the first message of a fresh run."""


class Mode(StrEnum):
    OPEN = "open"
    """Interactive: the user types."""
    HEADLESS = "headless"
    """Runs to its end without a user."""


class Claims(Struct, frozen=True, kw_only=True):
    """The checked claims of the agents that worked on a session, before a return."""

    checked: int
    """The number of claims that could be checked."""
    unconfirmed: int
    since: tuple[str, ...] = ()
    """The handoffs after which the unconfirmed claims were made."""
    changed: tuple[str, ...] = ()
    """Commits and pushes that the user forbade, if no transcript shows who made them."""

    def __str__(self) -> str:
        noun = "claim" if self.checked == 1 else "claims"
        return f"{self.unconfirmed} of {self.checked} {noun} could not be confirmed"


class Delivery(Struct, frozen=True, kw_only=True):
    """One delivery: how it was planned before the target was started, and what was found afterwards."""

    way: Way
    mode: Mode
    why: str = ""
    """Why no better method was possible."""
    model: str = ""
    """The model that the target uses; empty for the target's default."""
    project: str = ""
    """The folder that the target is started in."""
    transcript: str = ""
    """The id of the target's transcript, as soon as it is known."""
    path: str = ""
    """The file of that transcript, and the part of that file."""
    part: str = ""
    turns: int = 0
    tokens: int = 0
    """The size of what the target reads: the brief and the conversation."""
    counter: str = ""
    """The name of the token counter."""
    cost_usd: float | None = None
    """The cost of reading that once, where the price is known."""
    redacted: int = 0
    """The number of secrets that were replaced."""
    arguments: tuple[str, ...] = ()
    """Arguments from the user for the target's program."""
    keeper: str = ""
    """The agent in whose format the target keeps its transcript, if that is another."""
    reason: str = ""
    """Why the user hands the work over, in their words; empty if they gave no reason."""
    prompt: str | None = None
    """The hash of the prompt to the target, once it was sent."""
    tree: str = ""
    """The git tree of the project's files when the target was started; empty if there is none."""
    head: str = ""
    """The commit that was checked out then."""
    tree_at: Moment = ""
    """The moment of that tree and commit."""
    attempts: int = 0
    """The number of times that the target was started."""
    claims: Claims | None = None
    """Of a return: the claims that were checked before it."""
    has_arrived: bool = False
    """Whether the target's own records showed that it has the handoff."""
