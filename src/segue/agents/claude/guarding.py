"""Claude Code's hook before a tool: how it is put into its settings, what it is given, and how it says no.

Settings are a JSON file. Hooks stand there by event, in groups with a pattern of tools; of several that are asked, one
no is enough, whatever the permissions are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from segue.agents import json_text
from segue.agents.reading import dict_of, list_of, text_of
from segue.guard import Attempt

EVENT = "PreToolUse"
EDITS = {"Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path"}
"""The tools that change a file, with the argument that names it."""
SHELL = "Bash"
MATCHER = "|".join((*EDITS, SHELL))
SECONDS = 10


def settings_file(env: Mapping[str, str]) -> Path:
    """The person's own settings, for all projects."""
    home = env.get("HOME") or "/"
    named = env.get("CLAUDE_CONFIG_DIR", "").split(",")[0].strip()
    folder = Path(home + named[1:] if named.startswith("~/") else named or f"{home}/.claude")
    return folder / "settings.json"


def has_hook(text: str, command: str) -> bool:
    return any(_ours(json_text.parse(text), command))


def add_hook(text: str, command: str) -> str:
    """The settings with the hook; a ValueError tells why that cannot be."""
    handler = {"type": "command", "command": command, "timeout": SECONDS}
    return json_text.append(text, ("hooks", EVENT), {"matcher": MATCHER, "hooks": [handler]})


def drop_hook(text: str, command: str) -> str:
    """The settings without the hook, wherever it was moved to."""
    while places := list(_ours(json_text.parse(text), command)):
        text = json_text.remove(text, places[0])
    return text


def _ours(settings: Any, command: str) -> Iterator[tuple[str | int, ...]]:
    """Where the hook stands: a whole group, or one hook in a group that others share."""
    hooks = dict_of(settings).get("hooks")
    for event, groups in dict_of(hooks).items():
        for index, group in enumerate(list_of(groups)):
            handlers = list_of(dict_of(group).get("hooks"))
            for number, handler in enumerate(handlers):
                if dict_of(handler).get("command") == command:
                    within = ("hooks", number) if len(handlers) > 1 else ()
                    yield "hooks", event, index, *within


def trouble_with(text: str) -> str:
    """Why a hook that stands there would not run; empty if nothing keeps it."""
    is_off = dict_of(json_text.parse(text)).get("disableAllHooks") is True
    return "disableAllHooks is set there, so no hook runs" if is_off else ""


def attempt_of(record: dict[str, Any]) -> Attempt | None:
    """What a hook's input says that the agent is about to do; None if that concerns nobody."""
    if record.get("hook_event_name", EVENT) != EVENT:
        return None
    tool, given = text_of(record.get("tool_name")), dict_of(record.get("tool_input"))
    folder = text_of(record.get("cwd")) or "/"
    if tool == SHELL:
        command = text_of(given.get("command"))
        return Attempt(folder=folder, command=command) if command.strip() else None
    if tool in EDITS:
        path = text_of(given.get(EDITS[tool]))
        return Attempt(folder=folder, paths=(path,) if path else ())
    return None


def refuse(reason: str) -> dict[str, Any]:
    """The answer that keeps the tool from running; the model reads the reason."""
    return {
        "hookSpecificOutput": {
            "hookEventName": EVENT,
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }
