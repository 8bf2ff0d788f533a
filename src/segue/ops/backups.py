"""Backups of the shared store: make one, list them, bring one back."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from msgspec import Struct

from segue import settings, store
from segue.errors import NotFound, StoreDamaged, StoreError
from segue.model import Operation
from segue.ops.desk import Desk
from segue.store import backup, faults
from segue.store.backup import Backup as Backup
from segue.store.database import Database


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
    if name == "latest":
        # What Segue saved by itself before replacing something is there by its name.
        asked_for = [one for one in known if one.header and one.header.why == backup.ASKED_FOR]
        known = asked_for or [one for one in known if one.header]
        name = known[0].name if known else name
    for candidate in known:
        if name in (candidate.name, candidate.path):
            return candidate
    with contextlib.suppress(OSError):  # a name that no file can have is no file's
        path = Path(name).absolute()
        if path.is_file():
            short = path.name.removesuffix(backup.SUFFIX)
            return Backup(short, str(path), path.stat().st_size, backup.check(path))
    raise NotFound(noun="backup", name=name, next="segue backup list")


def place(desk: Desk) -> str:
    """Where the shared store is, in words."""
    url = desk.settings.store_url
    return settings.without_password(url) if url else str(store.shared_file(desk.places.data))


def restore(desk: Desk, name: str) -> Restored:
    """Make the store what it was. What it is now is kept: as a backup, or put aside if it is damaged."""
    chosen = find(desk, name)
    backup.check(Path(chosen.path))
    try:
        with contextlib.closing(_opened(desk)) as database:
            return Restored(chosen, _replace(desk, database, chosen).saved.path)
    except StoreError as error:
        # Anything else that is wrong with the store would still be wrong with another one in its place.
        if desk.settings.store_url or not (isinstance(error, StoreDamaged) or type(error) is StoreError):
            raise
    aside = _put_aside(desk)
    with contextlib.closing(store.connect(desk.places.data, desk.settings)) as database:
        _replace(desk, database, chosen)
        store.mark(database)
    return Restored(chosen, str(aside))


def _opened(desk: Desk) -> Database:
    """The store's database, sound enough to be opened, or made where there is none."""
    opened = desk.shared.database
    desk.forget_shared()
    return opened


def _replace(desk: Desk, database: Database, chosen: Backup) -> backup.Restored:
    record = Operation(
        id=desk.new_id("op"),
        chain="store",
        kind="store.restored",
        subject=f"backup:{chosen.name}",
        actor=desk.actor,
        at=desk.clock(),
    )
    folder = store.backups_folder(desk.places.data)
    return backup.restore(database, store.plan_for(database), Path(chosen.path), folder, record)


def _put_aside(desk: Desk) -> Path:
    """Move a damaged SQLite store out of the way; nothing of it is deleted."""
    file = store.shared_file(desk.places.data)
    stamp = desk.clock()[:19].replace(":", "").replace("-", "")
    aside = file.parent / f"damaged-{stamp}-{os.urandom(3).hex()}"
    with faults.translated(file.parent):
        aside.mkdir(mode=0o700)
        for path in file.parent.glob("store.db*"):
            path.rename(aside / path.name)
    return aside
