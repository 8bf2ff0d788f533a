"""Refresh of the index: reads what changed since the last time.

`count_tokens` counts usage first; the rest is read here. Adding a result twice does no harm, so two commands may
refresh at once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from segue import agents
from segue.agents.shared.transcripts import file_scan
from segue.agents.shared.transcripts.reader import Spends, found_from
from segue.base import clock
from segue.base.clock import Moment
from segue.errors import AgentError, IndexRenewed
from segue.model import Entry, EntryKind, Limit, Mark, Source, Transcript
from segue.ops.index import count_tokens, provenance
from segue.ops.index.count_tokens import Progress as Progress
from segue.ops.index.count_tokens import in_silence as in_silence
from segue.store.index.transcript_index import Index
from segue.store.index.usage_index import ID, READ, SPENT, TOLD, Place, SourceRow
from segue.usage.ledger import Ledger, ledger_of

if TYPE_CHECKING:
    from segue.agents.shared.transcripts.file_scan import Found
    from segue.agents.shared.transcripts.index_scan import Scan
    from segue.ops.common.desk import Desk

BATCH = 128
"""How many results go into the index at once."""
SPOKEN = {EntryKind.PROMPT, EntryKind.REPLY, EntryKind.SUMMARY, EntryKind.CALL}
"""Kinds of entries in the text index."""
LONGEST_PASSAGE = 20_000


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
    """A job's result, or the problem that prevented it."""

    job: Job
    mark: Mark = Mark()
    is_anew: bool = True
    ledger: Ledger | None = None
    reports: tuple[Limit, ...] = ()
    transcript: Transcript | None = None
    texts: list[str] = []
    problem: str = ""


DONE = msgspec.msgpack.Decoder(Done)


class Unused(Struct, frozen=True):
    """A transcript that is not used, because nothing shows that it is the user's."""

    agent: str
    path: str
    project: str
    why: str

    @property
    def next(self) -> str:
        """The command that confirms it, if confirming is enough."""
        import shlex  # lazy: rarely needed

        is_open = self.why in provenance.CONFIRMABLE
        return f"segue transcripts confirm {shlex.quote(self.path)}" if is_open else ""


def unused_in_words(unused: Iterable[Unused]) -> list[str]:
    """One line for each agent and project folder, which is what one confirmation covers."""
    alike: dict[tuple[str, str, str], list[Unused]] = {}
    for one in unused:
        alike.setdefault((one.agent, one.project, one.why), []).append(one)
    lines = []
    for first, *others in alike.values():
        more = f" (and {len(others):,} more like it)" if others else ""
        lines.append(f"{first.path}{more}: {first.why}" + (f". If it is: {first.next}" if first.next else ""))
    return lines


class Refreshed(Struct, frozen=True):
    """The result of a refresh."""

    sources: int
    read: int
    bytes: int
    problems: tuple[str, ...] = ()
    unused: tuple[Unused, ...] = ()


def refresh(desk: Desk, wanted: Iterable[Pass], progress: Progress = in_silence) -> Refreshed:
    """Read what is new for these passes. A damaged index is rebuilt."""
    passes = set(wanted)
    try:
        return _refresh(desk, passes, progress)
    except IndexRenewed:
        return _refresh(desk, passes, progress)


def _refresh(desk: Desk, wanted: set[Pass], progress: Progress) -> Refreshed:
    known = desk.index.known() if desk.has_index else {}
    problems: list[str] = []
    sources = find(desk, problems)
    doubts = provenance.doubts(desk, ((source.agent, source.path) for source in sources))
    found = {(source.path, source.part): source for source in sources if source.path not in doubts}
    if not found and not desk.has_index:
        desk.do_without_index()
    index = desk.index
    count_tokens.put_away(index, known, found)
    to_count = _countable(found.values()) if Pass.SPENDS in wanted else ()
    sums = count_tokens.jobs_of(desk, to_count, known)
    # The oldest change first, as in `count_tokens`.
    jobs = sorted(_jobs(index, found, known, wanted), key=attrgetter("source.stamp", "source.path"))
    whole = sum(map(count_tokens.bytes_of, sums)) + sum(job.bytes for job in jobs)
    told = count_tokens.teller(progress, whole)
    problems += count_tokens.count(desk, sums, told)
    weights = [job.bytes for job in jobs]
    results = count_tokens.run(work, jobs, weights, told, msgspec.msgpack.encode, DONE.decode)
    for batch in count_tokens.batched(results, BATCH):
        with index.changing():
            _keep(index, batch)
        problems += [done.problem for done in batch if done.problem]
    unused = {
        source.path: Unused(source.agent, source.path, *doubts[source.path])
        for source in sources
        if source.path in doubts
    }
    return Refreshed(len(found), len(sums) + len(jobs), whole, tuple(problems), tuple(unused.values()))


def find(desk: Desk, problems: list[str]) -> list[Source]:
    """Every transcript on this machine. A broken agent of another package does not stop the others."""
    names, projects = count_tokens.names_here(desk)
    found: list[Source] = []
    for name in names:
        try:
            found += agents.reader(name).find(desk.env, projects)
        except AgentError as error:
            problems.append(str(error))
        except Exception as error:  # noqa: BLE001 - third-party code may raise anything
            problems.append(f"{name}: {error!r}")
    return found


def _countable(sources: Iterable[Source]) -> Iterator[Found]:
    for source in sources:
        if count_tokens.counts(source.agent):
            yield found_from(source)


def _jobs(
    index: Index, found: dict[Place, Source], known: dict[Place, SourceRow], wanted: set[Pass]
) -> Iterator[Job]:
    """The sources to read, besides those that `count_tokens` counts."""
    wants_spends, wants_entries, wants_words = (each in wanted for each in Pass)
    quick: dict[str, bool] = {}
    for place, source in found.items():
        row = known.get(place)
        now = (source.size, source.stamp)
        is_quick = quick.get(source.agent)
        if is_quick is None:
            is_quick = quick[source.agent] = agents.load(source.agent).spends is not None
        is_spent = count_tokens.counts(source.agent) or (row is not None and row[SPENT] == now)
        if wants_spends and is_quick and not is_spent:
            yield Job(source, Pass.SPENDS, _mark(index, row, "spent_mark"))
        if (wants_entries or not is_quick) and (row is None or row[READ] != now):
            so_far = index.transcript(row[ID]) if row else None
            yield Job(source, Pass.ENTRIES, _mark(index, row, "mark"), so_far)
        if wants_words and (row is None or row[TOLD] != now):
            yield Job(source, Pass.WORDS, _mark(index, row, "told_mark"))


def _mark(index: Index, row: SourceRow | None, of: str) -> Mark | None:
    """Where a pass ended. None for offset 0: such a file is rewritten, not appended to."""
    mark = index.mark(row[ID], of) if row else None
    return mark if mark and mark.offset else None


def work(job: Job) -> Done:
    """Read one source for one pass."""
    reader = agents.reader(job.source.agent)
    try:
        if job.what is Pass.SPENDS:
            found: Spends = reader.spends(job.source, job.mark)  # type: ignore[attr-defined]
            return Done(job, found.mark, found.is_anew, ledger_of(found.spends))
        if job.what is Pass.ENTRIES and (own := agents.load(job.source.agent).scan):
            return _scanned(job, own(job.source, job.mark, job.so_far))
        reading = reader.read(job.source, job.mark)
        if job.what is Pass.WORDS:
            texts = [text for entry in reading if (text := passage_of(entry))]
            return Done(job, reading.mark, reading.is_anew, texts=texts)
        from segue.agents.shared.transcripts import index_scan  # lazy: totals do not need it

        return _scanned(job, index_scan.scan(reading, job.so_far))
    except AgentError as error:
        return Done(job, problem=str(error))
    except Exception as error:  # noqa: BLE001 - one source that cannot be read must not stop the others
        return Done(job, problem=str(file_scan.reader_failed(job.source.agent, job.source.path, error)))


def _scanned(job: Job, scan: Scan) -> Done:
    ledger = None if agents.load(job.source.agent).spends else ledger_of(scan.spends)
    return Done(job, scan.mark, scan.is_anew, ledger, scan.reports, scan.transcript)


def _latest(source: Source) -> Moment:
    """The latest credible date in a transcript: its file's last change or now. A file can claim any date."""
    last = min(source.stamp or sys.maxsize, time.time_ns())
    return clock.moment(datetime.fromtimestamp(last / 1e9, UTC))


def _dated(transcript: Transcript, latest: Moment) -> Transcript:
    """The transcript with all dates capped."""
    return msgspec.structs.replace(
        transcript,
        started_at=transcript.started_at and min(transcript.started_at, latest),
        updated_at=transcript.updated_at and min(transcript.updated_at, latest),
        contexts=tuple((min(at, latest), tokens) for at, tokens in transcript.contexts),
        limits=_told_by(transcript.limits, latest),
    )


def _told_by(limits: Iterable[Limit], latest: Moment) -> tuple[Limit, ...]:
    return tuple(msgspec.structs.replace(one, at=one.at and min(one.at, latest)) for one in limits)


def passage_of(entry: Entry) -> str:
    return entry.text[:LONGEST_PASSAGE] if entry.kind in SPOKEN else ""


def _keep(index: Index, batch: list[Done]) -> None:
    spent = []
    read = [done for done in batch if not done.problem]
    ids = index.add([(done.job.source.agent, done.job.source.path, done.job.source.part) for done in read])
    for id, done in zip(ids, read, strict=True):
        source = done.job.source
        if not done.is_anew and index.mark(id, MARKS[done.job.what]) != done.job.mark:
            # Another process has updated this source: this result does not follow on the new mark.
            continue
        if done.job.what is Pass.WORDS:
            index.put_told(id, source, done.mark, done.texts, is_anew=done.is_anew)
        if done.ledger:
            mark = msgspec.json.encode(done.mark).decode()
            spent.append((id, source.size, source.stamp, mark, done.ledger, done.is_anew))
        if done.transcript:
            latest = _latest(source)
            index.put_transcript(id, source, done.mark, _dated(done.transcript, latest))
            reports = _told_by(done.reports, latest)
            index.put_reports(id, source.agent, reports, is_anew=done.is_anew)
    index.put_spent(spent)
