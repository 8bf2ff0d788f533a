"""Backups of the shared store: make one, list them, bring one back."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec
from msgspec import Struct

from segue import settings, store
from segue.errors import NotFound, StoreDamaged, StoreError
from segue.model import Operation
from segue.ops.desk import Desk
from segue.store import backup, faults
from segue.store.backup import Backup as Backup


class Restored(Struct, frozen=True):
    backup: Backup
    saved: str
    """Where the store as it was before went: a backup, or the damaged files, put aside."""


def make(desk: Desk) -> Backup:
    if not desk.has_store:
        raise NotFound(noun="store", name=str(desk.places.data), next="segue session create makes one")
    return backup.make(desk.shared.database, store.backups_folder(desk.places.data), desk.clock())


def all_backups(desk: Desk) -> list[Backup]:
    return backup.list_in(store.backups_folder(desk.places.data))


def find(desk: Desk, name: str) -> Backup:
    """A backup by its name, its path, or as 'latest'."""
    known = all_backups(desk)
    if name == "latest" and known and known[0].header:
        return known[0]
    for candidate in known:
        if name in (candidate.name, candidate.path):
            return candidate
    path = Path(name)
    if path.is_file():
        return Backup(
            path.name.removesuffix(backup.SUFFIX), str(path), path.stat().st_size, backup.check(path)
        )
    raise NotFound(noun="backup", name=name, next="segue backup list")


def place(desk: Desk) -> str:
    """Where the shared store is, in words."""
    url = desk.settings.store_url
    return settings.without_password(url) if url else str(store.shared_file(desk.places.data))


def restore(desk: Desk, name: str) -> Restored:
    """Make the store what it was. What it is now is kept: as a backup, or put aside if it is damaged."""
    chosen = find(desk, name)
    backup.check(Path(chosen.path))
    saved = ""
    if desk.has_store:
        try:
            saved = backup.make(
                desk.shared.database,
                store.backups_folder(desk.places.data),
                desk.clock(),
                why=f"before restoring {chosen.name}",
                damaged_too=True,
            ).path
        except StoreDamaged:
            saved = str(_put_aside(desk))
        finally:
            with contextlib.suppress(StoreError):
                desk.close()
    database = store.connect(desk.places.data, desk.settings)
    try:
        record = Operation(
            id=desk.new_id("op"),
            chain="store",
            kind="store.restored",
            subject=f"backup:{chosen.name}",
            actor=desk.actor,
            at=desk.clock(),
            after=msgspec.json.encode({"backup": chosen.name, "saved": saved}).decode(),
        )
        backup.restore(database, store.plan_for(database), Path(chosen.path), record)
        store.mark(database)
    finally:
        database.close()
    return Restored(chosen, saved)


def _put_aside(desk: Desk) -> Path:
    """Move a damaged SQLite store out of the way; nothing of it is deleted."""
    if desk.settings.store_url:
        raise StoreDamaged(
            place="the PostgreSQL store", what="it has to be emptied by its administrator first"
        )
    desk.close()
    file = store.shared_file(desk.places.data)
    stamp = desk.clock()[:19].replace(":", "").replace("-", "")
    aside = file.parent / f"damaged-{stamp}"
    with faults.translated(file.parent):
        aside.mkdir(mode=0o700)
        for path in file.parent.glob("store.db*"):
            path.rename(aside / path.name)
    return aside
