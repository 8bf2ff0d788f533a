"""Hooks in the settings of an agent. Several agents use the same format: by event, in groups with a matcher.

    "hooks": {"SessionStart": [{"matcher": "…", "hooks": [{"type": "command", "command": "…", "timeout": 10}]}]}

Segue's hooks run one script with Segue's own event name: `start`, `prompt`, `edit`, `compact` or `end`. The
agent waits for the script, so it loads nothing of this. An agent's hook protocol (what its hooks receive and
answer) is plain data, which `segue init` writes next to the script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from segue.agents.shared.settings import json_edit
from segue.agents.shared.settings.settings_patch import Piece, Reach, Settings, no_trouble
from segue.agents.shared.transcripts.coerce import dict_of, list_of
from segue.hooks.guard import SAID as SAID

PURPOSE = "hooks that report a waiting handoff and limits, and refuse edits while another agent has the work"
Place = tuple[str | int, ...]


class Manner(Struct, frozen=True, kw_only=True):
    """What an agent's hooks receive before a tool call, and how they answer."""

    files: dict[str, str] = {}
    """Tools that change a file, with the argument that names it."""
    commands: dict[str, str] = {}
    """Tools that run a command, with the argument that holds it."""
    patches: dict[str, str] = {}
    """Tools that apply a patch, with the argument that holds it. Its lines name the files."""
    refuse: dict[str, Any]
    """The answer that blocks a tool call. The model reads the reason."""
    tell: dict[str, Any]
    """The answer at the start of a conversation that gives information to the model."""
    warn: dict[str, Any]
    """The answer that shows something to the user, and nothing to the model."""


class Hook(Struct, frozen=True):
    """An event of the agent, with Segue's event for it."""

    event: str
    what: str
    timeout: int
    """In the agent's own unit."""
    matcher: str = ""


def piece(
    agent: str,
    hooks: tuple[Hook, ...],
    file: Callable[[Settings], Path],
    *,
    trouble: Callable[[str, Reach, Settings], str] = no_trouble,
    parse: Callable[[str], Any] = json_edit.parse,
    name: str = "",
) -> Piece:
    """The hooks of an agent with this format, in a JSON file. `name` is shown to the user by some agents."""
    named = {"name": name} if name else {}

    def group(hook: Hook, reach: Reach) -> dict[str, Any]:
        command = reach.hook(hook.what, agent)
        handler = {**named, "type": "command", "command": command, "timeout": hook.timeout}
        return {**({"matcher": hook.matcher} if hook.matcher else {}), "hooks": [handler]}

    def has(text: str, reach: Reach) -> bool:
        settings = parse(text)
        there = [_at(settings, place) for place in groups_of(settings, reach)]
        wanted = [(hook.event, group(hook, reach)) for hook in hooks]
        return len(there) == len(wanted) and all(each in there for each in wanted)

    def add(text: str, reach: Reach) -> str:
        text = drop(text, reach)
        for hook in hooks:
            text = json_edit.append(text, ("hooks", hook.event), group(hook, reach))
        return text

    def drop(text: str, reach: Reach) -> str:
        while places := list(ours(parse(text), reach)):
            text = json_edit.remove(text, places[0])
        return text

    return Piece(purpose=PURPOSE, file=file, has=has, add=add, drop=drop, trouble=trouble)


def groups_of(settings: Any, reach: Reach) -> list[Place]:
    """The groups that contain a hook of Segue's."""
    return list(dict.fromkeys(place[:3] for place in ours(settings, reach)))


def ours(settings: Any, reach: Reach) -> Iterator[Place]:
    """The places of Segue's hooks: a whole group, or one hook in a shared group."""
    for event, groups in dict_of(dict_of(settings).get("hooks")).items():
        for index, group in enumerate(list_of(groups)):
            handlers = list_of(dict_of(group).get("hooks"))
            for number, handler in enumerate(handlers):
                if reach.is_ours(dict_of(handler).get("command")):
                    within = ("hooks", number) if len(handlers) > 1 else ()
                    yield "hooks", event, index, *within


def _at(settings: Any, place: Place) -> tuple[str | int, Any]:
    _, event, index = place
    return event, settings["hooks"][event][index]
