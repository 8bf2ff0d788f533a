"""The interface that `sqlite.py` and `postgres.py` implement.

A database runs named statements in transactions and stores blobs. It knows nothing of sessions or operations. Driver
exceptions are converted to Segue's errors.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from segue.errors import StoreBusy, StoreError
from segue.model import Hash

Row = dict[str, Any]
T = TypeVar("T")


class Contention(Exception):
    """A conflict with another transaction: nothing was written; run it again."""


class Transaction(Protocol):
    def all(self, query: str, **values: Any) -> list[Row]:
        """The rows of a named query."""

    def one(self, query: str, **values: Any) -> Row | None:
        """The first row of a named query, if any."""

    def run(self, query: str, **values: Any) -> int:
        """Run a named statement; returns the number of affected rows."""

    def script(self, sql: str) -> None:
        """Run the statements of a schema or a migration."""

    def tables(self) -> list[str]:
        """Names of the tables, without blob_data."""

    def rows(self, table: str) -> Iterable[Row]:
        """All rows of a table."""

    def insert(self, table: str, row: Row) -> None:
        """Insert a row that `rows` returned."""

    def hold(self, tables: Iterable[str]) -> None:
        """Lock tables against other writers until the transaction ends; readers continue."""

    def clear(self, tables: Iterable[str]) -> None:
        """Remove all rows of these tables."""


class Database(Protocol):
    dialect: str
    """'sqlite' or 'postgres': which files of SQL apply."""
    place: str
    """Location for error messages, without a password."""
    busy_seconds: float
    """How long to wait for others."""

    def read(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one state of the store throughout."""

    def write(self, *, alone: bool = False) -> AbstractContextManager[Transaction]:
        """A transaction that commits at the end or rolls back. With `alone`, it excludes others with `alone`:
        for schema changes."""

    def snapshot(self) -> AbstractContextManager[Transaction]:
        """A consistent state of the store, read without blocking writers."""

    def put_blob(self, hash: Hash, packed: bytes) -> None:
        """Store content durably."""

    def get_blob(self, hash: Hash) -> bytes | None:
        """Read content as it was put; None if missing."""

    def check(self) -> list[str]:
        """Problems that the database's own integrity check finds."""

    def close(self) -> None: ...


def in_transaction(database: Database, work: Callable[[Transaction], T], *, alone: bool = False) -> T:
    """Run `work` in a write transaction, and retry it on conflicts. `work` must have no other side effects."""
    deadline = time.monotonic() + database.busy_seconds
    pause = 0.01
    while True:
        try:
            with database.write(alone=alone) as transaction:
                return work(transaction)
        except Contention as met:
            if time.monotonic() > deadline:
                raise StoreBusy(place=database.place, seconds=round(database.busy_seconds)) from met
        time.sleep(pause * os.urandom(1)[0] / 255)
        pause = min(2 * pause, 0.5)


def plain_name(name: str) -> str:
    """Check that a name needs no quoting in SQL."""
    if not re.fullmatch(r"[a-z_]+", name):
        raise StoreError(place="a backup", what=f"it names a table or column '{name}'")
    return name
