"""Segue's tool server in Claude Code: in `.claude.json`, which holds what is the person's own for all projects. Claude
Code writes that file anew all the time, so the entry is found by what it says, not by where it stands."""

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
"""How long its transcript is looked into for a call."""
LATELY_NS = 60 * 10**9
END = 1 << 20
"""How much of a transcript's end is looked at."""


def file(env: Settings) -> Path:
    named = env.get("CLAUDE_CONFIG_DIR", "").split(",")[0].strip()
    home = env.get("HOME") or "/"
    return Path(home + named[1:] if named.startswith("~/") else named or home, ".claude.json")


def entry(words: list[str]) -> dict[str, Any]:
    return {"type": "stdio", "command": words[0], "args": words[1:], "env": {}}


def tool_server() -> Piece:
    return mcp_settings.json_piece(file, "mcpServers", entry)


def caller_transcript(env: Mapping[str, str], meta: Mapping[str, Any]) -> str:
    """The conversation that the server was started in (since 2.1.154), unless the call is in another one: after
    `/clear` and `/resume` the server stays. A call is written down a moment after it is made."""
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
    """Transcripts that may hold a call made now, each with its conversation: a sub-agent's is the one that it is in."""
    since = time_ns() - LATELY_NS
    for _, path, _, _, changed in locate.files(env):
        if changed >= since:
            yield path, Path(path.partition("/subagents/")[0]).name.removesuffix(".jsonl")


def _end_of(path: str) -> bytes:
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
        file.seek(max(0, os.fstat(file.fileno()).st_size - END))
        return file.read(END)
    return b""
