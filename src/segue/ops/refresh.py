"""Bringing the index up to date: what changed since the last look is read, the rest is left alone.

Reading is shared out to as many processes as there are processors where there is much to read. Each result
is complete in itself and does no harm when it is added twice, so two commands may do this at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from segue import agents
from segue.agents.reading import Spends
from segue.errors import AgentError
from segue.model import Entry, EntryKind, Limit, Mark, Source, Transcript
from segue.ops import sharing
from segue.ops.desk import Desk
from segue.store import index as indexes
from segue.store.index import Index, Known, Ledger

SHARE_FROM = 64 << 20
"""From this many bytes on, reading is shared out to several processes."""
BATCH = 64
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
    """Read what is new for the passes that are wanted."""
    known = desk.index.known() if desk.has_index else {}
    found = {(source.path, source.part): source for source in find(desk)}
    if not found and not desk.has_index:
        desk.do_without_index()
    index = desk.index
    gone = [entry.id for key, entry in known.items() if key not in found]
    jobs = list(_jobs(index, found.values(), known, set(wanted)))
    if gone:
        with index.changing():
            for id in gone:
                index.drop(id)
    whole, so_far = sum(job.bytes for job in jobs), 0
    problems = []
    for batch in _batched(_run(jobs, whole), BATCH):
        with index.changing():
            _keep(index, batch)
        problems += [done.problem for done in batch if done.problem]
        so_far += sum(done.job.bytes for done in batch)
        progress(so_far, whole)
    return Refreshed(len(found), len(jobs), whole, tuple(problems))


def find(desk: Desk) -> Iterator[Source]:
    """Every transcript on this machine."""
    known = desk.index.projects() if desk.has_index else []
    projects = sorted({*map(Path, known), desk.project})
    for reader in agents.readers_here(desk.env, projects):
        yield from reader.find(desk.env, projects)


def _jobs(
    index: Index, found: Iterable[Source], known: dict[tuple[str, str], Known], wanted: set[Pass]
) -> Iterator[Job]:
    """What has to be read, the oldest change first: an answer in two files belongs to the older one."""
    for source in sorted(found, key=lambda source: (source.stamp, source.path)):
        entry = known.get((source.path, source.part))
        now = (source.size, source.stamp)
        is_quick = agents.offers(source.agent, "spends") is not None
        if Pass.SPENDS in wanted and is_quick and (entry is None or entry.spent != now):
            yield Job(source, Pass.SPENDS, _mark(entry, "spent_mark"))
        if (Pass.ENTRIES in wanted or not is_quick) and (entry is None or entry.read != now):
            so_far = index.transcript(entry.id) if entry else None
            yield Job(source, Pass.ENTRIES, _mark(entry, "mark"), so_far)
        if Pass.WORDS in wanted and (entry is None or entry.told != now):
            yield Job(source, Pass.WORDS, _mark(entry, "told_mark"))


def _mark(entry: Known | None, of: str) -> Mark | None:
    """Where a pass ended. A mark at the start is none: such a file is written anew, not appended to."""
    mark = entry.mark(of) if entry else None
    return mark if mark and mark.offset else None


def _run(jobs: list[Job], size: int) -> Iterator[Done]:
    processes = sharing.processes_for(len(jobs)) if size >= SHARE_FROM else 1
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
        if job.what is Pass.SPENDS:
            found: Spends = reader.spends(job.source, job.mark)  # type: ignore[attr-defined]
            return Done(job, found.mark, found.is_anew, indexes.ledger_of(found.spends))
        reading = reader.read(job.source, job.mark)
        if job.what is Pass.WORDS:
            texts = [text for entry in reading if (text := passage_of(entry))]
            return Done(job, reading.mark, reading.is_anew, texts=texts)
        from segue.agents import scanning  # lazy: totals are told without it

        scan = scanning.scan(reading, job.so_far)
        ledger = None if agents.offers(job.source.agent, "spends") else indexes.ledger_of(scan.spends)
        return Done(job, scan.mark, scan.is_anew, ledger, scan.reports, scan.transcript)
    except AgentError as error:
        return Done(job, problem=str(error))


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
    for done in batch:
        if done.problem:
            continue
        source = done.job.source
        id = index.add(source)
        if done.job.what is Pass.WORDS:
            index.put_told(id, source, done.mark, done.texts, is_anew=done.is_anew)
        if done.ledger:
            spent.append((id, source, done.mark, done.ledger, done.is_anew))
        if done.transcript:
            index.put_transcript(id, source, done.mark, done.transcript)
            index.put_reports(id, source.agent, done.reports, is_anew=done.is_anew)
    index.put_spent(spent)
