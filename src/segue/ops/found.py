"""Sessions as they are found in transcripts: what continues, forks or was started by what belongs together.

A found session is not in the store. It has an id all the same, made from its first transcript, so that it can be
named; whatever is done with it first puts it into the store under that id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from segue import places
from segue.clock import Moment
from segue.model import Relation, Session, SessionStatus, Transcript
from segue.ops.desk import ALPHABET, Desk
from segue.store import SESSION

ID_LENGTH = 12


class Work(Struct, frozen=True):
    """A session with its transcripts, the newest first; `is_kept` tells whether it is in the store."""

    session: Session
    transcripts: tuple[Transcript, ...]
    is_kept: bool
    is_current: bool = False
    """Whether it is the one of this folder."""

    @property
    def active_at(self) -> Moment:
        """When something last happened to it."""
        return max([self.session.updated_at, *(t.updated_at or "" for t in self.transcripts)])

    @property
    def main(self) -> Transcript | None:
        """The transcript that was written last, sub-agents' aside."""
        own = [t for t in self.transcripts if t.relation is not Relation.SUBAGENT]
        return next(iter(own or self.transcripts), None)


@lru_cache(maxsize=4096)
def work_folder(project: str) -> str:
    return places.as_text(places.find_work(Path(project))) if project else ""


def id_of(transcript: Transcript) -> str:
    """The id of the session that a transcript is the first of."""
    digest = hashlib.sha256(f"{transcript.agent}\0{transcript.id}".encode()).digest()
    return "s-" + "".join(ALPHABET[byte % 32] for byte in digest[:ID_LENGTH])


def families(transcripts: Iterable[Transcript]) -> list[list[Transcript]]:
    """Transcripts that came from each other, the newest first in each family. Chains of parents may be broken or go
    round in circles."""
    known = {transcript.id: transcript for transcript in transcripts}
    root: dict[str, str] = {}

    def find(id: str) -> str:
        path = []
        while id not in root and id in known and known[id].parent in known and id not in path:
            path.append(id)
            id = known[id].parent
        top = root.get(id, id)
        root.update(dict.fromkeys([*path, id], top))
        return top

    groups: dict[str, list[Transcript]] = {}
    for transcript in known.values():
        groups.setdefault(find(transcript.id), []).append(transcript)
    for members in groups.values():
        members.sort(key=lambda member: (member.updated_at or "", member.id), reverse=True)
    return list(groups.values())


def first_of(family: list[Transcript]) -> Transcript:
    ids = {member.id for member in family}
    roots = [member for member in family if member.parent not in ids] or family
    return min(roots, key=lambda member: (member.started_at or "", member.id))


def works(desk: Desk) -> list[Work]:
    """Every session there is, kept or found, the last active first."""
    kept = {session.id: session for session in desk.shared.all(SESSION)} if desk.has_store else {}
    claimed = {id: session.id for session in kept.values() for id in session.transcripts}
    known = [entry.transcript for entry in desk.index.transcripts().values() if entry.transcript]
    members: dict[str, list[Transcript]] = {id: [] for id in kept}
    found: list[Work] = []
    for family in families(known):
        first = first_of(family)
        owner = next((claimed[t.id] for t in family if t.id in claimed), None) or id_of(first)
        if owner in kept:
            members[owner] += family
        else:
            found.append(Work(_session(desk, owner, first, family), tuple(family), False))
    all_works = [Work(kept[id], _newest_first(family), True) for id, family in members.items()] + found
    return sorted(all_works, key=lambda work: (work.active_at, work.session.id), reverse=True)


def _newest_first(family: list[Transcript]) -> tuple[Transcript, ...]:
    return tuple(sorted(family, key=lambda member: (member.updated_at or "", member.id), reverse=True))


def _session(desk: Desk, id: str, first: Transcript, family: list[Transcript]) -> Session:
    # Nothing is known of when: then it comes last.
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
    """The open ones of this folder, the chosen one first, then the last active."""
    here = work_folder(places.as_text(desk.project))
    chosen = desk.local.chosen(here) if desk.has_local else None
    own = [
        work
        for work in all_works
        if work.session.status is SessionStatus.OPEN
        and (work.session.id == chosen or work_folder(work.session.project) == here)
    ]
    own.sort(key=lambda work: work.session.id != chosen)
    return own


def session_of_each(desk: Desk) -> dict[str, tuple[str, str, Moment]]:
    """For each transcript the session it belongs to: id, title, last activity."""
    return {
        transcript.id: (work.session.id, work.session.title, work.active_at)
        for work in works(desk)
        for transcript in work.transcripts
    }
