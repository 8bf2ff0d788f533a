"""Many at once: claims are given out once, chains do not fork, stores are made once, kills lose nothing."""

from __future__ import annotations

import multiprocessing
import multiprocessing.queues
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench import kills, writers
from segue.base import clock
from segue.errors import UndoConflict
from segue.model import Session
from segue.store import SESSION, Shared, queries
from tests.conftest import Place
from tests.store.test_shared import a_session

pytestmark = pytest.mark.crash_rig

MANY = 16


def run_many(target: Any, *arguments: Any, count: int = MANY, seconds: float = 60) -> list[Any]:
    """Run a function in many processes that start at the same moment; what they put into the queue."""
    context = multiprocessing.get_context("fork")
    start, queue = context.Barrier(count), context.Queue()
    processes = [context.Process(target=target, args=(start, queue, n, *arguments)) for n in range(count)]
    for process in processes:
        process.start()
    found = [queue.get(timeout=seconds) for _ in processes]
    for process in processes:
        process.join(seconds)
    return found


def claim_all(start: Any, queue: Any, number: int, place: Place) -> None:
    shared = place.open(actor=f"worker-{number}", clock=clock.now)
    start.wait()
    claimed = []
    while lease := shared.claim("step", 600, f"worker-{number}"):
        claimed.append(lease.subject)
    queue.put(claimed)


def test_sixteen_claimers_never_get_the_same_thing(place: Place) -> None:
    shared = place.open(clock=clock.now)
    for number in range(200):
        shared.offer("step", f"step:{number:03d}")
    shared.close()
    claimed = [subject for part in run_many(claim_all, place) for subject in part]
    assert Counter(claimed) == {f"step:{number:03d}": 1 for number in range(200)}


def claim_without_skipping(start: Any, queue: Any, number: int, place: Place) -> None:
    statement = queries.to_psycopg(queries.parse(queries.text("queries.sql"))["lease_claim"])
    queries.for_postgres()["lease_claim"] = statement
    claim_all(start, queue, number, place)


def test_the_suite_would_notice_a_claim_without_skip_locked(tmp_path: Path, postgres_url: str) -> None:
    """The query that is right for SQLite gives the same thing to two on PostgreSQL: the classic trap."""
    place = Place(tmp_path / "data", postgres_url)
    twice = 0
    for attempt in range(10):
        shared = place.open(clock=clock.now)
        for number in range(100):
            shared.offer("step", f"step:{attempt}-{number:03d}")
        shared.close()
        claimed = Counter(subject for part in run_many(claim_without_skipping, place) for subject in part)
        twice += sum(count > 1 for count in claimed.values())
        if twice:
            break
    assert twice


def grow_one(start: Any, queue: Any, number: int, place: Place) -> None:
    shared = place.open(actor=f"writer-{number}", clock=clock.now)
    start.wait()
    for _ in range(10):
        shared.record(SESSION, "session.grown", "s-1", lambda s: writers.grow(s, "s-1"))
    queue.put(number)


def test_sixteen_that_make_the_same_session_at_once_lose_no_update(place: Place) -> None:
    place.open().close()
    run_many(grow_one, place)
    shared = place.open()
    assert shared.get(SESSION, "s-1").epoch == MANY * 10
    assert shared.verify() == (1, [])
    shared.close()


def test_sixteen_writers_of_one_session_lose_no_update_and_fork_no_chain(place: Place) -> None:
    shared = place.open()
    shared.record(SESSION, "session.created", "s-1", lambda _: a_session("s-1", epoch=0))
    run_many(grow_one, place)
    assert shared.get(SESSION, "s-1").epoch == MANY * 10
    assert shared.verify() == (1, [])
    shared.close()


def same_key(start: Any, queue: Any, number: int, place: Place) -> None:
    shared = place.open(clock=clock.now)
    start.wait()
    change = shared.record(
        SESSION, "session.created", f"s-{number}", lambda _: a_session(f"s-{number}"), key="k", request=1
    )
    queue.put(change.operation.id)


def test_one_key_used_by_sixteen_at_once_leads_to_one_operation(place: Place) -> None:
    assert len(set(run_many(same_key, place))) == 1
    shared = place.open()
    assert len(shared.all(SESSION)) == 1
    shared.close()


def open_first(start: Any, queue: Any, number: int, place: Place) -> None:
    start.wait()
    shared = place.open()
    with shared.database.read() as transaction:
        queue.put({row["key"]: row["value"] for row in transaction.all("meta_all")}["store"])
    shared.close()


def test_a_store_that_sixteen_open_first_is_made_once(place: Place) -> None:
    assert len(set(run_many(open_first, place))) == 1


def undo_one(start: Any, queue: Any, number: int, place: Place, operation: str) -> None:
    shared = place.open(actor=f"undoer-{number}", clock=clock.now)
    target = shared.operation(operation)

    def decide(present: Session | None) -> Session | None:
        if present is None:
            raise UndoConflict(operation=operation, kind="x", subject="s-1", later="?")
        return None

    start.wait()
    try:
        shared.record(SESSION, "session.undone", "s-1", decide, undoes=target.id)
        queue.put("won")
    except UndoConflict:
        queue.put("lost")


def test_of_sixteen_that_undo_the_same_one_wins(place: Place) -> None:
    shared = place.open()
    shared.record(SESSION, "session.created", "s-1", lambda _: a_session("s-1"))
    outcome = Counter(run_many(undo_one, place, shared.operations()[0].id))
    assert outcome == {"won": 1, "lost": MANY - 1}
    assert shared.verify() == (1, [])
    shared.close()


def test_killed_writers_lose_nothing_that_was_acknowledged(place: Place) -> None:
    """A sample of `./dev bench writers`, which runs for longer."""
    outcome = writers.campaign(place.data, place.url, seconds=4, writers=MANY, seed=7)
    assert outcome.violations == ()
    assert outcome.kills > 5 and outcome.acknowledged >= MANY


@pytest.mark.parametrize("operation", kills.OPERATIONS)
def test_whatever_is_killed_the_store_is_whole(place: Place, operation: str) -> None:
    """A sample of `./dev bench kills`, which does many more rounds."""
    tally = kills.campaign(operation, place.data.parent / "home", place.url, rounds=10, seed=3)
    assert tally.rounds == 10 and tally.violations == []


def hold_writes(start: Any, queue: Any, number: int, place: Place) -> None:
    shared = place.open()
    with shared.database.write() as transaction:
        transaction.run("head_touch", chain="held")
        start.wait()
        time.sleep(1.0)
    queue.put("held")


def test_a_writer_waits_for_another_instead_of_failing(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", "")
    place.open().close()
    context = multiprocessing.get_context("fork")
    start, queue = context.Barrier(2), context.Queue()
    process = context.Process(target=hold_writes, args=(start, queue, 0, place))
    process.start()
    shared: Shared = place.open()
    start.wait()
    shared.record(SESSION, "session.created", "s-1", lambda _: a_session("s-1"))
    assert queue.get(timeout=10) == "held"
    process.join()
    assert len(shared.all(SESSION)) == 1
    shared.close()


@pytest.fixture(autouse=True)
def _let_no_child_survive() -> Any:
    yield
    for child in multiprocessing.active_children():
        child.kill()
