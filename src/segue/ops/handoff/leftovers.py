"""Native transcripts that Segue wrote into a target's history: removed if the target never used them.

A note in the handoff's folder is written before and after the transcript. A transcript to which the target or the user
has added something stays.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from segue import agents
from segue.agents.shared.launch import Written
from segue.base import files
from segue.briefs import prompt
from segue.errors import AgentError
from segue.model import Entry, EntryKind, Handoff, Origin, Source
from segue.model.brief_format import RESUME
from segue.model.conversation import Speaker
from segue.ops.common import process
from segue.ops.common.desk import Desk
from segue.ops.handoff import arrival, deliver, handoff_records

NOTE = "written.json"
LARGEST = 1 << 16


class Note(Struct, frozen=True, kw_only=True):
    """Transcript as it was written."""

    id: str
    path: str = ""
    entries: int = 0
    digest: str = ""
    """Empty until the transcript was read back; no target was started with it before that."""


def expect(desk: Desk, handoff: Handoff, id: str) -> None:
    """Note that a transcript is about to be written."""
    if _read(desk, handoff) is None:
        _keep(desk, handoff, Note(id=id))


def note(desk: Desk, handoff: Handoff, written: Written) -> None:
    """Note what was written, as the target's reader sees it."""
    known, path = _read(desk, handoff), str(written.path)
    source = _find(desk, handoff, Note(id=written.id, path=path))
    if source is None or (known and known.digest):
        return
    entries = list(agents.reader(source.agent).read(source))
    _keep(desk, handoff, Note(id=written.id, path=path, entries=len(entries), digest=_digest(entries)))


def _keep(desk: Desk, handoff: Handoff, known: Note) -> None:
    folder = handoff_records.folder_of(desk, handoff.id)
    files.make_private_folder(folder)
    files.write_file(folder / NOTE, msgspec.json.encode(known))


def is_untaken(handoff: Handoff, source: Source) -> bool:
    """Whether a target that recorded the handoff has done nothing since."""
    try:
        return not any(_is_theirs(entry, handoff) for entry in arrival.since(source, handoff.id))
    except AgentError:
        return False


def remove(desk: Desk, handoff: Handoff) -> str:
    """Remove a transcript that the target never used. Returns why it stays, or an empty text."""
    known = _read(desk, handoff)
    source = _find(desk, handoff, known) if known else None
    if known is None or source is None:
        return ""
    title = agents.get(handoff_records.agent_of(handoff.target)).title
    folder = handoff_records.folder_of(desk, handoff.id)
    if process.is_running(folder):
        return f"{title} is still running, so its transcript {known.id} stays."
    try:
        if not _is_unused(desk, source, known, handoff):
            return f"{title} has used transcript {known.id}, so it stays in its history."
        deliver.discard(desk, handoff, source, folder)
    except (AgentError, OSError) as error:
        return f"The transcript {known.id}, written for {title}, could not be removed: {error}"
    (folder / NOTE).unlink(missing_ok=True)
    return ""


def _read(desk: Desk, handoff: Handoff) -> Note | None:
    with contextlib.suppress(OSError, ValueError):
        return msgspec.json.decode(
            files.read_file(handoff_records.folder_of(desk, handoff.id) / NOTE, LARGEST), type=Note
        )
    return None


def _find(desk: Desk, handoff: Handoff, known: Note) -> Source | None:
    project = Path(handoff.delivery.project) if handoff.delivery else desk.project
    found = agents.reader(handoff_records.keeper_of(desk, handoff)).find(desk.env, [project])
    return next((one for one in found if _is_known(one, known)), None)


def _is_known(source: Source, known: Note) -> bool:
    if source.part:
        return source.part == known.id
    return source.path == known.path if known.path else known.id in Path(source.path).name


def _is_unused(desk: Desk, source: Source, known: Note, handoff: Handoff) -> bool:
    try:
        entries = list(agents.reader(source.agent).read(source))
    except AgentError:
        return not known.digest
    if not known.digest:
        turns = handoff_records.conversation_of(desk, handoff).turns
        said = sum(turn.speaker is Speaker.PERSON and bool(turn.text) for turn in turns)
        return sum(entry.kind is EntryKind.PROMPT for entry in entries) <= said
    own, added = entries[: known.entries], entries[known.entries :]
    return _digest(own) == known.digest and not any(_is_theirs(entry, handoff) for entry in added)


def _is_theirs(entry: Entry, handoff: Handoff) -> bool:
    """Whether an entry comes from the target or the user, not from Segue or the agent's program."""
    if entry.origin is Origin.HUMAN:
        own = (prompt.marker(handoff.id), *RESUME.all)
        return entry.kind is EntryKind.PROMPT and not entry.text.lstrip().startswith(own)
    return entry.origin in (Origin.ASSISTANT, Origin.TOOL)


def _digest(entries: Iterable[Entry]) -> str:
    found = hashlib.sha256()
    for entry in entries:
        found.update(f"{entry.kind}\0{entry.origin}\0{entry.tool}\0{entry.text}\0".encode(errors="replace"))
    return found.hexdigest()
