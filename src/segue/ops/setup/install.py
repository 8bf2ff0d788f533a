"""`segue init`: changes to the settings of the agents on this machine, and their undo.

Each settings file is changed once, with all patches for it, with a backup, after the user has seen the change. Undo
restores the file byte for byte. If somebody else changed the file since, undo removes only Segue's entries.
"""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct

from segue import agents, redact
from segue.agents.shared.settings.settings_patch import SCRIPT, Piece, Reach
from segue.errors import AgentError, Refused, SegueError
from segue.model import Agent
from segue.ops.common import redaction
from segue.ops.common.desk import Desk
from segue.ops.setup import hook_script, settings_backup
from segue.ops.setup.settings_backup import Record

APART = "\n\x1e\x1e\n"


class State(StrEnum):
    DUE = "to be set up"
    DONE = "set up"
    ALREADY = "already set up"
    NOT_HERE = "not on this machine"
    NOTHING = "has no hooks that Segue can use"
    ONLY_TOOLS = "has no hooks that Segue can use; segue init --mcp gives it tools"
    SCRIPT = "the script that the hooks of a plugin run was written; no settings were changed"
    UNDONE = "taken back"
    TAKEN_OUT = "taken out"
    NOT_SET_UP = "not set up"


class Change(Struct, frozen=True, kw_only=True):
    """Change to one settings file of an agent."""

    agent: str
    title: str
    state: State
    path: str = ""
    purposes: tuple[str, ...] = ()
    diff: str = ""
    """Diff without secrets, because settings may contain keys."""
    backup: str = ""
    notes: tuple[str, ...] = ()
    """Remarks for the user."""


class Planned(Struct, frozen=True, kw_only=True):
    """Planned change, with the file before and after it. None means that there is no file."""

    change: Change
    before: bytes | None = None
    after: bytes | None = None
    clean: bytes | None = None
    """File without Segue's entries, if it has any before the change."""


class Fitted(Struct, frozen=True):
    """Settings file of an agent, with all patches for it."""

    agent: Agent
    path: Path
    pieces: tuple[Piece, ...]


def plan(desk: Desk, names: Sequence[str] = (), *, tools: bool = False) -> tuple[Planned, ...]:
    """Plan the changes for all agents or the named ones, with the MCP server if `tools` is set. Nothing is written."""
    planned: list[Planned] = []
    for agent in _agents(names):
        pieces, possible = _pieces(agent, tools=tools), _pieces(agent, tools=True)
        if not _is_here(desk, agent, possible):
            planned += [Planned(change=_change(agent, State.NOT_HERE))] if pieces or names else []
        elif pieces:
            every = {one.path: one.pieces for one in _files(desk, agent, possible)}
            planned += [_plan(desk, one, every[one.path]) for one in _files(desk, agent, pieces)]
        elif possible or names:
            state = State.ONLY_TOOLS if possible else State.NOTHING
            planned.append(Planned(change=_change(agent, state)))
    return tuple(planned)


def apply(desk: Desk, planned: Sequence[Planned]) -> tuple[Change, ...]:
    """Apply planned changes. A file that changed since is refused."""
    settings_backup.refuse_exposed(desk)
    return tuple(_apply(desk, one) for one in planned)


def leave_script(desk: Desk, names: Sequence[str]) -> tuple[Change, ...]:
    """Write only the hook script, for agents whose plugin brings the hooks."""
    settings_backup.refuse_exposed(desk)
    with settings_backup.locked(desk):
        for agent in _agents(names):
            hook_script.write(desk, agent.name)
    path = str(desk.places.data / SCRIPT)
    return (Change(agent=" ".join(names), title="", state=State.SCRIPT, path=path),)


def undo(desk: Desk, names: Sequence[str] = ()) -> tuple[Change, ...]:
    """Undo what was set up, and leave the rest of each file unchanged. An error in one file is raised after all others
    are done."""
    changes, left = list[Change](), list[SegueError]()
    # Create no folder if nothing was set up.
    is_there = (desk.places.data / settings_backup.FOLDER).is_dir()
    with settings_backup.locked(desk) if is_there else contextlib.nullcontext():
        for agent in _agents(names):
            known = settings_backup.paths_of(desk, agent.name)
            for fitted in _files(desk, agent, _pieces(agent, tools=True), known):
                try:
                    changes.append(_undo(desk, fitted))
                except SegueError as error:
                    left.append(error)
        if not left and not settings_backup.any_left(desk):
            hook_script.remove(desk)
    shown = [one for one in changes if one.state is not State.NOT_SET_UP]
    if left:
        raise _not_all(left, shown)
    return tuple(shown or {change.agent: change for change in changes}.values())


def _not_all(left: Sequence[SegueError], done: Sequence[Change]) -> SegueError:
    if len(left) == 1 and not done:
        return left[0]
    told = [*map(str, left), *(f"{one.title}: {one.state} ({one.path})." for one in done)]
    return Refused(what=" ".join(told), next=left[0].next_step)


def trouble(desk: Desk) -> Iterator[tuple[str, str]]:
    """Agents whose set-up does not work, with the reason. For `segue doctor`."""
    for agent in _agents(()):
        yield from ((agent.title, why) for why in _looked_at(desk, agent, tools=True) if why)


def sound(desk: Desk) -> Iterator[str]:
    """Agents whose hooks are set up and can run. For `segue doctor`."""
    for agent in _agents(()):
        found = list(_looked_at(desk, agent, tools=False))
        if found and not any(found):
            yield agent.title


def _looked_at(desk: Desk, agent: Agent, *, tools: bool) -> Iterator[str]:
    """Problem of each patch that is set up; empty if there is none."""
    reach = hook_script.reach(desk)
    for fitted in _files(desk, agent, _pieces(agent, tools=tools)):
        try:
            content = settings_backup.seen(desk, agent.name, fitted.path)
        except Refused as error:
            yield str(error)
            continue
        for piece in fitted.pieces if content is not None else ():
            with contextlib.suppress(ValueError):  # segue init reports it
                text = _text(content, piece)
                if piece.drop(text, reach) == text:
                    continue
                yield piece.trouble(text, reach, desk.env)
                if not piece.has(text, reach):
                    yield f"{fitted.path} was set up by another version of Segue"


def is_set_up(desk: Desk) -> bool:
    return settings_backup.any_left(desk)


# Files and patches


def _agents(names: Sequence[str]) -> list[Agent]:
    """Named agents, or all that load: agents of other packages may be broken."""
    found = []
    for name in names or agents.names():
        with contextlib.nullcontext() if names else contextlib.suppress(AgentError):
            found.append(agents.get(name))
    return found


def _pieces(agent: Agent, *, tools: bool) -> tuple[Piece, ...]:
    offered, server = agents.load(agent.name).pieces, agents.load(agent.name).tool_server
    usual = tuple(offered()) if offered else ()
    return (*usual, server()) if tools and server else usual


def _files(
    desk: Desk, agent: Agent, pieces: Sequence[Piece], more: Sequence[tuple[str, str]] = ()
) -> list[Fitted]:
    """Patches grouped by file. A file that was changed earlier may be at another path than now; its name decides which
    patches it has."""
    found: dict[Path, list[Piece]] = {}
    for piece in pieces:
        found.setdefault(piece.file(desk.env), []).append(piece)
    named = {path.name: tuple(each) for path, each in found.items()}
    fitted = {path: Fitted(agent, path, tuple(each)) for path, each in found.items()}
    for path, name in more:
        if Path(path) not in fitted:
            fitted[Path(path)] = Fitted(agent, Path(path), named.get(name, ()))
    return list(fitted.values())


def _is_here(desk: Desk, agent: Agent, pieces: Sequence[Piece]) -> bool:
    is_installed = bool(agent.program) and agents.locate(agent, desk.env).path is not None
    return is_installed or any(
        piece.file(desk.env).parent.is_dir() for piece in pieces if not _at_home(desk, piece)
    )


def _at_home(desk: Desk, piece: Piece) -> bool:
    """Whether a file is directly in the home folder, whose existence proves nothing."""
    return str(piece.file(desk.env).parent) == desk.env.get("HOME")


def _change(agent: Agent, state: State, path: Path | str = "") -> Change:
    return Change(agent=agent.name, title=agent.title, state=state, path=str(path))


# Setting up


def _plan(desk: Desk, fitted: Fitted, every: Sequence[Piece]) -> Planned:
    reach, path = hook_script.reach(desk), fitted.path
    before = settings_backup.content(path)
    with settings_backup.understood(path):
        text = _text(before, fitted.pieces[0])
        after, due = text, list[Piece]()
        for piece in fitted.pieces:
            if not piece.has(after, reach):
                after, due = piece.add(after, reach), [*due, piece]
        if not all(piece.has(after, reach) for piece in due):
            raise ValueError("the added entries could not be read back")
        clean = _without(text, every, reach)
        notes = [note for piece in fitted.pieces if (note := piece.trouble(after, reach, desk.env))]
        written = after.encode() if after != text else before
    is_done = after == text and hook_script.is_there(desk, fitted.agent.name)
    change = msgspec.structs.replace(
        _change(fitted.agent, State.ALREADY if is_done else State.DUE, path),
        purposes=tuple(piece.purpose for piece in due),
        diff=_diff(path, *_without_secrets(desk, text if before is not None else "", after)),
        notes=tuple(notes),
    )
    return Planned(
        change=change, before=before, after=written, clean=clean.encode() if clean != text else None
    )


def _apply(desk: Desk, planned: Planned) -> Change:
    change, path = planned.change, Path(planned.change.path)
    if change.state is not State.DUE or planned.after is None:
        return change
    with settings_backup.locked(desk):
        if settings_backup.content(path) != planned.before:
            raise Refused(
                what=f"{path} changed while you reviewed it. Nothing was written.", next="segue init"
            )
        hook_script.write(desk, change.agent)
        backup = ""
        if planned.after != planned.before:
            backup = settings_backup.keep(
                desk, change.agent, path, planned.before, planned.after, planned.clean
            )
            settings_backup.write(path, planned.after)
    return msgspec.structs.replace(change, state=State.DONE, backup=backup)


# Undo


def _undo(desk: Desk, fitted: Fitted) -> Change:
    path, record = fitted.path, settings_backup.record_of(desk, fitted.agent.name, fitted.path)
    change = _change(fitted.agent, State.NOT_SET_UP, path)
    settings_backup.sweep(desk, fitted.agent.name, path)
    content = settings_backup.seen(desk, fitted.agent.name, path)
    if content is not None and record is not None and settings_backup.hash_of(content) == record.after:
        settings_backup.put_back(desk, record)
        change = _change(fitted.agent, State.UNDONE, path)
    elif content is not None and _take_out(desk, fitted, content):
        change = _left(desk, fitted, record)
    settings_backup.forget(desk, fitted.agent.name, path)
    return change


def _take_out(desk: Desk, fitted: Fitted, content: bytes) -> bool:
    """Remove Segue's entries from a file that others changed. Returns whether there were any."""
    with settings_backup.understood(fitted.path):
        text = _text(content, fitted.pieces[0]) if fitted.pieces else ""
        reach = hook_script.reach(desk)
        without = _without(text, fitted.pieces, reach)
        if _without(without, fitted.pieces, reach) != without:  # parse again, by the agent's rules
            raise ValueError("Segue's entries cannot be removed")
        written = without.encode()
    if without == text:
        return False
    settings_backup.write(fitted.path, written)
    return True


def _left(desk: Desk, fitted: Fitted, record: Record | None) -> Change:
    change = _change(fitted.agent, State.TAKEN_OUT, fitted.path)
    if record is None:
        return change
    note = "the file was changed since it was set up, so only Segue's entries were removed"
    kept = str(desk.places.data / settings_backup.FOLDER / record.backup) if record.backup else ""
    return msgspec.structs.replace(change, backup=kept, notes=(note,))


def _without(text: str, pieces: Sequence[Piece], reach: Reach) -> str:
    for piece in pieces:
        text = piece.drop(text, reach)
    return text


def _text(content: bytes | None, piece: Piece) -> str:
    """Text of a file; an empty file counts as missing."""
    return content.decode() if content and content.strip() else piece.empty


def _without_secrets(desk: Desk, before: str, after: str) -> tuple[str, str]:
    """Redact both texts whole and together, because a diff may contain only part of a secret. The key is temporary:
    nothing is written before the user agrees."""
    key, allow = os.urandom(redaction.KEY_BYTES), desk.settings.redact_allow
    clean = redact.redact(APART.join((before, after)), key=key, allow=allow).text.split(APART)
    if len(clean) == 2:
        return clean[0], clean[1]
    # A secret reached across both texts, so each is redacted separately.
    return redact.redact(before, key=key, allow=allow).text, redact.redact(after, key=key, allow=allow).text


def _diff(path: Path, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), str(path), str(path), n=1
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)
