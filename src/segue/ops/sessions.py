"""Sessions: the pieces of work that handoffs belong to."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from segue import places
from segue.errors import BadInput, NotFound, Refused
from segue.model import Handoff, Session, SessionStatus
from segue.ops.desk import Desk
from segue.store import SESSION
from segue.store import Change as Change
from segue.text import printable

TITLE_LIMIT = 200


class Info(Struct, frozen=True):
    session: Session
    handoffs: tuple[Handoff, ...]


def create(
    desk: Desk, title: str = "", *, project: Path | None = None, key: str | None = None
) -> Change[Session]:
    folder = places.as_text(project or desk.project)
    title = title.strip() or _title_of(folder)
    if len(title) > TITLE_LIMIT or not title.isprintable():
        raise BadInput(
            what=f"A session's title is one line of at most {TITLE_LIMIT} characters.",
            next="segue session create --help",
        )
    id = desk.new_id("s")
    now = desk.clock()

    def decide(_present: Session | None) -> Session:
        return Session(
            id=id,
            title=title,
            owner=desk.actor,
            project=folder,
            status=SessionStatus.OPEN,
            epoch=1,
            created_at=now,
            updated_at=now,
        )

    return desk.shared.record(SESSION, "session.created", id, decide, key=key, request=[title, folder])


def _title_of(folder: str) -> str:
    name = Path(folder).name or folder
    return printable(name)[:TITLE_LIMIT]


def all_sessions(desk: Desk) -> list[Session]:
    return desk.shared.all(SESSION) if desk.has_store else []


def info(desk: Desk, id: str) -> Info:
    if not desk.has_store:
        raise NotFound(noun="session", name=id, next="segue session list")
    session = desk.shared.get(SESSION, id)
    return Info(session, tuple(desk.shared.handoffs_of(session.id)))


def close(desk: Desk, id: str) -> Change[Session]:
    session = info(desk, id).session

    def decide(present: Session | None) -> Session:
        if present is None:
            raise NotFound(noun="session", name=id, next="segue session list")
        if present.status is SessionStatus.CLOSED:
            raise Refused(what=f"Session {present.id} is closed already.", next="segue log")
        return msgspec.structs.replace(present, status=SessionStatus.CLOSED, updated_at=desk.clock())

    return desk.shared.record(SESSION, "session.closed", session.id, decide)
