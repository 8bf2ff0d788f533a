"""OpenCode. It keeps all sessions in one SQLite database; before version 1.2 each message and each part of one
was a JSON file of its own; and `opencode export` writes a session as one document. All three hold the same
records, so one reader serves them: `store` gets the records, `parts` makes entries of them.

Nothing here is appended to, so a mark stays at the start and remembers every entry that was given. A read with
it gives what is new or says something else now; if something is gone (the person went back and deleted
messages), the read begins anew. What is still empty in the last message is left for the next read.

A fork copies the messages of its origin under new ids, and tells nothing but a title of where it came from.
So an answer is known by when its conversation began, with which words, and by when the answer began.

What cannot be told apart: a command's template, once filled in, looks like a typed prompt; and all prompts of
a sub-agent's session are taken for the main agent's.
"""

from __future__ import annotations

from segue.model import Agent

AGENT = Agent(
    name="opencode", title="OpenCode", vendor="opencode", program="opencode", tested="1.18.33", oldest="1.18"
)
SIGN_IN = "opencode auth login"
CLIENTS = ("opencode",)
"""What it calls itself to a tool server."""

CAPABILITIES = {
    "find": "reader", "recognise": "reader", "read": "reader",
    "command": "target", "new_id": "target", "write": "target", "discard": "target",
    "stop_of": "exit_reason",
    "belongings": "project_config",
    "tool_server": "mcp_settings",
    "acts": "tool_calls", "answer": "tool_calls"
}  # fmt: skip
