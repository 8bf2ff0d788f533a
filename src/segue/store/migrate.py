"""Bringing a store's schema to what this Segue knows: create, upgrade, or refuse a newer one.

A new store is made from schema.sql; an older one takes the migrations it lacks, in one transaction.
Both are transactional on both databases, so a kill in between leaves the store as it was.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from segue.errors import StoreDamaged, StoreNewer
from segue.store import queries
from segue.store.database import Database, Transaction, in_transaction


class Migration(Struct, frozen=True):
    version: int
    name: str
    sql: str


class Plan(Struct, frozen=True):
    """How a kind of store comes to be: its migrations, and the schema they add up to."""

    migrations: tuple[Migration, ...]
    schema: str | None = None

    @property
    def newest(self) -> int:
        return self.migrations[-1].version


def read_plan(folder: str, dialect: str, schema: bool) -> Plan:
    found = []
    for path in sorted(Path(queries.HERE, folder).glob("*.sql")):
        if match := re.fullmatch(r"(\d{4})_(\w+)\.sql", path.name):
            beside = path.with_suffix(f".{dialect}.sql")
            parts = [part.read_text(encoding="utf-8") for part in (path, beside) if part.exists()]
            text = "\n".join(parts)
            found.append(Migration(int(match.group(1)), match.group(2), text))
    whole = queries.text("schema.sql") if schema else None
    if whole and dialect == "postgres":
        whole += queries.text("schema.postgres.sql")
    return Plan(tuple(found), whole)


def version_in(transaction: Transaction) -> int | None:
    """The version of the schema; None where there is none yet."""
    if "meta" not in transaction.tables():
        return None
    meta = {row["key"]: row["value"] for row in transaction.all("meta_all")}
    return int(meta["version"]) if meta.get("version", "").isdecimal() else 0


def bring_up(database: Database, plan: Plan, before_upgrade: Callable[[int], None]) -> None:
    """Make the store fit for this Segue, or raise; `before_upgrade` is told the old version first."""
    with database.read() as transaction:
        found = version_in(transaction)
    if found == plan.newest:
        return
    _refuse(database, plan, found)
    if found is not None:
        before_upgrade(found)

    def work(transaction: Transaction) -> None:
        # Another process may have done it since.
        now_found = version_in(transaction)
        _refuse(database, plan, now_found)
        if now_found is None:
            create(transaction, plan)
        else:
            upgrade(transaction, plan, now_found)

    in_transaction(database, work, alone=True)


def _refuse(database: Database, plan: Plan, found: int | None) -> None:
    if found == 0:
        raise StoreDamaged(place=database.place, what="it does not say which version it is")
    if found is not None and found > plan.newest:
        raise StoreNewer(place=database.place, found=found, known=plan.newest)


def create(transaction: Transaction, plan: Plan) -> None:
    """A new store in an empty database."""
    create_tables(transaction, plan, plan.newest)
    transaction.run("meta_put", key="version", value=str(plan.newest))
    transaction.run("meta_put", key="store", value=os.urandom(8).hex())


def create_tables(transaction: Transaction, plan: Plan, version: int) -> None:
    """The tables as they are at a version, empty."""
    if plan.schema and version == plan.newest:
        transaction.script(plan.schema)
        return
    for migration in plan.migrations:
        if migration.version <= version:
            transaction.script(migration.sql)


def upgrade(transaction: Transaction, plan: Plan, found: int) -> None:
    """The migrations that a store of an older version lacks."""
    for migration in plan.migrations:
        if migration.version > found:
            transaction.script(migration.sql)
            transaction.run("meta_put", key="version", value=str(migration.version))
