"""Codex keeps a session as a file of lines, a rollout; a rollout tells most things twice.

What the model sees is there as response items, what the person saw as events, and what one answer used as
running totals. Once a file has shown that it holds events, only they count as prompts and replies, and what
repeats them becomes a note. In code mode the model writes JavaScript; the commands and changes that came of
it are read from the items that say that they were done.

A fork of an old version, and a sub-agent of any, begins with the history of the session that it came from,
under new times: such records are notes, and what they tell of tokens bears the same key as in the first
session. A limit that was hit is told outright since 0.166; before, a turn without an answer beside a full
window, or a full window with nothing used, is all that tells of it.
"""

from __future__ import annotations

from segue.model import Agent

AGENT = Agent(
    name="codex",
    title="Codex",
    vendor="openai",
    program="codex",
    tested="0.169.0",
    oldest="0.50",
    families=("gpt", "codex", "o3", "o4"),
)
SIGN_IN = "run `codex login`"
CLIENTS = ("codex-mcp-client",)
"""What it calls itself to a tool server."""

CAPABILITIES = {
    "find": "reader", "recognise": "reader", "read": "reader",
    "command": "target", "new_id": "target", "write": "target", "discard": "target",
    "kept": "compaction",
    "stop_of": "exit_reason",
    "belongings": "project_config",
    "hooks": "hook_settings", "pieces": "hook_settings",
    "tool_server": "mcp_settings", "caller_transcript": "mcp_settings",
    "acts": "tool_calls", "answer": "tool_calls", "going": "tool_calls"
}  # fmt: skip
