"""The shared store keeps its promises, the same on both databases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from segue.base import clock
from segue.errors import BlobDamaged, InUse, KeyTaken, LeaseLost, NotFound
from segue.model import Handoff, HandoffState, Package, Session, SessionStatus, Tier
from segue.store import HANDOFF, SESSION, Shared, chain
from tests import postgres
from tests.conftest import Place, StillClock

NOW = "2026-11-16T09:30:00.000000Z"


def a_session(id: str, title: str = "work", epoch: int = 1) -> Session:
    return Session(
        id=id,
        title=title,
        owner="ada",
        project="/p",
        status=SessionStatus.OPEN,
        epoch=epoch,
        created_at=NOW,
        updated_at=NOW,
    )


def a_handoff(shared: Shared, id: str, session: str) -> Handoff:
    hash = shared.keep(b"context, brief and receipt in one").hash
    return Handoff(
        id=id,
        session=session,
        source="demo",
        target="demo",
        tier=Tier.SELECTIVE,
        state=HandoffState.PREPARED,
        reason="test",
        package=Package(context=hash, size=1, stored=1, brief=hash),
        receipt=hash,
        created_at=NOW,
        updated_at=NOW,
    )


def at_epoch(epoch: int) -> Callable[[Session | None], Session]:
    return lambda _present: a_session("s-1", epoch=epoch)


def create(shared: Shared, id: str, **more: Any) -> None:
    shared.record(SESSION, "session.created", id, lambda _: a_session(id), **more)


def test_what_is_recorded_can_be_read_back(shared: Shared) -> None:
    change = shared.record(SESSION, "session.created", "s-1", lambda _: a_session("s-1", "tîtle 🙂"))
    assert shared.get(SESSION, "s-1") == change.value == a_session("s-1", "tîtle 🙂")
    assert shared.operations()[0] == change.operation


def test_a_session_is_found_by_the_start_of_its_id(shared: Shared) -> None:
    create(shared, "s-abc")
    create(shared, "s-abd")
    create(shared, "s-%bd")
    assert shared.get(SESSION, "s-abc").id == "s-abc"
    with pytest.raises(Exception, match="More than one"):
        shared.get(SESSION, "s-ab")
    with pytest.raises(NotFound):
        shared.get(SESSION, "s-_b")
    with pytest.raises(NotFound):
        shared.get(SESSION, "")


def test_a_decision_that_fails_leaves_no_trace(shared: Shared) -> None:
    def refuse(_present: Session | None) -> Session:
        raise NotFound(noun="session", name="x", next="-")

    with pytest.raises(NotFound):
        shared.record(SESSION, "session.created", "s-1", refuse)
    assert shared.operations() == []
    assert shared.verify() == (0, [])


def test_a_retry_with_the_same_key_gives_the_same_result_and_changes_nothing(shared: Shared) -> None:
    def once(id: str) -> str:
        change = shared.record(
            SESSION, "session.created", id, lambda _: a_session(id), key="k1", request=["work"]
        )
        return change.operation.id

    assert once("s-1") == once("s-2")
    assert [session.id for session in shared.all(SESSION)] == ["s-1"]
    assert len(shared.operations()) == 1


def test_a_key_cannot_be_taken_over_by_another_request(shared: Shared) -> None:
    create(shared, "s-1", key="k1", request="one")
    with pytest.raises(KeyTaken):
        create(shared, "s-2", key="k1", request="two")
    assert len(shared.operations()) == 1


def test_the_operations_of_a_session_form_a_chain_without_gaps(shared: Shared) -> None:
    create(shared, "s-1")
    for epoch in range(2, 6):
        shared.record(SESSION, "session.renamed", "s-1", at_epoch(epoch))
    create(shared, "s-2")
    links = [operation for operation in reversed(shared.operations()) if operation.chain == "s-1"]
    assert [link.n for link in links] == [1, 2, 3, 4, 5]
    assert [link.prev for link in links] == ["", *(link.hash for link in links[:-1])]
    assert shared.verify() == (2, [])


def test_a_clock_that_is_set_back_does_not_make_a_chain_run_backwards(place: Place) -> None:
    still = StillClock()
    shared = place.open(clock=still)
    create(shared, "s-1")
    still.time = "2020-01-01T00:00:00.000000Z"
    shared.record(SESSION, "session.closed", "s-1", lambda s: s)
    later, earlier = shared.operations()
    assert later.at >= earlier.at and later.n == 2
    assert shared.verify() == (1, [])
    shared.close()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=5000))
def test_any_content_comes_back_as_it_was(shared: Shared, content: bytes) -> None:
    blob = shared.keep(content)
    assert blob.size == len(content)
    assert shared.content(blob.hash) == content


def test_the_same_content_is_kept_once(shared: Shared) -> None:
    assert shared.keep(b"x" * 100_000).hash == shared.keep(b"x" * 100_000).hash
    with shared.database.read() as transaction:
        assert len(transaction.all("blob_all")) == 1


def test_content_that_is_not_there_is_an_error_that_says_so(shared: Shared) -> None:
    with pytest.raises(BlobDamaged, match="is missing"):
        shared.content("0" * 64)


def test_reading_does_not_see_a_change_that_comes_meanwhile(place: Place, shared: Shared) -> None:
    create(shared, "s-1")
    other = place.open()
    with shared.database.snapshot() as transaction:
        first = list(transaction.rows("session"))
        create(other, "s-2")
        assert list(transaction.rows("session")) == first
    other.close()
    assert len(shared.all(SESSION)) == 2


# Leases


def test_what_is_claimed_is_not_claimed_twice(shared: Shared) -> None:
    shared.offer("step", "step:1")
    shared.offer("step", "step:1")
    lease = shared.claim("step", 60, holder="one")
    assert lease is not None and lease.token == 1
    assert shared.claim("step", 60, holder="two") is None


def test_a_lease_that_ran_out_can_be_claimed_and_the_old_holder_is_refused(place: Place) -> None:
    still = StillClock()
    shared = place.open(clock=still)
    shared.offer("step", "step:1")
    old = shared.claim("step", 60, holder="one")
    assert old is not None
    still.time = clock.later(still.time, 61)
    new = shared.claim("step", 60, holder="two")
    assert new is not None and new.token == old.token + 1
    with pytest.raises(LeaseLost):
        shared.renew(old, 60)
    with pytest.raises(LeaseLost):
        shared.settle(old)
    with pytest.raises(LeaseLost):
        shared.release(old)
    shared.renew(new, 60)
    shared.settle(new)
    assert shared.claim("step", 60, "two") is None
    shared.close()


def test_the_longest_due_is_claimed_first_and_nothing_before_its_time(place: Place) -> None:
    shared = place.open(clock=lambda: "2026-01-02T00:00:00.000000Z")
    shared.offer("step", "step:late", "2026-01-01T12:00:00.000000Z")
    shared.offer("step", "step:early", "2026-01-01T00:00:00.000000Z")
    shared.offer("step", "step:future", "2026-01-03T00:00:00.000000Z")
    shared.offer("message", "message:1", "2025-01-01T00:00:00.000000Z")
    claimed = [shared.claim("step", 60, "one") for _ in range(3)]
    assert [lease.subject if lease else None for lease in claimed] == ["step:early", "step:late", None]
    shared.close()


def test_a_released_lease_is_free_again(shared: Shared) -> None:
    shared.offer("step", "step:1")
    lease = shared.claim("step", 60, "one")
    assert lease is not None
    shared.release(lease)
    again = shared.claim("step", 60, "two")
    assert again is not None and again.token == 2


def test_what_was_settled_and_is_offered_again_has_a_new_token(shared: Shared) -> None:
    shared.offer("step", "step:1")
    old = shared.claim("step", 600, "one")
    assert old is not None
    shared.settle(old)
    assert shared.claim("step", 600, "one") is None
    shared.offer("step", "step:1")
    new = shared.claim("step", 600, "one")
    assert new is not None and new.token > old.token
    with pytest.raises(LeaseLost):
        shared.settle(old)


# The chain finds what was tampered with


TAMPERING = {
    "changed": "update operation set actor = 'eve' where n = 2",
    "changed after": "update operation set after = replace(after, 'work', 'Work') where n = 2",
    "removed in the middle": "delete from operation where n = 2",
    "removed at the end": "delete from operation where n = 3",
    "head moved": "update head set n = 2",
    "head gone": "delete from head",
    "all gone": "delete from operation",
    "row changed": "update session set title = 'other'",
    "row gone": "delete from session",
    "row from nowhere": "insert into session select 's-9', title, owner, project, status, epoch, created_at, "
    "updated_at, transcripts, satisfaction, task from session",
    "row nonsense": "update session set status = 'nonsense'",
}


@pytest.mark.parametrize("how", TAMPERING)
def test_tampering_shows(shared: Shared, how: str) -> None:
    create(shared, "s-1")
    for epoch in (2, 3):
        shared.record(SESSION, "session.x", "s-1", at_epoch(epoch))
    assert shared.verify() == (1, [])
    with shared.database.write() as transaction:
        transaction.script(TAMPERING[how])
    assert shared.verify()[1] != []


def test_a_field_that_came_later_does_not_look_like_tampering(shared: Shared) -> None:
    """An older Segue recorded operations without it; the row has its default."""
    create(shared, "s-1")
    handoff = a_handoff(shared, "h-1", "s-1")
    shared.record(HANDOFF, "handoff.prepared", "h-1", lambda _: handoff)
    first, second = shared.operations()[::-1]
    assert second.after is not None
    fields = msgspec.json.decode(second.after)
    del fields["proof"], fields["expected_output"]
    older = chain.sealed(msgspec.structs.replace(second, after=msgspec.json.encode(fields).decode()))
    with shared.database.write() as transaction:
        transaction.script("delete from operation where n = 2")
        transaction.run("operation_add", **msgspec.structs.asdict(older))
        transaction.run("head_put", chain=older.chain, n=older.n, hash=older.hash, at=older.at)
    assert first.n == 1 and shared.verify() == (1, [])


def test_a_handoff_needs_its_session_and_its_content(shared: Shared) -> None:
    lost, found = a_handoff(shared, "h-1", "s-none"), a_handoff(shared, "h-1", "s-1")
    with pytest.raises(NotFound):
        shared.record(HANDOFF, "handoff.prepared", "h-1", lambda _: lost)
    create(shared, "s-1")
    shared.record(HANDOFF, "handoff.prepared", "h-1", lambda _: found)
    with pytest.raises(InUse):
        shared.record(SESSION, "session.undone", "s-1", lambda _: None)
    empty = msgspec.structs.replace(found, id="h-2", receipt="0" * 64)
    with pytest.raises(BlobDamaged):
        shared.record(HANDOFF, "handoff.prepared", "h-2", lambda _: empty)
    assert shared.verify() == (1, [])


def test_work_in_a_folder_is_found_however_much_there_is_elsewhere(shared: Shared) -> None:
    create(shared, "s-mine")
    with shared.database.write() as transaction:
        for number in range(1200):
            other = msgspec.structs.replace(
                a_session(f"s-{number}"), project="/elsewhere", updated_at="2030" + NOW[4:]
            )
            transaction.run("session_put", **SESSION.to_row(other))
    assert [session.id for session in shared.open_sessions("/p")] == ["s-mine"]


def test_a_database_without_an_encoding_works(tmp_path: Path, postgres_server: str) -> None:
    with postgres.database(
        postgres_server, "encoding 'SQL_ASCII' template template0 lc_collate 'C' lc_ctype 'C'"
    ) as url:
        for _ in range(2):
            shared = Place(tmp_path / "data", url).open()
            shared.record(SESSION, "session.created", "s-1", lambda _: a_session("s-1", "tîtle"))
            assert shared.get(SESSION, "s-1").title == "tîtle"
            shared.close()


def test_values_survive_the_round_trip_through_an_operation(shared: Shared) -> None:
    create(shared, "s-1")
    after = shared.operations()[0].after
    assert after is not None
    assert msgspec.json.decode(after, type=Session) == a_session("s-1")
