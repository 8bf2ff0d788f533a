"""A backup is whole or it is refused; restoring gives back exactly what was there."""

from __future__ import annotations

import multiprocessing
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from bench import writers
from segue import clock, store
from segue.errors import BackupDamaged
from segue.model import Operation
from segue.store import SESSION, Shared, backup
from tests.conftest import CommandLine, Place
from tests.test_store import a_session, create

NOW = "2026-11-16T09:30:00.000000Z"


def record_of(name: str) -> Operation:
    return Operation(
        id=f"op-{name}", chain="store", kind="store.restored", subject="backup:b", actor="ada", at=NOW
    )


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
    backup.restore(shared.database, store.plan_for(shared.database), Path(made.path), record_of("r"))
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
    backup.restore(shared.database, store.plan_for(shared.database), Path(made.path), record_of("r"))
    assert shared.content(hash) == b"precious"
    assert shared.damaged_blobs() == []


def test_a_backup_moves_a_store_from_sqlite_to_postgresql(tmp_path: Path, postgres_url: str) -> None:
    small = Place(tmp_path / "small", "").open()
    fill(small)
    hash = small.keep(b"precious").hash
    made = backup.make(small.database, tmp_path / "backups", NOW)
    large = Place(tmp_path / "large", postgres_url).open()
    backup.restore(large.database, store.plan_for(large.database), Path(made.path), record_of("r"))
    assert everything(large)["session"] == everything(small)["session"]
    assert large.content(hash) == b"precious"
    assert large.verify()[1] == []
    small.close()
    large.close()


def keep_writing(data: Path, url: str, acks: Path) -> None:
    writers.write_for_ever(data, url, 1, acks)


def test_a_backup_made_while_others_write_is_one_moment(place: Place, tmp_path: Path) -> None:
    shared = place.open(clock=clock.now)
    context = multiprocessing.get_context("fork")
    writer = context.Process(target=keep_writing, args=(place.data, place.url, tmp_path / "acks"))
    writer.start()
    try:
        while not shared.operations(1):
            pass
        made = [backup.make(shared.database, tmp_path / "backups", clock.now()) for _ in range(5)]
    finally:
        writer.kill()
        writer.join()
    for one in made:
        backup.restore(shared.database, store.plan_for(shared.database), Path(one.path), record_of(one.name))
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
            backup.restore(shared.database, store.plan_for(shared.database), broken, record_of("r"))
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
        backup.restore(shared.database, store.plan_for(shared.database), Path(made.path), record_of("r"))
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
