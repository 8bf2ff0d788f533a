"""Claude Code's hooks and its status line: how they are put into its settings, what they are given, what they answer.

Settings are a JSON file without comments. Of several hooks that are asked before a tool, one no is enough, whatever the
permissions are. What a hook says to the person (`systemMessage`) does not reach the model. A status line is one
command, so a person's own is kept inside ours: it is run by ours, and by itself where Segue is gone.
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
"""Those that only leave a line behind get less: an agent that ends does not wait long."""

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
"""Ours, given the person's own; theirs alone where ours is gone."""

BY_HAND = re.compile(r"\bsegue(?:['\"]?\s+)statusline\b")
"""Somebody who followed docs/statusline.md has it already."""


def settings_file(env: Mapping[str, str]) -> Path:
    """The person's own settings, for all projects."""
    home = env.get("HOME") or "/"
    named = env.get("CLAUDE_CONFIG_DIR", "").split(",")[0].strip()
    folder = Path(home + named[1:] if named.startswith("~/") else named or f"{home}/.claude")
    return folder / "settings.json"


def hooks() -> Manner:
    return MANNER


def pieces() -> tuple[Piece, ...]:
    hooks = hook_settings.piece("claude", HOOKS, settings_file, trouble=_hooks_trouble)
    line = Piece(
        purpose="a status line that shows and records how near its limits are, below your own if you have one",
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
    return "its status line is no command that could be kept, so it was left alone" if _is_odd(text) else ""


def _wrapping(own: str, reach: Reach) -> str:
    return f"sh -c {shlex.quote(WRAPPED)} {reach.script} {shlex.quote(own)}"


def _own(text: str, reach: Reach) -> str:
    """The person's own status line, ours left out."""
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
    """Whether something stands there that is no command line."""
    settings = dict_of(json_edit.parse(text))
    line = _line(text)
    return "statusLine" in settings and (line.get("type") != "command" or not _command(text))
