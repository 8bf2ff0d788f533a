"""Work shared out comes back whole and in order, whatever happens to those who do it."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from segue.ops import sharing

PARENT = os.getpid()


def double(number: int) -> bytes:
    return str(number * 2).encode() * 1000


def test_what_comes_back_is_in_order() -> None:
    jobs = list(range(200))
    weights = [1 + number % 7 for number in jobs]
    assert list(sharing.shared_out(double, jobs, weights, 3)) == [double(number) for number in jobs]


def die_at_fifty(number: int) -> bytes:
    if number == 50 and os.getpid() != PARENT:
        os.kill(os.getpid(), signal.SIGKILL)
    return double(number)


def test_a_process_that_is_killed_loses_nothing() -> None:
    jobs = list(range(120))
    assert list(sharing.shared_out(die_at_fifty, jobs, [1] * 120, 2)) == [double(number) for number in jobs]


def fail_at_fifty(number: int) -> bytes:
    if number == 50:
        raise ValueError("fifty")
    return double(number)


def test_a_fault_shows_where_the_work_was_asked_for() -> None:
    with pytest.raises(ValueError, match="fifty"):
        list(sharing.shared_out(fail_at_fifty, list(range(120)), [1] * 120, 2))


def test_nothing_is_left_running_when_the_rest_is_not_wanted() -> None:
    results = sharing.shared_out(double, list(range(5000)), [1] * 5000, 2)
    assert next(results) == double(0)
    results.close()  # type: ignore[attr-defined]
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_process_with_threads_is_not_copied() -> None:
    assert sharing.processes_for(1) == 1
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert sharing.processes_for(100) == 1
    finally:
        done.set()
        thread.join()
