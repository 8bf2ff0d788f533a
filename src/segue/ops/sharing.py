"""Work shared out to several processes, each a copy of this one that sends back what it found and is gone.

Not Python's own pool: to load and start it takes a good part of the time that a scan takes altogether. What a
process that dies did not send is done here, so nothing is lost with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:  # not asked of typing: that takes long to load
    from typing import BinaryIO, NoReturn, TypeVar

    J = TypeVar("J")

LENGTH = 4
ROOM = 1 << 20
"""How far a process may be ahead of who reads what it sends."""
MOST = 8


def processes_for(jobs: int) -> int:
    """How many processes are worth having. Copying a process that has threads is asking for trouble."""
    threading = sys.modules.get("threading")  # where nobody loaded it there are none
    if not hasattr(os, "fork") or (threading and threading.active_count() > 1):
        return 1
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(here, MOST, jobs))


def shared_out(
    work: Callable[[J], bytes], jobs: Sequence[J], weights: Sequence[int], processes: int
) -> Iterator[bytes]:
    """What `work` makes of each job, in order. Each job goes to whoever has the least to do so far."""
    piles: list[list[J]] = [[] for _ in range(processes)]
    loads = [0] * processes
    whose = []
    for job, weight in zip(jobs, weights, strict=True):
        least = loads.index(min(loads))
        loads[least] += weight
        piles[least].append(job)
        whose.append(least)
    started: list[tuple[int, BinaryIO]] = []
    try:
        with contextlib.suppress(OSError):  # no more processes to be had: the rest is done here
            for pile in piles:
                started.append(_start(work, pile))  # noqa: PERF401 - those before a failure are kept
        for job, owner in zip(jobs, whose, strict=True):
            packed = _next(started[owner][1]) if owner < len(started) else None
            yield work(job) if packed is None else packed
    finally:
        for pid, pipe in started:
            pipe.close()
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _start(work: Callable[[J], bytes], jobs: Sequence[J]) -> tuple[int, BinaryIO]:
    ours, theirs = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(ours)
        os.close(theirs)
        raise
    if pid == 0:
        os.close(ours)
        _do(work, jobs, theirs)
    os.close(theirs)
    with contextlib.suppress(OSError, AttributeError):
        fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, ROOM)
    return pid, os.fdopen(ours, "rb")


def _do(work: Callable[[J], bytes], jobs: Sequence[J], pipe: int) -> NoReturn:
    try:
        gc.disable()  # what is read is sent and forgotten
        with os.fdopen(pipe, "wb") as file:
            for job in jobs:
                packed = work(job)
                file.write(len(packed).to_bytes(LENGTH, "big"))
                file.write(packed)
    finally:
        # Nothing of the process that this is a copy of may be closed or written here.
        os._exit(0)


def _next(pipe: BinaryIO) -> bytes | None:
    """What is sent next; None where its process is gone."""
    length = pipe.read(LENGTH)
    if len(length) < LENGTH:
        return None
    size = int.from_bytes(length, "big")
    packed = pipe.read(size)
    return packed if len(packed) == size else None
