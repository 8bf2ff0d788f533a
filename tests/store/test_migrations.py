"""The schema is the sum of its migrations, an upgrade keeps what was there, a newer store is refused."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from segue import store
from segue.errors import StoreDamaged, StoreNewer
from segue.model import Operation, Session
from segue.store import HANDOFF, SESSION, backup, migrate, open_stores
from segue.store.database import Database, in_transaction
from segue.store.shared import append
from tests import FIXTURES
from tests.conftest import Place
from tests.store.test_shared import a_session


def shape_of(database: Database) -> Any:
    """Everything the database itself knows of its tables, columns and indexes."""
    if database.dialect == "sqlite":
        with contextlib.closing(sqlite3.connect(database.place)) as connection:
            names = [
                name for (name,) in connection.execute("select name from sqlite_master where type='table'")
            ]
            return {
                name: (
                    connection.execute(f"pragma table_info({name})").fetchall(),
                    sorted(
                        (row[1], row[2], connection.execute(f"pragma index_info({row[1]})").fetchall())
                        for row in connection.execute(f"pragma index_list({name})").fetchall()
                    ),
                )
                for name in names
            }
    connection = database._connection  # type: ignore[attr-defined]
    columns = connection.execute(
        "select table_name, column_name, ordinal_position, data_type, is_nullable, column_default "
        "from information_schema.columns where table_schema = 'segue' order by 1, 3"
    ).fetchall()
    indexes = connection.execute(
        "select indexdef from pg_indexes where schemaname = 'segue' order by 1"
    ).fetchall()
    return columns, indexes


def at_version(place: Place, version: int) -> Database:
    """A store as an older Segue made it."""
    database = store.connect(place.data, place.settings)
    plan = store.plan_for(database)
    older = migrate.Plan(plan.migrations[:version])

    def work(transaction: Any) -> None:
        migrate.create(transaction, older)

    in_transaction(database, work, alone=True)
    return database


def test_the_schema_is_the_sum_of_the_migrations(place: Place, tmp_path: Path) -> None:
    database = store.connect(place.data, place.settings)
    plan = store.plan_for(database)
    assert [migration.version for migration in plan.migrations] == list(range(1, plan.newest + 1))
    in_transaction(database, lambda t: migrate.create(t, plan), alone=True)
    from_schema = shape_of(database)

    def again(transaction: Any) -> None:
        for table in transaction.tables():
            transaction.script(f"drop table {table}")
        if database.dialect == "postgres":
            transaction.script("drop table blob_data")
        migrate.create(transaction, migrate.Plan(plan.migrations))

    in_transaction(database, again, alone=True)
    assert shape_of(database) == from_schema
    database.close()


def test_an_upgrade_keeps_the_data_and_makes_a_backup_first(place: Place) -> None:
    database = at_version(place, 1)
    with database.write() as transaction:
        row = SESSION.to_row(a_session("s-old", "from before"))
        columns = {"id", "title", "owner", "project", "status", "epoch", "created_at", "updated_at"}
        transaction.insert("session", {column: row[column] for column in columns})
        operation = Operation(
            id="op-1",
            chain="s-old",
            kind="session.created",
            subject="session:s-old",
            actor="ada",
            at=row["created_at"],
            after=msgspec.json.encode(a_session("s-old", "from before")).decode(),
        )
        append(transaction, operation)
    database.close()
    shared = place.open()
    assert shared.get(SESSION, "s-old") == a_session("s-old", "from before")
    shared.offer("step", "step:1")
    assert shared.verify() == (1, [])
    shared.close()
    (made,) = backup.list_in(store.backups_folder(place.data))
    assert made.header is not None and made.header.version == 1 and "upgrade" in made.header.why


def test_every_older_version_can_be_upgraded(place: Place) -> None:
    newest = place.open()
    expected = shape_of(newest.database)
    plan = store.plan_for(newest.database)
    for version in range(1, plan.newest):

        def back(transaction: Any, version: int = version) -> None:
            for table in transaction.tables():
                transaction.script(f"drop table {table}")
            migrate.create(transaction, migrate.Plan(plan.migrations[:version]))

        in_transaction(newest.database, back, alone=True)
        place.open().close()
        assert shape_of(newest.database) == expected
    newest.close()


def test_a_failed_migration_leaves_the_store_as_it_was(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    database = at_version(place, 1)
    before = shape_of(database)
    plan = store.plan_for(database)
    broken = migrate.Migration(2, "broken", "create table fresh (id text); select nonsense from nowhere;")
    monkeypatch.setattr(open_stores, "plan_for", lambda _: migrate.Plan((plan.migrations[0], broken)))
    with pytest.raises(StoreDamaged):
        place.open()
    assert shape_of(database) == before
    database.close()


def test_a_newer_store_is_refused_and_left_alone(place: Place) -> None:
    shared = place.open()
    with shared.database.write() as transaction:
        transaction.run("meta_put", key="version", value="99")
    before = shape_of(shared.database)
    with pytest.raises(StoreNewer, match="99"):
        place.open()
    assert shape_of(shared.database) == before
    shared.close()


def test_a_restored_backup_of_an_older_version_is_upgraded(place: Place, tmp_path: Path) -> None:
    database = at_version(place, 1)
    made = backup.make(database, tmp_path / "b", "2026-11-16T09:30:00.000000Z")
    database.close()
    shared = place.open()
    shared.record(SESSION, "session.created", "s-1", lambda _: a_session("s-1"))
    record = Operation(
        id="op-r", chain="store", kind="store.restored", subject="backup:b", actor="ada", at="2027"
    )
    backup.restore(shared.database, store.plan_for(shared.database), Path(made.path), tmp_path, record)
    assert shared.all(SESSION) == []
    shared.offer("step", "step:1")
    assert [operation.kind for operation in shared.operations()] == ["store.restored"]
    shared.close()


@pytest.mark.parametrize("old", sorted(FIXTURES.glob("*.segue-backup")), ids=lambda p: p.stem)
def test_what_an_earlier_segue_kept_is_restored_and_still_verifies(
    place: Place, tmp_path: Path, old: Path
) -> None:
    """A backup of every version of the schema, as it was written then: hashes and values must not drift."""
    shared = place.open()
    record = Operation(
        id="op-r", chain="store", kind="store.restored", subject="backup:b", actor="ada", at="2027"
    )
    backup.restore(shared.database, store.plan_for(shared.database), old, tmp_path / "saved", record)
    assert shared.verify()[1] == [] and shared.damaged_blobs() == []
    assert len(shared.all(SESSION)) == 2 and len(shared.all(HANDOFF)) == 1
    shared.close()


def test_there_is_a_backup_of_the_present_version() -> None:
    newest = migrate.read_plan("migrations", "sqlite", schema=True).newest
    assert FIXTURES.joinpath(f"schema-{newest}.segue-backup").exists()


def test_two_people_share_one_postgresql_store(tmp_path: Path, postgres_url: str) -> None:
    ada = Place(tmp_path / "ada", postgres_url).open(actor="ada")
    bob = Place(tmp_path / "bob", postgres_url).open(actor="bob")
    ada.record(SESSION, "session.created", "s-1", lambda _: a_session("s-1"))
    found: Session = bob.get(SESSION, "s-1")
    assert found.title == "work"
    blob = ada.keep(b"kept in the database")
    assert bob.content(blob.hash) == b"kept in the database"
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("select count(*) from segue.blob_data").fetchone() == (1,)
    ada.close()
    bob.close()
