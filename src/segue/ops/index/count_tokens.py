"""Token counts in the index: counts what each changed source has used since the last refresh.

Totals by time and by model need nothing else, so this module imports nothing slow; `refresh` does the rest. A large
amount of data is read by one process per CPU. Adding a result twice does no harm, so two commands may count at once.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from time import monotonic

from segue import agents
from segue.agents.shared.transcripts import file_scan
from segue.errors import AgentError
from segue.store.index.usage_index import ID, PATH, SPENT
from segue.usage.ledger import EMPTY, pack

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` is slow to import
    from pathlib import Path
    from typing import Any, TypeVar

    from segue.agents.shared.transcripts.file_scan import Found
    from segue.ops.common.desk import Desk
    from segue.store.index.usage_index import Counting, Place, SourceRow
    from segue.usage.ledger import Ledger

    J = TypeVar("J")
    R = TypeVar("R")

SHARE_FROM = 64 << 20
"""From this many bytes on, several processes read."""
BATCH = 32
"""How many results go into the index at once, while other sources are still being read."""
LONGEST_CHANGE = 2.0
"""Longest transaction, in seconds: other commands wait for it."""
Progress = Callable[[int, int], None]
"""Called with the number of bytes read, and the total."""
Job = tuple["Found", tuple[int, str]]
"""A source to read, and the mark to resume from."""
Done = tuple["Ledger", int, str, bool, str]
"""A job's result: the ledger, the new mark, whether it was read from the start, and the error, if any."""


def in_silence(_done: int, _whole: int) -> None:
    """Report no progress."""


def teller(progress: Progress, whole: int) -> Callable[[int], None]:
    """A callback that adds up bytes and reports progress."""
    so_far = 0

    def tell(more: int) -> None:
        nonlocal so_far
        so_far += more
        progress(so_far, whole)

    return tell


class Folders:
    """Folders that become paths only when iterated: most agents never do, and pathlib is slow to import."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __iter__(self) -> Iterator[Path]:
        from pathlib import Path  # lazy: see above

        return map(Path, self.names)


def names_here(desk: Desk) -> tuple[list[str], Folders]:
    """The agents that may have files here, and all known project folders."""
    known = desk.index.projects() if desk.has_index else []
    projects = Folders(sorted({*known, str(desk.project)}))
    return agents.names_here(desk.env, projects.names), projects


def counts(name: str) -> bool:
    """Whether an agent has the two capabilities that this module needs: `rows` and `files`."""
    return agents.load(name).rows is not None and agents.load(name).files is not None


def put_away(index: Counting, known: dict[Place, SourceRow], found: Iterable[Place]) -> None:
    """Drop deleted sources. A source that still exists but was not found (another folder was searched, or a database
    could not be read) is only hidden during this run."""
    missing = [row for place, row in known.items() if place not in found]
    gone: list[int] = []
    if missing:
        from pathlib import Path  # lazy: sources rarely disappear

        from segue.base import paths  # lazy: as above

        read = {path for path, _part in found}
        gone = [row[ID] for row in missing if row[PATH] in read or not paths.is_there(Path(row[PATH]))]
    index.hide({row[ID] for row in missing}.difference(gone))
    if gone:
        with index.changing():
            index.drop(gone)


def jobs_of(desk: Desk, found: Iterable[Found], known: dict[Place, SourceRow]) -> list[Job]:
    """The sources to count, the oldest change first: an answer in two files belongs to the older one."""
    jobs: list[Job] = []
    for source in found:
        row = known.get(source[1:3])
        if row is None or row[SPENT] != source[3:]:
            jobs.append((source, desk.index.spent_mark(row[ID]) if row else (0, "")))
    return sorted(jobs, key=lambda job: (job[0][4], job[0][1]))


def bytes_of(job: Job) -> int:
    (*_, size, _stamp), (offset, _before) = job
    return max(0, size - offset)


def count(desk: Desk, jobs: list[Job], told: Callable[[int], None]) -> list[str]:
    """Count these sources and return the errors. `told` is called with the bytes of each source. The index is opened
    after the first result: creating one takes time, in which other processes read already."""
    problems: list[str] = []
    weights = [*map(bytes_of, jobs)]
    results = run(work, jobs, weights, told)
    batches = batched(zip(jobs, results, strict=True), BATCH)
    for first in batches:
        started = monotonic()
        with desk.index.changing():
            for batch in chain([first], batches):
                keep(desk.index, batch)
                problems += [problem for _, (*_, problem) in batch if problem]
                if monotonic() - started > LONGEST_CHANGE:
                    break
    return problems


def run(
    work: Callable[[J], R],
    jobs: list[J],
    weights: list[int],
    told: Callable[[int], None],
    pack: Callable[[Any], bytes] = marshal.dumps,
    unpack: Callable[[bytes], R] = marshal.loads,
) -> Iterator[R]:
    """Yield the results of `work` in order. Another process may do the work and return the result packed."""
    results: Iterable[R] = map(work, jobs)
    if sum(weights) >= SHARE_FROM:
        from segue.ops.index import fork_pool  # lazy: rarely needed

        processes = fork_pool.processes_for(len(jobs))
        if processes > 1:
            packed = fork_pool.shared_out(lambda job: pack(work(job)), jobs, weights, processes)
            results = map(unpack, packed)
    for result, weight in zip(results, weights, strict=True):
        yield result
        told(weight)


def work(job: Job) -> Done:
    """Read one source."""
    source, (offset, before) = job
    try:
        read = agents.load(source[0]).rows
        rows, offset, before, is_anew = read(source, offset, before)  # type: ignore[misc]  # see `can_count`
    except AgentError as error:
        return EMPTY, 0, "", True, str(error)
    except Exception as error:  # noqa: BLE001 - one source that cannot be read must not stop the others
        return EMPTY, 0, "", True, str(file_scan.reader_failed(source[0], source[1], error))
    return pack(rows), offset, before, is_anew, ""


def batched(items: Iterable[J], size: int) -> Iterator[list[J]]:
    batch: list[J] = []
    for item in items:
        batch.append(item)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def keep(index: Counting, batch: list[tuple[Job, Done]]) -> None:
    read = [(source, mark, done) for (source, mark), done in batch if not done[-1]]
    ids = index.add([source[:3] for source, *_ in read])
    spent = []
    for id, (source, mark, (ledger, offset, before, is_anew, _)) in zip(ids, read, strict=True):
        if not is_anew and index.spent_mark(id) != mark:
            # Another process has updated this source: this result does not follow on the new mark.
            continue
        now = f'{{"offset":{offset},"before":"{before}"}}'
        spent.append((id, *source[3:], now, ledger, is_anew))
    index.put_spent(spent)
