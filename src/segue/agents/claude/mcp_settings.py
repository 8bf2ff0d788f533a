"""Segue's MCP server in Claude Code's `.claude.json`, the user's file for all projects. Claude Code rewrites that file
all the time, so the entry is found by its content, not by its position."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic, sleep, time_ns
from typing import Any

from segue.agents.claude import locate
from segue.agents.shared.settings import mcp_settings
from segue.agents.shared.settings.settings_patch import Piece, Settings
from segue.agents.shared.transcripts.coerce import text_of

WRITTEN_WITHIN_S, LOOK_SECONDS = 0.5, 0.05
"""How long, and how often, the transcript is searched for a call."""
LATELY_NS = 60 * 10**9
END = 1 << 20
"""How much of a transcript's end is searched."""


def file(env: Settings) -> Path:
    named = env.get("CLAUDE_CONFIG_DIR", "").split(",")[0].strip()
    home = env.get("HOME") or "/"
    return Path(home + named[1:] if named.startswith("~/") else named or home, ".claude.json")


def entry(words: list[str]) -> dict[str, Any]:
    return {"type": "stdio", "command": words[0], "args": words[1:], "env": {}}


def tool_server() -> Piece:
    return mcp_settings.json_piece(file, "mcpServers", entry)


def caller_transcript(env: Mapping[str, str], meta: Mapping[str, Any]) -> str:
    """The conversation that started the server (since 2.1.154), unless another one has the call: the server keeps
    running after `/clear` and `/resume`. A call is recorded a moment after it is made."""
    known = env.get("CLAUDE_CODE_SESSION_ID", "")
    call = text_of(meta.get("claudecode/toolUseId")).encode(errors="replace")
    deadline = monotonic() + WRITTEN_WITHIN_S
    while known and call:
        is_late = monotonic() > deadline
        for path, id in _written_lately(env):
            if (is_late or id == known) and call in _end_of(path):
                return id
        if is_late:
            break
        sleep(LOOK_SECONDS)
    return known


def _written_lately(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Transcripts that were changed lately, each with the id of its main conversation."""
    since = time_ns() - LATELY_NS
    for _, path, _, _, changed in locate.files(env):
        if changed >= since:
            yield path, Path(path.partition("/subagents/")[0]).name.removesuffix(".jsonl")


def _end_of(path: str) -> bytes:
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
        file.seek(max(0, os.fstat(file.fileno()).st_size - END))
        return file.read(END)
    return b""
