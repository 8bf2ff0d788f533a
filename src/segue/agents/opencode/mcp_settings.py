"""Segue's MCP server in OpenCode's settings: one of two files, with comments. By default, OpenCode gives up
on a server after five seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from segue.agents.shared.settings import json_edit, mcp_settings
from segue.agents.shared.settings.settings_patch import Piece, Settings

FILES = ("opencode.jsonc", "opencode.json")


def file(env: Settings) -> Path:
    folder = Path(env.get("XDG_CONFIG_HOME") or f"{env.get('HOME') or '/'}/.config", "opencode")
    return next((folder / name for name in FILES if (folder / name).is_file()), folder / FILES[-1])


def entry(words: list[str]) -> dict[str, Any]:
    return {"type": "local", "command": words, "enabled": True, "timeout": mcp_settings.SECONDS * 1000}


def tool_server() -> Piece:
    return mcp_settings.json_piece(file, "mcp", entry, parse=json_edit.parse_with_comments)
