"""Facts, tiers, briefs, receipts and packages."""

from __future__ import annotations

from enum import StrEnum

from segue.model.transcript import Origin
from segue.model.value import Hash, Value


class Fact(Value, frozen=True):
    """Something that happened or was said, with its current value and the entry that shows it."""

    kind: str
    subject: str
    value: str
    entry: str
    origin: Origin
    n: int = 0
    """The number of entries before the one that shows it."""
    note: str = ""
    """A reason, an older name, the line of an error."""
    text: str = ""
    """The full text, where the subject only identifies the fact: a command as it was run."""
    hash: Hash | None = None
    """Of a file: the hash of its content, where the transcript alone gives it."""
    weight: float = 0.0
    """How much and how recently it was used."""


class Tier(StrEnum):
    """How much may be passed, widest first. What was received at a tier is passed on at that tier or a narrower one."""

    FULL = "FULL"
    SELECTIVE = "SELECTIVE"
    FILTERED = "FILTERED"
    MINIMAL = "MINIMAL"
    METADATA = "METADATA"

    def allows(self, other: Tier) -> bool:
        """Whether something that was received at this tier may be passed on at the other."""
        order = list(Tier)
        return order.index(other) >= order.index(self)

    @property
    def preserve(self) -> Preserve:
        """The highest level of preservation that this tier allows."""
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
    """A part of a brief whose text has one origin."""

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
    """The mark of the fence around everything but the user's words."""
    not_passed: tuple[str, ...] = ()
    counter: str = ""
    """The name of the token counter."""
    rewritten_by: str = ""
    """The model that shortened the prose, if any."""


class Fate(StrEnum):
    """What happened to a fact in a handoff."""

    PASSED = "passed"
    RECOVERABLE = "recoverable"
    NOT_PASSED = "not passed"


class ReceiptLine(Value, frozen=True):
    """What happened to one fact."""

    fact: Fact
    fate: Fate
    reason: str = ""
    pointer: str = ""
    """Where to look it up: a transcript and an entry."""
    hash: Hash | None = None
    """The hash of the content there."""


class Receipt(Value, frozen=True):
    """Fact by fact: passed, recoverable by a pointer, or not passed and why."""

    lines: tuple[ReceiptLine, ...]
    counter: str = ""
    redacted: int = 0
    """The number of secrets that were replaced."""

    def count(self, fate: Fate) -> int:
        return sum(line.fate is fate for line in self.lines)


class Package(Value, frozen=True):
    """The lossless context, compressed, and the brief made from it. The context is None until it has been packed: the
    target starts first."""

    context: Hash | None
    size: int
    stored: int
    brief: Hash
    conversation: Hash | None = None
    """The turns that are passed verbatim, if any."""
