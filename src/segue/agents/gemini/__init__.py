"""Gemini CLI: a transcript is a file of JSON lines, or one JSON object from an older version.

The lines are a log of changes: a first line that describes the session, messages, `$set` with new values of
the first line (or, after a compression or a resumption, the whole history again), and `$rewindTo` with the
message before which the user went back. The project folder is in a separate file.
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
SIGN_IN = "start `gemini` and enter `/auth`, or set GEMINI_API_KEY"
CLIENTS = ("gemini-cli-mcp-client",)
"""How it identifies itself to an MCP server."""
ADDED_ARGUMENTS = ("wait_for_previous",)
"""Arguments that it adds to every tool and passes on to the server (seen with 0.61)."""

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
