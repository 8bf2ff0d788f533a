"""Transcripts that Segue wrote into a target's own history: noted when they are written, and removed when the handoff
ends and the target has added nothing to them.

The note lies in the handoff's folder of this machine, where the transcript is too. What the target or the person has
said in a transcript is theirs: then it stays.
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
from segue.ops.common import process
from segue.ops.common.desk import Desk
from segue.ops.handoff import deliver, handoff_records

NOTE = "written.json"
LARGEST = 1 << 16


class Note(Struct, frozen=True, kw_only=True):
    """A transcript as it was written."""

    id: str
    path: str
    entries: int
    digest: str


def note(desk: Desk, handoff: Handoff, written: Written) -> None:
    """Remember what was written, as the target's reader sees it."""
    folder = folder_of(desk, handoff)
    source = _find(desk, handoff, written.id, str(written.path))
    if source is None or (folder / NOTE).exists():
        return
    entries = list(agents.reader(source.agent).read(source))
    content = Note(id=written.id, path=str(written.path), entries=len(entries), digest=_digest(entries))
    files.make_private_folder(folder)
    files.write_file(folder / NOTE, msgspec.json.encode(content))


def is_unused(desk: Desk, handoff: Handoff) -> bool:
    """Whether a transcript was written for the target and holds nothing but what Segue wrote and said."""
    known = _read(desk, handoff)
    source = _find(desk, handoff, known.id, known.path) if known else None
    return known is not None and source is not None and _is_unused(source, known, handoff)


def remove(desk: Desk, handoff: Handoff) -> str:
    """Remove what was written for a target that never used it; why it stays, where it does."""
    known = _read(desk, handoff)
    source = _find(desk, handoff, known.id, known.path) if known else None
    if known is None or source is None:
        return ""
    name = handoff_records.agent_of(handoff.target)
    title = agents.get(name).title
    folder = folder_of(desk, handoff)
    if process.is_running(folder):
        return f"{title} is still running: its transcript {known.id} stays."
    try:
        if not _is_unused(source, known, handoff):
            return f"{title} has used its transcript {known.id}: it stays in its history."
        discard = agents.load(name).discard
        launch = discard(source, agents.program_of(name, desk.env) or name, desk.env) if discard else None
        if launch and handoff.delivery:
            deliver.run(desk, launch, Path(handoff.delivery.project), folder / "discarded", title)
    except (AgentError, OSError) as error:
        return f"The transcript {known.id} that was written for {title} could not be removed: {error}"
    (folder / NOTE).unlink(missing_ok=True)
    return ""


def folder_of(desk: Desk, handoff: Handoff) -> Path:
    return desk.places.data / "runs" / handoff.id


def _read(desk: Desk, handoff: Handoff) -> Note | None:
    with contextlib.suppress(OSError, ValueError):
        return msgspec.json.decode(files.read_file(folder_of(desk, handoff) / NOTE, LARGEST), type=Note)
    return None


def _find(desk: Desk, handoff: Handoff, id: str, path: str) -> Source | None:
    project = Path(handoff.delivery.project) if handoff.delivery else desk.project
    found = agents.reader(handoff_records.keeper_of(desk, handoff)).find(desk.env, [project])
    return next((one for one in found if one.part == id or (one.path == path and not one.part)), None)


def _is_unused(source: Source, known: Note, handoff: Handoff) -> bool:
    try:
        entries = list(agents.reader(source.agent).read(source))
    except AgentError:
        return False
    own, added = entries[: known.entries], entries[known.entries :]
    return _digest(own) == known.digest and not any(_is_theirs(entry, handoff) for entry in added)


def _is_theirs(entry: Entry, handoff: Handoff) -> bool:
    """Whether an entry is a word or a deed of the target or the person, not of Segue or the program itself."""
    if entry.origin is Origin.HUMAN:
        return entry.kind is EntryKind.PROMPT and not entry.text.lstrip().startswith(
            prompt.marker(handoff.id)
        )
    return entry.origin in (Origin.ASSISTANT, Origin.TOOL)


def _digest(entries: Iterable[Entry]) -> str:
    found = hashlib.sha256()
    for entry in entries:
        found.update(f"{entry.kind}\0{entry.origin}\0{entry.tool}\0{entry.text}\0".encode(errors="replace"))
    return found.hexdigest()
