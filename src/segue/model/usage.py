"""Limits, tokens, usage and the triggers of a handoff."""

from __future__ import annotations

from enum import StrEnum

from segue.base.clock import Moment
from segue.model.value import Value


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
