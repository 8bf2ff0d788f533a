"""Setting up the agents on this machine: what `segue init` changes in their settings, and how that is taken back.

Another program's settings are changed at one place, after the person has seen the change, with a backup. Each file is
changed once, with all pieces that go into it. Taking it back leaves the file byte for byte as it was before the first
change; if somebody else changed it since, only what is ours is taken out.
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
    """What is done to one file of an agent, for people to see."""

    agent: str
    title: str
    state: State
    path: str = ""
    purposes: tuple[str, ...] = ()
    diff: str = ""
    """Without secrets: settings may hold keys, and it is shown."""
    backup: str = ""
    notes: tuple[str, ...] = ()
    """What else there is to know."""


class Planned(Struct, frozen=True, kw_only=True):
    """A change with the file as it is and as it is to be. None: there is no file."""

    change: Change
    before: bytes | None = None
    after: bytes | None = None
    clean: bytes | None = None
    """The file without what is ours, where it holds any before."""


class Fitted(Struct, frozen=True):
    """A file of an agent, and all that goes into it."""

    agent: Agent
    path: Path
    pieces: tuple[Piece, ...]


def plan(desk: Desk, names: Sequence[str] = (), *, tools: bool = False) -> tuple[Planned, ...]:
    """What setting up would change, for all agents or those that are named; with the tool server, if that is wanted.
    Nothing is written."""
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
    """Do what was planned, if the files are still what they were then."""
    settings_backup.refuse_exposed(desk)
    return tuple(_apply(desk, one) for one in planned)


def leave_script(desk: Desk, names: Sequence[str]) -> tuple[Change, ...]:
    """What the hooks of a plugin run, and no more: the plugin brings the hooks, so no settings are changed."""
    settings_backup.refuse_exposed(desk)
    with settings_backup.locked(desk):
        for agent in _agents(names):
            hook_script.write(desk, agent.name)
    path = str(desk.places.data / SCRIPT)
    return (Change(agent=" ".join(names), title="", state=State.SCRIPT, path=path),)


def undo(desk: Desk, names: Sequence[str] = ()) -> tuple[Change, ...]:
    """Take back what was set up, and leave the rest of each file alone. One that cannot be taken back does not keep the
    others: an error at the end tells of it."""
    changes, left = list[Change](), list[SegueError]()
    # Where nothing was set up, nothing is made to find that out.
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
    return tuple(shown or _once_each(changes))


def _not_all(left: Sequence[SegueError], done: Sequence[Change]) -> SegueError:
    if len(left) == 1 and not done:
        return left[0]
    told = [*map(str, left), *(f"{one.title}: {one.state} ({one.path})." for one in done)]
    return Refused(what=" ".join(told), next=left[0].next_step)


def trouble(desk: Desk) -> Iterator[tuple[str, str]]:
    """What is set up and does nothing, or not what it should: the agent, and why. For the doctor."""
    for agent in _agents(()):
        yield from ((agent.title, why) for why in _looked_at(desk, agent, tools=True) if why)


def sound(desk: Desk) -> Iterator[str]:
    """The agents whose hooks are set up, with nothing there that keeps them from running. For the doctor."""
    for agent in _agents(()):
        found = list(_looked_at(desk, agent, tools=False))
        if found and not any(found):
            yield agent.title


def _looked_at(desk: Desk, agent: Agent, *, tools: bool) -> Iterator[str]:
    """Of each piece that is there, what is wrong with it; empty if nothing is."""
    reach = hook_script.reach(desk)
    for fitted in _files(desk, agent, _pieces(agent, tools=tools)):
        try:
            content = settings_backup.seen(desk, agent.name, fitted.path)
        except Refused as error:
            yield str(error)
            continue
        for piece in fitted.pieces if content is not None else ():
            with contextlib.suppress(ValueError):  # init tells of it
                text = _text(content, piece)
                if piece.drop(text, reach) == text:
                    continue
                yield piece.trouble(text, reach, desk.env)
                if not piece.has(text, reach):
                    yield f"{fitted.path} holds what another version of Segue set up"


def is_set_up(desk: Desk) -> bool:
    return settings_backup.any_left(desk)


# What belongs where


def _agents(names: Sequence[str]) -> list[Agent]:
    """The agents that are named, or all. What another package brings may be broken."""
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
    """The pieces by the file that they go into. A file that was changed before may be elsewhere than it is by now: its
    name tells which pieces it holds."""
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
    """Whether a file lies in the person's home itself: that this is there tells nothing."""
    return str(piece.file(desk.env).parent) == desk.env.get("HOME")


def _change(agent: Agent, state: State, path: Path | str = "") -> Change:
    return Change(agent=agent.name, title=agent.title, state=state, path=str(path))


def _once_each(changes: Sequence[Change]) -> list[Change]:
    return list({change.agent: change for change in changes}.values())


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
            raise ValueError("what is to be added would not be found there")
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
                what=f"{path} was changed while you looked at it. Nothing was written.", next="segue init"
            )
        hook_script.write(desk, change.agent)
        backup = ""
        if planned.after != planned.before:
            backup = settings_backup.keep(
                desk, change.agent, path, planned.before, planned.after, planned.clean
            )
            settings_backup.write(path, planned.after)
    return msgspec.structs.replace(change, state=State.DONE, backup=backup)


# Taking it back


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
    """Only what is ours, of a file that holds more than we left there; whether there was anything."""
    with settings_backup.understood(fitted.path):
        text = _text(content, fitted.pieces[0]) if fitted.pieces else ""
        reach = hook_script.reach(desk)
        without = _without(text, fitted.pieces, reach)
        if _without(without, fitted.pieces, reach) != without:  # read once more, by the agent's own rules
            raise ValueError("what is Segue's cannot be taken out of it")
        written = without.encode()
    if without == text:
        return False
    settings_backup.write(fitted.path, written)
    return True


def _left(desk: Desk, fitted: Fitted, record: Record | None) -> Change:
    change = _change(fitted.agent, State.TAKEN_OUT, fitted.path)
    if record is None:
        return change
    note = "the file was changed since it was set up, so only what Segue put there was taken out of it"
    kept = str(desk.places.data / settings_backup.FOLDER / record.backup) if record.backup else ""
    return msgspec.structs.replace(change, backup=kept, notes=(note,))


def _without(text: str, pieces: Sequence[Piece], reach: Reach) -> str:
    for piece in pieces:
        text = piece.drop(text, reach)
    return text


def _text(content: bytes | None, piece: Piece) -> str:
    """What the file says; an empty one says as little as none."""
    return content.decode() if content and content.strip() else piece.empty


def _without_secrets(desk: Desk, before: str, after: str) -> tuple[str, str]:
    """Both as they may be shown. They are looked through whole and as one: a diff may hold only part of a secret. The
    key is for this once, as nothing is written before the person agrees."""
    key, allow = os.urandom(redaction.KEY_BYTES), desk.settings.redact_allow
    clean = redact.redact(APART.join((before, after)), key=key, allow=allow).text.split(APART)
    if len(clean) == 2:
        return clean[0], clean[1]
    # One went on from one text into the other: then each is looked at by itself.
    return redact.redact(before, key=key, allow=allow).text, redact.redact(after, key=key, allow=allow).text


def _diff(path: Path, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), str(path), str(path), n=1
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)
