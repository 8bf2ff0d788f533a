"""Claude Code, 1.0 to 2.1: a transcript is a file of JSON lines, one record for each block of a message.

Most records name their parent. A sub-agent's records are in a file of its own (from 2.0), or among the main ones.
Totals load only `locate` and `token_scan`: even `AGENT` is in `reader`, because `segue.model` takes long to load.
"""

CLIENTS = ("claude-code",)
"""What it calls itself to a tool server."""
SIGN_IN = "start `claude` and enter `/login`"
PERMITTING = "--permission-mode=acceptEdits"
"""The least option of its program by which it may edit files with nobody there."""

CAPABILITIES = {
    "AGENT": "reader", "find": "reader", "read": "reader", "recognise": "reader",
    "side_file": "reader", "window_of_status": "reader",
    "files": "locate",
    "rows": "token_scan",
    "spends": "token_values",
    "command": "target", "spoken": "target", "new_id": "target", "write": "target", "discard": "target",
    "kept": "compaction",
    "limits_of_status": "limits",
    "stop_of": "exit_reason", "reports_of": "exit_reason", "denied_in": "exit_reason",
    "belongings": "project_config",
    "hooks": "hook_settings", "pieces": "hook_settings",
    "tool_server": "mcp_settings", "caller_transcript": "mcp_settings",
    "acts": "tool_calls", "answer": "tool_calls", "going": "tool_calls"
}  # fmt: skip
