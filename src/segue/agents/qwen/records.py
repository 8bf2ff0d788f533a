"""Entries from Qwen Code's records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from segue.agents.gemini import parts
from segue.agents.qwen import AGENT
from segue.agents.shared.transcripts import reader
from segue.agents.shared.transcripts.entry_links import bare, chained, note, placed
from segue.agents.shared.transcripts.reader import Reading, count_of, dict_of, list_of, moment_of, text_of
from segue.base import clock
from segue.base.clock import Moment
from segue.model import Entry, EntryKind, Origin, Relation, Spend, Tokens

TYPED = ("", "mid_turn_user_message")
"""Kinds of user records that hold what the user typed."""
KNOWN = re.compile(
    r"agent_(bootstrap|launch_prompt|retry)|at_command|attribution_snapshot|branch_checkpoint|custom_title"
    r"|file_history_snapshot|goal_state|notification|parent_session|rewind|session_artifact_(event|snapshot)"
    r"|session_(model|source)|turn_result|user_text_elements"
)
"""Records of the program's own that say nothing of the conversation."""
EXPANDED_WITHIN_S = 1.0
"""A command's own prompt follows it within this time: faster than anyone types."""


def entries(reading_: Reading) -> Iterator[Entry]:
    path = Path(reading_.source.path)
    is_subagent = path.name.startswith("agent-")
    if is_subagent:
        reading_.learn(id=path.stem.removeprefix("agent-"), relation=Relation.SUBAGENT)
    for record in reader.records(reading_):
        _describe(reading_, record, is_subagent)
        pieces = _pieces(reading_, record, is_subagent)
        yield from _place(reading_.mark.state, record, pieces, is_subagent)


def _describe(reading_: Reading, record: dict[str, Any], is_subagent: bool) -> None:
    """Apply what a record says about the transcript."""
    told: dict[str, Any] = {"version": text_of(record.get("version"))}
    if is_subagent:
        told["parent"] = text_of(record.get("sessionId"))
    else:
        told["id"] = text_of(record.get("sessionId"))
        origin = text_of(dict_of(record.get("forkedFrom")).get("sessionId"))
        if origin:
            told |= {"parent": origin, "relation": Relation.FORK}
    payload = dict_of(record.get("systemPayload"))
    if record.get("subtype") == "custom_title":
        told["title"] = text_of(payload.get("customTitle"))
    elif record.get("subtype") == "parent_session" and text_of(payload.get("parentSessionId")):
        told |= {"parent": payload["parentSessionId"], "relation": Relation.SUBAGENT}
    told["context_window"] = count_of(record.get("contextWindowSize"))
    reading_.learn(**{key: value for key, value in told.items() if value})


def _place(
    state: dict[str, Any], record: dict[str, Any], pieces: list[Entry], is_subagent: bool
) -> Iterator[Entry]:
    state["records"] = state.get("records", 0) + 1
    name = text_of(record.get("uuid")) or f"record:{state['records']}"
    shared = {
        "at": moment_of(record.get("timestamp")),
        "model": text_of(record.get("model")) or None,
        "cwd": text_of(record.get("cwd")) or None,
        "branch": text_of(record.get("gitBranch")) or None,
        "native": record,
    }
    subagent = None if is_subagent else text_of(record.get("agentId")) or None
    whose = [placed(piece, subagent=piece.subagent or subagent) for piece in pieces]
    return chained(state, name, text_of(record.get("parentUuid")) or None, whose, **shared)


# Records


def _pieces(reading_: Reading, record: dict[str, Any], is_subagent: bool) -> list[Entry]:
    state = reading_.mark.state
    at = moment_of(record.get("timestamp"))
    content = parts.part_list(dict_of(record.get("message")).get("parts"))
    match record.get("type"):
        case "user":
            pieces = _user(state, record, content, is_subagent)
        case "assistant":
            state["stopped"] = False
            state["command"] = None
            pieces = _answer(content, None if is_subagent else _spend(record, at))
        case "tool_result":
            pieces = _result(state, record, content)
        case "system":
            pieces = _system(reading_, record, at)
        case other:
            name = text_of(other) or "record"
            reading_.unknown[name] += 1
            pieces = [note(name, parts.text_in(content))]
    return pieces or [note(text_of(record.get("subtype")) or text_of(record.get("type")))]


def _user(
    state: dict[str, Any], record: dict[str, Any], content: list[dict[str, Any]], is_subagent: bool
) -> list[Entry]:
    kind = text_of(record.get("subtype"))
    origin = text_of(record.get("provenance"))
    if kind not in TYPED or origin not in ("", "real_user") or _is_expansion(state, record):
        return [
            *parts.other_parts(content, Origin.SYSTEM),
            note(kind or "user", parts.text_in(content)),
        ]
    is_written = is_subagent or bool(record.get("isSidechain"))
    writer = Origin.ASSISTANT if is_written else Origin.HUMAN
    shown = dict_of(record.get("systemPayload")).get("displayText")
    typed = shown if isinstance(shown, str) and shown != parts.text_in(content) else None
    state["stopped"] = False
    return [*parts.other_parts(content, writer), *parts.user_texts(content, typed, writer)]


def _is_expansion(state: dict[str, Any], record: dict[str, Any]) -> bool:
    """Whether it is the prompt that a slash command stands for. The command is what was typed."""
    command = state.get("command")
    state["command"] = None
    if not command or not command["sends"]:
        return False
    said, at = command["at"], moment_of(record.get("timestamp"))
    if command["sends"] is True:
        return True
    if not said or not at:
        return False
    return (clock.parse(at) - clock.parse(said)).total_seconds() <= EXPANDED_WITHIN_S


def _answer(content: list[dict[str, Any]], spend: Spend | None) -> list[Entry]:
    pieces = list(parts.answer_parts(content))
    if spend:
        last = pieces[-1] if pieces else note("answer")
        pieces[-1:] = [placed(last, spend=spend)]
    return pieces


def _spend(record: dict[str, Any], at: Moment | None) -> Spend | None:
    found, name = dict_of(record.get("usageMetadata")), text_of(record.get("uuid"))
    tokens = parts.tokens_of(
        prompt=found.get("promptTokenCount"),
        answer=found.get("candidatesTokenCount"),
        cached=found.get("cachedContentTokenCount"),
        thoughts=found.get("thoughtsTokenCount"),
        tool=found.get("toolUsePromptTokenCount"),
        total=found.get("totalTokenCount"),
    )
    if not name or tokens == Tokens():
        return None
    return Spend(key=f"{AGENT.name}:{name}", model=text_of(record.get("model")), tokens=tokens, at=at)


def _result(state: dict[str, Any], record: dict[str, Any], content: list[dict[str, Any]]) -> list[Entry]:
    told = dict_of(record.get("toolCallResult"))
    status = text_of(told.get("status"))
    pieces = []
    for piece in parts.other_parts(content, Origin.TOOL):
        failed = piece.kind is EntryKind.RESULT and status in parts.FAILED
        pieces.append(placed(piece, is_error=True) if failed else piece)
    if not any(piece.kind is EntryKind.RESULT for piece in pieces):
        text = parts.text_in(content) or text_of(told.get("resultDisplay"))
        pieces.append(parts.result("", text_of(told.get("callId")), text, failed=status in parts.FAILED))
    if status == parts.CANCELLED and not state.get("stopped"):
        state["stopped"] = True
        pieces.append(parts.interruption(text_of(told.get("resultDisplay")) or "A tool call was cancelled."))
    return pieces


# Records of the program's own


def _system(reading_: Reading, record: dict[str, Any], at: Moment | None) -> list[Entry]:
    kind = text_of(record.get("subtype"))
    payload = dict_of(record.get("systemPayload"))
    if kind == "ui_telemetry":
        return [_event(dict_of(payload.get("uiEvent")), at)]
    if kind == "slash_command":
        return _command(reading_.mark.state, payload, at)
    if kind == "chat_compression":
        return [bare(EntryKind.SUMMARY, Origin.ASSISTANT, _summary(payload))]
    if kind == "turn_result" and payload.get("state") == parts.CANCELLED:
        return [parts.interruption("The turn was cancelled.")]
    if not KNOWN.fullmatch(kind):
        reading_.unknown[kind or "system"] += 1
    return [note(kind or "system")]


def _event(event: dict[str, Any], at: Moment | None) -> Entry:
    """A usage record. Of interest: a request refused for a limit, and what a sub-agent spent, which its own
    file does not always hold."""
    name = text_of(event.get("event.name"))
    text = text_of(event.get("error_message")) or text_of(event.get("error"))
    if name.endswith("api_error"):
        limit = parts.limit_entry(text, at, text_of(event.get("model")))
        return limit or note(name, text)
    subagent = text_of(event.get("subagent_name"))
    spend = _subagent_spend(event, at) if subagent and name.endswith("api_response") else None
    return placed(note(name or "ui_telemetry"), spend=spend, subagent=subagent or None)


def _subagent_spend(event: dict[str, Any], at: Moment | None) -> Spend | None:
    answer, when = text_of(event.get("response_id")), text_of(event.get("event.timestamp"))
    tokens = parts.tokens_of(
        prompt=event.get("input_token_count"),
        answer=event.get("output_token_count"),
        cached=event.get("cached_content_token_count"),
        thoughts=event.get("thoughts_token_count"),
        tool=event.get("tool_token_count"),
        total=event.get("total_token_count"),
    )
    if not answer or tokens == Tokens():
        return None
    key = f"{AGENT.name}:{answer}:{when}"
    return Spend(key=key, model=text_of(event.get("model")), tokens=tokens, at=at)


def _command(state: dict[str, Any], payload: dict[str, Any], at: Moment | None) -> list[Entry]:
    raw = text_of(payload.get("rawCommand"))
    if payload.get("phase") == "invocation":
        sends = payload.get("sentToModel")
        state["command"] = {"sends": sends if isinstance(sends, bool) else "maybe", "at": at}
        return [bare(EntryKind.PROMPT, Origin.HUMAN, raw)] if raw else []
    shown = list_of(payload.get("outputHistoryItems"))
    if shown and dict_of(state.get("command")).get("sends") is not True:
        state["command"] = None
    texts = [text_of(dict_of(item).get("text")) for item in shown]
    return [note("slash_command", "\n".join(filter(None, texts)))]


def _summary(payload: dict[str, Any]) -> str:
    """The text that the history was replaced by: the first message marked as such, or the first of all."""
    said = [
        parts.text_in(parts.part_list(dict_of(message).get("parts")))
        for message in list_of(payload.get("compressedHistory"))
    ]
    return next((text for text in said if "<state_snapshot>" in text), next(filter(None, said), ""))
