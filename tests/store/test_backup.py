"""A backup is whole or it is refused; restoring gives back exactly what was there."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import random
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
import zstandard

from bench import writers
from segue import store
from segue.base import clock
from segue.errors import BackupDamaged, LeaseLost
from segue.model import Operation
from segue.store import SESSION, Shared, backup
from tests.conftest import CommandLine, Place
from tests.store.test_shared import a_session, create

NOW = "2026-11-16T09:30:00.000000Z"


def record_of(name: str) -> Operation:
    return Operation(
        id=f"op-{name}", chain="store", kind="store.restored", subject="backup:b", actor="ada", at=NOW
    )


def bring_back(shared: Shared, path: Path, name: str) -> Path | None:
    """Restore, as the command does."""
    plan = store.plan_for(shared.database)
    return backup.restore(shared.database, plan, path, path.parent / "saved", record_of(name))


def fill(shared: Shared) -> None:
    for number in range(5):
        create(shared, f"s-{number}")
    shared.keep(b"some content" * 1000)
    shared.offer("step", "step:1")


def everything(shared: Shared) -> dict[str, list[Any]]:
    with shared.database.snapshot() as transaction:
        return {name: sorted(map(str, transaction.rows(name))) for name in transaction.tables()}


def test_a_restored_store_is_what_it_was(place: Place, shared: Shared, tmp_path: Path) -> None:
    fill(shared)
    before = everything(shared)
    made = backup.make(shared.database, tmp_path / "backups", NOW)
    shared.record(SESSION, "session.created", "s-new", lambda _: a_session("s-new"))
    bring_back(shared, Path(made.path), "r")
    after = everything(shared)
    for table in ("session", "handoff", "blob", "lease", "meta"):
        assert after[table] == before[table]
    assert set(before["operation"]) < set(after["operation"])
    assert shared.verify()[1] == []


def test_blobs_come_back_too(place: Place, shared: Shared, tmp_path: Path) -> None:
    hash = shared.keep(b"precious").hash
    made = backup.make(shared.database, tmp_path / "backups", NOW)
    if place.url:
        with shared.database.write() as transaction:
            transaction.script("delete from blob_data")
    else:
        shutil.rmtree(place.data / "shared" / "blobs")
    assert len(shared.damaged_blobs()) == 1
    bring_back(shared, Path(made.path), "r")
    assert shared.content(hash) == b"precious"
    assert shared.damaged_blobs() == []


def test_a_backup_moves_a_store_from_sqlite_to_postgresql(tmp_path: Path, postgres_url: str) -> None:
    small = Place(tmp_path / "small", "").open()
    fill(small)
    hash = small.keep(b"precious").hash
    made = backup.make(small.database, tmp_path / "backups", NOW)
    large = Place(tmp_path / "large", postgres_url).open()
    bring_back(large, Path(made.path), "r")
    assert everything(large)["session"] == everything(small)["session"]
    assert large.content(hash) == b"precious"
    assert large.verify()[1] == []
    small.close()
    large.close()


def test_readers_see_the_store_before_or_after_a_restore_and_nothing_between(
    place: Place, tmp_path: Path
) -> None:
    shared = place.open(clock=clock.now)
    fill(shared)
    made = backup.make(shared.database, tmp_path / "backups", NOW)
    seen: set[int] = set()
    problems: list[str] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            try:
                reader = place.open(clock=clock.now)
                seen.add(len(reader.all(SESSION)))
                problems.extend(str(flaw) for flaw in reader.verify()[1])
                reader.close()
            except Exception as error:  # noqa: BLE001 - whatever it is, a reader must not see it
                problems.append(repr(error))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(10):
        bring_back(shared, Path(made.path), str(number))
    stop.set()
    for reader in readers:
        reader.join(30)
    assert problems == []
    assert seen == {5}
    shared.close()


def test_a_restore_loses_no_write_of_anyone_else(place: Place, tmp_path: Path) -> None:
    """Whatever was acknowledged is in the store, or in what was saved when it was replaced."""
    shared = place.open(clock=clock.now)
    fill(shared)
    made = backup.make(shared.database, tmp_path / "backups", NOW)
    context = multiprocessing.get_context("fork")
    files = [tmp_path / f"acks-{number}" for number in range(3)]
    others = [
        context.Process(target=writers.write_for_ever, args=(place.data, place.url, number, file))
        for number, file in enumerate(files)
    ]
    for other in others:
        other.start()
    try:
        saved = []
        for number in range(6):
            time.sleep(0.3)
            saved.append(bring_back(shared, Path(made.path), str(number)))
        time.sleep(0.3)
    finally:
        for other in others:
            other.kill()
            other.join()
    kept = {operation.id for operation in shared.operations()}
    for path in filter(None, saved):
        kept |= {line.row["id"] for line in backup.read(path) if line.table == "operation" and line.row}
    acknowledged = [line.split()[1] for file in files for line in file.read_text().splitlines()]
    assert len(acknowledged) > 10
    assert [id for id in acknowledged if id not in kept] == []
    shared.close()


def test_a_restore_keeps_what_others_may_do(tmp_path: Path, postgres_url: str) -> None:
    shared = Place(tmp_path / "data", postgres_url).open()
    made = backup.make(shared.database, tmp_path / "backups", NOW)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("grant select on segue.session to public")
        bring_back(shared, Path(made.path), "r")
        query = "select count(*) from information_schema.role_table_grants where grantee = 'PUBLIC' and table_schema = 'segue'"
        assert connection.execute(query).fetchone() == (1,)
    shared.close()


def test_after_a_restore_no_earlier_lease_fits(place: Place, shared: Shared, tmp_path: Path) -> None:
    shared.offer("step", "step:1")
    made = backup.make(shared.database, tmp_path / "backups", NOW)
    held = shared.claim("step", 600, "one")
    assert held is not None
    bring_back(shared, Path(made.path), "r")
    again = shared.claim("step", 600, "one")
    assert again is not None and again.token > held.token
    with pytest.raises(LeaseLost):
        shared.settle(held)


def test_tokens_never_come_twice_and_never_explode(place: Place, shared: Shared, tmp_path: Path) -> None:
    made = backup.make(shared.database, tmp_path / "backups", NOW)
    given: list[int] = []
    for number in range(70):
        shared.offer("step", "step:1")
        lease = shared.claim("step", 600, "one")
        assert lease is not None
        given.append(lease.token)
        bring_back(shared, Path(made.path), str(number))
    assert given == sorted(set(given)) and given[-1] < 1000


HOSTILE = {
    "nothing at all": {},
    "a version that is none": {"table": "meta", "row": {"key": "version", "value": "9" * 5000}},
    "a table that is none of ours": {"table": "sqlite_master", "row": {"name": "x"}},
    "a name that is no name": {"table": "session; drop table session", "row": {"id": "x"}},
    "a column that is no name": {"table": "session", "row": {"id) values ('x'); --": 1}},
    "a column that is not there": {"table": "session", "row": {"nothing": 1}},
    "a value that is no value": {"table": "session", "row": {"id": ["x"]}},
    "a row without history": {"table": "lease", "row": {"subject": "x"}},
    "content under a false name": {"blob": "../../../evil", "data": "AAAA"},
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_backup_is_refused(tmp_path: Path, what: str) -> None:
    shared = Place(tmp_path / "home" / "data", "").open()
    fill(shared)
    before = everything(shared)
    lines = [
        json.dumps({"header": {"format": 1, "version": 3, "made_at": NOW, "made_from": "x"}}).encode()
        + b"\n",
        json.dumps(HOSTILE[what]).encode() + b"\n",
    ]
    end = json.dumps({"end": hashlib.sha256(b"".join(lines)).hexdigest()}).encode() + b"\n"
    evil = tmp_path / "evil.segue-backup"
    evil.write_bytes(zstandard.compress(b"".join([*lines, end])))
    with pytest.raises(BackupDamaged):
        bring_back(shared, evil, "r")
    assert everything(shared) == before
    assert {path.name for path in tmp_path.iterdir()} == {"home", "evil.segue-backup"}
    assert not list(tmp_path.glob("saved/*"))
    shared.close()


def test_what_a_header_says_cannot_move_a_terminal(cli: CommandLine, tmp_path: Path) -> None:
    cli("session", "create")
    made = cli("backup", "make").out.split()[1].replace("/ada", str(cli.folder), 1)
    whole = zstandard.ZstdDecompressor().decompressobj().decompress(Path(made).read_bytes())
    lines = whole.splitlines(keepends=True)
    lines[0] = lines[0].replace(b'"made_at":"2026', b'"made_at":"\\u001b]0;x\\u0007')
    lines[-1] = json.dumps({"end": hashlib.sha256(b"".join(lines[:-1])).hexdigest()}).encode() + b"\n"
    evil = tmp_path / "evil.segue-backup"
    evil.write_bytes(zstandard.compress(b"".join(lines)))
    done = cli("backup", "restore", str(evil), "--yes")
    assert done.code == 0 and "\x1b" not in done.out + cli("log").out


def test_a_small_backup_that_claims_to_be_huge_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "LONGEST_LINE", 10_000_000)
    bomb = tmp_path / "bomb.segue-backup"
    bomb.write_bytes(zstandard.compress(b"0" * 50_000_000))
    with pytest.raises(BackupDamaged, match=r"too long|far too many"):
        backup.check(bomb)


def keep_writing(data: Path, url: str, acks: Path) -> None:
    writers.write_for_ever(data, url, 1, acks)


def test_a_backup_made_while_others_write_is_one_moment(place: Place, tmp_path: Path) -> None:
    shared = place.open(clock=clock.now)
    context = multiprocessing.get_context("fork")
    writer = context.Process(target=keep_writing, args=(place.data, place.url, tmp_path / "acks"))
    writer.start()
    try:
        deadline = time.monotonic() + 30
        while not shared.operations(1) and time.monotonic() < deadline:
            time.sleep(0.01)
        made = [backup.make(shared.database, tmp_path / "backups", clock.now()) for _ in range(5)]
    finally:
        writer.kill()
        writer.join()
    for one in made:
        bring_back(shared, Path(one.path), one.name)
        assert shared.verify()[1] == []
    shared.close()


def test_any_damage_to_a_backup_is_noticed_and_the_store_is_left_alone(tmp_path: Path) -> None:
    place = Place(tmp_path / "data", "")
    shared = place.open()
    fill(shared)
    made = backup.make(shared.database, tmp_path / "backups", NOW)
    whole = Path(made.path).read_bytes()
    before = everything(shared)
    chance = random.Random(11)
    broken = tmp_path / "broken.segue-backup"
    damaged = [whole[: chance.randrange(len(whole))] for _ in range(60)]
    for _ in range(140):
        position = chance.randrange(len(whole))
        flipped = bytes([whole[position] ^ (1 << chance.randrange(8))])
        damaged.append(whole[:position] + flipped + whole[position + 1 :])
    noticed = 0
    for content in [*damaged, b"", b"garbage", whole + b"more", whole + whole]:
        broken.write_bytes(content)
        try:
            bring_back(shared, broken, "r")
        except BackupDamaged:
            noticed += 1
            assert everything(shared) == before
        else:
            # A flipped bit in the frame's own header may change nothing that it holds.
            assert {k: v for k, v in everything(shared).items() if k in ("session", "blob")} == {
                k: v for k, v in before.items() if k in ("session", "blob")
            }
            before = everything(shared)
    assert noticed >= 195
    shared.close()


def test_a_backup_of_a_newer_segue_is_refused(tmp_path: Path) -> None:
    shared = Place(tmp_path / "data", "").open()
    with shared.database.write() as transaction:
        transaction.run("meta_put", key="version", value="99")
    made = backup.make(shared.database, tmp_path / "backups", NOW)
    with shared.database.write() as transaction:
        transaction.run("meta_put", key="version", value="3")
    with pytest.raises(Exception, match="newer"):
        bring_back(shared, Path(made.path), "r")
    shared.close()


def test_restoring_asks_first_and_keeps_what_was_there(cli: CommandLine) -> None:
    cli("session", "create", "--title", "one")
    cli("backup", "make")
    cli("session", "create", "--title", "two")
    refused = cli("backup", "restore", "latest")
    assert refused.code == 2 and "not confirmed" in refused.err
    assert "two" in cli("session", "list").out
    done = cli("backup", "restore", "latest", "--yes")
    assert done.code == 0, done.err
    assert "two" not in cli("session", "list").out and "one" in cli("session", "list").out
    assert len(cli("backup", "list").out.splitlines()) == 2
    assert cli("log", "verify").code == 0


def test_a_restore_is_not_undone_by_undo_which_says_how(cli: CommandLine) -> None:
    cli("session", "create", "--title", "one")
    cli("backup", "make")
    cli("session", "create", "--title", "two")
    cli("backup", "restore", "latest", "--yes")
    refused = cli("undo")
    assert refused.code == 5 and "segue backup restore /ada" in refused.err
    saved = refused.err.split("segue backup restore ")[1].strip().replace("/ada", str(cli.folder), 1)
    assert cli("backup", "restore", saved, "--yes").code == 0
    assert "two" in cli("session", "list").out


def test_a_backup_that_cannot_be_read_is_listed_as_such(cli: CommandLine) -> None:
    cli("session", "create")
    cli("backup", "make")
    (cli.home / "data" / "backups" / "old.segue-backup").write_bytes(b"garbage")
    assert "unreadable" in cli("backup", "list").out
    assert cli("backup", "restore", "latest", "--yes").code == 0


def test_a_damaged_store_is_put_aside_and_restored(cli: CommandLine) -> None:
    cli("session", "create", "--title", "one")
    cli("backup", "make")
    file = cli.home / "data" / "shared" / "store.db"
    garbage = b"not a database at all" * 1000
    file.write_bytes(garbage)
    assert cli("session", "list").code == 4
    assert file.read_bytes() == garbage
    done = cli("backup", "restore", "latest", "--yes")
    assert done.code == 0, done.err
    assert "one" in cli("session", "list").out
    (kept,) = file.parent.glob("damaged-*/store.db")
    assert kept.read_bytes() == garbage
