"""Handoffs, with their states."""

from __future__ import annotations

from enum import StrEnum

from segue.base.clock import Moment
from segue.model.brief import Package, Tier
from segue.model.delivery import Delivery
from segue.model.event import HandoffEvent
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
