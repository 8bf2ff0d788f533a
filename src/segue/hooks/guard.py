"""Guard of a leased worktree: lease notes, and the decision whether to refuse a tool call.

The lease itself is in the store. A hook runs before every edit and opens no database, so each lease has a note: one
file per worktree in a folder of its own.

A hook loads this file while the agent waits. So it imports nothing that is slow to load: no pathlib, no patterns,
no Structs. What only the writers of notes need is imported lazily.
"""

# pathlib takes as long to load as everything else together
# ruff: noqa: PTH103, PTH108, PTH110, PTH112, PTH113, PTH116, PTH118, PTH120, PTH121, PTH208

from __future__ import annotations

import os
import time

from segue.base import fast_json

TYPE_CHECKING = False
if TYPE_CHECKING:  # not from typing, which is slow to load
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import Any, TypeVar

    from segue.base.clock import Moment

    Note = TypeVar("Note", bound="Plain")

FOLDER = "leases"
MANNERS = "hooks"
LOCK = ".lock"
LARGEST = 1 << 16
LOG = "guard.log"
LARGEST_LOG = 1 << 16
LARGEST_POINTER = 4096
PATCHED = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
"""Prefixes of patch lines that name a file."""
SAID = "{said}"
"""Placeholder for the text in an answer."""


class Plain:
    """Value class without Struct, which is slow to load."""

    FIELDS: tuple[str, ...] = ()
    __slots__ = ()

    def fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.FIELDS}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash(tuple(self.fields().values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.fields()})"


class Held(Plain):
    """A worktree leased by a handoff until `expires`. `holder` is the name shown to people; `back` is the command
    that returns the work."""

    FIELDS = ("root", "handoff", "holder", "since", "expires", "back")
    __slots__ = FIELDS

    def __init__(
        self,
        *,
        root: str,
        handoff: str,
        holder: str,
        since: Moment,
        expires: Moment,
        back: str = "segue back",
    ) -> None:
        self.root = root
        self.handoff = handoff
        self.holder = holder
        self.since = since
        self.expires = expires
        self.back = back


class Attempt(Plain):
    """A file change or a command that an agent is about to make from a folder."""

    FIELDS = ("folder", "paths", "command")
    __slots__ = FIELDS

    def __init__(self, *, folder: str, paths: tuple[str, ...] = (), command: str = "") -> None:
        self.folder = folder
        self.paths = paths
        self.command = command


# Input of hooks


def manner_of(data: Path, agent: str) -> Path:
    """File that describes an agent's hook input and the form of the answers."""
    return data / MANNERS / f"{agent}.json"


def read_manner(data: str, agent: str) -> dict[str, Any]:
    found = fast_json.parse(read(f"{data}/{MANNERS}/{agent}.json", LARGEST))
    if not isinstance(found, dict):
        raise ValueError(f"the hook protocol of {agent} is not a JSON object")
    return found


def attempt_of(record: dict[str, Any], manner: Mapping[str, Any]) -> Attempt | None:
    """Parse the file change or command from a hook's input; None if the tool is not guarded."""
    tool, given = record.get("tool_name"), record.get("tool_input")
    folder = record.get("cwd")
    folder = folder if isinstance(folder, str) and folder else "/"
    if not isinstance(tool, str) or not isinstance(given, dict):
        return None
    kind = next((kind for kind in ("files", "commands", "patches") if tool in manner.get(kind, ())), "")
    if not kind:
        return None
    said = given.get(manner[kind][tool])
    if kind == "files":
        return Attempt(folder=folder, paths=(said,) if isinstance(said, str) and said else ())
    if kind == "commands":
        if isinstance(said, list):  # some agents pass a list of words
            said = " ".join(word for word in said if isinstance(word, str))
        if not isinstance(said, str) or not said.strip():
            return None
        return Attempt(folder=_standing(given, folder), command=said)
    return Attempt(folder=folder, paths=_patched(said) if isinstance(said, str) else ())


def _standing(given: dict[str, Any], folder: str) -> str:
    """Folder where a command runs: some agents pass it with the command."""
    for name in ("workdir", "dir_path", "directory"):
        if isinstance(there := given.get(name), str) and there:
            return os.path.join(folder, there)
    return folder


def _patched(patch: str) -> tuple[str, ...]:
    lines = (line.strip() for line in patch.split("\n"))
    return tuple(line[len(sign) :] for line in lines for sign in PATCHED if line.startswith(sign))


def filled(form: Any, said: str) -> Any:
    """An answer with its placeholder replaced by a text."""
    if isinstance(form, dict):
        return {key: filled(value, said) for key, value in form.items()}
    return said if form == SAID else form


# Lease notes


def note_of(data: Path, root: str) -> Path:
    from hashlib import sha256  # lazy: hooks read all notes and need no hash

    return data / FOLDER / f"{sha256(os.fsencode(root)).hexdigest()[:32]}.json"


def put(data: Path, held: Held, now: Moment) -> None:
    """Write a lease note for the hooks, and remove expired ones."""
    from segue.base import files  # lazy: see the module's docstring

    with files.locked(data / FOLDER / LOCK):
        _sweep(data, now)
        # Not msgspec: a path that is not UTF-8 must survive.
        files.write_file(note_of(data, held.root), fast_json.write(held.fields()).encode())


def drop(data: Path, root: str, handoff: str) -> None:
    """Remove the note of a handoff; notes of other handoffs stay."""
    from segue.base import files  # lazy: see the module's docstring

    path = note_of(data, root)
    if not path.parent.is_dir():
        return
    with files.locked(path.parent / LOCK):
        held = read_note(str(path), Held)
        if held is None or held.handoff == handoff:
            path.unlink(missing_ok=True)


def sweep(data: Path, now: Moment) -> None:
    """Remove expired notes."""
    from segue.base import files  # lazy: see the module's docstring

    with files.locked(data / FOLDER / LOCK):
        _sweep(data, now)


def _sweep(data: str | Path, now: Moment) -> None:
    for path in note_files(f"{data}/{FOLDER}"):
        held = read_note(path, Held)
        if held and held.expires <= now:
            forget(path)


def notes(data: str | Path) -> list[Held]:
    """All lease notes, expired or not."""
    return [held for path in note_files(f"{data}/{FOLDER}") if (held := read_note(path, Held))]


def unreadable(data: str | Path) -> list[str]:
    """Unreadable notes, which block nobody."""
    return [
        path
        for path in note_files(f"{data}/{FOLDER}")
        if os.path.exists(path) and read_note(path, Held) is None and os.path.exists(path)
    ]


def note_files(folder: str) -> list[str]:
    try:
        return sorted(f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return []


def forget(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # another process removed it


def read_note(path: str, kind: type[Note]) -> Note | None:
    """Read a note; None if it is missing or unreadable, because an unreadable note concerns nobody."""
    try:
        fields = fast_json.parse(read(path, LARGEST))
        note = kind(**{name: fields[name] for name in kind.FIELDS})
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    return note if all(isinstance(value, str) for value in fields.values()) else None


def read(path: str, largest: int) -> bytes:
    """Content of a small regular file, without blocking."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        content = os.read(fd, largest + 1)
    finally:
        os.close(fd)
    if len(content) > largest:
        raise ValueError(f"{path} is too large")
    return content


# Decision


def answer(data: str, agent: str, given: bytes, handoff: str) -> str:
    """Answer of a hook before a tool call; empty if the call is allowed. `given` is the hook's input, `handoff`
    the one that the agent works for."""
    moment = now()
    for path in unreadable(data):
        note_failure(data, ValueError(f"{path} is unreadable, so it blocks nobody"), moment)
    held = notes(data)
    if any(one.expires <= moment for one in held):
        _sweep(data, moment)  # without notes, the next hook exits at once
    if not held:
        return ""
    manner = read_manner(data, agent)
    attempt = attempt_of(asked(given), manner)
    reason = refusal(attempt, held, handoff=handoff, now=moment) if attempt else ""
    return fast_json.write(filled(manner["refuse"], reason)) if reason else ""


def asked(given: bytes) -> dict[str, Any]:
    """Parse the input of a hook."""
    record = fast_json.parse(given)
    if not isinstance(record, dict):
        raise ValueError("the hook input is not a JSON object")
    return record


def refusal(attempt: Attempt, held: Iterable[Held], *, handoff: str, now: Moment) -> str:
    """Reason to refuse an attempt; empty if it is allowed. `handoff` is the one that the agent works for."""
    for one in held:
        if one.expires > now and one.handoff != handoff and _reaches(attempt, one.root):
            return _reason(attempt, one)
    return ""


def _reaches(attempt: Attempt, root: str) -> bool:
    """Whether an attempt could change something in a worktree."""
    if not attempt.command:
        paths = attempt.paths or (attempt.folder,)
        return any(_may_be_within(os.path.join(attempt.folder, path), root) for path in paths)
    if not _names(attempt.command, root) and not _may_be_within(attempt.folder, root):
        return False
    from segue.shell import read_only  # lazy: only commands need it

    return not read_only.only_looks(attempt.command)


def _names(command: str, root: str) -> bool:
    """Whether a command names a folder: exactly, not as the prefix of a longer name."""
    at = command.find(root)
    while at >= 0:
        after = command[at + len(root) : at + len(root) + 1]
        if not after.isalnum() and after not in ("_", ".", "-"):
            return True
        at = command.find(root, at + 1)
    return False


def _may_be_within(path: str, root: str) -> bool:
    try:
        return is_within(path, root)
    except ValueError:
        return True  # not a valid file name, so the agent's use of it cannot be predicted


def is_within(path: str, root: str) -> bool:
    """Whether a path is in a worktree: below its root, and not in another worktree or repository below that. A
    submodule belongs to the repository that contains it."""
    place = os.path.realpath(path)
    while True:
        if _is_same(place, root):
            return True
        if _is_another(f"{place}/.git"):
            return False
        above = os.path.dirname(place)
        if above == place:
            return False
        place = above


def _is_same(place: str, root: str) -> bool:
    if place == root:
        return True
    try:
        # Different names of one folder: a case-insensitive disk, a bind mount.
        return os.path.samefile(place, root)
    except (OSError, ValueError):
        return False


def _is_another(pointer: str) -> bool:
    """Whether a `.git` marks the root of another worktree or repository."""
    try:
        if os.path.isdir(pointer):
            return True
        text = read(pointer, LARGEST_POINTER)
    except (OSError, ValueError):
        return False
    return b"/modules/" not in text


def _reason(attempt: Attempt, held: Held) -> str:
    what, simpler = "This edit is in it", ""
    if attempt.command:
        what, simpler = "This command may change files there", " (if this only reads, say it more simply)"
    root = held.root.encode(errors="replace").decode()
    return (
        f"{held.holder} holds the worktree {root} since {_local(held.since)}: the work was handed to it "
        f"({held.handoff}), and two agents must not change the same files. {what}, so it was refused; reading is "
        f"allowed{simpler}. Do not look for a way around this: stop here and tell the person that `{held.back}` "
        f"brings the work back to you. The hold ends by itself at {_local(held.expires)}."
    )


def _local(moment: Moment) -> str:
    """A moment in local time. Calculated here because `datetime` is slow to load."""
    year, month, day = int(moment[:4]), int(moment[5:7]), int(moment[8:10])
    year, month = (year, month) if month > 2 else (year - 1, month + 12)
    days = 365 * year + year // 4 - year // 100 + year // 400 + (153 * (month - 3) + 2) // 5 + day - 719_469
    seconds = days * 86_400 + int(moment[11:13]) * 3600 + int(moment[14:16]) * 60
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def now() -> Moment:
    """The current moment in the format of `clock.py`."""
    at = time.time_ns() // 1000
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at // 1_000_000)) + f".{at % 1_000_000:06d}Z"


# Failures


class Failure(Plain):
    """A hook call that failed and was let through."""

    FIELDS = ("at", "error")
    __slots__ = FIELDS

    def __init__(self, at: Moment, error: str) -> None:
        self.at = at
        self.error = error


def note_failure(data: str | Path, error: BaseException, now: Moment) -> None:
    """Record a failure for `segue doctor`: a repeated one once, and never beyond the size limit."""
    what = f"{type(error).__name__}: {error}"[:500]
    path = f"{data}/{LOG}"
    try:
        known = failures(data)
        if known and known[-1].error == what:
            return
        os.makedirs(data, 0o700, exist_ok=True)
        is_full = os.path.isfile(path) and os.stat(path).st_size >= LARGEST_LOG
        append(path, fast_json.write({"at": now, "error": what}), os.O_TRUNC if is_full else 0)
    except OSError:
        return  # nobody is left to report it to


def append(path: str, line: str, flags: int = 0) -> None:
    """Append a line to a private file with one write."""
    flags |= os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, 0o600)
    try:
        os.write(fd, line.encode() + b"\n")
    finally:
        os.close(fd)


def failures(data: str | Path) -> list[Failure]:
    """All recorded failures, newest last."""
    try:
        lines = read(f"{data}/{LOG}", 2 * LARGEST_LOG).splitlines()
    except (OSError, ValueError):
        return []
    found = []
    for line in lines:
        try:
            record = fast_json.parse(line)
            if record["at"][:10].replace("-", "").isdigit():
                found.append(Failure(record["at"], str(record["error"])[:500]))
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
    return found
