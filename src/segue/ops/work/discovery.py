"""Sessions discovered in transcripts: a transcript, its continuations, forks and sub-agents form one session.

A discovered session is not in the store. Its id is derived from its first transcript, so it can be named; the first
operation on it stores it under that id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from segue.base import paths
from segue.base.clock import Moment
from segue.model import Handoff, HandoffState, Relation, Session, SessionStatus, Transcript
from segue.model.delivery import Way
from segue.ops.common.desk import ALPHABET, Desk
from segue.store import HANDOFF, SESSION

ID_LENGTH = 12


class Work(Struct, frozen=True):
    """A session with its transcripts, the newest first. `is_kept`: whether it is in the store."""

    session: Session
    transcripts: tuple[Transcript, ...]
    is_kept: bool
    is_current: bool = False
    """Whether it is this folder's current session."""
    aside: frozenset[str] = frozenset()
    """Transcripts written by handoffs that never arrived or were undone."""

    @property
    def active_at(self) -> Moment:
        """The time of its last activity."""
        return max([self.session.updated_at, *(t.updated_at or "" for t in self.transcripts)])

    @property
    def main(self) -> Transcript | None:
        """The newest transcript, except those of sub-agents."""
        own = [t for t in self.transcripts if t.relation is not Relation.SUBAGENT and t.id not in self.aside]
        return next(iter(own or self.transcripts), None)


@lru_cache(maxsize=4096)
def work_folder(project: str) -> str:
    return paths.as_text(paths.find_work(Path(project))) if project else ""


def id_of(agent: str, first: str) -> str:
    """The id of the session that starts with this transcript; always the same."""
    digest = hashlib.sha256(f"{agent}\0{first}".encode()).digest()
    return "s-" + "".join(ALPHABET[byte % 32] for byte in digest[:ID_LENGTH])


def families(transcripts: Iterable[Transcript]) -> dict[str, list[Transcript]]:
    """Group related transcripts by the id of the first, which may be deleted; the newest first in each group. Parent
    links may be broken or circular."""
    known = {transcript.id: transcript for transcript in transcripts}
    root: dict[str, str] = {}

    def find(id: str) -> str:
        path: list[str] = []
        while id not in root and id in known and known[id].parent and id not in path:
            path.append(id)
            id = known[id].parent
        top = root.get(id, id)
        root.update(dict.fromkeys([*path, id], top))
        return top

    groups: dict[str, list[Transcript]] = {}
    for transcript in known.values():
        groups.setdefault(find(transcript.id), []).append(transcript)
    return {top: list(_newest_first(members)) for top, members in groups.items()}


def first_of(family: list[Transcript]) -> Transcript:
    """The oldest transcript without a parent in this family."""
    ids = {member.id for member in family}
    roots = [member for member in family if member.parent not in ids] or family
    return min(roots, key=lambda member: (member.started_at or "", member.id))


def claimer(transcript: Transcript, known: dict[str, Transcript], claimed: dict[str, str]) -> str | None:
    """The stored session of a transcript: the one that it or one of its parents is linked to."""
    id, seen = transcript.id, set[str]()
    while id and id not in seen:
        if id in claimed:
            return claimed[id]
        seen.add(id)
        id = known[id].parent if id in known else ""
    return None


def works(desk: Desk) -> list[Work]:
    """All sessions, stored or discovered, the last active first."""
    kept = {session.id: session for session in desk.shared.all(SESSION)} if desk.has_store else {}
    claimed = {id: session.id for session in kept.values() for id in session.transcripts}
    entries = desk.index.transcripts().values()
    known = {t.id: t for t in (entry.transcript for entry in entries) if t}
    members: dict[str, list[Transcript]] = {id: [] for id in kept}
    found: list[Work] = []
    for top, family in families(known.values()).items():
        first = first_of(family)
        id = id_of(first.agent, top)
        rest: list[Transcript] = []
        for member in family:
            owner = claimer(member, known, claimed) or (id if id in kept else None)
            (members[owner] if owner else rest).append(member)
        if rest:
            found.append(Work(_session(desk, id, first, rest), tuple(rest), False))
    aside = _aside(desk) if kept else frozenset()
    own = [Work(kept[id], _newest_first(family), True, aside=aside) for id, family in members.items()]
    all_works = own + found
    return sorted(all_works, key=lambda work: (work.active_at, work.session.id), reverse=True)


def _aside(desk: Desk) -> frozenset[str]:
    """Transcripts of targets that do not have the work."""
    known = [one for one in desk.shared.all(HANDOFF) if one.delivery and one.delivery.way is not Way.RESUME]
    taken = {one.delivery.transcript for one in known if one.delivery and is_taken(one)}
    return frozenset(one.delivery.transcript for one in known if one.delivery) - taken


def is_taken(handoff: Handoff) -> bool:
    """Whether its target received the work."""
    has_arrived = handoff.delivery is not None and handoff.delivery.has_arrived
    return has_arrived and handoff.state is not HandoffState.ROLLED_BACK


def last_to(handoffs: Iterable[Handoff], transcript: str) -> Handoff | None:
    """The last handoff that took the work to a transcript."""
    to = [one for one in handoffs if is_taken(one) and one.delivery and one.delivery.transcript == transcript]
    return max(to, key=lambda one: one.created_at, default=None)


def last_delivered(handoffs: Iterable[Handoff]) -> Handoff | None:
    """The last handoff whose target took the work."""
    return max(filter(is_taken, handoffs), key=lambda one: one.created_at, default=None)


def last_taken(handoffs: Iterable[Handoff]) -> Handoff | None:
    """The last handoff whose target took the work, and that has an event to learn from."""
    return last_delivered(one for one in handoffs if one.event is not None)


def satisfaction_of(session: Session, handoffs: Iterable[Handoff]) -> float | None:
    """The user's rating of the work since its last handoff, or since it began."""
    last = last_taken(handoffs)
    if last is None or last.event is None:
        return session.satisfaction
    return last.event.outcome.user_satisfaction


def _newest_first(family: list[Transcript]) -> tuple[Transcript, ...]:
    return tuple(sorted(family, key=lambda member: (member.updated_at or "", member.id), reverse=True))


def _session(desk: Desk, id: str, first: Transcript, family: list[Transcript]) -> Session:
    # Without any date it is sorted last.
    started = first.started_at or family[-1].updated_at or ""
    return Session(
        id=id,
        title=first.title or Path(first.project).name or first.id,
        owner=desk.actor,
        project=work_folder(first.project),
        status=SessionStatus.OPEN,
        epoch=1,
        created_at=started,
        updated_at=max((member.updated_at or started for member in family), default=started),
        transcripts=(first.id,),
    )


def of_folder(desk: Desk, all_works: list[Work]) -> list[Work]:
    """This folder's open sessions: the chosen one first, then by last activity, then those without a transcript. Every
    command uses the first one."""
    here = work_folder(paths.as_text(desk.project))
    chosen = desk.local.chosen(here) if desk.has_local else None
    own = [
        work
        for work in all_works
        if work.session.status is SessionStatus.OPEN
        and (work.session.id == chosen or work_folder(work.session.project) == here)
    ]
    own.sort(key=lambda work: (work.session.id != chosen, not work.transcripts))
    return own


def latest(here: list[Work], caller: str = "") -> Work | None:
    """The first of a folder's sessions, except that of the calling conversation."""
    return next((work for work in here if work.main is None or work.main.id != caller), None)


def session_of_each(desk: Desk) -> dict[str, tuple[str, str, Moment]]:
    """The session of each transcript: id, title, last activity."""
    return {
        transcript.id: (work.session.id, work.session.title, work.active_at)
        for work in works(desk)
        for transcript in work.transcripts
    }
