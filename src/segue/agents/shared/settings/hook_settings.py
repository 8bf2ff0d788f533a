"""Hooks in the settings of an agent. Several agents have them in one shape: by event, in groups with a pattern of what
they are for.

    "hooks": {"SessionStart": [{"matcher": "…", "hooks": [{"type": "command", "command": "…", "timeout": 10}]}]}

Ours run one script, with the event by Segue's own name: `start`, `prompt`, `edit`, `compact`, `end`. The agent waits
for it, so nothing of this is loaded then: what an agent tells its hooks and how it is answered, its manner, is plain
data, which `segue init` writes down beside the script.
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

PURPOSE = (
    "hooks that tell of a waiting handoff and of limits, and refuse edits while another agent has the work"
)
Place = tuple[str | int, ...]


class Manner(Struct, frozen=True, kw_only=True):
    """What an agent tells its hooks before it uses a tool, and how it is answered."""

    files: dict[str, str] = {}
    """The tools that change a file, with the argument that names it."""
    commands: dict[str, str] = {}
    """Those that run a command, with the argument that holds it."""
    patches: dict[str, str] = {}
    """Those that apply a patch, with the argument that holds it: its lines name the files."""
    refuse: dict[str, Any]
    """The answer that keeps a tool from running; the model reads why."""
    tell: dict[str, Any]
    """The answer at the start of a conversation that gives the model something to know."""
    warn: dict[str, Any]
    """The answer that shows something to the person, and to the model nothing."""


class Hook(Struct, frozen=True):
    """One of an agent's events, and which of Segue's it is."""

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
    """The hooks of an agent that has them in this shape, in a file of JSON. Some show a
    name to the person."""
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
    """The groups that one of ours stands in."""
    return list(dict.fromkeys(place[:3] for place in ours(settings, reach)))


def ours(settings: Any, reach: Reach) -> Iterator[Place]:
    """Where our hooks stand: a whole group, or one hook in a group that others share."""
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
