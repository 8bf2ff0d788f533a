"""Bringing the index's counts up to date: of every source that changed, what was spent since.

This is all that totals by time and by model need, so it loads nothing that takes long; `refresh` does the rest.
Reading is shared out to as many processes as there are processors where there is much to read. Each result
is complete in itself and does no harm when it is added twice, so two commands may do this at once.
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
if TYPE_CHECKING:  # not asked of typing: that takes long to load
    from pathlib import Path
    from typing import Any, TypeVar

    from segue.agents.shared.transcripts.file_scan import Found
    from segue.ops.common.desk import Desk
    from segue.store.index.usage_index import Counting, Place, SourceRow
    from segue.usage.ledger import Ledger

    J = TypeVar("J")
    R = TypeVar("R")

SHARE_FROM = 64 << 20
"""From this many bytes on, reading is shared out to several processes."""
BATCH = 32
"""How many results are put into the index together, while others are still being read."""
LONGEST_CHANGE = 2.0
"""For so many seconds this is done before it is kept, and others have to wait."""
Progress = Callable[[int, int], None]
"""Told how many bytes are read, and how many there are."""
Job = tuple["Found", tuple[int, str]]
"""A source to be read, and the mark to go on from."""
Done = tuple["Ledger", int, str, bool, str]
"""A job's result: what was spent, the new mark, whether all was read anew; and why there is none, if so."""


def in_silence(_done: int, _whole: int) -> None:
    """Nobody waits for this."""


def teller(progress: Progress, whole: int) -> Callable[[int], None]:
    """Progress that is told of one number of bytes after the other."""
    so_far = 0

    def tell(more: int) -> None:
        nonlocal so_far
        so_far += more
        progress(so_far, whole)

    return tell


class Folders:
    """Folders that are made paths of when somebody looks at them: most agents don't."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __iter__(self) -> Iterator[Path]:
        from pathlib import Path  # lazy: see above

        return map(Path, self.names)


def names_here(desk: Desk) -> tuple[list[str], Folders]:
    """The agents that may have left something here, and the folders that are known to be worked in."""
    known = desk.index.projects() if desk.has_index else []
    projects = Folders(sorted({*known, str(desk.project)}))
    return agents.names_here(desk.env, projects.names), projects


def counts(name: str) -> bool:
    """Whether an agent is found and counted here, by what it offers for that."""
    return agents.load(name).rows is not None and agents.load(name).files is not None


def put_away(index: Counting, known: dict[Place, SourceRow], found: Iterable[Place]) -> None:
    """Forget what is gone. What is there and was not found (another folder was looked in, or a database could not be
    read) is only left out of this run."""
    missing = [row for place, row in known.items() if place not in found]
    gone: list[int] = []
    if missing:
        from pathlib import Path  # lazy: mostly all is where it was

        from segue.base import paths  # lazy: as above

        read = {path for path, _part in found}
        gone = [row[ID] for row in missing if row[PATH] in read or not paths.is_there(Path(row[PATH]))]
    index.hide({row[ID] for row in missing}.difference(gone))
    if gone:
        with index.changing():
            index.drop(gone)


def jobs_of(desk: Desk, found: Iterable[Found], known: dict[Place, SourceRow]) -> list[Job]:
    """What has to be counted, the oldest change first: an answer in two files belongs to the older one."""
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
    """Count what has to be counted; the problems there were. `told` is told of the bytes of each. The index is opened
    when something is read: to make a new one takes time, in which others are reading already."""
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
    """What `work` makes of each job, in order; it may be made in another process, and come packed."""
    results: Iterable[R] = map(work, jobs)
    if sum(weights) >= SHARE_FROM:
        from segue.ops.index import fork_pool  # lazy: there is rarely so much to read

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
        rows, offset, before, is_anew = read(source, offset, before)  # type: ignore[misc]  # see `counts`
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
            # Another process was here since: what this one read does not follow on what is known now.
            continue
        now = f'{{"offset":{offset},"before":"{before}"}}'
        spent.append((id, *source[3:], now, ledger, is_anew))
    index.put_spent(spent)
