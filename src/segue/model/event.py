"""What a handoff leaves to learn from: why it was made, what it kept, and how it went. Pure.

Apart from the other nouns, because a handoff keeps it. In JSON the fields have the names that other tools know them
by: sessionId, contextPreservation, userSatisfaction, ...
"""

from __future__ import annotations

from msgspec import Struct

from segue.base.clock import Moment


class Cause(Struct, frozen=True, kw_only=True):
    """The trigger, as it was when the handoff was made."""

    type: str
    confidence: float
    reasoning: str
    urgency: str


class ContextPreservation(Struct, frozen=True, kw_only=True, rename="camel"):
    """What was to be kept, by the names of the kinds of facts, and how much of it arrived."""

    attempted: tuple[str, ...] = ()
    successful: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    preservation_score: float = 0.0


class Outcome(Struct, frozen=True, kw_only=True, rename="camel"):
    """How it went, each from 0 to 1; None where nothing tells it yet."""

    user_satisfaction: float | None = None
    task_completion: float | None = None
    efficiency: float | None = None
    context_continuity: float | None = None


class HandoffEvent(Struct, frozen=True, kw_only=True, rename="camel"):
    """One handoff, for those who learn from it."""

    id: str
    session_id: str
    timestamp: Moment
    trigger: Cause
    source: str
    target: str
    context_preservation: ContextPreservation = ContextPreservation()
    outcome: Outcome = Outcome()
    lessons: tuple[str, ...] = ()
