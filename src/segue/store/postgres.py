"""PostgreSQL: one database for many people and machines, in a schema named `segue`.

Only this file imports the driver, which is slower to load than the rest of Segue.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

from segue.errors import (
    DriverMissing,
    SegueError,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreNotAllowed,
    StoreUnreachable,
)
from segue.model import Hash
from segue.settings import without_password
from segue.store import queries
from segue.store.database import Contention, Row, Transaction, in_transaction, plain_name

try:
    import psycopg
    from psycopg import errors as pg
    from psycopg import sql
    from psycopg.rows import dict_row
except ImportError as missing:
    raise DriverMissing(place="postgresql://...") from missing

CONNECT_SECONDS = 5
SCHEMA_LOCK = 5_347_553
"""Advisory lock for schema changes."""


class PostgresTransaction:
    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def all(self, query: str, **values: Any) -> list[Row]:
        return self._connection.execute(queries.for_postgres()[query].encode(), values).fetchall()

    def one(self, query: str, **values: Any) -> Row | None:
        rows = self.all(query, **values)
        return rows[0] if rows else None

    def run(self, query: str, **values: Any) -> int:
        return self._connection.execute(queries.for_postgres()[query].encode(), values).rowcount

    def script(self, sql: str) -> None:
        self._connection.execute(sql.encode())

    def has_schema(self) -> bool:
        # Checked first: a role without the right to create a schema can still use one.
        found = self._connection.execute("select to_regnamespace('segue') is not null as there").fetchone()
        return bool(found and found["there"])

    def tables(self) -> list[str]:
        found = self._connection.execute(
            "select table_name from information_schema.tables "
            "where table_schema = 'segue' and table_name <> 'blob_data' order by table_name"
        )
        return [row["table_name"] for row in found.fetchall()]

    def rows(self, table: str) -> Iterable[Row]:
        with self._connection.cursor(name="segue_rows", row_factory=dict_row) as cursor:
            cursor.execute(sql.SQL("select * from {}").format(sql.Identifier(plain_name(table))))
            yield from cursor

    def hold(self, tables: Iterable[str]) -> None:
        names = sql.SQL(", ").join(sql.Identifier(plain_name(table)) for table in tables)
        self._connection.execute(sql.SQL("lock table {} in exclusive mode").format(names))

    def clear(self, tables: Iterable[str]) -> None:
        for table in tables:
            self._connection.execute(sql.SQL("delete from {}").format(sql.Identifier(table)))

    def insert(self, table: str, row: Row) -> None:
        columns = [plain_name(column) for column in row]
        self._connection.execute(
            sql.SQL("insert into {} ({}) values ({})").format(
                sql.Identifier(plain_name(table)),
                sql.SQL(", ").join(map(sql.Identifier, columns)),
                sql.SQL(", ").join(map(sql.Placeholder, columns)),
            ),
            row,
        )


class PostgresDatabase:
    dialect = "postgres"

    def __init__(self, url: str, *, busy_seconds: float = 30) -> None:
        self.place = without_password(url)
        self.busy_seconds = busy_seconds
        try:
            self._secret = str(psycopg.conninfo.conninfo_to_dict(url).get("password") or "")
        except psycopg.ProgrammingError:
            # psycopg's message contains the URL and its password.
            raise StoreUnreachable(place=self.place, what="that is not a PostgreSQL URL") from None
        with self._translated(), self._without_the_address():
            self._connection: psycopg.Connection[Row] = psycopg.connect(
                url,
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                tcp_user_timeout=round(busy_seconds * 1000),
                keepalives_idle=10,
                # A database without an encoding (SQL_ASCII) would return bytes.
                client_encoding="utf8",
                row_factory=dict_row,
                # A newer Segue may change the tables, which breaks prepared plans.
                prepare_threshold=None,
            )
            self._connection.execute("select set_config('search_path', 'segue', false)")
            self._connection.execute("select set_config('lock_timeout', %s, false)", [f"{busy_seconds:.0f}s"])

    @contextlib.contextmanager
    def _without_the_address(self) -> Iterator[None]:
        """Hide the driver's message if the URL could not be parsed: it may contain the password."""
        try:
            yield
        except psycopg.Error:
            if self.place.endswith("..."):
                raise StoreUnreachable(
                    place=self.place, what="no database answered at that address"
                ) from None
            raise

    @contextlib.contextmanager
    def read(self) -> Iterator[Transaction]:
        try:
            with self._transaction(
                "set transaction isolation level repeatable read, read only"
            ) as transaction:
                yield transaction
        except Contention as met:
            raise StoreBusy(place=self.place, seconds=round(self.busy_seconds)) from met

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        with self.read() as transaction:
            yield transaction

    @contextlib.contextmanager
    def write(self, *, alone: bool = False) -> Iterator[Transaction]:
        first = f"select pg_advisory_xact_lock({SCHEMA_LOCK})" if alone else None
        with self._transaction(first) as transaction:
            if alone and not transaction.has_schema():
                transaction.script("create schema segue")
            yield transaction

    @contextlib.contextmanager
    def _transaction(self, first: str | None) -> Iterator[PostgresTransaction]:
        with self._translated(), self._connection.transaction():
            if first:
                self._connection.execute(first.encode())
            yield PostgresTransaction(self._connection)

    def put_blob(self, hash: Hash, packed: bytes) -> None:
        in_transaction(self, lambda t: t.run("blob_data_put", hash=hash, data=packed))

    def get_blob(self, hash: Hash) -> bytes | None:
        # No transaction of its own: it may run inside one.
        with self._translated():
            row = PostgresTransaction(self._connection).one("blob_data_get", hash=hash)
        return bytes(row["data"]) if row else None

    def check(self) -> list[str]:
        with self._translated():
            self._connection.execute("select 1")
        return []

    def close(self) -> None:
        self._connection.close()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._fault(error) from error

    def _fault(self, error: psycopg.Error) -> SegueError | Contention:
        what = re.sub(r"\s+", " ", str(error)).strip().removeprefix("ERROR: ") or type(error).__name__
        what = what.replace(self._secret, "...") if self._secret else what
        if isinstance(error, pg.UniqueViolation | pg.SerializationFailure | pg.DeadlockDetected):
            return Contention(what)
        if isinstance(error, pg.LockNotAvailable):
            return StoreBusy(place=self.place, seconds=round(self.busy_seconds))
        if isinstance(error, pg.DiskFull | pg.OutOfMemory):
            return StoreFull(place=self.place, what=what)
        if isinstance(error, pg.InsufficientPrivilege | pg.ReadOnlySqlTransaction):
            return StoreNotAllowed(place=self.place, what=what)
        if isinstance(error, pg.UndefinedTable | pg.UndefinedColumn | pg.DataCorrupted | pg.IndexCorrupted):
            return StoreDamaged(place=self.place, what=what)
        is_unsent = isinstance(error, psycopg.ProgrammingError) and not error.sqlstate
        if isinstance(error, psycopg.OperationalError) or is_unsent:
            return StoreUnreachable(place=self.place, what=what)
        return StoreError(place=self.place, what=what)
