"""Gemini CLI: a transcript is a file of lines, or one JSON object where an older version wrote it.

The lines are a log of changes: a first line that describes the session, messages, `$set` with new values of
the first line (or, after a compression or a resumption, the whole history anew), and `$rewindTo` with the
message before which the person went back. Which folder it was about stands beside it, not in it.
"""

from __future__ import annotations

from segue.model import Agent

AGENT = Agent(
    name="gemini",
    title="Gemini CLI",
    vendor="google",
    program="gemini",
    tested="0.61.0",
    oldest="0.61",
    families=("gemini",),
    context_window=1_048_576,
)
CLIENTS = ("gemini-cli-mcp-client",)
"""What it calls itself to a tool server."""
ADDED_ARGUMENTS = ("wait_for_previous",)
"""What it adds to the arguments of every tool, and passes on to the server with them (seen with 0.61)."""

CAPABILITIES = {
    "find": "reader", "recognise": "reader", "read": "reader",
    "command": "target", "new_id": "target", "write": "target", "discard": "target",
    "spoken": "target", "tidy": "target",
    "kept": "compaction",
    "stop_of": "exit_reason",
    "belongings": "project_config",
    "hooks": "hook_settings", "pieces": "hook_settings",
    "tool_server": "mcp_settings",
    "acts": "tool_calls", "answer": "tool_calls"
}  # fmt: skip
