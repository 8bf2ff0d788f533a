"""The states of a handoff and what leads from one to the next. Pure: a table and one function.

    prepared -> delivered -> acknowledged -> completed -> validated

Out of the line: cancelled (only what is prepared), expired (prepared or delivered), failed (all but the
last), rolled back (all of them, and what failed). What is out of the line stays so otherwise.
"""

from __future__ import annotations

from enum import StrEnum

from segue.errors import NoSuchStep
from segue.model import HandoffState as State


class Event(StrEnum):
    DELIVER = "delivered"
    ACKNOWLEDGE = "acknowledged"
    COMPLETE = "completed"
    VALIDATE = "validated"
    CANCEL = "cancelled"
    EXPIRE = "expired"
    FAIL = "failed"
    ROLL_BACK = "rolled back"


LINE = (State.PREPARED, State.DELIVERED, State.ACKNOWLEDGED, State.COMPLETED, State.VALIDATED)
ENDS = frozenset({State.VALIDATED, State.CANCELLED, State.EXPIRED, State.FAILED, State.ROLLED_BACK})

STEPS: dict[tuple[State, Event], State] = {
    (State.PREPARED, Event.DELIVER): State.DELIVERED,
    (State.DELIVERED, Event.ACKNOWLEDGE): State.ACKNOWLEDGED,
    (State.ACKNOWLEDGED, Event.COMPLETE): State.COMPLETED,
    (State.COMPLETED, Event.VALIDATE): State.VALIDATED,
    (State.PREPARED, Event.CANCEL): State.CANCELLED,
    (State.PREPARED, Event.EXPIRE): State.EXPIRED,
    (State.DELIVERED, Event.EXPIRE): State.EXPIRED,
    **{(state, Event.FAIL): State.FAILED for state in LINE[:-1]},
    **{(state, Event.ROLL_BACK): State.ROLLED_BACK for state in (*LINE, State.FAILED)},
}


def transition(state: State, event: Event) -> State:
    """The state that an event leads to; NoSuchStep where it leads nowhere."""
    try:
        return STEPS[state, event]
    except KeyError:
        raise NoSuchStep(noun="handoff", state=state.value, event=event.value) from None
