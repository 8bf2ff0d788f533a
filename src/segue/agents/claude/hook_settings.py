"""Hooks and the status line in Claude Code's settings.

Settings are a JSON file without comments. If one of several hooks denies a tool call, it is denied, whatever the
permissions are. A hook's message for the user (`systemMessage`) does not reach the model. A status line is one command.
So ours wraps the user's: it runs the user's command, which also runs if Segue has been removed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segue.agents.shared.settings import hook_settings, json_edit
from segue.agents.shared.settings.hook_settings import SAID, Hook, Manner
from segue.agents.shared.settings.settings_patch import Piece, Reach
from segue.agents.shared.transcripts.coerce import dict_of, text_of

EDIT, START, PROMPT = "PreToolUse", "SessionStart", "UserPromptSubmit"
FILES = {"Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path"}
COMMANDS = {"Bash": "command"}
SECONDS = 10
QUICK = 5
"""A shorter timeout for hooks that only record a line: an agent that ends does not wait long."""

HOOKS = (
    Hook(START, "start", SECONDS),
    Hook(PROMPT, "prompt", SECONDS),
    Hook(EDIT, "edit", SECONDS, "|".join((*FILES, *COMMANDS))),
    Hook("PreCompact", "compact", QUICK),
    Hook("SessionEnd", "end", QUICK),
)

MANNER = Manner(
    files=FILES,
    commands=COMMANDS,
    refuse={
        "hookSpecificOutput": {
            "hookEventName": EDIT,
            "permissionDecision": "deny",
            "permissionDecisionReason": SAID,
        }
    },
    tell={"hookSpecificOutput": {"hookEventName": START, "additionalContext": SAID}},
    warn={"systemMessage": SAID},
)

LINE = ("statusLine", "command")
WRAPPED = '[ -x "$0" ] && exec "$0" line "$1"; eval "$1"'
"""Our script with the user's command as argument; the user's command alone if the script was removed."""

BY_HAND = re.compile(r"\bsegue(?:['\"]?\s+)statusline\b")
"""A status line that the user set up with docs/statusline.md."""


def settings_file(env: Mapping[str, str]) -> Path:
    """The user's settings for all projects."""
    home = env.get("HOME") or "/"
    named = env.get("CLAUDE_CONFIG_DIR", "").split(",")[0].strip()
    folder = Path(home + named[1:] if named.startswith("~/") else named or f"{home}/.claude")
    return folder / "settings.json"


def hooks() -> Manner:
    return MANNER


def pieces() -> tuple[Piece, ...]:
    hooks = hook_settings.piece("claude", HOOKS, settings_file, trouble=_hooks_trouble)
    line = Piece(
        purpose="a status line that shows and records the used share of its limits, below your own if you have one",
        file=settings_file,
        has=lambda text, reach: _add_line(text, reach) == text,
        add=_add_line,
        drop=_drop_line,
        trouble=_line_trouble,
    )
    return hooks, line


def _hooks_trouble(text: str, reach: Reach, env: Mapping[str, str]) -> str:
    is_off = dict_of(json_edit.parse(text)).get("disableAllHooks") is True
    return "disableAllHooks is set there, so no hook runs" if is_off else ""


# The status line


def _add_line(text: str, reach: Reach) -> str:
    if _is_odd(text) or BY_HAND.search(_own(text, reach)):
        return text
    wrapped = _wrapping(_own(text, reach), reach)
    if "statusLine" in json_edit.parse(text):
        return json_edit.put(text, LINE, wrapped)
    return json_edit.put(text, LINE[:1], {"type": "command", "command": wrapped})


def _drop_line(text: str, reach: Reach) -> str:
    command = _command(text)
    if not reach.is_ours(command):
        return text
    own = _own(text, reach)
    return json_edit.put(text, LINE, own) if own else json_edit.remove(text, LINE[:1])


def _line_trouble(text: str, reach: Reach, env: Mapping[str, str]) -> str:
    return "its status line is not a command, so it was left unchanged" if _is_odd(text) else ""


def _wrapping(own: str, reach: Reach) -> str:
    return f"sh -c {shlex.quote(WRAPPED)} {reach.script} {shlex.quote(own)}"


def _own(text: str, reach: Reach) -> str:
    """The user's own status line, without ours."""
    command = _command(text)
    if not reach.is_ours(command):
        return command
    try:
        return (*shlex.split(command), "", "", "", "", "")[4]
    except ValueError:
        return ""


def _command(text: str) -> str:
    return text_of(_line(text).get("command"))


def _line(text: str) -> dict[str, Any]:
    return dict_of(dict_of(json_edit.parse(text)).get("statusLine"))


def _is_odd(text: str) -> bool:
    """Whether there is a status line that is not a command."""
    settings = dict_of(json_edit.parse(text))
    line = _line(text)
    return "statusLine" in settings and (line.get("type") != "command" or not _command(text))
