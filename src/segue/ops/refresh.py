"""Bringing the index up to date: what changed since the last look is read, the rest is left alone.

Reading is shared out to as many processes as there are processors where there is much to read. Each result
is complete in itself and does no harm when it is added twice, so two commands may do this at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from segue import agents
from segue.agents.reading import Spends
from segue.errors import AgentError, IndexRenewed
from segue.ledger import Ledger, ledger_of, pack
from segue.model import Entry, EntryKind, Limit, Mark, Source, Transcript
from segue.store.index import ID, PATH, READ, SPENT, TOLD, Index, Place, SourceRow

if TYPE_CHECKING:
    from pathlib import Path

    from segue.agents.scanning import Scan
    from segue.ops.desk import Desk

SHARE_FROM = 64 << 20
"""From this many bytes on, reading is shared out to several processes."""
BATCH = 128
"""How many results go into the index at once."""
SPOKEN = {EntryKind.PROMPT, EntryKind.REPLY, EntryKind.SUMMARY, EntryKind.CALL}
"""What is searched by text."""
LONGEST_PASSAGE = 20_000

T = TypeVar("T")
Progress = Callable[[int, int], None]


def in_silence(_done: int, _whole: int) -> None:
    """Nobody waits for this."""


class Pass(StrEnum):
    """What a source is read for."""

    SPENDS = "spends"
    ENTRIES = "entries"
    WORDS = "words"


MARKS = {Pass.SPENDS: "spent_mark", Pass.ENTRIES: "mark", Pass.WORDS: "told_mark"}


class Job(Struct, frozen=True):
    source: Source
    what: Pass
    mark: Mark | None
    so_far: Transcript | None = None

    @property
    def bytes(self) -> int:
        return max(0, self.source.size - (self.mark.offset if self.mark else 0))


class Done(Struct, frozen=True):
    """A job's result; `problem` tells why there is none."""

    job: Job
    mark: Mark = Mark()
    is_anew: bool = True
    ledger: Ledger | None = None
    reports: tuple[Limit, ...] = ()
    transcript: Transcript | None = None
    texts: list[str] = []
    problem: str = ""


class Refreshed(Struct, frozen=True):
    """How a refresh went."""

    sources: int
    read: int
    bytes: int
    problems: tuple[str, ...] = ()


def refresh(desk: Desk, wanted: Iterable[Pass], progress: Progress = in_silence) -> Refreshed:
    """Read what is new for the passes that are wanted. An index that turns out to be damaged is made anew."""
    passes = set(wanted)
    try:
        return _refresh(desk, passes, progress)
    except IndexRenewed:
        return _refresh(desk, passes, progress)


def _refresh(desk: Desk, wanted: set[Pass], progress: Progress) -> Refreshed:
    known = desk.index.known() if desk.has_index else {}
    problems: list[str] = []
    found = {(source.path, source.part): source for source in find(desk, problems)}
    if not found and not desk.has_index:
        desk.do_without_index()
    index = desk.index
    _put_away(index, [row for place, row in known.items() if place not in found], found)
    # The oldest change first: an answer in two files belongs to the older one.
    jobs = sorted(_jobs(index, found, known, wanted), key=attrgetter("source.stamp", "source.path"))
    whole = sum(job.bytes for job in jobs)
    for batch in _batched(_told(_run(jobs, whole), whole, progress), BATCH):
        with index.changing():
            _keep(index, batch)
        problems += [done.problem for done in batch if done.problem]
    return Refreshed(len(found), len(jobs), whole, tuple(problems))


def _put_away(index: Index, missing: list[SourceRow], found: Iterable[Place]) -> None:
    """Forget what is gone. What is there and was not found (another folder was looked in, or a database could not be
    read) is only left out of this run."""
    gone: list[int] = []
    if missing:
        from pathlib import Path  # lazy: mostly all is where it was

        from segue import places  # lazy: as above

        read = {path for path, _part in found}
        gone = [row[ID] for row in missing if row[PATH] in read or not places.is_there(Path(row[PATH]))]
    index.hide({row[ID] for row in missing}.difference(gone))
    if gone:
        with index.changing():
            index.drop(gone)


def _told(results: Iterable[Done], whole: int, progress: Progress) -> Iterator[Done]:
    so_far = 0
    for done in results:
        yield done
        so_far += done.job.bytes
        progress(so_far, whole)


class Folders:
    """Folders that are made paths of when somebody looks at them: most agents don't."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __iter__(self) -> Iterator[Path]:
        from pathlib import Path  # lazy: see above

        return map(Path, self.names)


def find(desk: Desk, problems: list[str]) -> list[Source]:
    """Every transcript on this machine. An agent that another package brings may be broken: the rest is found."""
    known = desk.index.projects() if desk.has_index else []
    projects = Folders(sorted({*known, str(desk.project)}))
    found: list[Source] = []
    for name in agents.names_here(desk.env, projects.names):
        try:
            found += agents.reader(name).find(desk.env, projects)
        except AgentError as error:
            problems.append(str(error))
        except Exception as error:  # noqa: BLE001 - another's code: what it raises is not ours to know
            problems.append(f"{name}: {error!r}")
    return found


def _jobs(
    index: Index, found: dict[Place, Source], known: dict[Place, SourceRow], wanted: set[Pass]
) -> Iterator[Job]:
    """What has to be read."""
    wants_spends, wants_entries, wants_words = (each in wanted for each in Pass)
    quick: dict[str, bool] = {}
    for place, source in found.items():
        row = known.get(place)
        now = (source.size, source.stamp)
        is_quick = quick.get(source.agent)
        if is_quick is None:
            is_quick = quick[source.agent] = agents.offers(source.agent, "spends") is not None
        if wants_spends and is_quick and (row is None or row[SPENT] != now):
            yield Job(source, Pass.SPENDS, _mark(index, row, "spent_mark"))
        if (wants_entries or not is_quick) and (row is None or row[READ] != now):
            so_far = index.transcript(row[ID]) if row else None
            yield Job(source, Pass.ENTRIES, _mark(index, row, "mark"), so_far)
        if wants_words and (row is None or row[TOLD] != now):
            yield Job(source, Pass.WORDS, _mark(index, row, "told_mark"))


def _mark(index: Index, row: SourceRow | None, of: str) -> Mark | None:
    """Where a pass ended. A mark at the start is none: such a file is written anew, not appended to."""
    mark = index.mark(row[ID], of) if row else None
    return mark if mark and mark.offset else None


def _run(jobs: list[Job], size: int) -> Iterator[Done]:
    if size < SHARE_FROM:
        yield from map(work, jobs)
        return
    from segue.ops import sharing  # lazy: there is rarely so much to read

    processes = sharing.processes_for(len(jobs))
    if processes == 1:
        yield from map(work, jobs)
        return

    def packed_work(job: Job) -> bytes:
        return msgspec.msgpack.encode(work(job))

    for packed in sharing.shared_out(packed_work, jobs, [job.bytes for job in jobs], processes):
        yield msgspec.msgpack.decode(packed, type=Done)


def work(job: Job) -> Done:
    """Read one source for one pass."""
    reader = agents.reader(job.source.agent)
    try:
        if job.what is Pass.SPENDS and (rows := agents.offers(job.source.agent, "rows")):
            found_rows, mark, is_anew = rows(job.source, job.mark)
            return Done(job, mark, is_anew, pack(found_rows))
        if job.what is Pass.SPENDS:
            found: Spends = reader.spends(job.source, job.mark)  # type: ignore[attr-defined]
            return Done(job, found.mark, found.is_anew, ledger_of(found.spends))
        if job.what is Pass.ENTRIES and (own := agents.offers(job.source.agent, "scan")):
            return _scanned(job, own(job.source, job.mark, job.so_far))
        reading = reader.read(job.source, job.mark)
        if job.what is Pass.WORDS:
            texts = [text for entry in reading if (text := passage_of(entry))]
            return Done(job, reading.mark, reading.is_anew, texts=texts)
        from segue.agents import scanning  # lazy: totals are told without it

        return _scanned(job, scanning.scan(reading, job.so_far))
    except AgentError as error:
        return Done(job, problem=str(error))


def _scanned(job: Job, scan: Scan) -> Done:
    ledger = None if agents.offers(job.source.agent, "spends") else ledger_of(scan.spends)
    return Done(job, scan.mark, scan.is_anew, ledger, scan.reports, scan.transcript)


def passage_of(entry: Entry) -> str:
    return entry.text[:LONGEST_PASSAGE] if entry.kind in SPOKEN else ""


def _batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    batch: list[T] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _keep(index: Index, batch: list[Done]) -> None:
    spent = []
    read = [done for done in batch if not done.problem]
    ids = index.add(*(done.job.source for done in read))
    for id, done in zip(ids, read, strict=True):
        source = done.job.source
        if not done.is_anew and index.mark(id, MARKS[done.job.what]) != done.job.mark:
            # Another process was here since: what this one read does not follow on what is known now.
            continue
        if done.job.what is Pass.WORDS:
            index.put_told(id, source, done.mark, done.texts, is_anew=done.is_anew)
        if done.ledger:
            spent.append((id, source, done.mark, done.ledger, done.is_anew))
        if done.transcript:
            index.put_transcript(id, source, done.mark, done.transcript)
            index.put_reports(id, source.agent, done.reports, is_anew=done.is_anew)
    index.put_spent(spent)
