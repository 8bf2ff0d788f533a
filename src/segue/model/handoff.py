"""Handoffs: their states and events, and the record that learning uses.

    prepared -> delivered -> acknowledged -> completed -> validated

The other end states: cancelled (from prepared), expired (from prepared or delivered), failed (from all but the last),
rolled back (from all of these, and from failed). In JSON, a `HandoffEvent` has the field names of other tools:
sessionId, contextPreservation, userSatisfaction, ...
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from segue.base.clock import Moment
from segue.errors import NoSuchStep
from segue.model.brief import Package, Tier
from segue.model.delivery import Delivery
from segue.model.value import Hash, Value


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


class Event(StrEnum):
    DELIVER = "delivered"
    ACKNOWLEDGE = "acknowledged"
    COMPLETE = "completed"
    VALIDATE = "validated"
    CANCEL = "cancelled"
    EXPIRE = "expired"
    FAIL = "failed"
    ROLL_BACK = "rolled back"


LINE = (
    HandoffState.PREPARED,
    HandoffState.DELIVERED,
    HandoffState.ACKNOWLEDGED,
    HandoffState.COMPLETED,
    HandoffState.VALIDATED,
)
ENDS = frozenset(
    {
        HandoffState.VALIDATED,
        HandoffState.CANCELLED,
        HandoffState.EXPIRED,
        HandoffState.FAILED,
        HandoffState.ROLLED_BACK,
    }
)

STEPS: dict[tuple[HandoffState, Event], HandoffState] = {
    (HandoffState.PREPARED, Event.DELIVER): HandoffState.DELIVERED,
    (HandoffState.DELIVERED, Event.ACKNOWLEDGE): HandoffState.ACKNOWLEDGED,
    (HandoffState.ACKNOWLEDGED, Event.COMPLETE): HandoffState.COMPLETED,
    (HandoffState.COMPLETED, Event.VALIDATE): HandoffState.VALIDATED,
    (HandoffState.PREPARED, Event.CANCEL): HandoffState.CANCELLED,
    (HandoffState.PREPARED, Event.EXPIRE): HandoffState.EXPIRED,
    (HandoffState.DELIVERED, Event.EXPIRE): HandoffState.EXPIRED,
    **{(state, Event.FAIL): HandoffState.FAILED for state in LINE[:-1]},
    **{(state, Event.ROLL_BACK): HandoffState.ROLLED_BACK for state in (*LINE, HandoffState.FAILED)},
}


def transition(state: HandoffState, event: Event) -> HandoffState:
    """The state after an event. Raises NoSuchStep where the event is not possible."""
    try:
        return STEPS[state, event]
    except KeyError:
        raise NoSuchStep(noun="handoff", state=state.value, event=event.value) from None


class Cause(Struct, frozen=True, kw_only=True):
    """The trigger of a handoff, as it was when the handoff was made."""

    type: str
    confidence: float
    reasoning: str
    urgency: str


class ContextPreservation(Struct, frozen=True, kw_only=True, rename="camel"):
    """The kinds of facts that were to be passed, and how much of them arrived."""

    attempted: tuple[str, ...] = ()
    successful: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    preservation_score: float = 0.0


class Outcome(Struct, frozen=True, kw_only=True, rename="camel"):
    """How a handoff went, each from 0 to 1; None while unknown."""

    user_satisfaction: float | None = None
    task_completion: float | None = None
    efficiency: float | None = None
    context_continuity: float | None = None


class HandoffEvent(Struct, frozen=True, kw_only=True, rename="camel"):
    """The record of one handoff, for learning."""

    id: str
    session_id: str
    timestamp: Moment
    trigger: Cause
    source: str
    target: str
    context_preservation: ContextPreservation = ContextPreservation()
    outcome: Outcome = Outcome()
    lessons: tuple[str, ...] = ()


class ExpectedOutput(Value, frozen=True):
    """The format of the receiver's answer (yaml, json or markdown) and the name of a schema."""

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
    """What the target answered when it was asked what it knows."""
    transcript: str = ""
    """The id of the transcript that the work was taken from."""
    delivery: Delivery | None = None
    """None until the way of delivery is decided."""
    event: HandoffEvent | None = None
    returns: str = ""

    def contents(self) -> tuple[Hash, ...]:
        """The hashes of everything that the store keeps for it."""
        package = (self.package.context, self.package.brief, self.package.conversation)
        said = self.delivery.prompt if self.delivery else None
        return tuple(hash for hash in (*package, self.receipt, self.proof, said) if hash)
