"""Create or upgrade a store's schema; refuse a newer one.

A new store is made from schema.sql; an older one runs the missing migrations. Each is one transaction, so a crash
leaves the store unchanged.
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
    """The migrations of a store, and the schema that they add up to."""

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
    """Version of the schema; None for an empty database."""
    if "meta" not in transaction.tables():
        return None
    meta = {row["key"]: row["value"] for row in transaction.all("meta_all")}
    return int(meta["version"]) if meta.get("version", "").isdecimal() else 0


def bring_up(database: Database, plan: Plan, before_upgrade: Callable[[int], None]) -> None:
    """Create or upgrade the schema, or raise; calls `before_upgrade` with the old version first."""
    with database.read() as transaction:
        found = version_in(transaction)
    if found == plan.newest:
        return
    _refuse(database, plan, found)
    if found is not None:
        before_upgrade(found)

    def work(transaction: Transaction) -> None:
        # Another process may have upgraded it since.
        now_found = version_in(transaction)
        _refuse(database, plan, now_found)
        if now_found is None:
            create(transaction, plan)
        else:
            upgrade(transaction, plan, now_found)

    in_transaction(database, work, alone=True)


def _refuse(database: Database, plan: Plan, found: int | None) -> None:
    if found == 0:
        raise StoreDamaged(place=database.place, what="its version is missing")
    if found is not None and found > plan.newest:
        raise StoreNewer(place=database.place, found=found, known=plan.newest)


def create(transaction: Transaction, plan: Plan) -> None:
    """Create a store in an empty database."""
    create_tables(transaction, plan, plan.newest)
    transaction.run("meta_put", key="version", value=str(plan.newest))
    transaction.run("meta_put", key="store", value=os.urandom(8).hex())


def create_tables(transaction: Transaction, plan: Plan, version: int) -> None:
    """Create the empty tables of a version."""
    if plan.schema and version == plan.newest:
        transaction.script(plan.schema)
        return
    for migration in plan.migrations:
        if migration.version <= version:
            transaction.script(migration.sql)


def upgrade(transaction: Transaction, plan: Plan, found: int) -> None:
    """Run the missing migrations."""
    for migration in plan.migrations:
        if migration.version > found:
            transaction.script(migration.sql)
            transaction.run("meta_put", key="version", value=str(migration.version))
