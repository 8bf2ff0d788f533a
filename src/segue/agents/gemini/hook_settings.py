"""Gemini CLI's hooks: in its settings, which may hold comments, in the shape that others have too, with times in
milliseconds. What a hook says at the start goes before the person's first words; what it says to the person
(`systemMessage`) does not reach the model (seen with 0.61).

Its `PreCompress` comes before every request, whether anything is made shorter or not, so it tells nothing and is left
alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from segue.agents.shared.settings import hook_settings, json_edit
from segue.agents.shared.settings.hook_settings import SAID, Hook, Manner
from segue.agents.shared.settings.settings_patch import Piece, Reach
from segue.agents.shared.transcripts.coerce import dict_of, list_of

FILES = {"write_file": "file_path", "replace": "file_path", "edit": "file_path"}
COMMANDS = {"run_shell_command": "command"}
MILLISECONDS = 10_000
NAME = "segue"

HOOKS = (
    Hook("SessionStart", "start", MILLISECONDS),
    Hook("BeforeAgent", "prompt", MILLISECONDS),
    Hook("BeforeTool", "edit", MILLISECONDS, "|".join((*FILES, *COMMANDS))),
    Hook("SessionEnd", "end", MILLISECONDS),
)

MANNER = Manner(
    files=FILES,
    commands=COMMANDS,
    refuse={"decision": "deny", "reason": SAID},
    tell={"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": SAID}},
    warn={"systemMessage": SAID},
)


def settings_file(env: Mapping[str, str]) -> Path:
    return Path(env.get("GEMINI_CLI_HOME") or env.get("HOME") or "/", ".gemini", "settings.json")


def hooks() -> Manner:
    return MANNER


def pieces() -> tuple[Piece, ...]:
    parse = json_edit.parse_with_comments
    return (hook_settings.piece("gemini", HOOKS, settings_file, trouble=_trouble, parse=parse, name=NAME),)


def _trouble(text: str, reach: Reach, env: Mapping[str, str]) -> str:
    chosen = dict_of(dict_of(json_edit.parse_with_comments(text)).get("hooksConfig"))
    if chosen.get("enabled") is False:
        return "hooksConfig.enabled is false there, so no hook runs"
    if NAME in list_of(chosen.get("disabled")):
        return f"'{NAME}' is among hooksConfig.disabled there, so its hooks do not run"
    return ""
