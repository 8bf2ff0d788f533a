"""One writer: a worktree is held by one handoff at a time, and the hooks are told."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from segue.base import clock
from segue.errors import LeaseLost, Refused, StoreError
from segue.hooks import guard
from segue.model import Handoff
from segue.ops.common.desk import Desk, open_desk
from segue.ops.handoff import leases
from segue.store import HANDOFF, Shared
from tests.conftest import Place, StillClock
from tests.store.test_shared import a_handoff, create

HOUR = 3600


# In the store


def test_what_was_never_offered_can_be_taken_by_its_name(shared: Shared) -> None:
    lease = shared.take("worktree", "worktree:/p", 60, holder="one")
    assert lease is not None and (lease.subject, lease.holder, lease.token) == ("worktree:/p", "one", 1)
    assert shared.held("worktree:/p") == lease
    assert shared.held("worktree:/other") is None


def test_what_another_holds_cannot_be_taken(shared: Shared) -> None:
    first = shared.take("worktree", "worktree:/p", 60, holder="one")
    assert shared.take("worktree", "worktree:/p", 60, holder="two") is None
    assert shared.take("worktree", "worktree:/q", 60, holder="two") is not None
    assert shared.held("worktree:/p") == first


def test_taking_again_holds_for_longer_and_keeps_the_token_and_the_beginning(place: Place) -> None:
    still = StillClock()
    shared = place.open(clock=still)
    first = shared.take("worktree", "worktree:/p", 60, holder="one")
    still.time = clock.later(still.time, 30)
    again = shared.take("worktree", "worktree:/p", 60, holder="one")
    assert first and again and first.expires_at and again.expires_at
    assert (again.token, again.due_at) == (first.token, first.due_at)
    assert again.expires_at > first.expires_at
    shared.settle(first)
    shared.close()


def test_one_that_ran_out_can_be_taken_by_anyone_and_begins_anew(place: Place) -> None:
    still = StillClock()
    shared = place.open(clock=still)
    old = shared.take("worktree", "worktree:/p", 60, holder="one")
    still.time = clock.later(still.time, 61)
    assert shared.held("worktree:/p") is None
    new = shared.take("worktree", "worktree:/p", 60, holder="two")
    assert old and new and new.token == old.token + 1 and new.due_at > old.due_at
    with pytest.raises(LeaseLost):
        shared.settle(old)
    assert shared.held("worktree:/p") == new
    still.time = clock.later(still.time, 61)
    late = shared.take("worktree", "worktree:/p", 60, holder="two")
    assert late and late.token == new.token + 1 and late.due_at > new.due_at
    shared.close()


def test_what_was_settled_or_released_can_be_taken_again(shared: Shared) -> None:
    first = shared.take("worktree", "worktree:/p", 60, holder="one")
    assert first is not None
    shared.settle(first)
    assert shared.held("worktree:/p") is None
    second = shared.take("worktree", "worktree:/p", 60, holder="two")
    assert second is not None and second.token == 2
    shared.release(second)
    third = shared.take("worktree", "worktree:/p", 60, holder="one")
    assert third is not None and third.token == 3


def test_what_is_taken_by_its_name_is_not_claimed_by_its_kind(shared: Shared) -> None:
    shared.take("worktree", "worktree:/p", 60, holder="one")
    assert shared.claim("worktree", 60, holder="two") is None


def test_of_many_who_take_the_same_thing_at_once_one_gets_it(place: Place) -> None:
    many = 12
    place.open(clock=clock.now).close()
    start = threading.Barrier(many)

    def take(number: int) -> bool:
        shared = place.open(actor=f"worker-{number}", clock=clock.now)
        try:
            start.wait()
            return shared.take("worktree", "worktree:/p", 600, f"worker-{number}") is not None
        finally:
            shared.close()

    with ThreadPoolExecutor(many) as pool:
        assert sum(pool.map(take, range(many))) == 1


# By a handoff


@pytest.fixture
def still() -> StillClock:
    return StillClock()


@pytest.fixture
def desk(place: Place, still: StillClock, tmp_path: Path) -> Iterator[Desk]:
    env = {"SEGUE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "SEGUE_STORE": place.url}
    opened = open_desk(env=env, cwd=tmp_path, clock=still)
    create(opened.shared, "s-1")
    yield opened
    opened.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my prøject"
    (folder / ".git").mkdir(parents=True)
    (folder / "src").mkdir()
    return folder


def handoff(desk: Desk, id: str, target: str = "demo") -> Handoff:
    made = msgspec.structs.replace(a_handoff(desk.shared, id, "s-1"), target=target)
    desk.shared.record(HANDOFF, "handoff.prepared", id, lambda _: made)
    return made


def noted(desk: Desk) -> list[guard.Held]:
    return guard.notes(desk.places.data)


def test_a_worktree_that_is_taken_is_held_and_noted_for_the_hooks(desk: Desk, project: Path) -> None:
    assert leases.holder(desk, project) is None
    leases.take(desk, project / "src", handoff(desk, "h-1").id, "Other Agent")
    held = leases.holder(desk, project)
    assert held is not None
    assert (held.root, held.handoff, held.holder) == (str(project), "h-1", "Other Agent")
    assert clock.parse(held.expires) - clock.parse(held.since) == timedelta(hours=12)
    assert noted(desk) == [held]
    (note,) = (desk.places.data / "leases").glob("*.json")
    assert json.loads(note.read_text()) == {
        "root": str(project),
        "handoff": "h-1",
        "holder": "Other Agent",
        "since": held.since,
        "expires": held.expires,
        "back": "segue back",
    }
    assert stat.S_IMODE(note.stat().st_mode) == 0o600
    assert stat.S_IMODE(note.parent.stat().st_mode) == 0o700


def test_a_second_handoff_is_told_who_holds_the_worktree_since_when_and_what_to_do(
    desk: Desk, project: Path
) -> None:
    leases.take(desk, project, handoff(desk, "h-1").id, "Other Agent")
    with pytest.raises(Refused) as refused:
        leases.take(desk, project, handoff(desk, "h-2").id, "Third Agent")
    assert f"Other Agent has held {project} since 2026-11-16 09:30 UTC (handoff h-1)" in str(refused.value)
    assert refused.value.next_step.startswith("segue back ")
    assert [held.handoff for held in noted(desk)] == ["h-1"]


def test_the_same_handoff_may_take_it_again_and_holds_it_for_longer(
    desk: Desk, project: Path, still: StillClock
) -> None:
    mine = handoff(desk, "h-1")
    leases.take(desk, project, mine.id, "Other Agent")
    (before,) = noted(desk)
    still.time = clock.later(still.time, HOUR)
    leases.take(desk, project, mine.id, "Other Agent")
    (after,) = noted(desk)
    assert after.since == before.since and after.expires > before.expires


def test_another_worktree_is_another_lease(desk: Desk, project: Path, tmp_path: Path) -> None:
    leases.take(desk, project, handoff(desk, "h-1").id, "One")
    leases.take(desk, tmp_path / "plain folder", handoff(desk, "h-2").id, "Two")
    assert sorted(held.holder for held in noted(desk)) == ["One", "Two"]


def test_a_link_to_a_worktree_is_that_worktree(desk: Desk, project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    leases.take(desk, tmp_path / "link" / "src", handoff(desk, "h-1").id, "One")
    held = leases.holder(desk, project)
    assert held is not None and held.root == str(project)


def test_what_was_given_back_can_be_taken_by_the_next(desk: Desk, project: Path) -> None:
    leases.take(desk, project, handoff(desk, "h-1").id, "One")
    leases.give_back(desk, project, "h-1")
    assert leases.holder(desk, project) is None and noted(desk) == []
    leases.give_back(desk, project, "h-1")
    leases.take(desk, project, handoff(desk, "h-2").id, "Two")
    assert [held.handoff for held in noted(desk)] == ["h-2"]


def test_nobody_gives_back_what_another_holds(desk: Desk, project: Path) -> None:
    leases.take(desk, project, handoff(desk, "h-1").id, "One")
    leases.give_back(desk, project, "h-2")
    held = leases.holder(desk, project)
    assert held is not None and held.handoff == "h-1" and noted(desk) == [held]


def test_a_lease_that_ran_out_is_free_and_its_old_holder_takes_nothing_away(
    desk: Desk, project: Path, still: StillClock
) -> None:
    leases.take(desk, project, handoff(desk, "h-1").id, "One")
    still.time = clock.later(still.time, 12 * HOUR + 60)
    assert leases.holder(desk, project) is None
    leases.take(desk, project, handoff(desk, "h-2").id, "Two")
    leases.give_back(desk, project, "h-1")
    held = leases.holder(desk, project)
    assert held is not None and held.handoff == "h-2" and noted(desk) == [held]


def test_notes_of_leases_that_ran_out_go_with_the_next_one(
    desk: Desk, project: Path, still: StillClock, tmp_path: Path
) -> None:
    leases.take(desk, tmp_path / "old", handoff(desk, "h-1").id, "One")
    still.time = clock.later(still.time, 13 * HOUR)
    leases.take(desk, project, handoff(desk, "h-2").id, "Two")
    assert [held.handoff for held in noted(desk)] == ["h-2"]


def test_a_note_that_was_lost_is_written_when_the_lease_is_taken_again(desk: Desk, project: Path) -> None:
    """A process that is killed after it took the lease leaves no note; the same command makes up for it."""
    mine = handoff(desk, "h-1")
    leases.take(desk, project, mine.id, "One")
    guard.note_of(desk.places.data, str(project)).unlink()
    held = leases.holder(desk, project)
    assert held is not None and held.holder == "Demonstration agent"
    leases.take(desk, project, mine.id, "One")
    assert len(noted(desk)) == 1


def test_a_holder_whose_agent_nobody_knows_is_another_agent(desk: Desk, project: Path) -> None:
    leases.take(desk, project, handoff(desk, "h-1", target="unheard-of").id, "One")
    guard.note_of(desk.places.data, str(project)).unlink()
    held = leases.holder(desk, project)
    assert held is not None and held.holder == "another agent"


def test_the_same_path_on_another_machine_is_another_worktree(
    desk: Desk, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases.take(desk, project, handoff(desk, "h-1").id, "One")
    here = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((here[0], "elsewhere", *here[2:])))
    assert leases.holder(desk, project) is None


def test_a_note_that_cannot_be_written_is_an_error_that_says_so(desk: Desk, project: Path) -> None:
    desk.places.data.mkdir(parents=True, exist_ok=True)
    (desk.places.data / "leases").write_text("in the way")
    with pytest.raises(StoreError):
        leases.take(desk, project, handoff(desk, "h-1").id, "One")


def test_asking_who_holds_a_worktree_makes_no_store(tmp_path: Path, project: Path) -> None:
    desk = open_desk(env={"SEGUE_HOME": str(tmp_path / "empty"), "HOME": str(tmp_path)}, cwd=project)
    assert leases.holder(desk, project) is None
    leases.give_back(desk, project, "h-1")
    assert not (tmp_path / "empty").exists()
