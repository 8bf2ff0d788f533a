"""Tiers, briefs, receipts and packages."""

from __future__ import annotations

from enum import StrEnum

from segue.model.fact import Fact
from segue.model.transcript import Origin
from segue.model.value import Hash, Value


class Tier(StrEnum):
    """How much may be passed, widest first. What came at a tier goes on at it or a narrower one."""

    FULL = "FULL"
    SELECTIVE = "SELECTIVE"
    FILTERED = "FILTERED"
    MINIMAL = "MINIMAL"
    METADATA = "METADATA"

    def allows(self, other: Tier) -> bool:
        """Whether something received at this tier may be passed on at the other."""
        order = list(Tier)
        return order.index(other) >= order.index(self)

    @property
    def preserve(self) -> Preserve:
        """The most that a person can ask for and that this tier allows."""
        return next((level for level in reversed(Preserve) if self.allows(level.tier)), Preserve.MINIMAL)


class Preserve(StrEnum):
    """A tier and a budget under one name."""

    MINIMAL = "minimal"
    STANDARD = "standard"
    COMPLETE = "complete"

    @property
    def tier(self) -> Tier:
        return {"minimal": Tier.MINIMAL, "standard": Tier.SELECTIVE, "complete": Tier.FULL}[self.value]


class Section(Value, frozen=True):
    """A part of a brief whose words all have one origin."""

    title: str
    origin: Origin
    lines: tuple[str, ...]


class Brief(Value, frozen=True):
    """What the receiver reads, within a budget of tokens."""

    tier: Tier
    budget: int
    tokens: int
    sections: tuple[Section, ...]
    title: str = ""
    source: str = ""
    """The agent that did the work, its folder and its transcript, in a line."""
    nonce: str = ""
    """What marks the fence around everything that is not the person's words."""
    not_passed: tuple[str, ...] = ()
    """What was left out, and why."""
    counter: str = ""
    """Who counted the tokens."""
    rewritten_by: str = ""
    """The model that made prose shorter, if one did."""


class Fate(StrEnum):
    """What became of a fact on its way."""

    PASSED = "passed"
    RECOVERABLE = "recoverable"
    NOT_PASSED = "not passed"


class ReceiptLine(Value, frozen=True):
    """What became of one fact."""

    fact: Fact
    fate: Fate
    reason: str = ""
    pointer: str = ""
    """Where it can be looked up: a transcript and the entry in it."""
    hash: Hash | None = None
    """Of what stands there."""


class Receipt(Value, frozen=True):
    """Fact by fact: passed, recoverable by a pointer, or not passed and why."""

    lines: tuple[ReceiptLine, ...]
    counter: str = ""
    redacted: int = 0
    """How many secrets were replaced."""

    def count(self, fate: Fate) -> int:
        return sum(line.fate is fate for line in self.lines)


class Package(Value, frozen=True):
    """The lossless context, compressed, and the brief made from it. The context is None until it has been packed:
    what is urgent goes first."""

    context: Hash | None
    size: int
    stored: int
    brief: Hash
    conversation: Hash | None = None
    """The turns that go along as they were, where any do."""
