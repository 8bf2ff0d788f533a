"""Open the shared and the local store; creates or upgrades them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from segue.base import clock, files
from segue.errors import StoreDamaged, StoreExposed
from segue.settings import Settings
from segue.store import migrate, os_errors
from segue.store.database import Database
from segue.store.local import Local
from segue.store.shared import HANDOFF, SESSION, Change, Noun, Shared
from segue.store.sqlite import SqliteDatabase

__all__ = ["HANDOFF", "SESSION", "Change", "Local", "Noun", "Shared", "exists", "open_local", "open_shared"]

MARK = "STORE"
"""A file that marks an existing SQLite store: an emptied database must not pass for a new one."""


def shared_file(data: Path) -> Path:
    return data / "shared" / "store.db"


def backups_folder(data: Path) -> Path:
    return data / "backups"


def exists(data: Path, settings: Settings) -> bool:
    """Does the shared store exist? A server's counts as existing."""
    with os_errors.translated(data):
        folder = shared_file(data).parent
        if (folder.exists() or folder.is_symlink()) and not folder.is_dir():
            raise StoreDamaged(place=folder, what="it is not a folder")
        return bool(settings.store_url) or shared_file(data).exists() or _mark_of(data).exists()


def connect(data: Path, settings: Settings) -> Database:
    """Connect to the database of the shared store, without checking its content."""
    if settings.store_url:
        from segue.store.postgres import PostgresDatabase  # lazy: the driver is slow to load

        return PostgresDatabase(settings.store_url, busy_seconds=settings.store_busy_seconds)
    with os_errors.translated(data):
        if data.exists() and files.is_writable_by_others(data):
            raise StoreExposed(place=data, what="other users can write to it")
    return SqliteDatabase(shared_file(data), busy_seconds=settings.store_busy_seconds)


def _mark_of(data: Path) -> Path:
    return shared_file(data).parent / MARK


def plan_for(database: Database) -> migrate.Plan:
    return migrate.read_plan("migrations", database.dialect, schema=True)


def open_shared(
    data: Path, settings: Settings, *, actor: str, new_id: Callable[[str], str], clock: clock.Clock
) -> Shared:
    """Open the shared store; creates or upgrades it."""
    if not settings.store_url and exists(data, settings) and not shared_file(data).exists():
        raise StoreDamaged(place=shared_file(data), what="it is gone")
    database = connect(data, settings)
    try:
        _refuse_emptied(database)

        def save_first(found: int) -> None:
            from segue.store import backup  # lazy: only an upgrade needs it

            why = f"before the upgrade from schema {found}"
            backup.make(database, backups_folder(data), clock(), why, damaged_too=True)

        migrate.bring_up(database, plan_for(database), before_upgrade=save_first)
        mark(database)
    except BaseException:
        database.close()
        raise
    return Shared(database, actor=actor, clock=clock, new_id=new_id)


def _refuse_emptied(database: Database) -> None:
    if isinstance(database, SqliteDatabase) and (database.path.parent / MARK).exists():
        with database.read() as transaction:
            if migrate.version_in(transaction) is None:
                raise StoreDamaged(place=database.place, what="its tables are gone")


def mark(database: Database) -> None:
    if isinstance(database, SqliteDatabase):
        path = database.path.parent / MARK
        if not path.exists():
            with os_errors.translated(path):
                files.write_file(path, b"Segue's shared store is in this folder. Do not edit it by hand.\n")


def open_local(data: Path, settings: Settings) -> Local:
    return Local(data / "local.db", busy_seconds=settings.store_busy_seconds)
