"""Gemini CLI's hooks: in its settings, which may contain comments, in the format that other agents use too,
with times in milliseconds. What a hook says at the start comes before the user's first words. What it says to
the user (`systemMessage`) does not reach the model (seen with 0.61).

Its `PreCompress` runs before every request, whether anything is compressed or not, so it is not used.
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
        return "hooksConfig.enabled is false there, so no hooks run"
    if NAME in list_of(chosen.get("disabled")):
        return f"hooksConfig.disabled lists '{NAME}' there, so its hooks do not run"
    return ""
