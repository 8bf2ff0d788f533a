"""Backups of the shared store: one file, the same for both databases, made while others write.

The file is a zstd stream of JSON lines: a header, every row of every table and every blob as of one moment, and last
the SHA-256 of all lines before. Without that last line it is not a backup. A backup can also move a store from one
database to the other.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import zstandard
from msgspec import Struct

from segue.base import files
from segue.base.clock import Moment
from segue.errors import BackupDamaged, BlobDamaged, StoreDamaged, StoreError, StoreNewer
from segue.model import Hash, Operation
from segue.store import blobs, migrate, os_errors, shared
from segue.store.database import Database, Transaction, in_transaction
from segue.store.sqlite import SqliteTransaction, scratch

SUFFIX = ".segue-backup"
FORMAT = 1
ASKED_FOR = "asked for"
LARGEST_RATIO = 1000
"""Maximum compression ratio of a backup."""
LONGEST_HEADER = 2**16
LONGEST_LINE = 2**29
"""Limit against decompression bombs."""


class Header(Struct, frozen=True):
    format: int
    version: int
    """Schema version."""
    made_at: Moment
    made_from: str
    why: str = ASKED_FOR
    flaws: int = 0
    """Number of flaws in the log when the backup was made."""


class Backup(Struct, frozen=True):
    """A backup file and what its header says."""

    name: str
    path: str
    size: int
    header: Header | None
    problem: str = ""
    """Why the header cannot be read."""


class Line(Struct, frozen=True, omit_defaults=True):
    header: Header | None = None
    table: str | None = None
    row: dict[str, Any] | None = None
    blob: str | None = None
    data: bytes | None = None
    end: str | None = None


def make(
    database: Database, folder: Path, made_at: Moment, why: str = ASKED_FOR, *, damaged_too: bool = False
) -> Backup:
    """Write a backup of the store into a folder. With `damaged_too`, lost content is skipped instead of raising: an
    incomplete backup before a replacement is better than none."""
    with database.snapshot() as transaction:
        made = _write(database, transaction, folder, made_at, why, damaged_too)
    if not damaged_too:
        _refuse_unfit(database, made)
    return made


def _refuse_unfit(database: Database, made: Backup) -> None:
    """Delete a backup that cannot be restored, and report the store as damaged."""
    path = Path(made.path)
    try:
        with contextlib.closing(scratch()) as connection:
            _lay_out(SqliteTransaction(connection), check(path), path)
    except BackupDamaged as error:
        path.unlink()
        raise StoreDamaged(place=database.place, what=error.details["what"]) from error


def _write(
    database: Database, transaction: Transaction, folder: Path, made_at: Moment, why: str, damaged_too: bool
) -> Backup:
    try:
        return _write_file(database, transaction, folder, made_at, why, damaged_too)
    except (TypeError, ValueError, OverflowError) as error:
        raise StoreDamaged(place=database.place, what=str(error)) from error


def _write_file(
    database: Database, transaction: Transaction, folder: Path, made_at: Moment, why: str, damaged_too: bool
) -> Backup:
    name = "segue-" + made_at[:19].replace(":", "").replace("-", "") + "-" + os.urandom(3).hex()
    path = folder / (name + SUFFIX)
    with os_errors.translated(folder), files.replacing(path) as temporary:
        fd = files.open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with os.fdopen(fd, "wb") as file:
            compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
            with compressor.stream_writer(file, closefd=False) as out:
                digest = hashlib.sha256()
                for line in _lines(database, transaction, made_at, why, damaged_too):
                    text = msgspec.json.encode(line) + b"\n"
                    digest.update(text)
                    out.write(text)
                out.write(msgspec.json.encode(Line(end=digest.hexdigest())) + b"\n")
            file.flush()
            os.fsync(fd)
        header = check(temporary)
    return Backup(name, str(path), path.stat().st_size, header)


def _lines(
    database: Database, transaction: Transaction, made_at: Moment, why: str, damaged_too: bool
) -> Iterator[Line]:
    version = migrate.version_in(transaction) or 0
    tables = _tables_at(version)
    flaws = len(shared.verify(transaction)[1]) if version == _plan().newest else 0
    yield Line(header=Header(FORMAT, version, made_at, database.place, why, flaws))
    for table in tables:
        for row in transaction.rows(table):
            yield Line(table=table, row=row)
    # Blobs are immutable and never removed while a row references them: they need no snapshot.
    contents = shared.all_contents(transaction) if version == _plan().newest else _recorded(transaction)
    for hash in sorted(contents):
        try:
            packed = database.get_blob(hash)
            blobs.unpack(packed, hash, database.place)
        except BlobDamaged:
            if not damaged_too:
                raise
        else:
            yield Line(blob=hash, data=packed)


def _recorded(transaction: Transaction) -> set[Hash]:
    """Hashes of all blobs of an older store, which may have no handoffs."""
    return {row["hash"] for row in transaction.all("blob_all")}


def _plan() -> migrate.Plan:
    """The schema of a scratch database."""
    return migrate.read_plan("migrations", "sqlite", schema=True)


def _tables_at(version: int) -> list[str]:
    """The tables of a schema version; other tables of the same database are not backed up."""
    with contextlib.closing(scratch()) as connection:
        laid_out = SqliteTransaction(connection)
        migrate.create_tables(laid_out, _plan(), version)
        return laid_out.tables()


def read(path: Path) -> Iterator[Line]:
    """Read the lines of a backup; raises BackupDamaged at the first error."""
    digest = hashlib.sha256()
    ended = False
    room = path.stat().st_size * LARGEST_RATIO + LONGEST_HEADER if path.is_file() else 0
    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            reader = io.BufferedReader(stream)
            for number in itertools.count():
                longest = LONGEST_LINE if number else LONGEST_HEADER
                text = reader.readline(longest + 1)
                if not text:
                    break
                room -= len(text)
                if len(text) > longest or room < 0:
                    raise BackupDamaged(
                        place=path, what="a line in it is too long, or there are far too many"
                    )
                line = msgspec.json.decode(text, type=Line)
                if ended or (number == 0) != (line.header is not None) or line == Line():
                    raise BackupDamaged(place=path, what="its lines are not in order")
                if line.end is not None:
                    ended = True
                    if line.end != digest.hexdigest():
                        raise BackupDamaged(place=path, what="its checksum does not match")
                    continue
                digest.update(text)
                yield line
    except (
        zstandard.ZstdError,
        msgspec.DecodeError,
        OSError,
        EOFError,
        MemoryError,
        RecursionError,
    ) as error:
        raise BackupDamaged(place=path, what=getattr(error, "strerror", None) or str(error)) from error
    if not ended:
        raise BackupDamaged(place=path, what="it ends too early")


def check(path: Path) -> Header:
    """Read a whole backup and return its header."""
    header = None
    for line in read(path):
        header = header or line.header
        if line.blob and line.data:
            try:
                blobs.unpack(line.data, line.blob, str(path))
            except BlobDamaged as error:
                raise BackupDamaged(place=path, what=str(error)) from error
    if header is None or header.format != FORMAT or not header.version:
        raise BackupDamaged(place=path, what="its header is missing or unknown")
    return header


def list_in(folder: Path) -> list[Backup]:
    """The backups in a folder, newest first; unreadable ones last."""
    with os_errors.translated(folder):
        paths = sorted(folder.glob("*" + SUFFIX), reverse=True) if folder.exists() else []
    found = [_listed(path) for path in paths]
    return sorted(found, key=lambda backup: backup.header.made_at if backup.header else "", reverse=True)


def _listed(path: Path) -> Backup:
    name = path.name.removesuffix(SUFFIX)
    if not path.is_file():
        return Backup(name, str(path), 0, None, "it is not a file")
    size = path.stat().st_size
    try:
        return Backup(name, str(path), size, next(read(path)).header)
    except BackupDamaged as error:
        return Backup(name, str(path), size, None, error.details["what"])


def restore(
    database: Database, plan: migrate.Plan, path: Path, folder: Path | None, record: Operation
) -> Path | None:
    """Restore the store from a backup; returns the backup of the previous state, if one was made.

    The rows are loaded into a scratch database, migrated and verified there first. Then one transaction, which locks
    out other writers, saves the present state, replaces it and records the operation, so no write is lost between
    saving and replacing.
    """
    header = check(path)
    if header.version > plan.newest:
        raise StoreNewer(place=path, found=header.version, known=plan.newest)
    migrate.bring_up(database, plan, before_upgrade=lambda _found: None)
    saved: list[Path] = []
    with contextlib.closing(scratch()) as connection:
        laid_out = SqliteTransaction(connection)
        _lay_out(laid_out, header, path)
        for line in read(path):
            if line.blob and line.data:
                blobs.unpack(line.data, line.blob, str(path))
                database.put_blob(line.blob, line.data)

        def work(transaction: Transaction) -> None:
            tables = laid_out.tables()
            transaction.hold(tables)
            if folder:
                # Remove the file of a first attempt that met another writer.
                for earlier in saved:
                    earlier.unlink()
                why = f"before restoring {path.name.removesuffix(SUFFIX)}"
                saved[:] = [
                    Path(_write(database, transaction, folder, record.at, why, damaged_too=True).path)
                ]
            _fill(transaction, laid_out, tables)
            told = msgspec.json.encode({"backup": str(path), "saved": [str(one) for one in saved]}).decode()
            shared.append(transaction, msgspec.structs.replace(record, after=told))

        in_transaction(database, work, alone=True)
    return saved[0] if saved else None


def _fill(transaction: Transaction, laid_out: Transaction, tables: list[str]) -> None:
    """Replace all rows, and invalidate all leases."""
    (highest,) = transaction.all("lease_highest")
    transaction.clear(tables)
    for table in tables:
        for row in laid_out.rows(table):
            transaction.insert(table, row)
    transaction.run("lease_restored", highest=highest["token"])
    if highest["token"]:
        transaction.run("meta_put", key="lease_floor", value=str(highest["token"]))


def _lay_out(transaction: Transaction, header: Header, path: Path) -> None:
    """Load a backup into an empty database, migrate and verify it."""
    try:
        migrate.create_tables(transaction, _plan(), header.version)
        for line in read(path):
            if line.table and line.row is not None:
                transaction.insert(line.table, line.row)
        if migrate.version_in(transaction) != header.version:
            raise BackupDamaged(place=path, what="its rows and its header have different versions")
        migrate.upgrade(transaction, _plan(), header.version)
        for row in transaction.all("blob_all"):
            if not re.fullmatch("[0-9a-f]{64}", str(row["hash"])):
                raise BackupDamaged(place=path, what="it references content by an invalid hash")
        _, flaws = shared.verify(transaction)
    except BackupDamaged:
        raise
    except StoreError as error:
        raise BackupDamaged(place=path, what=error.details.get("what", str(error))) from error
    except (sqlite3.Error, TypeError, ValueError, OverflowError) as error:
        raise BackupDamaged(place=path, what=str(error)) from error
    if flaws and not header.flaws:
        raise BackupDamaged(place=path, what=f"{flaws[0].chain} {flaws[0].what}".strip())
