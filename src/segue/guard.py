"""Keeping an agent off a worktree that another one holds: the note of it, and whether a call must be refused.

Whether a worktree is held is on record in the store. An agent's hook runs before every edit and opens no database, so
each lease has a note beside it in a folder of its own: one file for each worktree, none if none is held.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from segue import clock, disk
from segue.clock import Moment

FOLDER = "leases"
LOCK = ".lock"
LARGEST = 1 << 16
LOG = "guard.log"
LARGEST_LOG = 1 << 16
LARGEST_POINTER = 4096


class Held(Struct, frozen=True, kw_only=True):
    """A worktree in the hands of a handoff, until a moment."""

    root: str
    handoff: str
    holder: str
    """Who works there, as people call it."""
    since: Moment
    expires: Moment
    back: str = "segue back"
    """What a person types to have it returned."""


class Attempt(Struct, frozen=True, kw_only=True):
    """What an agent is about to do: change files, or run a command."""

    folder: str
    """Where it stands."""
    paths: tuple[str, ...] = ()
    command: str = ""


# The notes


def note_of(data: Path, root: str) -> Path:
    """Where the note of a worktree is."""
    from hashlib import sha256  # lazy: a hook reads all notes there are

    return data / FOLDER / f"{sha256(os.fsencode(root)).hexdigest()[:32]}.json"


def put(data: Path, held: Held, now: Moment) -> None:
    """Leave a note for the hooks. Those whose time is over go: with none left, a hook ends at once."""
    fields = {name: getattr(held, name) for name in held.__struct_fields__}
    with disk.locked(data / FOLDER / LOCK):
        _sweep(data, now)
        # Not msgspec: a path that is no UTF-8 must come back as it was.
        disk.write_file(note_of(data, held.root), json.dumps(fields).encode())


def drop(data: Path, root: str, handoff: str) -> None:
    """Take the note of a handoff away; another's stays."""
    path = note_of(data, root)
    if not path.parent.is_dir():
        return
    with disk.locked(path.parent / LOCK):
        held = _read(path)
        if held is None or held.handoff == handoff:
            path.unlink(missing_ok=True)


def sweep(data: Path, now: Moment) -> None:
    """Take away the notes whose time is over."""
    with disk.locked(data / FOLDER / LOCK):
        _sweep(data, now)


def _sweep(data: Path, now: Moment) -> None:
    for path, held in _notes(data):
        if held.expires <= now:
            path.unlink(missing_ok=True)


def notes(data: Path) -> list[Held]:
    """All that is noted, whether its time is over or not."""
    return [held for _, held in _notes(data)]


def unreadable(data: Path) -> list[Path]:
    """The notes that nobody can read, and that therefore hold nobody up."""
    return [path for path in sorted((data / FOLDER).glob("*.json")) if path.exists() and _read(path) is None]


def _notes(data: Path) -> Iterator[tuple[Path, Held]]:
    for path in sorted((data / FOLDER).glob("*.json")):
        if held := _read(path):
            yield path, held


def _read(path: Path) -> Held | None:
    """A note; None where there is none, or none that can be read: what nobody can read holds nobody up."""
    try:
        fields = json.loads(disk.read_file(path, LARGEST))
        held = Held(**{name: fields[name] for name in Held.__struct_fields__})
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return held if all(isinstance(value, str) for value in fields.values()) else None


# The decision


def refusal(attempt: Attempt, held: Iterable[Held], *, handoff: str, now: Moment) -> str:
    """Why an agent must not do what it is about to do; empty if it may. `handoff` is the one it works for itself."""
    for one in held:
        if one.expires > now and one.handoff != handoff and _reaches(attempt, one.root):
            return _reason(attempt, one)
    return ""


def _reaches(attempt: Attempt, root: str) -> bool:
    """Whether it would change something in a worktree."""
    if not attempt.command:
        paths = attempt.paths or (attempt.folder,)
        return any(is_within(os.path.join(attempt.folder, path), root) for path in paths)  # noqa: PTH118 - as told
    named = re.search(rf"{re.escape(root)}(?![\w.-])", attempt.command)
    if not named and not is_within(attempt.folder, root):
        return False
    from segue.facts.looking import only_looks  # lazy: only a command needs it

    return not only_looks(attempt.command)


def is_within(path: str, root: str) -> bool:
    """Whether a path is in a worktree: below its root, and not in another worktree or repository below it. A submodule
    is a part of what it is in."""
    folder = Path(os.path.realpath(path))
    for place in (folder, *folder.parents):
        if _is_same(place, root):
            return True
        if _is_another(place / ".git"):
            return False
    return False


def _is_same(place: Path, root: str) -> bool:
    if str(place) == root:
        return True
    try:
        # Where names differ and folders do not: a disk that takes capitals for small letters, a bind mount.
        return place.samefile(root)
    except OSError:
        return False


def _is_another(pointer: Path) -> bool:
    """Whether a `.git` makes its folder a worktree of its own."""
    try:
        if pointer.is_dir():
            return True
        text = disk.read_file(pointer, LARGEST_POINTER)
    except OSError:
        return False
    return b"/modules/" not in text


def _reason(attempt: Attempt, held: Held) -> str:
    what = "This command may change files there" if attempt.command else "This edit is in it"
    return (
        f"{held.holder} holds the worktree {_shown(held.root)} since {_local(held.since)}: the work was handed to it "
        f"({held.handoff}), and two agents must not change the same files. {what}, so it was refused; reading is "
        f"allowed. Do not look for a way around this: stop here and tell the person that `{held.back}` brings the work "
        f"back to you. The hold ends by itself at {_local(held.expires)}."
    )


def _shown(path: str) -> str:
    return path.encode(errors="replace").decode()


def _local(moment: Moment) -> str:
    return clock.parse(moment).astimezone().strftime("%Y-%m-%d %H:%M")


# What went wrong


class Failure(Struct, frozen=True):
    """A call of the guard that could not be decided, and was let pass."""

    at: Moment
    error: str


def note_failure(data: Path, error: BaseException, now: Moment) -> None:
    """Keep what went wrong for `segue doctor`: the same thing once while it goes on, and never more than so much."""
    what = f"{type(error).__name__}: {error}"[:500]
    with contextlib.suppress(OSError):
        known = failures(data)
        if known and known[-1].error == what:
            return
        disk.make_private_folder(data)
        path = data / LOG
        is_full = path.is_file() and path.stat().st_size >= LARGEST_LOG
        ending = os.O_TRUNC if is_full else os.O_APPEND
        fd = disk.open_private(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | ending)
        try:
            disk.write_all(fd, json.dumps({"at": now, "error": what}).encode() + b"\n")
        finally:
            os.close(fd)


def failures(data: Path) -> list[Failure]:
    """Every call that is known to have gone wrong, newest last."""
    try:
        lines = disk.read_file(data / LOG, 2 * LARGEST_LOG).splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            record = json.loads(line)
            clock.parse(record["at"])
            found.append(Failure(record["at"], str(record["error"])[:500]))
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
    return found
