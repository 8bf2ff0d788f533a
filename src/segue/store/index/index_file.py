"""The file of the index; rebuilt if anything is wrong with it.

A damaged file, or one of another version, is deleted. If the disk is full or read-only, the index is in memory for this
run.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from functools import cache

from segue.base import files
from segue.errors import IndexRenewed, SegueError, StoreBusy
from segue.store import queries

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing is slow
    from typing import Any

VERSION = 7


@cache
def _sql() -> dict[str, str]:
    return queries.parse(queries.text("index/queries.index.sql"))


class IndexFile:
    def __init__(self, path: str | os.PathLike[str] | None, *, busy_seconds: float = 30) -> None:
        """Without a path, an empty one in memory."""
        self.path = os.fspath(path or os.devnull)
        self.busy_seconds = busy_seconds
        self.is_in_memory = False
        self._new: set[int] = set()
        """New sources: they have no rows to delete."""
        self._counted: set[int] = set()
        """Answers counted by this change."""
        self._to_note: list[int] = []
        """Counted answers that are in no piece yet."""
        self._before = 0
        """The last piece before this change."""
        if path is None:
            self._connection = self._in_memory()
            return
        try:
            self._connection = self._open()
        except sqlite3.DatabaseError as error:
            if _is(error, "SQLITE_BUSY", "SQLITE_LOCKED"):
                raise StoreBusy(place=self.path, seconds=round(busy_seconds)) from error
            self._connection = self._open_anew()
        except OSError:
            self._connection = self._in_memory()

    def _open(self) -> sqlite3.Connection:
        self._make_file()
        connection = self._connect(self.path)
        try:
            (version,) = connection.execute("pragma user_version").fetchone()
            if version == 0:
                self._create(connection)
            elif version != VERSION:
                raise sqlite3.DatabaseError("other version")
        except BaseException:
            connection.close()
            raise
        return connection

    def _make_file(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        try:
            os.close(files.open_private(self.path, flags))
        except FileNotFoundError:
            from pathlib import Path  # lazy: the folder usually exists

            files.make_private_folder(Path(self.path).parent)
            os.close(files.open_private(self.path, flags))

    def _open_anew(self) -> sqlite3.Connection:
        try:
            for suffix in ("", "-journal", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.path + suffix)  # noqa: PTH108 - quick
            return self._open()
        except (OSError, sqlite3.DatabaseError):
            return self._in_memory()

    def _in_memory(self) -> sqlite3.Connection:
        self.is_in_memory = True
        connection = self._connect(":memory:")
        self._create(connection)
        return connection

    def _connect(self, path: str) -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=self.busy_seconds, isolation_level=None)
        connection.row_factory = sqlite3.Row
        # Everything can be rebuilt after a power loss: no need to wait for the disk.
        for setting in ("synchronous = off", "journal_mode = persist", "secure_delete = fast"):
            connection.execute(f"pragma {setting}")
        connection.execute(_sql()["hidden"])
        return connection

    def _create(self, connection: sqlite3.Connection) -> None:
        connection.execute("begin immediate")
        (version,) = connection.execute("pragma user_version").fetchone()
        if version == 0:
            statement = ""
            for part in queries.text("index/index.sql").split(";"):
                statement += part + ";"
                if sqlite3.complete_statement(statement):
                    connection.execute(statement)
                    statement = ""
            connection.execute(f"pragma user_version = {VERSION}")
        connection.execute("commit")

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """One atomic change of the index."""
        connection = self._connection
        try:
            connection.execute("begin immediate")
            yield
            connection.execute("commit")
        except BaseException as error:
            self._new.clear()
            with contextlib.suppress(sqlite3.Error):
                connection.execute("rollback")
            if isinstance(error, sqlite3.DatabaseError):
                raise self._failed(error) from error
            raise

    def _run(self, query: str, /, **values: Any) -> list[sqlite3.Row]:
        try:
            return self._connection.execute(_sql()[query], values).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._failed(error) from error

    def _first(self, query: str, /, **values: Any) -> sqlite3.Row | None:
        rows = self._run(query, **values)
        return rows[0] if rows else None

    def _run_all(self, query: str, rows: Iterable[tuple[Any, ...]]) -> None:
        try:
            self._connection.executemany(_sql()[query], rows)
        except sqlite3.DatabaseError as error:
            raise self._failed(error) from error

    def _tuples(self, query: str, /, **values: Any) -> list[Any]:
        """Rows as tuples: faster for many rows."""
        cursor = self._connection.cursor()
        cursor.row_factory = None
        try:
            return cursor.execute(_sql()[query], values).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._failed(error) from error

    def _failed(self, error: sqlite3.DatabaseError) -> SegueError:
        """Replace an unusable file; the returned error asks the caller to retry."""
        if _is(error, "SQLITE_BUSY", "SQLITE_LOCKED"):
            return StoreBusy(place=self.path, seconds=round(self.busy_seconds))
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        is_blocked = _is(error, "SQLITE_FULL", "SQLITE_READONLY", "SQLITE_IOERR")
        self._connection = self._in_memory() if is_blocked else self._open_anew()
        return IndexRenewed(place=self.path, what=error)


def _is(error: sqlite3.Error, *names: str) -> bool:
    return (getattr(error, "sqlite_errorname", "") or "").startswith(names)
