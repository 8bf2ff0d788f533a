"""Convert a record of Claude Code into entries.

Every record becomes at least one entry; a record that is not a message becomes a note. The last entry gets the
record's id, so a record that names it as parent follows all of its entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from segue.agents.claude import queued_prompts
from segue.agents.claude.limits import limits_hit, limits_of_event, limits_of_headers
from segue.agents.claude.messages import assistant, for_agent, is_injected, progress, user
from segue.agents.claude.record_context import Pass, Record, State, call_of, learn, learn_title, subagent_of
from segue.agents.claude.user_text import Piece, gist, is_typed, note, pieces_of
from segue.agents.shared.transcripts.entry_links import arrived, is_known, link, remember, unringed, unused
from segue.agents.shared.transcripts.reader import INTERRUPT, Reading, count_of, dict_of, text_of
from segue.model import Entry, EntryKind, Origin

_BOOKKEEPING = frozenset(
    ("file-history-snapshot", "file-history-delta", "last-prompt", "mode", "permission-mode", "pr-link",
     "agent-name", "agent-setting", "agent-color", "tag", "tools-used", "atis-latch", "api-request",
     "api-request-shape", "api-request-blob", "cost-state", "worktree-state", "content-replacement", "started",
     "stream_event", "tool_progress", "auth_status", "tool_use_summary", "keep_alive")
)  # fmt: skip

_IDS = 512
"""The minimum number of recent record ids that are remembered: ids are unique only among these. A copy follows its
original closely, unless a whole file was written twice."""
_CALLS = 128
"""The minimum number of calls without a result that are remembered."""

_COPIES = ("api-request", "prompt_snapshot")
"""Copies of requests to the model. Their text is not shown again."""


def entries_of(record: Record, reading: Reading, state: State) -> list[Entry]:
    state["n"] = state.get("n", 0) + 1
    context = Pass(record, reading, state)
    learn(context)
    context.subagent = subagent_of(record, state)
    kind = text_of(record.get("type"))[:80]
    handler = _HANDLERS.get(kind)
    if handler:
        found = handler(context, record)
    else:
        found = []
        if kind not in _BOOKKEEPING:
            reading.unknown[kind or "untyped"] += 1
    found = found or [note(kind or "untyped", "" if kind.startswith(_COPIES) else gist(record))]
    if context.subagent is None:
        _note_busy(found, state)
    return _finished(found, context)


_AT_WORK = (EntryKind.PROMPT, EntryKind.THOUGHT, EntryKind.CALL, EntryKind.RESULT)


def _note_busy(found: list[Piece], state: State) -> None:
    for piece in found:
        if piece.kind in _AT_WORK:
            state["busy"] = True
        elif piece.kind in (EntryKind.REPLY, EntryKind.LIMIT) or piece.tool == INTERRUPT:
            state["busy"] = False


# Records that are not messages


def _system(context: Pass, record: Record) -> list[Piece]:
    subtype = text_of(record.get("subtype"))[:80]
    if subtype == "local_command":
        parts = pieces_of(text_of(record.get("content")))
        return [
            note(subtype, piece.text) if is_typed(piece) and piece.text[:1] not in "/!#" else piece
            for piece in parts
        ]
    if subtype == "api_error":
        return [_api_error(context, record)]
    return [note(subtype or "system", gist(record))]


def _api_error(context: Pass, record: Record) -> Piece:
    """A failed request. The program retries, unless the record says that this was the last attempt."""
    error = dict_of(record.get("error"))
    text = gist(dict_of(dict_of(error.get("error")).get("error"))) or gist(error)
    headers = dict_of(error.get("headers"))
    if error.get("status") != 429:
        return note("api_error", text)
    limits = limits_of_headers(headers, context.at)
    is_last = headers.get("x-should-retry") == "false" or "retryInMs" not in record
    if is_last:
        limits = limits_hit({"error": "rate_limit"}, text, context.at)
    kind = EntryKind.LIMIT if is_last else EntryKind.NOTE
    return Piece(kind=kind, origin=Origin.SYSTEM, text=text, tool="api_error", limits=limits)


def _attachment(context: Pass, record: Record) -> list[Piece]:
    attachment = dict_of(record.get("attachment"))
    kind = text_of(attachment.get("type"))[:80] or "attachment"
    if kind == "queued_command":
        found = queued_prompts.content_pieces(attachment.get("prompt"))
        if is_injected(attachment) or attachment.get("commandMode") == "task-notification":
            return [note("task-notification", piece.text) for piece in found]
        if context.is_side:
            return for_agent(found)
        return queued_prompts.delivered(found, context.state, "remove")
    return [note(kind, "" if kind.startswith(_COPIES) else gist(attachment))]


def _queue_operation(context: Pass, record: Record) -> list[Piece]:
    return queued_prompts.of_operation(record, context.state)


def _summary(context: Pass, record: Record) -> list[Piece]:
    """The title that the model gave to a conversation: this one, or another one in the list."""
    if is_known(context.state, text_of(record.get("leafUuid"))):
        learn_title(context, text_of(record.get("summary")))
    return []


def _title(context: Pass, record: Record) -> list[Piece]:
    is_chosen = "customTitle" in record
    learn_title(context, text_of(record.get("customTitle")) or text_of(record.get("aiTitle")), is_chosen)
    return []


def _rate_limit(context: Pass, record: Record) -> list[Piece]:
    limits = limits_of_event(record, context.at)
    return [Piece(kind=EntryKind.NOTE, origin=Origin.SYSTEM, text="", tool="rate_limit_event", limits=limits)]


def _result(context: Pass, record: Record) -> list[Piece]:
    """The end of a run in the program's output, or the result of a workflow's step."""
    for used in dict_of(record.get("modelUsage")).values():
        if window := count_of(dict_of(used).get("contextWindow")):
            context.reading.learn(context_window=window)
    text = text_of(record.get("result"))
    is_refused = record.get("is_error") is True and record.get("api_error_status") in (429, 400, None)
    limits = limits_hit({}, text, context.at) if is_refused else ()
    if not limits:
        return []
    return [Piece(kind=EntryKind.LIMIT, origin=Origin.SYSTEM, text=text, tool="result", limits=limits)]


_HANDLERS: dict[str, Callable[[Pass, Record], list[Piece]]] = {
    "user": user,
    "assistant": assistant,
    "progress": progress,
    "system": _system,
    "attachment": _attachment,
    "queue-operation": _queue_operation,
    "summary": _summary,
    "custom-title": _title,
    "ai-title": _title,
    "rate_limit_event": _rate_limit,
    "result": _result,
}


# Ids and parents


def _finished(found: list[Piece], context: Pass) -> list[Entry]:
    record, state = context.record, context.state
    own = unused(state, _id(record.get("uuid")) or f"record-{state['n']}", _IDS)
    parent = _parent(found, context, own)
    cwd, branch = text_of(record.get("cwd")) or None, text_of(record.get("gitBranch")) or None
    entries = []
    for number, piece in enumerate(found, 1):
        is_last = number == len(found)
        id = own if is_last else f"{own}#{number}"
        if piece.kind is EntryKind.CALL and piece.call:
            remember(state.setdefault("calls", {}), piece.call, [id, piece.tool], _CALLS)
        link(state, id, parent)
        entries.append(
            Entry(
                id=id,
                kind=piece.kind,
                origin=piece.origin,
                text=piece.text,
                parent=parent,
                at=context.at,
                model=context.model,
                tool=piece.tool,
                call=piece.call,
                status=piece.status,
                is_error=piece.is_error,
                cwd=cwd,
                branch=branch,
                subagent=context.subagent,
                spend=context.spend if is_last else None,
                limits=piece.limits,
                native=record,
            )
        )
        parent = id
        if piece.kind is EntryKind.RESULT:
            state.get("calls", {}).pop(piece.call, None)
    arrived(state, own)
    return entries


def _parent(found: list[Piece], context: Pass, own: str) -> str | None:
    """The parent of a record: the call that it answers, or the record that it names."""
    record, state = context.record, context.state
    named = _id(record.get("parentUuid")) or _id(record.get("logicalParentUuid"))
    if context.subagent is None and record.get("uuid") and record.get("type") != "progress":
        state["tip"] = own
    elif any(map(is_typed, found)):  # typed while the agent was busy: attach it to the latest record
        named = named or text_of(state.get("tip"))
    if found[0].kind is EntryKind.RESULT and found[0].call:
        named = call_of(found[0].call, state)[0] or named
    return unringed(state, own, named)


def _id(value: Any) -> str:
    return text_of(value)[:200].replace("#", "_")
