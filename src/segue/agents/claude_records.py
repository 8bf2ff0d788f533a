"""From one record of Claude Code to its entries.

Every record becomes at least one entry: what is no message becomes a note. The last entry of a record bears
the record's own id, so that whatever names it as its parent comes after all of them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from segue.agents import claude_queue
from segue.agents.claude_limits import limits_hit, limits_of_event, limits_of_headers
from segue.agents.claude_text import (
    Piece,
    arguments_of,
    gist,
    image_of,
    is_image,
    is_typed,
    note,
    pieces_of,
    prompt,
    result_of,
    words_in_result,
    words_on_plan,
)
from segue.agents.reading import INTERRUPT, Reading, count_of, dict_of, list_of, moment_of, text_of
from segue.agents.scanning import title_of
from segue.clock import Moment
from segue.model import Entry, EntryKind, Origin, Relation, Spend, Tokens

SYNTHETIC = "<synthetic>"
"""The model's name on what the program itself wrote in place of an answer."""

_REMEMBERED = 256
"""How many ids, calls and sub-agents are remembered: a result follows its call closely, a copy its original."""

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")

_BOOKKEEPING = frozenset(
    ("file-history-snapshot", "file-history-delta", "last-prompt", "mode", "permission-mode", "pr-link",
     "agent-name", "agent-setting", "agent-color", "tag", "tools-used", "atis-latch", "api-request",
     "api-request-shape", "api-request-blob", "cost-state", "worktree-state", "content-replacement", "started",
     "stream_event", "tool_progress", "auth_status", "tool_use_summary", "keep_alive")
)  # fmt: skip

Record = dict[str, Any]
State = dict[str, Any]


class Pass:
    """One record on its way to entries, with what the transcript told before it."""

    def __init__(self, record: Record, reading: Reading, state: State) -> None:
        self.record = record
        self.reading = reading
        self.state = state
        self.at: Moment | None = moment_of(record.get("timestamp"))
        self.subagent: str | None = None
        self.model: str | None = None
        self.spend: Spend | None = None

    @property
    def is_side(self) -> bool:
        """Whether a sub-agent's line of work is told: there the prompts are the main agent's."""
        return self.subagent is not None or bool(self.state.get("agent"))

    def tool_of(self, call: str | None) -> str | None:
        known = self.state.get("calls", {}).get(call or "")
        return known[1] if known else None


def entries_of(record: Record, reading: Reading, state: State) -> list[Entry]:
    state["n"] = state.get("n", 0) + 1
    way = Pass(record, reading, state)
    _learn(way)
    way.subagent = _subagent_of(record, state)
    kind = text_of(record.get("type"))[:80]
    handler = _HANDLERS.get(kind)
    if handler:
        found = handler(way, record)
    else:
        found = []
        if kind not in _BOOKKEEPING:
            reading.unknown[kind or "untyped"] += 1
    found = found or [note(kind or "untyped", gist(record))]
    if way.subagent is None:
        _note_busy(found, state)
    return _finished(found, way)


# What a record tells of its transcript


def _learn(way: Pass) -> None:
    record, state, reading = way.record, way.state, way.reading
    version = text_of(record.get("version")) or text_of(record.get("claude_code_version"))
    if version and version != state.get("version"):
        state["version"] = version[:80]
        reading.learn(version=version[:80])
    origin = text_of(dict_of(record.get("forkedFrom")).get("sessionId"))
    if origin and state.get("forked") != origin:
        state["forked"] = origin
        reading.learn(parent=origin, relation=Relation.FORK)
    session = text_of(record.get("sessionId")) or text_of(record.get("session_id"))
    if session and session not in (state.get("session"), state.get("name")):
        _learn_session(way, session)


def _learn_session(way: Pass, session: str) -> None:
    """Whose transcript it is: its name says so, where it has one that this agent gave it."""
    record, state, reading = way.record, way.state, way.reading
    is_first = "session" not in state
    state["session"] = session
    stem = reading.source.path.rpartition("/")[2].removesuffix(".jsonl")
    agent = text_of(record.get("agentId")) if record.get("isSidechain") is True else ""
    if is_first and (stem.startswith("agent-") or (agent and not _UUID.match(stem))):
        state["agent"] = stem if stem.startswith("agent-") else f"agent-{agent}"
        reading.learn(id=state["agent"], parent=session, relation=Relation.SUBAGENT)
    elif is_first:
        state["name"] = stem if _UUID.match(stem) else session
        reading.learn(id=state["name"])
    if session != state.get("name") and not state.get("agent") and not state.get("forked"):
        if _UUID.match(stem) and not state.get("continued"):
            state["continued"] = session
            reading.learn(parent=session, relation=Relation.CONTINUATION)


def _learn_title(way: Pass, title: str, is_chosen: bool = False) -> None:
    title = title_of(title)
    if title and (is_chosen or not way.state.get("titled")):
        way.state["titled"] = is_chosen or bool(way.state.get("titled"))
        way.reading.learn(title=title)


def _subagent_of(record: Record, state: State) -> str | None:
    """Which sub-agent a record among the main ones belongs to: by its name, or by where its line began."""
    above = text_of(record.get("parent_tool_use_id"))
    if state.get("agent") or not (record.get("isSidechain") is True or above):
        return None
    if named := text_of(record.get("agentId")) or above:
        return named
    own, parent = text_of(record.get("uuid")), text_of(record.get("parentUuid"))
    lines: dict[str, str] = state.setdefault("lines", {})
    line = lines.get(parent) or (parent or own)[:8] or "sidechain"
    if own:
        _remember(lines, own, line)
    return line


def _note_busy(found: list[Piece], state: State) -> None:
    for piece in found:
        if (
            piece.kind in (EntryKind.CALL, EntryKind.RESULT, EntryKind.THOUGHT)
            or piece.kind is EntryKind.PROMPT
        ):
            state["busy"] = True
        elif piece.kind in (EntryKind.REPLY, EntryKind.LIMIT) or piece.tool == INTERRUPT:
            state["busy"] = False


# Messages


def _user(way: Pass, record: Record) -> list[Piece]:
    message = dict_of(record.get("message"))
    content = message.get("content")
    blocks = [content] if isinstance(content, str) else list_of(content)
    found: list[Piece] = []
    for block in blocks:
        if isinstance(block, str):
            found += pieces_of(block)
        elif is_image(block):
            found.append(image_of(block, Origin.HUMAN))
        elif isinstance(block, dict):
            found += _user_block(way, record, block)
    return _judged(way, record, found)


def _user_block(way: Pass, record: Record, block: Record) -> list[Piece]:
    kind = text_of(block.get("type"))
    if kind == "text":
        return pieces_of(text_of(block.get("text")))
    if kind.endswith("tool_result"):
        tool = way.tool_of(text_of(block.get("tool_use_id")))
        outcome = record.get("toolUseResult", record.get("tool_use_result"))
        found = result_of(block, outcome, tool)
        return found + words_in_result(tool, found[0].text, record)
    way.reading.unknown[f"user/{kind[:80]}"] += 1
    return [note(kind or "user", gist(block))]


def _judged(way: Pass, record: Record, found: list[Piece]) -> list[Piece]:
    """The same, with what is known of the record as a whole: whether a person wrote it at all."""
    if record.get("isCompactSummary") is True:
        return [_as(EntryKind.SUMMARY, Origin.ASSISTANT, piece) for piece in found]
    if _is_injected(record):
        return [_as(EntryKind.NOTE, Origin.SYSTEM, piece) if is_typed(piece) else piece for piece in found]
    if way.is_side:
        found = [prompt(piece.text, Origin.ASSISTANT) if _is_for_agent(piece) else piece for piece in found]
        first = next((piece for piece in found if piece.kind is EntryKind.PROMPT), None)
        if first and way.subagent is None and not way.state.get("titled"):
            _learn_title(way, first.text, is_chosen=True)
        return found
    if text_of(record.get("planContent")):
        _learn_title(way, text_of(record["planContent"]).lstrip("# "))
        return [one for piece in found for one in (words_on_plan(piece.text) if is_typed(piece) else [piece])]
    return claude_queue.delivered(found, way.state, "dequeue")


def _is_injected(record: Record) -> bool:
    origin = text_of(dict_of(record.get("origin")).get("kind"))
    return (
        record.get("isMeta") is True
        or record.get("isVisibleInTranscriptOnly") is True
        or record.get("isSynthetic") is True
        or bool(record.get("sourceToolUseID"))
        or origin not in ("", "human", "user")
    )


def _is_for_agent(piece: Piece) -> bool:
    return is_typed(piece) or piece.tool == "teammate-message"


def _as(kind: EntryKind, origin: Origin, piece: Piece) -> Piece:
    return Piece(kind=kind, origin=origin, text=piece.text, tool="meta" if kind is EntryKind.NOTE else None)


def _assistant(way: Pass, record: Record) -> list[Piece]:
    message = dict_of(record.get("message"))
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content)
    model = text_of(message.get("model"))
    if record.get("isApiErrorMessage") is True or model == SYNTHETIC or text_of(record.get("error")):
        return _by_the_program(
            way, record, "\n".join(text_of(dict_of(block).get("text")) for block in blocks)
        )
    way.model = model or None
    way.spend = _spend_of(record, message, way.at)
    return [_assistant_block(way, dict_of(block)) for block in blocks]


def _assistant_block(way: Pass, block: Record) -> Piece:
    kind, said = text_of(block.get("type")), Origin.ASSISTANT
    text = text_of(block.get("text"))
    if kind == "text" and text.strip():
        return Piece(kind=EntryKind.REPLY, origin=said, text=text)
    if kind in ("thinking", "redacted_thinking"):
        return Piece(kind=EntryKind.THOUGHT, origin=said, text=text_of(block.get("thinking")))
    if kind.endswith("tool_use"):
        name, call = text_of(block.get("name")) or kind, text_of(block.get("id")) or None
        return Piece(kind=EntryKind.CALL, origin=said, text=arguments_of(block), tool=name, call=call)
    if kind.endswith("tool_result"):
        return result_of(block, None, way.tool_of(text_of(block.get("tool_use_id"))))[0]
    if is_image(block):
        return image_of(block, said)
    if kind != "text":
        way.reading.unknown[f"assistant/{kind[:80]}"] += 1
    return note(kind or "assistant", gist(block), said)


def _by_the_program(way: Pass, record: Record, text: str) -> list[Piece]:
    """What stands in place of an answer: a limit, or some other reason why there is none."""
    if limits := limits_hit(record, text, way.at):
        return [Piece(kind=EntryKind.LIMIT, origin=Origin.SYSTEM, text=text, limits=limits)]
    return [note("api_error" if record.get("isApiErrorMessage") is True else "synthetic", text)]


def _spend_of(record: Record, message: Record, at: Moment | None) -> Spend | None:
    usage = message.get("usage")
    model = text_of(message.get("model"))
    if not isinstance(usage, dict) or not usage or not model:
        return None
    kept = dict_of(usage.get("cache_creation"))
    long = count_of(kept.get("ephemeral_1h_input_tokens"))
    written = count_of(usage.get("cache_creation_input_tokens"))
    written = written or long + count_of(kept.get("ephemeral_5m_input_tokens"))
    answer, request = text_of(message.get("id")), text_of(record.get("requestId"))
    key = f"{answer}:{request}" if answer and request else answer or text_of(record.get("uuid"))
    cost = record.get("costUSD")
    if not key:
        return None
    return Spend(
        key=key,
        model=model,
        tokens=Tokens(
            input=count_of(usage.get("input_tokens")),
            output=count_of(usage.get("output_tokens")),
            cache_read=count_of(usage.get("cache_read_input_tokens")),
            cache_write=written,
            cache_write_long=min(long, written),
        ),
        at=at,
        cost_usd=float(cost) if isinstance(cost, float | int) and 0 <= cost < 1e9 else None,
    )


def _progress(way: Pass, record: Record) -> list[Piece]:
    """A sub-agent's message, told in passing; or that something is going on."""
    data = dict_of(record.get("data"))
    kind = text_of(data.get("type")) or "progress"
    inner = dict_of(data.get("message"))
    handler = {"user": _user, "assistant": _assistant}.get(text_of(inner.get("type")))
    if handler is None:
        return [note(kind[:80], text_of(data.get("command")))]
    way.subagent = text_of(data.get("agentId")) or text_of(record.get("parentToolUseID")) or kind
    way.at = moment_of(inner.get("timestamp")) or way.at
    return handler(way, inner)


# Everything else


def _system(way: Pass, record: Record) -> list[Piece]:
    subtype = text_of(record.get("subtype"))[:80]
    if subtype == "init":
        way.reading.learn(**{key: found for key in ("model",) if (found := text_of(record.get(key)))})
    if subtype == "local_command":
        found = pieces_of(text_of(record.get("content")))
        is_command = any(piece.text.startswith("/") for piece in found if is_typed(piece))
        return [piece if not is_typed(piece) or is_command else note(subtype, piece.text) for piece in found]
    if subtype == "api_error":
        return [_api_error(way, record)]
    return [note(subtype or "system", gist(record))]


def _api_error(way: Pass, record: Record) -> Piece:
    """A request that failed. The program tries again, unless it says that this was the last time."""
    error = dict_of(record.get("error"))
    text = gist(dict_of(dict_of(error.get("error")).get("error"))) or gist(error)
    headers = dict_of(error.get("headers"))
    if error.get("status") != 429:
        return note("api_error", text)
    limits = limits_of_headers(headers, way.at)
    is_last = headers.get("x-should-retry") == "false" or "retryInMs" not in record
    if is_last:
        limits = limits_hit({"error": "rate_limit"}, text, way.at)
    kind = EntryKind.LIMIT if is_last else EntryKind.NOTE
    return Piece(kind=kind, origin=Origin.SYSTEM, text=text, tool="api_error", limits=limits)


def _attachment(way: Pass, record: Record) -> list[Piece]:
    attachment = dict_of(record.get("attachment"))
    kind = text_of(attachment.get("type"))[:80] or "attachment"
    if kind == "queued_command":
        found = claude_queue.content_pieces(attachment.get("prompt"))
        if _is_injected(attachment) or attachment.get("commandMode") == "task-notification":
            found = [
                _as(EntryKind.NOTE, Origin.SYSTEM, piece) if is_typed(piece) else piece for piece in found
            ]
        if way.is_side:
            return [prompt(piece.text, Origin.ASSISTANT) if is_typed(piece) else piece for piece in found]
        return claude_queue.delivered(found, way.state, "remove")
    return [note(kind, gist(attachment))]


def _queue_operation(way: Pass, record: Record) -> list[Piece]:
    return claude_queue.of_operation(record, way.state)


def _summary(way: Pass, record: Record) -> list[Piece]:
    """A title that the model gave to a conversation: this one, or another that was listed beside it."""
    if _short(text_of(record.get("leafUuid"))) in way.state.get("seen", {}):
        _learn_title(way, text_of(record.get("summary")))
    return []


def _title(way: Pass, record: Record) -> list[Piece]:
    is_chosen = "customTitle" in record
    _learn_title(way, text_of(record.get("customTitle")) or text_of(record.get("aiTitle")), is_chosen)
    return []


def _rate_limit(way: Pass, record: Record) -> list[Piece]:
    limits = limits_of_event(record, way.at)
    return [Piece(kind=EntryKind.NOTE, origin=Origin.SYSTEM, text="", tool="rate_limit_event", limits=limits)]


def _result(way: Pass, record: Record) -> list[Piece]:
    """How a run ended, in the program's output; or what a step of a workflow gave."""
    for used in dict_of(record.get("modelUsage")).values():
        if window := count_of(dict_of(used).get("contextWindow")):
            way.reading.learn(context_window=window)
    text = text_of(record.get("result"))
    if record.get("is_error") is True and record.get("api_error_status") in (429, 400, None):
        if limits := limits_hit({}, text, way.at):
            return [
                Piece(kind=EntryKind.LIMIT, origin=Origin.SYSTEM, text=text, tool="result", limits=limits)
            ]
    return []


_HANDLERS: dict[str, Callable[[Pass, Record], list[Piece]]] = {
    "user": _user,
    "assistant": _assistant,
    "progress": _progress,
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


def _finished(found: list[Piece], way: Pass) -> list[Entry]:
    record, state = way.record, way.state
    own = _unique(_id(record.get("uuid")) or f"record-{state['n']}", state)
    parent = _id(record.get("parentUuid")) or _id(record.get("logicalParentUuid")) or None
    parent = None if parent == own else parent
    cwd, branch = text_of(record.get("cwd")) or None, text_of(record.get("gitBranch")) or None
    entries = []
    for number, piece in enumerate(found, 1):
        is_last = number == len(found)
        id = own if is_last else f"{own}#{number}"
        if number == 1 and piece.kind is EntryKind.RESULT and piece.call:
            parent = _call_above(piece.call, state) or parent
        if piece.kind is EntryKind.CALL and piece.call:
            _remember(state.setdefault("calls", {}), piece.call, (id, piece.tool))
        entries.append(
            Entry(
                id=id,
                kind=piece.kind,
                origin=piece.origin,
                text=piece.text,
                parent=parent,
                at=way.at,
                model=way.model,
                tool=piece.tool,
                call=piece.call,
                status=piece.status,
                is_error=piece.is_error,
                cwd=cwd,
                branch=branch,
                subagent=way.subagent,
                spend=way.spend if is_last else None,
                limits=piece.limits,
                native=record,
            )
        )
        parent = id
    return entries


def _call_above(call: str, state: State) -> str | None:
    known = state.get("calls", {}).get(call)
    return known[0] if known else None


def _id(value: Any) -> str:
    return text_of(value)[:200].replace("#", "_")


def _unique(id: str, state: State) -> str:
    """The id, or another where it was used before."""
    seen: dict[str, int] = state.setdefault("seen", {})
    used = seen.get(_short(id), 0)
    _remember(seen, _short(id), used + 1)
    return _unique(f"{id}~{used + 1}", state) if used else id


def _short(id: str) -> str:
    return hashlib.blake2b(id.encode(), digest_size=6).hexdigest()


def _remember(known: dict[str, Any], key: str, value: Any) -> None:
    """Keep it, and forget the oldest from time to time."""
    known[key] = value
    if len(known) > 2 * _REMEMBERED:
        for old in list(known)[:_REMEMBERED]:
            del known[old]
