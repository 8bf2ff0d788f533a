"""Entries from pi's records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from segue.agents.pi import AGENT, content
from segue.agents.shared.transcripts import reader
from segue.agents.shared.transcripts.entry_links import bare, chained, note, placed
from segue.agents.shared.transcripts.reader import (
    INTERRUPT,
    Reading,
    compact,
    count_of,
    dict_of,
    list_of,
    moment_of,
    status_of,
    text_of,
)
from segue.base.clock import Moment
from segue.model import Entry, EntryKind, Origin, Relation, Spend, Tokens

NOTES = ("model_change", "thinking_level_change", "custom", "label", "session_info", "session")
DEAREST_USD = 1e6
"""A higher price is not believed."""

_SKILL = re.compile(r'<skill name="([^"]+)" location="[^"]*">\n.*?\n</skill>', re.DOTALL)
_FILES = re.compile(r'(?:<file name="[^"\n]*">.*?</file>\n)+', re.DOTALL)
_ID = re.compile(r"_([\w-]+)\.jsonl$")


def entries(reading_: Reading) -> Iterator[Entry]:
    for record in reader.records(reading_):
        state = reading_.mark.state
        _describe(reading_, record)
        yield from _place(state, record, _pieces(reading_, record))


def _describe(reading_: Reading, record: dict[str, Any]) -> None:
    """Apply what a record says about the transcript."""
    told: dict[str, Any] = {}
    if record.get("type") == "session":
        told["id"] = text_of(record.get("id"))
        told["project"] = text_of(record.get("cwd"))
        origin = text_of(record.get("parentSession")) or text_of(record.get("branchedFrom"))
        found = _ID.search(origin)
        if found:
            told |= {"parent": found.group(1), "relation": Relation.FORK}
    elif record.get("type") == "session_info":
        told["title"] = text_of(record.get("name"))
    reading_.learn(**{key: value for key, value in told.items() if value})


def _place(state: dict[str, Any], record: dict[str, Any], pieces: list[Entry]) -> Iterator[Entry]:
    state["records"] = state.get("records", 0) + 1
    native = text_of(record.get("id")) if record.get("type") != "session" else "session"
    is_linked = "parentId" in record
    parent = text_of(record.get("parentId")) or None if is_linked else state.get("last")
    shared = {
        "at": moment_of(record.get("timestamp")),
        "cwd": text_of(record.get("cwd")) or None,
        "native": record,
    }
    for entry in chained(state, native or f"record:{state['records']}", parent, pieces, **shared):
        state["last"] = entry.id
        yield entry


# Records


def _pieces(reading_: Reading, record: dict[str, Any]) -> list[Entry]:
    kind = text_of(record.get("type"))
    if kind == "message":
        return _message(reading_, record)
    if kind in ("compaction", "branch_summary"):
        return [bare(EntryKind.SUMMARY, Origin.ASSISTANT, text_of(record.get("summary")), tool=kind)]
    if kind == "custom_message":
        return _injected(text_of(record.get("customType")) or kind, record.get("content"))
    if kind not in NOTES:
        reading_.unknown[kind or "record"] += 1
    text = next(
        (text_of(record[key]) for key in ("modelId", "thinkingLevel", "label", "name") if key in record), ""
    )
    return [note(kind or "record", text)]


def _message(reading_: Reading, record: dict[str, Any]) -> list[Entry]:
    message = dict_of(record.get("message"))
    match message.get("role"):
        case "user":
            return _user(message.get("content"))
        case "assistant":
            return _answer(record, message)
        case "toolResult":
            return _result(message)
        case "bashExecution":
            return _bash(message, reading_.mark.state.get("records", 0))
        case "custom" | "hookMessage":
            return _injected(text_of(message.get("customType")) or "custom", message.get("content"))
        case "branchSummary" | "compactionSummary":
            return [bare(EntryKind.SUMMARY, Origin.ASSISTANT, text_of(message.get("summary")))]
        case role:
            name = text_of(role) or "message"
            reading_.unknown[name] += 1
            return [note(name, content.text(message.get("content")))]


def _user(found: Any) -> list[Entry]:
    """What the user typed, separate from files and skills that the program put before it."""
    text = content.text(found)
    pieces = list(content.images(found, Origin.HUMAN))
    files = _FILES.match(text)
    if files:
        pieces.append(note("file", files.group()))
        text = text[files.end() :]
    skill = _SKILL.match(text)
    if skill:
        pieces.append(note("skill", skill.group()))
        text = f"/skill:{skill.group(1)} {text[skill.end() :].strip()}".strip()
    if text.strip():
        pieces.append(bare(EntryKind.PROMPT, Origin.HUMAN, text))
    return pieces or [note("user")]


def _injected(tool: str, found: Any) -> list[Entry]:
    return [*content.images(found, Origin.SYSTEM), note(tool, content.text(found))]


def _answer(record: dict[str, Any], message: dict[str, Any]) -> list[Entry]:
    at, model = moment_of(record.get("timestamp")), text_of(message.get("model"))
    pieces = [piece for block in list_of(message.get("content")) if (piece := _block(dict_of(block)))]
    spend = _spend(message, at, model)
    end = _end(message, at, model)
    if end:
        pieces.append(end)
    if not pieces:
        pieces = [note("answer")]
    # Text and calls carry the spend; the end of an answer only if there is nothing else.
    bearer = len(pieces) - (2 if end and len(pieces) > 1 else 1)
    pieces[bearer] = placed(pieces[bearer], spend=spend)
    return [placed(piece, model=model or None) for piece in pieces]


def _block(block: dict[str, Any]) -> Entry | None:
    match block.get("type"):
        case "text":
            text = text_of(block.get("text"))
            return bare(EntryKind.REPLY, Origin.ASSISTANT, text) if text.strip() else None
        case "thinking":
            text = text_of(block.get("thinking"))
            return bare(EntryKind.THOUGHT, Origin.ASSISTANT, text) if text.strip() else None
        case "toolCall":
            return bare(
                EntryKind.CALL,
                Origin.ASSISTANT,
                compact(block.get("arguments") if "arguments" in block else {}),
                tool=text_of(block.get("name")) or None,
                call=text_of(block.get("id")) or None,
            )
        case "image":
            return bare(EntryKind.IMAGE, Origin.ASSISTANT, content.picture(block))
        case kind:
            return note(text_of(kind) or "block")


def _end(message: dict[str, Any], at: Moment | None, model: str) -> Entry | None:
    """Why an answer ended early."""
    text = text_of(message.get("errorMessage"))
    match message.get("stopReason"):
        case "aborted":
            return bare(EntryKind.NOTE, Origin.HUMAN, text, tool=INTERRUPT)
        case "error":
            limit = content.limit(text, at)
            if limit:
                return bare(EntryKind.LIMIT, Origin.SYSTEM, text, limits=(limit,))
            return note("error", text)
    return None


def _spend(message: dict[str, Any], at: Moment | None, model: str) -> Spend | None:
    usage = dict_of(message.get("usage"))
    written = count_of(usage.get("cacheWrite"))
    tokens = Tokens(
        input=count_of(usage.get("input")),
        output=count_of(usage.get("output")),
        cache_read=count_of(usage.get("cacheRead")),
        cache_write=written,
    )
    if tokens == Tokens():
        return None
    figures = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write)
    when = message.get("timestamp") if isinstance(message.get("timestamp"), int) else at
    key = ":".join(str(part) for part in (AGENT.name, when, model, *figures))
    return Spend(key=key, model=model, tokens=tokens, at=at, cost_usd=_price(usage))


def _price(usage: dict[str, Any]) -> float | None:
    price = dict_of(usage.get("cost")).get("total")
    if isinstance(price, bool) or not isinstance(price, int | float):
        return None
    return float(price) if 0 <= price < DEAREST_USD else None


# Results


def _result(message: dict[str, Any]) -> list[Entry]:
    found = message.get("content")
    result = bare(
        EntryKind.RESULT,
        Origin.TOOL,
        content.text(found),
        tool=text_of(message.get("toolName")) or None,
        call=text_of(message.get("toolCallId")) or None,
        status=content.exit_status(text_of(message.get("toolName")), content.text(found)),
        is_error=message.get("isError") is True,
    )
    return [*content.images(found, Origin.TOOL), result]


def _bash(message: dict[str, Any], number: int) -> list[Entry]:
    """A command that the user ran with `!`."""
    call = f"bash:{number}"
    command = json.dumps(
        {"command": text_of(message.get("command"))}, ensure_ascii=False, separators=(",", ":")
    )
    status = status_of(message.get("exitCode"))
    result = bare(
        EntryKind.RESULT,
        Origin.TOOL,
        text_of(message.get("output")),
        tool="bash",
        call=call,
        status=status,
        is_error=bool(status) or message.get("cancelled") is True,
    )
    return [bare(EntryKind.CALL, Origin.HUMAN, command, tool="bash", call=call), result]
