"""Work shared out comes back whole and in order, whatever happens to those who do it."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.ops.index import fork_pool

PARENT = os.getpid()


def double(number: int) -> bytes:
    return str(number * 2).encode() * 1000


def test_what_comes_back_is_in_order() -> None:
    jobs = list(range(200))
    weights = [1 + number % 7 for number in jobs]
    assert list(fork_pool.shared_out(double, jobs, weights, 3)) == [double(number) for number in jobs]


def who(number: int) -> bytes:
    if number == 0:
        time.sleep(0.5)
    return str(os.getpid()).encode()


def test_who_is_held_up_does_little_and_the_others_do_the_rest() -> None:
    done = list(fork_pool.shared_out(who, list(range(100)), [1] * 100, 2))
    assert len(set(done)) == 2
    assert done.count(done[0]) < 10


@given(st.lists(st.integers(0, 1 << 30), max_size=3000))
def test_every_job_is_in_one_share_and_all_shares_fit_into_the_smallest_pipe(weights: list[int]) -> None:
    shares = fork_pool._shares(weights)
    assert [number for share in shares for number in range(*share)] == list(range(len(weights)))
    assert len(shares) * fork_pool.SHARE.size <= 4096


def test_where_no_process_is_to_be_had_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refuse)
    assert set(fork_pool.shared_out(who, [1, 2, 3], [1] * 3, 4)) == {str(PARENT).encode()}


def die_at_fifty(number: int) -> bytes:
    if number == 50 and os.getpid() != PARENT:
        os.kill(os.getpid(), signal.SIGKILL)
    return double(number)


def test_a_process_that_is_killed_loses_nothing() -> None:
    jobs = list(range(120))
    assert list(fork_pool.shared_out(die_at_fifty, jobs, [1] * 120, 2)) == [double(number) for number in jobs]


def fail_at_fifty(number: int) -> bytes:
    if number == 50:
        raise ValueError("fifty")
    return double(number)


def test_a_fault_shows_where_the_work_was_asked_for() -> None:
    with pytest.raises(ValueError, match="fifty"):
        list(fork_pool.shared_out(fail_at_fifty, list(range(120)), [1] * 120, 2))


def test_nothing_is_left_running_when_the_rest_is_not_wanted() -> None:
    results = fork_pool.shared_out(double, list(range(5000)), [1] * 5000, 2)
    assert next(results) == double(0)
    results.close()  # type: ignore[attr-defined]
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_process_with_threads_is_not_copied() -> None:
    assert fork_pool.processes_for(1) == 1
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert fork_pool.processes_for(100) == 1
    finally:
        done.set()
        thread.join()
