"""Segue's tool server in Claude Code: in `.claude.json`, which holds what is the person's own for all projects. Claude
Code writes that file anew all the time, so the entry is found by what it says, not by where it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from segue.agents.shared.settings import mcp_settings
from segue.agents.shared.settings.settings_patch import Piece, Settings


def file(env: Settings) -> Path:
    named = env.get("CLAUDE_CONFIG_DIR", "").split(",")[0].strip()
    home = env.get("HOME") or "/"
    return Path(home + named[1:] if named.startswith("~/") else named or home, ".claude.json")


def entry(words: list[str]) -> dict[str, Any]:
    return {"type": "stdio", "command": words[0], "args": words[1:], "env": {}}


def tool_server() -> Piece:
    return mcp_settings.json_piece(file, "mcpServers", entry)
