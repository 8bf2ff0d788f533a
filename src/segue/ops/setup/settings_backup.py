"""Backups of agents' settings files, so that `segue init --undo` can restore them.

Each file has one record and one backup, from before the first change, however often it is changed afterwards.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from segue.agents.shared.settings.settings_patch import OLD_SCRIPT, SCRIPT
from segue.base import files
from segue.errors import Refused, SettingsNotWritten, StoreExposed, StoreForeign
from segue.ops.common.desk import Desk

FOLDER = "setup"
LARGEST = 4 << 20
NAMES = (SCRIPT.encode(), OLD_SCRIPT.encode(), b"segue")
"""Names of which Segue's entries contain one."""
HALF_WRITTEN = re.compile(re.escape(files.TEMPORARY) + "[0-9a-f]{16}")
AGAIN = "repair that file and try again; segue init AGENT handles one agent, also with --undo"


class Record(Struct, frozen=True):
    """Record of a changed file, with its hashes before the first change and after the last."""

    path: str
    before: str | None
    after: str
    backup: str
    folders: tuple[str, ...] = ()
    """Folders created for it, innermost first."""


def keep(desk: Desk, agent: str, path: Path, before: bytes | None, after: bytes, clean: bytes | None) -> str:
    """Record a change before it is made. Returns the path of the backup; a file that was changed before keeps its first
    backup."""
    known = record_of(desk, agent, path)
    if known is not None and before is not None and hash_of(before) == known.after:
        record = msgspec.structs.replace(known, after=hash_of(after))
    else:
        original = before if clean is None else clean
        name = _backup_name(desk, agent, path)
        record = Record(
            path=str(path),
            before=hash_of(original) if original is not None else None,
            after=hash_of(after),
            backup=name if original is not None else "",
            folders=tuple(_missing(path)) or (known.folders if known else ()),
        )
        if original is not None:
            with writing(desk.places.data / FOLDER / name):
                files.write_file(desk.places.data / FOLDER / name, original)
    with writing(_record_file(desk, agent, path)):
        files.write_file(_record_file(desk, agent, path), msgspec.json.encode(record))
    return str(desk.places.data / FOLDER / record.backup) if record.backup else ""


def _backup_name(desk: Desk, agent: str, path: Path) -> str:
    """Unused name for a backup: two files of the same name can change in the same second."""
    when = desk.clock()[:19].replace("-", "").replace(":", "")
    more = itertools.chain([""], (f"-{n}" for n in itertools.count(2)))
    names = (f"{agent}-{path.name}-{when}Z{one}" for one in more)
    return next(name for name in names if not os.path.lexists(desk.places.data / FOLDER / name))


def _missing(path: Path) -> Iterator[str]:
    """Missing parent folders of a file, with symbolic links resolved."""
    for folder in Path(os.path.realpath(path)).parents:
        if folder.exists():
            return
        yield str(folder)


def put_back(desk: Desk, record: Record) -> None:
    """Restore the file, or remove it and the folders created for it. A symbolic link stays."""
    path, backup = Path(record.path), desk.places.data / FOLDER / record.backup
    if record.before is None:
        with writing(path):
            Path(os.path.realpath(path)).unlink()
        for folder in record.folders:
            with contextlib.suppress(OSError):  # not empty
                Path(folder).rmdir()
        return
    kept = content(backup) if record.backup else None
    if kept is None or hash_of(kept) != record.before:
        raise Refused(
            what=f"The backup {backup} has changed; {path} was left as it is.",
            next=f"remove the entries that contain {SCRIPT} from {path} by hand",
        )
    write(path, kept)
    with writing(backup):
        backup.unlink()


def record_of(desk: Desk, agent: str, path: Path) -> Record | None:
    for file in (_record_file(desk, agent, path), _old_record_file(desk, agent)):
        found = _read(file)
        if found is not None and found.path == str(path):
            return found
    return None


def paths_of(desk: Desk, agent: str) -> list[tuple[str, str]]:
    """Changed files of an agent, as path and name."""
    files = [*sorted((desk.places.data / FOLDER).glob(f"{agent}.*.json")), _old_record_file(desk, agent)]
    records = [found for file in files if (found := _read(file))]
    return [(record.path, Path(record.path).name) for record in records]


def forget(desk: Desk, agent: str, path: Path) -> None:
    files = [_record_file(desk, agent, path)]
    old = _read(_old_record_file(desk, agent))
    if old is None or old.path == str(path):
        files.append(_old_record_file(desk, agent))
    for file in files:
        with writing(file):
            file.unlink(missing_ok=True)


def any_left(desk: Desk) -> bool:
    return any(_read(file) for file in (desk.places.data / FOLDER).glob("*.json"))


def _record_file(desk: Desk, agent: str, path: Path) -> Path:
    return desk.places.data / FOLDER / f"{agent}.{hash_of(os.fsencode(path))[:12]}.json"


def _old_record_file(desk: Desk, agent: str) -> Path:
    """Record of an earlier version of Segue, when an agent had one file."""
    return desk.places.data / FOLDER / f"{agent}.json"


def _read(file: Path) -> Record | None:
    try:
        found = content(file)
        return msgspec.json.decode(found, type=Record) if found else None
    except (Refused, msgspec.MsgspecError):
        return None  # undo then removes Segue's entries


def sweep(desk: Desk, agent: str, path: Path) -> None:
    """Remove half-written files of killed processes, here and beside the settings file. Only the holder of the lock
    writes here."""
    record = record_of(desk, agent, path)
    known = {record.before, record.after} if record else set()
    beside = Path(os.path.realpath(path)).parent
    for file in beside.glob(f"{files.TEMPORARY}*") if record else ():
        if HALF_WRITTEN.fullmatch(file.name) and _is_ours(file, known):
            _discard(file)
    for file in (desk.places.data / FOLDER).glob(f"{files.TEMPORARY}*"):
        _discard(file)


def _is_ours(file: Path, known: set[str | None]) -> bool:
    """Whether a file is empty or has a known content."""
    try:
        found = files.read_file(file, LARGEST)
        return files.is_ours(file) and (not found or hash_of(found) in known)
    except OSError:
        return False


def _discard(file: Path) -> None:
    with contextlib.suppress(OSError):  # segue doctor reports what stays
        file.unlink()


# Files


def content(path: Path) -> bytes | None:
    try:
        return files.read_file(path, LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refused(
            what=f"{path} cannot be read: {error.strerror}. It was left as it is.", next=AGAIN
        ) from error


def seen(desk: Desk, agent: str, path: Path) -> bytes | None:
    """Content of a file that may contain Segue's entries. None if it has no record and is unreadable or does not name
    Segue."""
    try:
        found = content(path)
    except Refused:
        if record_of(desk, agent, path) is None:
            return None
        raise
    is_named = found is not None and any(name in found for name in NAMES)
    return found if is_named or record_of(desk, agent, path) is not None else None


@contextlib.contextmanager
def understood(path: Path) -> Iterator[None]:
    """Refuse settings that cannot be parsed."""
    try:
        yield
    except ValueError as error:
        raise Refused(what=f"{path} cannot be parsed: {error}. It was left as it is.", next=AGAIN) from error


def write(path: Path, new: bytes) -> None:
    """Replace a file and keep its permissions; follow a symbolic link."""
    with writing(path):
        real = Path(os.path.realpath(path))
        mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else 0o600
        files.write_file(real, new, mode=mode)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SettingsNotWritten(place=path, what=error.strerror or str(error)) from error


def refuse_exposed(desk: Desk) -> None:
    """Refuse a data folder that others can write to, because agents run the script in it."""
    data = desk.places.data
    with writing(data):
        if data.exists() and not files.is_ours(data):
            raise StoreForeign(place=data)
        if data.exists() and files.is_writable_by_others(data):
            raise StoreExposed(place=data, what="others may write to it")


@contextlib.contextmanager
def locked(desk: Desk) -> Iterator[None]:
    lock = desk.places.data / FOLDER / ".lock"
    with contextlib.ExitStack() as held:
        with writing(lock):
            held.enter_context(files.locked(lock))
        yield


def hash_of(data: bytes) -> str:
    from hashlib import sha256  # lazy: only set-up needs it

    return sha256(data).hexdigest()
