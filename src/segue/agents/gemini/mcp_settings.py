"""Segue's MCP server in Gemini CLI's settings. Gemini CLI asks the user before each call, unless the server
is trusted."""

from __future__ import annotations

from typing import Any

from segue.agents.gemini.hook_settings import settings_file
from segue.agents.shared.settings import json_edit, mcp_settings
from segue.agents.shared.settings.settings_patch import Piece


def entry(words: list[str]) -> dict[str, Any]:
    return {"command": words[0], "args": words[1:]}


def tool_server() -> Piece:
    return mcp_settings.json_piece(settings_file, "mcpServers", entry, parse=json_edit.parse_with_comments)
