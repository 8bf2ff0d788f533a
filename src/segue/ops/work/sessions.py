"""Sessions: create, list, find, link and close the pieces of work that handoffs belong to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from segue.base import paths
from segue.base.text import printable
from segue.errors import BadInput, NotFound, Refused
from segue.hooks import spool
from segue.hooks.spool import Noted
from segue.model import Handoff, Session, SessionStatus
from segue.ops.common import redaction
from segue.ops.common.desk import Desk
from segue.ops.index import refresh
from segue.ops.index.refresh import Pass
from segue.ops.work import discovery
from segue.ops.work.discovery import Work
from segue.store import SESSION
from segue.store import Change as Change

TITLE_LIMIT = 200


class Info(Struct, frozen=True):
    work: Work
    handoffs: tuple[Handoff, ...]
    noted: tuple[Noted, ...] = ()
    """When its conversations were compacted or ended, as recorded by hooks."""


def create(
    desk: Desk, title: str = "", *, project: Path | None = None, key: str | None = None
) -> Change[Session]:
    folder = paths.as_text(project or desk.project)
    title = title.strip() or printable(Path(folder).name or folder)[:TITLE_LIMIT]
    if len(title) > TITLE_LIMIT or not title.isprintable():
        raise BadInput(
            what=f"A session's title must be one line of at most {TITLE_LIMIT} characters.",
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


def listed(
    desk: Desk,
    *,
    everywhere: bool = False,
    caller: str = "",
    progress: refresh.Progress = refresh.in_silence,
) -> list[Work]:
    """Stored sessions, and those discovered in this folder's transcripts, or in all. The calling conversation's session
    is never the current one."""
    refresh.refresh(desk, [Pass.ENTRIES], progress)
    all_works = discovery.works(desk)
    here = discovery.work_folder(paths.as_text(desk.project))
    current = discovery.latest(discovery.of_folder(desk, all_works), caller)
    return [
        msgspec.structs.replace(work, is_current=work is current)
        for work in all_works
        if everywhere or work.is_kept or discovery.work_folder(work.session.project) == here
    ]


def current(desk: Desk) -> Work | None:
    """This folder's session: the chosen one, or the last active."""
    refresh.refresh(desk, [Pass.ENTRIES])
    return discovery.latest(discovery.of_folder(desk, discovery.works(desk)))


def get(desk: Desk, id: str) -> Work:
    """The session with this id or unique prefix."""
    refresh.refresh(desk, [Pass.ENTRIES])
    matches = [work for work in discovery.works(desk) if id and work.session.id.startswith(id)]
    exact = [work for work in matches if work.session.id == id] or matches
    if not exact:
        raise NotFound(noun="session", name=id, next="segue session list --all")
    if len(exact) > 1:
        raise BadInput(what=f"More than one session starts with '{id}'.", next="segue session list --all")
    return exact[0]


def info(desk: Desk, id: str | None) -> Info:
    """One session with its handoffs; without an id, this folder's."""
    work = get(desk, id) if id is not None else current(desk)
    if work is None:
        raise NotFound(noun="session of this folder", name=str(desk.project), next="segue session create")
    handoffs = desk.shared.handoffs_of(work.session.id) if work.is_kept else []
    own = {transcript.id for transcript in work.transcripts}
    noted = [each for each in spool.read_moments(desk.places.data) if each.session in own]
    return Info(work, tuple(handoffs), tuple(noted))


def keep(desk: Desk, work: Work) -> Session:
    """Store a discovered session. Secrets in its title are replaced: the title is the start of a transcript, and others
    may read the store."""
    if work.is_kept:
        return work.session
    title = redaction.redact(desk, work.session.title).text
    session = msgspec.structs.replace(work.session, title=title)

    def decide(present: Session | None) -> Session:
        return present or session

    return desk.shared.record(SESSION, "session.found", work.session.id, decide).kept()


def get_or_create(desk: Desk) -> Session:
    """This folder's session, stored; a new one if there is none."""
    work = current(desk)
    return keep(desk, work) if work else create(desk).kept()


def use(desk: Desk, id: str) -> Session:
    """Choose a session as this folder's current one."""
    session = keep(desk, get(desk, id))
    _refuse_closed(session)
    desk.local.choose(discovery.work_folder(paths.as_text(desk.project)), session.id, desk.clock())
    return session


def link(desk: Desk, id: str, transcripts: tuple[str, ...]) -> Change[Session]:
    """Link transcripts and their descendants to a session, and unlink them from other sessions."""
    work = get(desk, id)
    named = [find_transcript(desk, name) for name in transcripts]
    _refuse_closed(work.session)
    session = keep(desk, work)
    if set(named) <= set(session.transcripts):
        what = f"Session {session.id} already contains that transcript."
        raise Refused(what=what, next=f"segue session info {session.id}")
    for other in desk.shared.all(SESSION):
        if other.id != session.id and set(named) & set(other.transcripts):
            _set_transcripts(
                desk, other.id, "session.unlinked", lambda ids: [i for i in ids if i not in named]
            )
    return _set_transcripts(desk, session.id, "session.linked", lambda ids: [*ids, *named])


def include(desk: Desk, id: str, transcript: str) -> None:
    """Add a transcript to a stored session, if it is not part of it yet."""
    session = desk.shared.get(SESSION, id)
    if transcript not in session.transcripts:
        _set_transcripts(desk, id, "session.included", lambda ids: [*ids, transcript])


def _set_transcripts(
    desk: Desk, id: str, kind: str, change: Callable[[tuple[str, ...]], list[str]]
) -> Change[Session]:
    def decide(present: Session | None) -> Session:
        known = _present(present, id)
        ids = tuple(dict.fromkeys(change(known.transcripts)))
        return msgspec.structs.replace(known, transcripts=ids, updated_at=desk.clock())

    return desk.shared.record(SESSION, kind, id, decide)


def find_transcript(desk: Desk, id: str) -> str:
    """The full id of the transcript with this id or unique prefix."""
    known = {entry.transcript.id for entry in desk.index.transcripts().values() if entry.transcript}
    matches = [id] if id in known else sorted(name for name in known if id and name.startswith(id))
    if not matches:
        raise NotFound(noun="transcript", name=id, next="segue transcripts --subagents")
    if len(matches) > 1:
        raise BadInput(
            what=f"More than one transcript starts with '{id}'.", next="segue transcripts --subagents"
        )
    return matches[0]


def close(desk: Desk, id: str) -> Change[Session]:
    session = keep(desk, get(desk, id))

    def decide(present: Session | None) -> Session:
        known = _present(present, id)
        if known.status is SessionStatus.CLOSED:
            raise Refused(what=f"Session {known.id} is already closed.", next="segue log")
        return msgspec.structs.replace(known, status=SessionStatus.CLOSED, updated_at=desk.clock())

    return desk.shared.record(SESSION, "session.closed", session.id, decide)


def _present(session: Session | None, id: str) -> Session:
    if session is None:
        raise NotFound(noun="session", name=id, next="segue session list")
    return session


def _refuse_closed(session: Session) -> None:
    if session.status is not SessionStatus.OPEN:
        raise Refused(
            what=f"Session {session.id} is closed.",
            next="segue undo (reopens it, if closing it was your last step)",
        )
