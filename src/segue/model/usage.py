"""Limits, tokens, usage and the triggers of a handoff."""

from __future__ import annotations

from enum import StrEnum

from segue.base.clock import Moment
from segue.model.value import Value


class Scope(StrEnum):
    """The scope of a limit. At an account's limit, switching models does not help."""

    ACCOUNT = "account"
    MODEL = "model"


class Limit(Value, frozen=True):
    """A usage window and the share that is used; None if no agent reported it."""

    window: str
    """'context', '5h', 'day', 'week', 'month', 'spend', or a length such as '90m'."""
    scope: Scope
    used_percent: float | None = None
    resets_at: Moment | None = None
    is_estimate: bool = False
    model: str = ""
    """The model or family that it applies to, if its scope is one."""
    at: Moment | None = None
    """The moment of the report."""


class Tokens(Value, frozen=True):
    """Tokens by price. Each is counted in one field only."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_long: int = 0
    """The part of `cache_write` that is cached for an hour and costs more."""

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
    """The usage of one answer of a model. Records with the same key are the same answer, however often and in however
    many files it was written. The last one written is right."""

    key: str
    model: str
    tokens: Tokens
    at: Moment | None = None
    cost_usd: float | None = None
    """The price, if the agent reported it."""


class Usage(Value, frozen=True):
    """Tokens, cost and the used share of every limit, at a moment."""

    at: Moment
    tokens_used: int
    tokens_limit: int
    is_estimate: bool = False
    """Whether `tokens_limit` is an estimate."""
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
