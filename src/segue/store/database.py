"""The seam between the stores and the two databases: what `sqlite.py` and `postgres.py` both offer.

A database runs named statements inside transactions and keeps blobs. It knows nothing of sessions or
operations. Its exceptions are Segue's: a driver's own never leaves its file.
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
    """Two transactions met and this one gave way: it did nothing and can run again at once."""


class Transaction(Protocol):
    def all(self, query: str, **values: Any) -> list[Row]:
        """The rows that a named query gives."""

    def one(self, query: str, **values: Any) -> Row | None:
        """Its first row, if there is one."""

    def run(self, query: str, **values: Any) -> int:
        """Run a named statement; how many rows it touched."""

    def script(self, sql: str) -> None:
        """Run statements that are not named: a schema or a migration."""

    def tables(self) -> list[str]:
        """The names of the tables there are, blob_data left out."""

    def rows(self, table: str) -> Iterable[Row]:
        """Everything in a table, one row at a time."""

    def insert(self, table: str, row: Row) -> None:
        """Put a row back as `rows` gave it."""

    def hold(self, tables: Iterable[str]) -> None:
        """Let no other writer at these tables until the end; readers go on with what is there."""

    def clear(self, tables: Iterable[str]) -> None:
        """Remove all rows of these tables."""


class Database(Protocol):
    dialect: str
    """'sqlite' or 'postgres': which files of SQL apply."""
    place: str
    """Where it is, in words fit for an error message: no password in it."""
    busy_seconds: float
    """How long to wait for others."""

    def read(self) -> AbstractContextManager[Transaction]:
        """A transaction that sees one state of the store throughout."""

    def write(self, *, alone: bool = False) -> AbstractContextManager[Transaction]:
        """A transaction that commits at the end or leaves no trace. With `alone`, no other of its kind
        runs meanwhile: for changes of the schema."""

    def snapshot(self) -> AbstractContextManager[Transaction]:
        """One state of the store to read at leisure, without holding up writers."""

    def put_blob(self, hash: Hash, packed: bytes) -> None:
        """Keep content for good: it is safe when this returns."""

    def get_blob(self, hash: Hash) -> bytes | None:
        """Give content back as it was put; None where there is none."""

    def check(self) -> list[str]:
        """What the database's own means find wrong with it."""

    def close(self) -> None: ...


def in_transaction(database: Database, work: Callable[[Transaction], T], *, alone: bool = False) -> T:
    """Do work in a writing transaction, again from the start where it met another. The work must only
    act through the transaction it is given."""
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
    """A name that can stand in a statement as it is."""
    if not re.fullmatch(r"[a-z_]+", name):
        raise StoreError(place="a backup", what=f"it names a table or column '{name}'")
    return name
