"""A whole shared store as one file, the same for both databases: made while others write, restored at once.

The file is a zstd stream of JSON lines: a header, then every row of every table and every blob as they
were at one moment, then a line with the SHA-256 of all before it. A file without that last line is not
a backup. Because the form is the same for both, it also moves a store from one database to the other.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import zstandard
from msgspec import Struct

from segue import disk
from segue.clock import Moment
from segue.errors import BackupDamaged, BlobDamaged, StoreNewer
from segue.model import Operation
from segue.store import blobs, faults, migrate, shared
from segue.store.database import Database, Transaction, in_transaction

SUFFIX = ".segue-backup"
FORMAT = 1


class Header(Struct, frozen=True):
    format: int
    version: int
    """Of the store's schema."""
    made_at: Moment
    made_from: str
    why: str = "asked for"


class Backup(Struct, frozen=True):
    """A backup file and what its header says."""

    name: str
    path: str
    size: int
    header: Header


class Line(Struct, frozen=True, omit_defaults=True):
    header: Header | None = None
    table: str | None = None
    row: dict[str, Any] | None = None
    blob: str | None = None
    data: bytes | None = None
    end: str | None = None


def make(
    database: Database, folder: Path, made_at: Moment, why: str = "asked for", *, damaged_too: bool = False
) -> Backup:
    """Write a backup of the store into a folder. With `damaged_too`, content that is lost already is
    left out instead of ending it: some backup is better than none before something is replaced."""
    name = "segue-" + made_at[:19].replace(":", "").replace("-", "") + "-" + os.urandom(3).hex()
    path = folder / (name + SUFFIX)
    with faults.translated(folder), disk.replacing(path) as temporary:
        fd = disk.open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        with (
            os.fdopen(fd, "wb") as file,
            zstandard.ZstdCompressor(level=3, write_checksum=True).stream_writer(file, closefd=False) as out,
        ):
            digest = hashlib.sha256()
            for line in _lines(database, made_at, why, damaged_too):
                text = msgspec.json.encode(line) + b"\n"
                digest.update(text)
                out.write(text)
            out.write(msgspec.json.encode(Line(end=digest.hexdigest())) + b"\n")
            out.flush(zstandard.FLUSH_FRAME)
            file.flush()
            os.fsync(fd)
        header = check(temporary)
    return Backup(name, str(path), path.stat().st_size, header)


def _lines(database: Database, made_at: Moment, why: str, damaged_too: bool) -> Iterator[Line]:
    with database.snapshot() as transaction:
        version = migrate.version_in(transaction) or 0
        yield Line(header=Header(FORMAT, version, made_at, database.place, why))
        for table in transaction.tables():
            for row in transaction.rows(table):
                yield Line(table=table, row=row)
        kept = [row["hash"] for row in transaction.all("blob_all")]
    # Blobs never change and are never removed while a row speaks of them: they need no snapshot.
    for hash in kept:
        packed = database.get_blob(hash)
        try:
            blobs.unpack(packed, hash, database.place)
        except BlobDamaged:
            if not damaged_too:
                raise
        else:
            yield Line(blob=hash, data=packed)


def read(path: Path) -> Iterator[Line]:
    """The lines of a backup; raises BackupDamaged as soon as something does not fit."""
    digest = hashlib.sha256()
    ended = False
    try:
        with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
            for number, text in enumerate(io.BufferedReader(stream)):
                line = msgspec.json.decode(text, type=Line)
                if ended or (number == 0) != (line.header is not None):
                    raise BackupDamaged(place=path, what="its lines are not in order")
                if line.end is not None:
                    ended = True
                    if line.end != digest.hexdigest():
                        raise BackupDamaged(place=path, what="its checksum does not match")
                    continue
                digest.update(text)
                yield line
    except (zstandard.ZstdError, msgspec.DecodeError, OSError, EOFError) as error:
        raise BackupDamaged(place=path, what=getattr(error, "strerror", None) or str(error)) from error
    if not ended:
        raise BackupDamaged(place=path, what="it ends too early")


def check(path: Path) -> Header:
    """Read a backup to its end; its header."""
    header = None
    for line in read(path):
        header = header or line.header
        if line.blob and line.data:
            try:
                blobs.unpack(line.data, line.blob, str(path))
            except BlobDamaged as error:
                raise BackupDamaged(place=path, what=str(error)) from error
    if header is None or header.format != FORMAT or not header.version:
        raise BackupDamaged(place=path, what="it has no header that this Segue understands")
    return header


def list_in(folder: Path) -> list[Backup]:
    """The backups in a folder, the newest first; what cannot be read is left out."""
    found = []
    for path in folder.glob("*" + SUFFIX):
        try:
            header = next(read(path)).header
        except (BackupDamaged, StopIteration):
            continue
        if header is not None:
            found.append(Backup(path.name.removesuffix(SUFFIX), str(path), path.stat().st_size, header))
    return sorted(found, key=lambda backup: (backup.header.made_at, backup.name), reverse=True)


def restore(database: Database, plan: migrate.Plan, path: Path, record: Operation) -> Header:
    """Make the store what it was when the backup was made: in one transaction, checked before it ends.
    The operation goes on record in what is restored."""
    header = check(path)
    if header.version > plan.newest:
        raise StoreNewer(place=path, found=header.version, known=plan.newest)
    for line in read(path):
        if line.blob and line.data:
            database.put_blob(line.blob, line.data)

    def work(transaction: Transaction) -> None:
        for table in transaction.tables():
            transaction.script(f"drop table {table}")
        migrate.create_tables(transaction, plan, header.version)
        for line in read(path):
            if line.table and line.row is not None:
                transaction.insert(line.table, line.row)
        migrate.upgrade(transaction, plan, header.version)
        shared.append(transaction, record)
        _, flaws = shared.verify(transaction)
        if flaws:
            raise BackupDamaged(place=path, what=f"{flaws[0].chain} {flaws[0].what}".strip())

    in_transaction(database, work, alone=True)
    return header
