"""Setting up the agents on this machine: so far the one hook that keeps an agent off a worktree that another holds.

Another program's settings are changed at one place, after the person has seen the change, with a backup. Taking it back
leaves the file byte for byte as it was; if it was changed since, only what is ours is taken out.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import shlex
import stat
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from segue import agents, disk, guard
from segue.errors import AgentError, Refused, SettingsNotWritten
from segue.model import Agent
from segue.ops.desk import Desk

if TYPE_CHECKING:
    from segue.agents.hooking import Hooks

FOLDER = "setup"
SCRIPT = "guard.sh"
LARGEST = 4 << 20
EMPTY = b"{}\n"

GUARD = """\
#!/bin/sh
# Made by `segue init`, removed by `segue init --undo`. An agent runs this before it changes a file.
# While no worktree is held there is no file here, and nothing to ask.
for note in {notes}/*.json; do
  [ -e "$note" ] || exit 0
  [ -x {python} ] || exit 0
  exec {python} -E -P -m segue.faces.hook {data} "$@"
done
"""


class State(StrEnum):
    DUE = "to be set up"
    DONE = "set up"
    ALREADY = "already set up"
    NOT_HERE = "not on this machine"
    UNDONE = "taken back"
    TAKEN_OUT = "taken out"
    NOT_SET_UP = "not set up"


class Change(Struct, frozen=True, kw_only=True):
    """What is done to the settings of one agent, for people to see."""

    agent: str
    title: str
    state: State
    path: str
    diff: str = ""
    backup: str = ""
    note: str = ""
    """What else there is to know."""


class Planned(Struct, frozen=True, kw_only=True):
    """A change with the file as it is and as it is to be. None: there is no file."""

    change: Change
    before: bytes | None = None
    after: bytes | None = None


class Record(Struct, frozen=True):
    """What was done, so that it can be taken back. The hashes are of the file before and after."""

    path: str
    before: str | None
    after: str
    backup: str


def plan(desk: Desk) -> tuple[Planned, ...]:
    """What setting up would change. Nothing is written."""
    return tuple(_plan(desk, agent, hooks) for agent, hooks in _hooked())


def apply(desk: Desk, planned: tuple[Planned, ...]) -> tuple[Change, ...]:
    """Do what was planned, if the files are still what they were then."""
    return tuple(_apply(desk, one) for one in planned)


def undo(desk: Desk) -> tuple[Change, ...]:
    """Take back what was set up, and leave the rest of each file alone."""
    # Where nothing was set up, nothing is made to find that out.
    is_there = (desk.places.data / FOLDER).is_dir()
    with _locked(desk) if is_there else contextlib.nullcontext():
        changes = tuple(_undo(desk, agent, hooks) for agent, hooks in _hooked())
        with _writing(desk.places.data / SCRIPT):
            (desk.places.data / SCRIPT).unlink(missing_ok=True)
    return changes


def _hooked() -> Iterator[tuple[Agent, Hooks]]:
    """The agents that can be asked before they change something."""
    for name in agents.names():
        with contextlib.suppress(AgentError):
            if offered := agents.offers(name, "hooks"):
                yield agents.get(name), offered()


def command(desk: Desk, agent: str) -> str:
    """What stands in an agent's settings. Without the script, the agent goes on undisturbed."""
    script = shlex.quote(str(desk.places.data / SCRIPT))
    return f"[ ! -x {script} ] || {script} {shlex.quote(agent)}"


def script(desk: Desk) -> bytes:
    notes, data = (shlex.quote(str(path)) for path in (desk.places.data / guard.FOLDER, desk.places.data))
    return GUARD.format(notes=notes, data=data, python=shlex.quote(sys.executable)).encode(
        errors="surrogateescape"
    )


def _plan(desk: Desk, agent: Agent, hooks: Hooks) -> Planned:
    path = hooks.settings_file(desk.env)
    change = Change(agent=agent.name, title=agent.title, state=State.NOT_HERE, path=str(path))
    if agents.locate(agent, desk.env).path is None and not path.parent.is_dir():
        return Planned(change=change)
    before = _content(path)
    wanted = command(desk, agent.name)
    with _understood(path):
        text = _text(before)
        note = hooks.trouble_with(text)
        after = text if hooks.has_hook(text, wanted) else hooks.add_hook(text, wanted)
        written = after.encode() if after != text else before
    is_done = after == text and _is_script_there(desk)
    state = State.ALREADY if is_done else State.DUE
    diff = _diff(path, text if before is not None else "", after)
    change = msgspec.structs.replace(change, state=state, diff=diff, note=note)
    return Planned(change=change, before=before, after=written)


def _apply(desk: Desk, planned: Planned) -> Change:
    change, path = planned.change, Path(planned.change.path)
    if change.state is not State.DUE or planned.after is None:
        return change
    with _locked(desk):
        if _content(path) != planned.before:
            raise Refused(
                what=f"{path} was changed while you looked at it. Nothing was written.", next="segue init"
            )
        with _writing(desk.places.data / SCRIPT):
            disk.write_file(desk.places.data / SCRIPT, script(desk), mode=0o700)
        backup = ""
        if planned.after != planned.before:
            backup = _keep(desk, change.agent, path, planned)
            _write(path, planned.after)
    return msgspec.structs.replace(change, state=State.DONE, backup=backup)


def _keep(desk: Desk, agent: str, path: Path, planned: Planned) -> str:
    """The backup and the record of a change that is about to be made."""
    when = desk.clock()[:19].replace("-", "").replace(":", "")
    backup = desk.places.data / FOLDER / f"{agent}-{when}Z.json"
    record = Record(
        path=str(path),
        before=_hash(planned.before) if planned.before is not None else None,
        after=_hash(planned.after or b""),
        backup=backup.name if planned.before is not None else "",
    )
    with _writing(backup):
        if planned.before is not None:
            disk.write_file(backup, planned.before)
        disk.write_file(_record_file(desk, agent), msgspec.json.encode(record))
    return str(backup) if planned.before is not None else ""


def _undo(desk: Desk, agent: Agent, hooks: Hooks) -> Change:
    record = _record(desk, agent.name)
    path = Path(record.path) if record else hooks.settings_file(desk.env)
    change = Change(agent=agent.name, title=agent.title, state=State.NOT_SET_UP, path=str(path))
    content = _content(path)
    if content is not None and record is not None and _hash(content) == record.after:
        state = State.UNDONE
        _put_back(desk, record)
    elif content is not None:
        with _understood(path):
            text = _text(content)
            without = hooks.drop_hook(text, command(desk, agent.name))
            written = without.encode()
        state = State.NOT_SET_UP if without == text else State.TAKEN_OUT
        if without != text:
            _write(path, written)
    else:
        state = State.NOT_SET_UP
    with _writing(_record_file(desk, agent.name)):
        _record_file(desk, agent.name).unlink(missing_ok=True)
    kept = str(desk.places.data / FOLDER / record.backup) if record and record.backup else ""
    if state is not State.TAKEN_OUT:
        return msgspec.structs.replace(change, state=state)
    note = "the file was changed since it was set up, so only the hook was taken out of it"
    return msgspec.structs.replace(change, state=state, backup=kept, note=note if record else "")


def _put_back(desk: Desk, record: Record) -> None:
    path, backup = Path(record.path), desk.places.data / FOLDER / record.backup
    if record.before is None:
        with _writing(path):
            path.unlink()
        return
    content = _content(backup) if record.backup else None
    if content is None or _hash(content) != record.before:
        raise Refused(
            what=f"The backup {backup} is not what was kept there; {path} was left as it is.",
            next=f"take the hook out of {path} by hand: its command names {SCRIPT}",
        )
    _write(path, content)
    with _writing(backup):
        backup.unlink()


# Files


def _content(path: Path) -> bytes | None:
    try:
        return disk.read_file(path, LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Refused(
            what=f"{path} cannot be read: {error.strerror}. Nothing was changed.",
            next="make it readable for you, then segue init",
        ) from error


def _text(content: bytes | None) -> str:
    """What the file says; an empty one says as little as none."""
    if content is None or not content.strip():
        return EMPTY.decode()
    return content.decode()


@contextlib.contextmanager
def _understood(path: Path) -> Iterator[None]:
    """Settings that are not what they should be are left alone."""
    try:
        yield
    except ValueError as error:
        raise Refused(
            what=f"{path} cannot be understood: {error}. Nothing was changed.",
            next="mend that file, then segue init",
        ) from error


def _write(path: Path, content: bytes) -> None:
    """In the place of a file, with its permissions; where a link stands, the file that it leads to."""
    with _writing(path):
        real = Path(os.path.realpath(path))
        mode = stat.S_IMODE(real.stat().st_mode) if real.exists() else 0o600
        disk.write_file(real, content, mode=mode)


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SettingsNotWritten(place=path, what=error.strerror or str(error)) from error


@contextlib.contextmanager
def _locked(desk: Desk) -> Iterator[None]:
    lock = desk.places.data / FOLDER / ".lock"
    with contextlib.ExitStack() as held:
        with _writing(lock):
            held.enter_context(disk.locked(lock))
        yield


def _is_script_there(desk: Desk) -> bool:
    path = desk.places.data / SCRIPT
    return os.access(path, os.X_OK) and _content(path) == script(desk)


def _record_file(desk: Desk, agent: str) -> Path:
    return desk.places.data / FOLDER / f"{agent}.json"


def _record(desk: Desk, agent: str) -> Record | None:
    content = _content(_record_file(desk, agent))
    try:
        return msgspec.json.decode(content, type=Record) if content else None
    except msgspec.MsgspecError:
        return None  # then what stands in the settings has to tell


def _hash(content: bytes) -> str:
    from hashlib import sha256  # lazy: as the desk does with what only some need

    return sha256(content).hexdigest()


def _diff(path: Path, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), str(path), str(path), n=1
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)
