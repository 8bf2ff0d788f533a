"""Segue's tool server in Claude Code: in `.claude.json`, which holds what is the person's own for all projects. Claude
Code writes that file anew all the time, so the entry is found by what it says, not by where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segue.agents import serving
from segue.agents.fitting import Settings


def file(env: Settings) -> Path:
    named = env.get("CLAUDE_CONFIG_DIR", "").split(",")[0].strip()
    home = env.get("HOME") or "/"
    return Path(home + named[1:] if named.startswith("~/") else named or home, ".claude.json")


def entry(words: list[str]) -> dict[str, Any]:
    return {"type": "stdio", "command": words[0], "args": words[1:], "env": {}}


def caller_transcript(env: Mapping[str, str], meta: Mapping[str, Any]) -> str:
    """The conversation that the server was started in (since 2.1.154)."""
    return env.get("CLAUDE_CODE_SESSION_ID", "")


PIECE = serving.json_piece(file, "mcpServers", entry)
