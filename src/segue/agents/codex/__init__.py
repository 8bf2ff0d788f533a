"""Codex stores a session as a rollout, a file of JSON lines that contains most things twice.

The model's view is in response items, the user's view in events, and the usage in running totals. Once a file has shown
that it has events, only they count as prompts and replies, and items that repeat them become notes. In code mode the
model writes JavaScript; its commands and changes are read from the items that report them as completed.

A fork of an old version, and a subagent of any version, starts with the history of its parent session under new times.
Such records become notes, and their usage has the same key as in the first session. Since 0.166 a hit limit is reported
directly. Before, it shows only as a turn without an answer beside a full window, or a full window with no usage.
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
"""The client name that it sends to an MCP server."""

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
