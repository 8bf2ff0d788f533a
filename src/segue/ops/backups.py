"""Backups of the shared store: create, list, restore."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from msgspec import Struct

from segue import settings, store
from segue.base import files
from segue.errors import NotFound, StoreDamaged
from segue.model import Operation
from segue.ops.common.desk import Desk
from segue.store import backup, os_errors
from segue.store.backup import Backup as Backup
from segue.store.database import Database
from segue.store.sqlite import SqliteDatabase


class Restored(Struct, frozen=True):
    backup: Backup
    saved: str
    """Where the replaced store was saved: a backup, or a folder with the damaged files."""


def make(desk: Desk) -> Backup:
    if not desk.has_store:
        raise NotFound(noun="store", name=str(desk.places.data), next="segue session create")
    return backup.make(desk.shared.database, store.backups_folder(desk.places.data), desk.clock())


def all_backups(desk: Desk) -> list[Backup]:
    return backup.list_in(store.backups_folder(desk.places.data))


def find(desk: Desk, name: str) -> Backup:
    """A backup by its name, its path, or 'latest'."""
    known = all_backups(desk)
    if name == "latest":
        # Backups that Segue made before a restore are available by name only.
        asked_for = [one for one in known if one.header and one.header.why == backup.ASKED_FOR]
        known = asked_for or [one for one in known if one.header]
        name = known[0].name if known else name
    for candidate in known:
        if name in (candidate.name, candidate.path):
            return candidate
    with contextlib.suppress(OSError):  # not a valid file name
        path = Path(name).absolute()
        if path.is_file():
            short = path.name.removesuffix(backup.SUFFIX)
            return Backup(short, str(path), path.stat().st_size, backup.check(path))
    raise NotFound(noun="backup", name=name, next="segue backup list")


def place(desk: Desk) -> str:
    """The URL (without its password) or the file of the shared store."""
    url = desk.settings.store_url
    return settings.without_password(url) if url else str(store.shared_file(desk.places.data))


def restore(desk: Desk, name: str) -> Restored:
    """Restore a backup. The current store is saved first: as a backup, or moved aside if it is damaged."""
    chosen = find(desk, name)
    folder = store.backups_folder(desk.places.data)
    try:
        saved = _replace(desk, desk.shared.database, chosen, folder)
        return Restored(chosen, str(saved or ""))
    except StoreDamaged:
        if desk.settings.store_url:
            raise
    desk.close()
    return Restored(chosen, str(_rebuild(desk, chosen)))


def _replace(desk: Desk, database: Database, chosen: Backup, folder: Path | None) -> Path | None:
    record = Operation(
        id=desk.new_id("op"),
        chain="store",
        kind="store.restored",
        subject=f"backup:{chosen.name}",
        actor=desk.actor,
        at=desk.clock(),
    )
    return backup.restore(database, store.plan_for(database), Path(chosen.path), folder, record)


def _rebuild(desk: Desk, chosen: Backup) -> Path:
    """Replace a damaged SQLite store. The new one is complete before the old files are moved, and no old file is
    deleted. If Segue is killed in between, the store is the old one, the new one, or missing; never half of one."""
    file = store.shared_file(desk.places.data)
    mark = f"{desk.clock()[:19].replace(':', '').replace('-', '')}-{os.urandom(3).hex()}"
    building, aside = file.parent / f"{files.TEMPORARY}{mark}", file.parent / f"damaged-{mark}"
    with os_errors.translated(file.parent):
        files.make_private_folder(building)
        try:
            new = SqliteDatabase(building / file.name, blobs=file.parent / "blobs")
            with contextlib.closing(new):
                _replace(desk, new, chosen, None)
            aside.mkdir(mode=0o700)
            for path in file.parent.glob(f"{file.name}*"):
                path.rename(aside / path.name)
            (building / file.name).rename(file)
            files.sync_folder(file.parent)
        finally:
            shutil.rmtree(building)
    return aside
