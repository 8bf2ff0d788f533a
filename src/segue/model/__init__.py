"""Every noun of the vocabulary as a frozen value. No I/O, no behaviour beyond what a value knows.

`docs/glossary.md` says in words what each one means. Values compare by content and
never change: a new state of a thing is a new value.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct

from segue.base.clock import Moment
from segue.model.delivery import Delivery
from segue.model.event import HandoffEvent
from segue.model.task import TaskEdit

Hash = str
"""The SHA-256 of some content, in hex: the name under which the store keeps it."""


class Value(Struct, frozen=True, kw_only=True):
    """What all nouns share: frozen, fields by name only."""


# Agents and what they leave behind


class Agent(Value, frozen=True):
    """A program or model that Segue can start, and read if it keeps transcripts."""

    name: str
    title: str
    vendor: str
    program: str
    """The executable's name on PATH; empty for an agent that ships with Segue."""
    tested: str = ""
    """The version that the tests run; empty where they run none."""
    oldest: str = ""
    """The oldest version that goes on with transcripts that Segue writes, where it writes any."""
    families: tuple[str, ...] = ()
    """What the models are called that it is made for: 'opus' is enough to name such an agent."""
    context_window: int | None = None
    """How many tokens its sessions usually hold, for where it does not tell."""


class Origin(StrEnum):
    """Whose words something is. Only a human's may ever stand where instructions stand."""

    HUMAN = "human"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


INTERRUPT = "interrupt"
"""What a note is called (`Entry.tool`) that says that the person stopped the agent."""


class EntryKind(StrEnum):
    PROMPT = "prompt"
    REPLY = "reply"
    THOUGHT = "thought"
    CALL = "call"
    RESULT = "result"
    SUMMARY = "summary"
    LIMIT = "limit"
    IMAGE = "image"
    NOTE = "note"


class Scope(StrEnum):
    """What a limit holds for: at an account's limit another of its models is no way out."""

    ACCOUNT = "account"
    MODEL = "model"


class Limit(Value, frozen=True):
    """A window with a share used; None where no agent reported it."""

    window: str
    """'context', '5h', 'day', 'week', 'month', 'spend', or a length such as '90m'."""
    scope: Scope
    used_percent: float | None = None
    resets_at: Moment | None = None
    is_estimate: bool = False
    model: str = ""
    """The model or family that it holds for, where its scope is one."""
    at: Moment | None = None
    """When this was reported."""


class Ending(StrEnum):
    """How a transcript stands at its last entry."""

    OPEN = "open"
    """Something is still due: a result of a call, or a reply to a prompt."""
    ENDED = "ended"
    LIMIT = "limit"
    INTERRUPTED = "interrupted"


class Relation(StrEnum):
    """How a transcript came from another."""

    SUBAGENT = "subagent"
    FORK = "fork"
    CONTINUATION = "continuation"


class Source(Value, frozen=True):
    """Where a transcript is, and what tells whether it has changed: found by looking at folders alone."""

    agent: str
    path: str
    part: str = ""
    """Which of them, where one file holds several transcripts."""
    size: int = 0
    stamp: int = 0
    """Its last change in nanoseconds, as the file system or the agent has it."""


class Mark(Value, frozen=True):
    """Where a read of a transcript ended, and what its reader must know to go on from there."""

    offset: int = 0
    before: str = ""
    """A hash of the bytes just before the offset: if it differs, the file is another one now."""
    state: dict[str, Any] = {}


class Tokens(Value, frozen=True):
    """Tokens by what they cost. Each is counted in one field only."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_long: int = 0
    """Of `cache_write`, what is kept for an hour and costs more."""

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            cache_write_long=self.cache_write_long + other.cache_write_long,
        )


class Spend(Value, frozen=True):
    """What one answer of a model used. Whatever bears the same key is the same answer, however often and in
    however many files it was written down; the last one written is right."""

    key: str
    model: str
    tokens: Tokens
    at: Moment | None = None
    cost_usd: float | None = None
    """The price, where the agent itself told it."""


class Transcript(Value, frozen=True):
    """One conversation that one agent keeps on disk, in its own format."""

    id: str
    agent: str
    path: str
    part: str = ""
    project: str = ""
    """The folder it began in; empty where the agent does not tell."""
    title: str = ""
    started_at: Moment | None = None
    updated_at: Moment | None = None
    branch: str = ""
    version: str = ""
    """The version of the agent that wrote it last."""
    model: str = ""
    """The model that answered last."""
    parent: str = ""
    """The id of the transcript that it came from."""
    relation: Relation | None = None
    ending: Ending = Ending.ENDED
    turns: int = 0
    """What a human typed, counted in prompts."""
    entries: int = 0
    calls: int = 0
    errors: int = 0
    """Results that report a failure."""
    interruptions: int = 0
    corrections: int = 0
    context_tokens: int | None = None
    """How much of the model's context was filled at the last answer."""
    contexts: tuple[tuple[Moment, int], ...] = ()
    """The same at the last few answers, the oldest first."""
    context_window: int | None = None
    """How much fits, where the agent tells."""
    limits: tuple[Limit, ...] = ()
    """What it last told of every limit."""
    broken: int = 0
    """Lines that are no record."""


class Entry(Value, frozen=True):
    """One immutable item of a transcript, linked to its parent."""

    id: str
    kind: EntryKind
    origin: Origin
    text: str
    parent: str | None = None
    at: Moment | None = None
    model: str | None = None
    tool: str | None = None
    call: str | None = None
    """The agent's own id of a call, on the call and on its result."""
    status: int | None = None
    """The exit status of a result, where there is one."""
    is_error: bool = False
    cwd: str | None = None
    branch: str | None = None
    subagent: str | None = None
    """Which sub-agent this belongs to, where one file holds them all."""
    spend: Spend | None = None
    limits: tuple[Limit, ...] = ()
    """What it tells of limits: the one that was hit, or those that were reported."""
    native: dict[str, Any] | None = None
    """The record as the agent wrote it: what a reader does not know is kept, not dropped."""


# Usage, limits, triggers


class Usage(Value, frozen=True):
    """Tokens, cost and the share of every limit, at a moment."""

    at: Moment
    tokens_used: int
    tokens_limit: int
    is_estimate: bool = False
    """Whether `tokens_limit` is one."""
    session_duration: float = 0.0
    """In seconds."""
    complexity_score: float | None = None
    user_satisfaction: float | None = None
    cost_usd: float | None = None
    limits: tuple[Limit, ...] = ()


class TriggerType(StrEnum):
    USAGE_LIMIT = "usage_limit"
    COMPLEXITY_MISMATCH = "complexity_mismatch"
    USER_REQUEST = "user_request"
    OPTIMIZATION = "optimization"


class Urgency(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Trigger(Value, frozen=True):
    """Why a handoff is due."""

    type: TriggerType
    confidence: float
    reasoning: str
    urgency: Urgency


# Facts, tiers, briefs


class Fact(Value, frozen=True):
    """Something that happened or was said, with its current value and the entry that shows it."""

    kind: str
    subject: str
    value: str
    entry: str
    origin: Origin
    n: int = 0
    """How many entries came before the one that shows it."""
    note: str = ""
    """What belongs to it: a reason, an older name, the line of an error."""
    text: str = ""
    """How it was put, where the subject is only what tells it apart: a command as it was run."""
    hash: Hash | None = None
    """Of a file: its content, where that can be told from the transcript alone."""
    weight: float = 0.0
    """How much it was used, and how lately: what was used is used again."""


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


# Sessions and handoffs


class SessionStatus(StrEnum):
    OPEN = "open"
    CLOSED = "closed"


class Session(Value, frozen=True):
    """A durable piece of work with an owner; it outlives every agent that works on it."""

    id: str
    title: str
    owner: str
    project: str
    status: SessionStatus
    epoch: int
    """Grows by one with every change of owner."""
    created_at: Moment
    updated_at: Moment
    transcripts: tuple[str, ...] = ()
    """The ids of the transcripts that were linked by hand or that it was found from."""
    satisfaction: float | None = None
    """How content the person is with it, 0 to 1, as they last said."""
    task: TaskEdit | None = None
    """What the person said of its task, in the place of what was derived."""


class HandoffState(StrEnum):
    PREPARED = "prepared"
    DELIVERED = "delivered"
    ACKNOWLEDGED = "acknowledged"
    COMPLETED = "completed"
    VALIDATED = "validated"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    FAILED = "failed"
    ROLLED_BACK = "rolled back"


class ExpectedOutput(Value, frozen=True):
    """What a receiver must answer with: yaml, json or markdown, and the name of a schema."""

    format: str
    schema: str


class Handoff(Value, frozen=True):
    """A package on its way from one party to the next, with its lifecycle and its receipt."""

    id: str
    session: str
    source: str
    target: str
    tier: Tier
    state: HandoffState
    reason: str
    package: Package
    receipt: Hash
    created_at: Moment
    updated_at: Moment
    not_passed: tuple[str, ...] = ()
    expected_output: ExpectedOutput | None = None
    proof: Hash | None = None
    """What the target answered when it was asked what it holds."""
    transcript: str = ""
    """The id of the transcript that the work was taken from."""
    delivery: Delivery | None = None
    """How it gets there; None until that is settled."""
    event: HandoffEvent | None = None
    """What set it off and what came of it."""
    returns: str = ""
    """The handoff that this one comes back from."""

    def contents(self) -> tuple[Hash, ...]:
        """Everything that the store keeps for it."""
        package = (self.package.context, self.package.brief, self.package.conversation)
        said = self.delivery.prompt if self.delivery else None
        return tuple(hash for hash in (*package, self.receipt, self.proof, said) if hash)


class Lease(Value, frozen=True):
    """The right to work on something until a moment; the token grows with every claim."""

    subject: str
    kind: str
    due_at: Moment
    token: int
    holder: str | None = None
    expires_at: Moment | None = None


# What is recorded


class Operation(Value, frozen=True):
    """One recorded change to the shared store: who, what, when, before and after."""

    id: str
    chain: str
    """The session whose history this belongs to, or 'store'."""
    kind: str
    subject: str
    actor: str
    at: Moment
    before: str | None = None
    """The subject as JSON before the change; None where it did not exist."""
    after: str | None = None
    undoes: str | None = None
    key: str | None = None
    """The idempotency key: a retry with it gives this operation again, and changes nothing."""
    request: Hash | None = None
    """With a key: what was asked for, so that another request cannot take the key over."""
    n: int = 0
    """Its number in the chain, from 1; given with the two hashes when it is recorded."""
    prev: Hash = ""
    hash: Hash = ""


class Blob(Value, frozen=True):
    """Content that the store keeps under its hash, compressed."""

    hash: Hash
    size: int
    stored: int
    added_at: Moment
