"""Claude Code, 1.0 to 2.1. A transcript is a file of JSON lines, one record for each block of a message.

Most records name their parent. The records of a subagent are in a separate file (from 2.0), or among the main ones.
Usage totals load only `locate` and `token_scan`. Even `AGENT` is in `reader`, because `segue.model` is slow to load.
"""

CLIENTS = ("claude-code",)
"""The client name that it sends to an MCP server."""
SIGN_IN = "start `claude` and enter `/login`"
PERMITTING = "--permission-mode=acceptEdits"
"""The least permissive option that lets it edit files in a headless run."""

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
