"""SQLite: one file for one user, in a private folder.

WAL is used only from SQLite 3.51.3 on: the WAL-reset bug of 3.7.0 to 3.51.2 can lose commits. Commits are synchronous;
writers start with BEGIN IMMEDIATE.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from segue.base import files
from segue.errors import (
    SegueError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreExposed,
    StoreForeign,
    StoreFull,
    StoreReadOnly,
)
from segue.model import Hash
from segue.store import os_errors, queries
from segue.store.blobs import BlobFiles
from segue.store.database import Contention, Row, Transaction, plain_name

WAL_IS_SAFE_FROM = (3, 51, 3)


def journal_mode() -> str:
    return "wal" if sqlite3.sqlite_version_info >= WAL_IS_SAFE_FROM else "delete"


class SqliteTransaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, query: str, **values: Any) -> list[Row]:
        cursor = self._connection.execute(queries.for_sqlite()[query], values)
        return [dict(row) for row in cursor.fetchall()]

    def one(self, query: str, **values: Any) -> Row | None:
        rows = self.all(query, **values)
        return rows[0] if rows else None

    def run(self, query: str, **values: Any) -> int:
        return self._connection.execute(queries.for_sqlite()[query], values).rowcount

    def script(self, sql: str) -> None:
        # Not executescript: it would commit first.
        statement = ""
        for part in sql.split(";"):
            statement += part + ";"
            if sqlite3.complete_statement(statement):
                self._connection.execute(statement)
                statement = ""

    def tables(self) -> list[str]:
        cursor = self._connection.execute("select name from sqlite_master where type = 'table' order by name")
        return [name for (name,) in cursor.fetchall() if not name.startswith("sqlite_")]

    def rows(self, table: str) -> Iterable[Row]:
        cursor = self._connection.execute(f"select * from {plain_name(table)}")  # noqa: S608 - checked
        return (dict(row) for row in cursor)

    def insert(self, table: str, row: Row) -> None:
        columns = [plain_name(column) for column in row]
        values = ", ".join(f":{column}" for column in columns)
        statement = f"insert into {plain_name(table)} ({', '.join(columns)}) values ({values})"  # noqa: S608
        self._connection.execute(statement, row)

    def hold(self, tables: Iterable[str]) -> None:
        """Nothing to do: every writer of SQLite is alone."""

    def clear(self, tables: Iterable[str]) -> None:
        for table in tables:
            self._connection.execute(f"delete from {plain_name(table)}")  # noqa: S608 - checked


def scratch() -> sqlite3.Connection:
    """A temporary database."""
    connection = sqlite3.connect("", isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


class SqliteDatabase:
    dialect = "sqlite"

    def __init__(self, path: Path, *, busy_seconds: float = 30, blobs: Path | None = None) -> None:
        """Open or create the file. Blobs are beside it by default."""
        self.path = path
        self.place = str(path)
        self.blobs = BlobFiles(blobs or path.parent / "blobs")
        self.busy_seconds = busy_seconds
        with os_errors.translated(path):
            self._was_there = path.exists()
        self._make_file()
        self._refuse_exposed()
        self._connection = self._connect(path)

    def _make_file(self) -> None:
        with os_errors.translated(self.path.parent):
            files.make_private_folder(self.path.parent)
            for path in (self.path, self.path.with_name(self.path.name + "-journal")):
                if files.is_no_file(path):
                    raise StoreDamaged(place=path, what="it is not a file")
            if not self._was_there:
                os.close(files.open_private(self.path, os.O_RDWR | os.O_CREAT))
                files.sync_folder(self.path.parent)

    def _refuse_exposed(self) -> None:
        with os_errors.translated(self.path):
            for path in (self.path.parent, self.path):
                if not files.is_ours(path):
                    raise StoreForeign(place=path)
                if what := files.exposure(path):
                    raise StoreExposed(place=path, what=what)

    def _connect(self, path: Path) -> sqlite3.Connection:
        with self._translated():
            connection = sqlite3.connect(path, timeout=self.busy_seconds, isolation_level=None)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        (mode,) = connection.execute("pragma journal_mode").fetchone()
        if mode != journal_mode() and self._is_writable():
            (mode,) = connection.execute(f"pragma journal_mode = {journal_mode()}").fetchone()
        self.journal_mode = mode
        connection.execute("pragma synchronous = full")
        connection.execute("pragma cell_size_check = on")
        connection.execute("pragma trusted_schema = off")

    def _is_writable(self) -> bool:
        return os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)

    @contextlib.contextmanager
    def read(self) -> Iterator[Transaction]:
        with self._transaction("begin") as transaction:
            yield transaction

    @contextlib.contextmanager
    def write(self, *, alone: bool = False) -> Iterator[Transaction]:
        # Every writer of SQLite is alone.
        with self._transaction("begin immediate") as transaction:
            yield transaction

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[Transaction]:
        with self._translated():
            self._connection.execute(begin)
            try:
                yield SqliteTransaction(self._connection)
                self._connection.execute("commit")
            except BaseException:
                # SQLite rolls back by itself when the disk is full or fails.
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        """A copy of the file: with the DELETE journal, a long read blocks writers."""
        with (
            os_errors.translated(self.path),
            tempfile.TemporaryDirectory(prefix=files.TEMPORARY, dir=self.path.parent) as folder,
            self._translated(),
        ):
            copy = sqlite3.connect(Path(folder) / "copy.db", isolation_level=None)
            copy.row_factory = sqlite3.Row
            try:
                self._connection.backup(copy)
                yield SqliteTransaction(copy)
            finally:
                copy.close()

    def put_blob(self, hash: Hash, packed: bytes) -> None:
        self.blobs.put(hash, packed)

    def get_blob(self, hash: Hash) -> bytes | None:
        return self.blobs.get(hash)

    def check(self) -> list[str]:
        with self._translated():
            rows = self._connection.execute("pragma integrity_check(10)").fetchall()
        return [row[0] for row in rows if row[0] != "ok"]

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._fault(error) from error
        except UnicodeDecodeError as error:
            raise StoreDamaged(place=self.place, what="a text is not valid UTF-8") from error

    def _fault(self, error: sqlite3.Error) -> SegueError | Contention:
        name = getattr(error, "sqlite_errorname", "") or ""
        what = str(error)
        if name.startswith("SQLITE_READONLY") and self._is_writable():
            return StoreDamaged(place=self.place, what=what)
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR_SHORT_READ")):
            return StoreDamaged(place=self.place, what=what)
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return StoreBusy(place=self.place, seconds=round(self.busy_seconds))
        if name in ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"):
            return Contention(what)
        if name == "SQLITE_FULL":
            return StoreFull(place=self.place, what=what)
        if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
            return StoreReadOnly(place=self.place, what=what)
        broken = ("no such ", "Could not decode", "unsupported file format")
        if what.startswith(broken) or "has no column named" in what:
            return StoreDamaged(place=self.place, what=what)
        return StoreError(place=self.place, what=what)
