"""The types of records in a rollout, and the parts that they become. A part has the fields of one entry."""

from __future__ import annotations

from typing import Any

from segue.agents.shared.transcripts.reader import text_of
from segue.base.hashes import short_hash
from segue.model import EntryKind, Origin

Part = dict[str, Any]

NOTES = frozenset(
    ("world_state", "inter_agent_communication_metadata", "security_risk_score", "state", "ghost_snapshot",
     "additional_tools", "compaction", "context_compaction", "compaction_summary", "compaction_trigger",
     "context_compacted", "thread_rolled_back", "thread_goal_updated", "session_configured", "warning",
     "agent_reasoning", "agent_reasoning_raw_content", "agent_reasoning_section_break", "item_started",
     "entered_review_mode", "exited_review_mode", "plan_update", "turn_diff", "stream_error",
     "background_event", "deprecation_notice", "sub_agent_activity", "model_reroute", "hook_started",
     "hook_completed", "exec_command_begin", "exec_command_end", "patch_apply_begin", "patch_apply_end",
     "mcp_tool_call_begin", "mcp_tool_call_end", "web_search_begin", "web_search_end", "view_image_tool_call",
     "image_generation_begin", "image_generation_end", "dynamic_tool_call_request", "guardian_assessment",
     "dynamic_tool_call_response", "collab_agent_spawn_end", "collab_agent_interaction_end",
     "collab_waiting_end", "collab_close_end", "collab_resume_end", "undo_completed", "shutdown_complete",
     "Reasoning", "Plan", "WebSearch", "ImageView", "ImageGeneration", "HookPrompt", "ContextCompaction",
     "SubAgentActivity", "CollabAgentToolCall", "EnteredReviewMode", "ExitedReviewMode", "Extension")
)  # fmt: skip
DONE = frozenset(("CommandExecution", "FileChange", "McpToolCall", "DynamicToolCall"))
CALLS = frozenset(
    ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call",
     "image_generation_call")
)  # fmt: skip
RESULTS = frozenset(("function_call_output", "custom_tool_call_output", "tool_search_output"))
BARE = frozenset(("message", "reasoning")) | CALLS | RESULTS


def part(kind: EntryKind, origin: Origin, text: str, **more: Any) -> Part:
    return {"kind": kind, "origin": origin, "text": text, **more}


def note(tool: str, text: str = "", *, origin: Origin = Origin.SYSTEM, **more: Any) -> Part:
    return {"kind": EntryKind.NOTE, "origin": origin, "text": text, "tool": tool, **more}


def image_parts(images: tuple[str, ...], origin: Origin) -> list[Part]:
    return [part(EntryKind.IMAGE, origin, image) for image in images]


def replayed(parts: list[Part], kind: str) -> Part:
    """A record of the history at the start of a fork, as a note."""
    text = next((part["text"] for part in reversed(parts) if part["text"]), "")
    spend = next((part["spend"] for part in parts if part.get("spend")), None)
    return note(kind, text, spend=spend)


def envelope(record: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The type and the payload of a record. The first versions wrote items without an envelope."""
    payload, kind = record.get("payload"), text_of(record.get("type"))
    if isinstance(payload, dict):
        return kind, payload
    if "record_type" in record:
        return "state", record
    if kind in BARE:
        return "response_item", record
    is_first = not kind and text_of(record.get("id")) and "timestamp" in record
    return ("session_meta", record) if is_first else (kind, {})


def is_later(turn: str, session: str) -> bool:
    """Whether a turn started after a session, by their ids, if both are UUIDs with a time (version 7)."""
    is_timed = all(len(id) == 36 and id[14] == "7" for id in (turn, session))
    return is_timed and turn[:13] >= session[:13]


def hash_of(text: str) -> str:
    return short_hash(text.strip().encode()).hex()
