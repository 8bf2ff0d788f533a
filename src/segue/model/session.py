"""Sessions and the leases on their worktrees."""

from __future__ import annotations

from enum import StrEnum

from segue.base.clock import Moment
from segue.model.task import TaskEdit
from segue.model.value import Value


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


class Lease(Value, frozen=True):
    """The right to work on something until a moment; the token grows with every claim."""

    subject: str
    kind: str
    due_at: Moment
    token: int
    holder: str | None = None
    expires_at: Moment | None = None
