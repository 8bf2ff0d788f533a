"""A pool of forked processes: this process and its forks work through a list of jobs.

Python's own pool takes a good part of a scan's time to import and start. An idle process takes the next share of jobs;
this process works, too, while it waits. What a dead process did not send is done here, so nothing is lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import select
import signal
import struct
import sys
from collections.abc import Callable, Iterator, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` is slow to import
    from typing import NoReturn, TypeVar

    J = TypeVar("J")

HEAD = struct.Struct("=II")
"""Header of a result: the number of its job, and its length."""
SHARE = struct.Struct("=II")
"""A share of jobs: the number of the first, and of the one after the last."""
SHARES = 480
"""Number of shares: few enough to fit into the smallest pipe, and enough that no process waits long at the end."""
ROOM = 1 << 20
"""Pipe size: how many bytes a process may be ahead of the reader."""
PIECE = 1 << 16
"""How many bytes are read at once."""
MOST = 8


def processes_for(jobs: int) -> int:
    """The number of processes to use: one if this process has threads, which make a fork unsafe."""
    threading = sys.modules.get("threading")  # not imported means no threads
    if not hasattr(os, "fork") or (threading and threading.active_count() > 1):
        return 1
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(here, MOST, jobs))


def shared_out(
    work: Callable[[J], bytes], jobs: Sequence[J], weights: Sequence[int], processes: int
) -> Iterator[bytes]:
    """Yield the results of `work`, in order."""
    shares = _waiting(_shares(weights))
    helpers: list[_Helper] = []
    done: dict[int, bytes] = {}
    try:
        with contextlib.suppress(OSError):  # cannot fork: the rest is done here
            while len(helpers) < processes - 1:
                helpers.append(_Helper(work, jobs, shares))
        talking = [*helpers]
        for number, job in enumerate(jobs):
            while number not in done:
                if _receive(talking, done, 0) and number in done:
                    break
                mine = _taken(shares)
                done.update((each, work(jobs[each])) for each in mine)
                if not mine and not _receive(talking, done, None):
                    done[number] = work(job)
            yield done.pop(number)
    finally:
        os.close(shares)
        for helper in helpers:
            helper.end()


def _shares(weights: Sequence[int]) -> list[tuple[int, int]]:
    """Consecutive jobs, divided into shares of similar weight."""
    enough = max(1.0, sum(weights) / SHARES)
    shares: list[tuple[int, int]] = []
    first, load = 0, 0
    for number, weight in enumerate(weights):
        load += weight
        if load >= enough:
            shares.append((first, number + 1))
            first, load = number + 1, 0
    if first < len(weights):
        shares.append((first, len(weights)))
    return shares


def _waiting(shares: Sequence[tuple[int, int]]) -> int:
    """A pipe with all shares, closed after the last one."""
    ours, theirs = os.pipe()
    os.write(theirs, b"".join([SHARE.pack(*share) for share in shares]))
    os.close(theirs)
    return ours


def _taken(shares: int) -> range:
    """Take the next share; empty if none is left."""
    taken = os.read(shares, SHARE.size)
    return range(*SHARE.unpack(taken)) if taken else range(0)


class _Helper:
    """A fork of this process, and what it has sent so far."""

    def __init__(self, work: Callable[[J], bytes], jobs: Sequence[J], shares: int) -> None:
        self._pipe, theirs = os.pipe()
        self._sent = bytearray()
        try:
            self._pid = os.fork()
        except OSError:
            os.close(self._pipe)
            os.close(theirs)
            raise
        if self._pid == 0:
            os.close(self._pipe)
            _help(work, jobs, shares, theirs)
        os.close(theirs)
        with contextlib.suppress(OSError, AttributeError):
            fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, ROOM)

    def fileno(self) -> int:
        return self._pipe

    def receive(self, done: dict[int, bytes]) -> bool:
        """Read what was sent; false if the process has ended."""
        sent = os.read(self._pipe, PIECE)
        self._sent += sent
        at = 0
        while at + HEAD.size <= len(self._sent):
            number, size = HEAD.unpack_from(self._sent, at)
            end = at + HEAD.size + size
            if end > len(self._sent):
                break
            done[number] = bytes(self._sent[at + HEAD.size : end])
            at = end
        del self._sent[:at]
        return bool(sent)

    def end(self) -> None:
        os.close(self._pipe)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


def _receive(talking: list[_Helper], done: dict[int, bytes], patience: float | None) -> bool:
    """Read what was sent, waiting up to `patience` seconds; false if no process is left."""
    if not talking:
        return False
    for helper in select.select(talking, [], [], patience)[0]:
        if not helper.receive(done):
            talking.remove(helper)
    return True


def _help(work: Callable[[J], bytes], jobs: Sequence[J], shares: int, pipe: int) -> NoReturn:
    try:
        gc.disable()  # the process is short-lived
        with os.fdopen(pipe, "wb") as file:
            while mine := _taken(shares):
                for number in mine:
                    packed = work(jobs[number])
                    file.write(HEAD.pack(number, len(packed)))
                    file.write(packed)
                file.flush()
    finally:
        # Skip exit handlers: they belong to the parent process.
        os._exit(0)
