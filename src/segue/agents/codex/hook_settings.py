"""Codex's hooks, in its file `hooks.json`. The format is the common one. Hooks see a command as `Bash` and a patch as
`apply_patch`, whatever the model's tools are called (seen with 0.166).

Codex runs only hooks that the user has reviewed and trusted, and does not report the others. It records trusted hooks
in its settings, by position in the file and a hash. Segue only reads this: writing it would bypass the user's review.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segue.agents.shared.settings import hook_settings, json_edit
from segue.agents.shared.settings.hook_settings import SAID, Hook, Manner
from segue.agents.shared.settings.settings_patch import Piece, Reach
from segue.agents.shared.transcripts.coerce import dict_of, text_of
from segue.base import files

EDIT, START = "PreToolUse", "SessionStart"
COMMANDS, PATCHES = {"Bash": "command"}, {"apply_patch": "command"}
SECONDS = 10
LEAVING = 3
"""The longest timeout for a hook when Codex exits."""
LARGEST = 4 << 20

HOOKS = (
    Hook(START, "start", SECONDS),
    Hook("UserPromptSubmit", "prompt", SECONDS),
    Hook(EDIT, "edit", SECONDS, "|".join((*PATCHES, *COMMANDS))),
    Hook("PreCompact", "compact", LEAVING),
    Hook("SessionEnd", "end", LEAVING),
)

MANNER = Manner(
    commands=COMMANDS,
    patches=PATCHES,
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

NOT_TRUSTED = (
    "its hooks are not trusted yet, so none of them runs: start codex and choose 'Trust all and continue' when it says "
    "'Hooks need review', or type /hooks there"
)


def folder(env: Mapping[str, str]) -> Path:
    return Path(env.get("CODEX_HOME") or f"{env.get('HOME') or '/'}/.codex")


def hooks_file(env: Mapping[str, str]) -> Path:
    return folder(env) / "hooks.json"


def hooks() -> Manner:
    return MANNER


def pieces() -> tuple[Piece, ...]:
    return (hook_settings.piece("codex", HOOKS, hooks_file, trouble=_trouble),)


def _trouble(text: str, reach: Reach, env: Mapping[str, str]) -> str:
    """Why hooks do not run: switched off, or not trusted. A change after the review cannot be detected."""
    settings = _settings(folder(env) / "config.toml")
    if dict_of(settings.get("features")).get("hooks") is False:
        return "hooks are switched off in config.toml, so none of them runs"
    known = dict_of(dict_of(settings.get("hooks")).get("state"))
    trusted = [_is_trusted(dict_of(known.get(key))) for key in _keys(text, reach, hooks_file(env))]
    return "" if all(trusted) else NOT_TRUSTED


def _keys(text: str, reach: Reach, path: Path) -> list[str]:
    """Codex's key for each of our hooks."""
    found = []
    for _, event, group, *within in hook_settings.ours(json_edit.parse(text), reach):
        number = within[1] if within else 0
        snake = re.sub(r"(?<!^)(?=[A-Z])", "_", str(event)).lower()
        found.append(f"{path}:{snake}:{group}:{number}")
    return found


def _is_trusted(state: dict[str, Any]) -> bool:
    return bool(text_of(state.get("trusted_hash"))) and state.get("enabled") is not False


def _settings(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(files.read_file(path, LARGEST).decode())
    except (OSError, ValueError, RecursionError):
        return {}
