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
    """The ids of the transcripts that were linked by hand or that the session was discovered from."""
    satisfaction: float | None = None
    """The user's last rating, 0 to 1."""
    task: TaskEdit | None = None
    """The user's edits of its task, which override what was derived."""


class Lease(Value, frozen=True):
    """The right to work on something until a moment. The token grows with every claim."""

    subject: str
    kind: str
    due_at: Moment
    token: int
    holder: str | None = None
    expires_at: Moment | None = None
