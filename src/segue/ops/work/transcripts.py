"""Transcripts: list, search, read and follow every agent's conversations on this machine."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct

from segue import agents
from segue.agents.shared.transcripts import file_scan
from segue.base import clock
from segue.base.clock import Moment
from segue.errors import AgentError, BadInput, NotFound, Refused
from segue.model import Ending, Entry, Mark, Relation, Source, Tokens, Transcript
from segue.ops.common.desk import Desk
from segue.ops.index import provenance, refresh
from segue.ops.index.refresh import Pass, Unused
from segue.ops.work import discovery
from segue.store.index.transcript_index import Known

LIVE_SECONDS = 120
"""A transcript written within this time is live."""
THINKING_SECONDS = 3600
"""A fresh file whose last entry is older than this was copied; its agent is not working."""
START = 4096
"""How many bytes of a file are read to detect its agent."""
POLL_SECONDS = 0.5
LARGEST_BESIDE = 4 << 20


class State(StrEnum):
    LIVE = "live"
    ENDED = "ended"
    LIMIT = "died at a limit"
    INTERRUPTED = "interrupted"


class Listed(Struct, frozen=True):
    transcript: Transcript
    state: State
    tokens: Tokens
    """Including its sub-agents' tokens."""
    subagents: int


class Listing(Struct, frozen=True):
    transcripts: tuple[Listed, ...]
    left_out: int
    """Number of further transcripts."""
    problems: tuple[str, ...]
    unused: tuple[Unused, ...] = ()
    """Transcripts inside project folders that are not used, because nothing shows that they are the user's."""


class Confirmed(Struct, frozen=True):
    """Whether an agent's transcripts in a project folder are confirmed as the user's."""

    agent: str
    project: str
    is_confirmed: bool


class Wanted(Struct, frozen=True):
    """Which transcripts to list."""

    agent: str | None = None
    project: str | None = None
    since: Moment | None = None
    until: Moment | None = None
    text: str | None = None
    subagents: bool = False
    limit: int = 50


class Shown(Struct, frozen=True):
    """A transcript to read: its index entry and its source."""

    source: Source
    transcript: Transcript | None
    entry: str = ""
    """The id of the requested entry, if only one is requested."""
    doubt: str = ""
    """Why it may not be the user's transcript, if so: then its prompts are data, too."""


def listing(desk: Desk, wanted: Wanted, progress: refresh.Progress = refresh.in_silence) -> Listing:
    """Transcripts that match a query, the newest first."""
    if wanted.agent and wanted.agent not in agents.names():
        agents.get(wanted.agent)
    words = re.findall(r"\w+", wanted.text or "")
    if wanted.text is not None and not words:
        raise BadInput(what="The search text contains no word.", next="segue transcripts --text 'some words'")
    passes = [Pass.SPENDS, Pass.ENTRIES] + ([Pass.WORDS] if words else [])
    refreshed = refresh.refresh(desk, passes, progress)
    known = {entry.id: entry for entry in desk.index.transcripts().values() if entry.transcript}
    hits = desk.index.search(words) if words else None
    tokens = _tokens(desk)
    children = _children(known)
    now = clock.parse(desk.clock()).timestamp()
    folder = wanted.project
    if folder and Path(folder).is_dir():
        folder = discovery.work_folder(folder)
    chosen = []
    for entry in known.values():
        own = [entry.id, *children.get(_name(entry), ())]
        if _fits(entry, own, wanted, folder, hits):
            used = sum((tokens.get(id, Tokens()) for id in own), Tokens())
            chosen.append(Listed(_transcript(entry), state_of(entry, now), used, len(own) - 1))
    chosen.sort(key=lambda item: (item.transcript.updated_at or "", item.transcript.id), reverse=True)
    unused = tuple(
        one
        for one in refreshed.unused
        if wanted.agent in (None, one.agent)
        and folder in (None, one.project, discovery.work_folder(one.project))
    )
    left_out = max(0, len(chosen) - wanted.limit)
    return Listing(tuple(chosen[: wanted.limit]), left_out, refreshed.problems, unused)


def _transcript(entry: Known) -> Transcript:
    if entry.transcript is None:
        raise NotFound(noun="transcript", name=entry.source.path, next="segue transcripts")
    return entry.transcript


def _name(entry: Known) -> str:
    return _transcript(entry).id


def _fits(entry: Known, own: list[int], wanted: Wanted, folder: str | None, hits: set[int] | None) -> bool:
    transcript = _transcript(entry)
    if transcript.relation is Relation.SUBAGENT and not wanted.subagents:
        return False
    updated = transcript.updated_at or ""
    return (
        (wanted.agent is None or transcript.agent == wanted.agent)
        and (folder is None or folder in (transcript.project, discovery.work_folder(transcript.project)))
        and (wanted.since is None or updated >= wanted.since)
        and (wanted.until is None or updated < wanted.until)
        and (hits is None or not hits.isdisjoint(own))
    )


def _tokens(desk: Desk) -> dict[int, Tokens]:
    used: dict[int, Tokens] = {}
    for sum in desk.index.sums("source"):
        used[sum.period] = used.get(sum.period, Tokens()) + sum.tokens
    return used


def _children(known: dict[int, Known]) -> dict[str, list[int]]:
    """The sub-agents of each transcript."""
    children: dict[str, list[int]] = {}
    for entry in known.values():
        transcript = _transcript(entry)
        if transcript.relation is Relation.SUBAGENT:
            children.setdefault(transcript.parent, []).append(entry.id)
    return children


def state_of(entry: Known, now: float) -> State:
    ending = _transcript(entry).ending
    if ending is Ending.LIMIT:
        return State.LIMIT
    written = clock.parse(updated).timestamp() if (updated := _transcript(entry).updated_at) else 0.0
    if now - entry.source.stamp / 1e9 < LIVE_SECONDS and now - written < THINKING_SECONDS:
        return State.LIVE
    return State.ENDED if ending is Ending.ENDED else State.INTERRUPTED


def find(desk: Desk, name: str) -> Shown:
    """A transcript by its id, a unique prefix of it, or its file, each optionally followed by `#ENTRY`."""
    name, _, entry = name.partition("#") if not _is_file(desk.cwd / Path(name)) else (name, "", "")
    path = desk.cwd / Path(name)
    if os.sep in name or _is_file(path):
        source = recognise(path)
        _project, doubt = _doubt(desk, source)
        return Shown(source, None, entry, doubt)
    refresh.refresh(desk, [Pass.ENTRIES])
    entries = [entry for entry in desk.index.transcripts().values() if entry.transcript]
    matches = [entry for entry in entries if name and _name(entry).startswith(name)]
    exact = [entry for entry in matches if _name(entry) == name] or matches
    if not exact:
        raise NotFound(noun="transcript", name=name, next="segue transcripts")
    if len(exact) > 1:
        what = (
            f"{len(exact)} transcripts start with '{name}': " + ", ".join(sorted(map(_name, exact))[:3]) + "."
        )
        raise BadInput(
            what=what, next="give the full id (segue transcripts --subagents --json lists them) or the file"
        )
    return Shown(exact[0].source, exact[0].transcript, entry)


def _doubt(desk: Desk, source: Source) -> provenance.Doubt:
    return provenance.doubts(desk, [(source.agent, source.path)]).get(source.path, ("", ""))


def confirm(desk: Desk, path: Path, *, take_back: bool = False) -> Confirmed:
    """Confirm an agent's transcripts in a file's project folder as the user's, or revoke that."""
    source = recognise(path)
    project = provenance.project_of(desk, source.path)
    if take_back:
        for place in (project, provenance.file_of(source.path)):
            desk.local.take_back(place, source.agent)
        return Confirmed(source.agent, project, False)
    _project, doubt = _doubt(desk, source)
    if doubt and doubt not in provenance.CONFIRMABLE:
        raise Refused(
            what=f"{path} is not used: {doubt}.",
            next=provenance.UNTRACK,
        )
    if doubt:
        desk.local.confirm(project, source.agent, desk.clock())
    return Confirmed(source.agent, project, True)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # not a valid file name
        return False


def recognise(path: Path) -> Source:
    """A transcript in a file. Its agent is detected from the start of the file."""
    try:
        with file_scan.open_file("", os.fspath(path)) as file:
            start = file.read(START)
        stat = path.stat()
    except (OSError, AgentError) as error:
        what = (
            error.details["what"]
            if isinstance(error, AgentError)
            else f"{path} cannot be read: {error.strerror}"
        )
        raise BadInput(what=f"{what}.", next="segue transcripts") from error
    for reader in agents.all_readers():
        if reader.recognise(start):
            return Source(agent=reader.AGENT.name, path=str(path), size=stat.st_size, stamp=stat.st_mtime_ns)
    raise BadInput(
        what=f"{path} is not a transcript of any agent that Segue can read.", next="segue transcripts"
    )


def entries(shown: Shown, *, whole: bool = False) -> Iterator[Entry]:
    """A transcript's entries in order. With `whole`, including results that the agent stores in separate files."""
    beside = agents.load(shown.source.agent).side_file if whole else None
    for entry in agents.reader(shown.source.agent).read(shown.source):
        if shown.entry and entry.id != shown.entry:
            continue
        path = beside(entry, shown.source) if beside else None
        yield msgspec.structs.replace(entry, text=_start_of(path)) if path else entry


def _start_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_BESIDE).decode("utf-8", "replace")
    except OSError as error:
        return f"({path} cannot be read: {error.strerror})"


def follow(shown: Shown, *, last: int = 10, goes_on: Callable[[], bool] = lambda: True) -> Iterator[Entry]:
    """Yield the last entries, then new ones as they are written, while `goes_on` returns true."""
    reader = agents.reader(shown.source.agent)
    mark: Mark | None = None
    while True:
        reading = reader.read(shown.source, mark)
        new = list(reading)
        yield from new[-last:] if mark is None else new
        mark = reading.mark
        if not goes_on():
            return
        time.sleep(POLL_SECONDS)
