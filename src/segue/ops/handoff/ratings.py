"""Ratings of handoffs, and of sessions that were not handed over yet."""

from __future__ import annotations

import msgspec

from segue.errors import BadInput, NotFound
from segue.model import Handoff, Session
from segue.ops.common.desk import Desk
from segue.ops.handoff import events
from segue.ops.work import discovery, sessions
from segue.store import HANDOFF, SESSION
from segue.store import Change as Change

LARGEST = 5


def rate(desk: Desk, rating: int, session: str | None) -> Change[Session] | Change[Handoff]:
    """Rate a session's last handoff from 1 to 5, or the session itself if it was not handed over. The next handoff
    starts without a rating."""
    if not 1 <= rating <= LARGEST:
        raise BadInput(what=f"A rating is a number from 1 to {LARGEST}.", next="segue rate 4")
    known = sessions.info(desk, session)
    satisfaction = (rating - 1) / (LARGEST - 1)
    last = discovery.last_taken(known.handoffs)
    if last is not None:
        return _rate_handoff(desk, last.id, satisfaction)
    return _rate_session(desk, sessions.keep(desk, known.work).id, satisfaction)


def _rate_handoff(desk: Desk, id: str, satisfaction: float) -> Change[Handoff]:
    def decide(present: Handoff | None) -> Handoff:
        if present is None or present.event is None:
            raise NotFound(noun="handoff", name=id, next="segue handoff list")
        return msgspec.structs.replace(present, event=events.rated(present.event, satisfaction))

    return desk.shared.record(HANDOFF, "handoff.rated", id, decide)


def _rate_session(desk: Desk, id: str, satisfaction: float) -> Change[Session]:
    def decide(present: Session | None) -> Session:
        if present is None:
            raise NotFound(noun="session", name=id, next="segue session list")
        return msgspec.structs.replace(present, satisfaction=satisfaction, updated_at=desk.clock())

    return desk.shared.record(SESSION, "session.rated", id, decide)
