"""OpenCode: all sessions are in one SQLite database. Before version 1.2, each message and each part of one
was a JSON file; `opencode export` writes a session as one document. All three hold the same records, so one
reader serves them: `storage` reads the records, `parts` makes entries of them.

Nothing is appended, so a mark stays at the start and remembers every entry that was given. A read with a mark
gives what is new or changed. If something is gone (the user went back and deleted messages), the read starts
over. What is still empty in the last message is left for the next read.

A fork copies the messages of its origin under new ids, and only its title says where it came from. So an
answer is identified by the start time and first words of its conversation, and by its own start time.

What cannot be told apart: a command's template, once filled in, looks like a typed prompt; and all prompts in
a sub-agent's session count as the main agent's.
"""

from __future__ import annotations

from segue.model import Agent

AGENT = Agent(
    name="opencode", title="OpenCode", vendor="opencode", program="opencode", tested="1.18.33", oldest="1.18"
)
SIGN_IN = "run `opencode auth login`"
CLIENTS = ("opencode",)
"""How it identifies itself to an MCP server."""

CAPABILITIES = {
    "find": "reader", "recognise": "reader", "read": "reader",
    "command": "target", "new_id": "target", "write": "target", "discard": "target",
    "stop_of": "exit_reason",
    "belongings": "project_config",
    "tool_server": "mcp_settings",
    "acts": "tool_calls", "answer": "tool_calls"
}  # fmt: skip
