"""Convert the messages in Claude Code's transcripts: from the user, the model and the tools."""

from __future__ import annotations

from typing import Any

import msgspec

from segue.agents.claude import queued_prompts
from segue.agents.claude.limits import limits_hit
from segue.agents.claude.record_context import Pass, Record, learn_title
from segue.agents.claude.token_scan import SYNTHETIC
from segue.agents.claude.token_values import spends_in
from segue.agents.claude.user_text import (
    ASSIGNMENT,
    Piece,
    arguments_of,
    gist,
    image_of,
    is_image,
    is_typed,
    joined,
    note,
    pieces_of,
    prompt,
    result_of,
    summary,
    words_in_result,
    words_on_plan,
)
from segue.agents.shared.transcripts.reader import dict_of, list_of, moment_of, text_of
from segue.base.lazy_regex import lazy_pattern
from segue.model import EntryKind, Origin

NEXT_MESSAGE = lazy_pattern(r"</teammate-message>\s*<teammate-message\b[^<>]*>")


def user(context: Pass, record: Record) -> list[Piece]:
    content = dict_of(record.get("message")).get("content")
    blocks = [content] if isinstance(content, str) else list_of(content)
    if record.get("isCompactSummary") is True:
        text = "\n".join(block if isinstance(block, str) else gist(block) for block in blocks)
        return [summary(text)]
    found: list[Piece] = []
    said: list[Piece] = []
    for block in blocks:
        if _is_text(block):
            said += _user_block(context, record, block)
            continue
        found += joined(said) + _user_block(context, record, block)
        said = []
    found += joined(said)
    return found if context.is_side else queued_prompts.delivered(found, context.state, "dequeue")


def _is_text(block: Any) -> bool:
    return isinstance(block, str) or dict_of(block).get("type") == "text"


def _user_block(context: Pass, record: Record, block: Any) -> list[Piece]:
    if isinstance(block, str):
        return _said(context, record, pieces_of(block))
    block = dict_of(block)
    kind = text_of(block.get("type"))
    if kind == "text":
        return _said(context, record, pieces_of(text_of(block.get("text"))))
    if is_image(block):
        return _said(context, record, [image_of(block, Origin.HUMAN)])
    if kind.endswith("tool_result"):
        tool = context.tool_of(text_of(block.get("tool_use_id")))
        outcome = record.get("toolUseResult", record.get("tool_use_result"))
        found = result_of(block, outcome, tool)
        return found + words_in_result(tool, found[0].text, record, found[0].is_error)
    context.reading.unknown[f"user/{kind[:80]}"] += 1
    return [note(kind[:80] or "user", gist(block))]


def _said(context: Pass, record: Record, found: list[Piece]) -> list[Piece]:
    """Correct the origin of pieces by what the whole record says, such as whether a person wrote it."""
    if is_injected(record):
        return [_injected(piece) for piece in found]
    if context.is_side:
        found = for_agent(found)
        first = next((piece for piece in found if piece.kind is EntryKind.PROMPT), None)
        if first and context.subagent is None and not context.state.get("titled"):
            learn_title(context, first.text, is_chosen=True)
        return found
    if text_of(record.get("agentName")):
        found = _from_the_team(found)
    if plan := text_of(record.get("planContent")):
        learn_title(context, plan.lstrip("# "))
        return [
            one
            for piece in found
            for one in (words_on_plan(piece.text, plan) if is_typed(piece) else [piece])
        ]
    return found


def is_injected(record: Record) -> bool:
    """Whether the program inserted a user record that nobody typed."""
    origin = text_of(dict_of(record.get("origin")).get("kind"))
    return (
        record.get("isMeta") is True
        or record.get("isVisibleInTranscriptOnly") is True
        or record.get("isSynthetic") is True
        or bool(record.get("sourceToolUseID"))
        or origin not in ("", "human", "user")
    )


def _injected(piece: Piece) -> Piece:
    if piece.origin is not Origin.HUMAN:
        return piece
    if piece.kind is EntryKind.IMAGE:
        return Piece(kind=EntryKind.IMAGE, origin=Origin.SYSTEM, text=piece.text)
    return note("meta", piece.text)


def _from_the_team(found: list[Piece]) -> list[Piece]:
    """For a member of a team of agents, messages from the others are prompts. Notices between their programs are not,
    except for an assigned task."""
    heard: list[Piece] = []
    for piece in found:
        if piece.tool == "teammate-message":
            for text in NEXT_MESSAGE.split(piece.text):
                heard += _orders(text.strip())
        else:
            heard.append(piece)
    return heard


def _orders(text: str) -> list[Piece]:
    """The prompt in a message of the team. For an assigned task also its record, which has the task's id."""
    try:
        told = dict_of(msgspec.json.decode(text))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        told = {}
    if told.get("type") == "task_assignment":
        order = "\n".join(filter(None, (text_of(told.get(key)) for key in ("subject", "description"))))
        return [note(ASSIGNMENT, text), *([prompt(order, Origin.ASSISTANT)] if order else [])]
    if told.get("type"):
        return [note("teammate-message", text)]
    return [prompt(text, Origin.ASSISTANT) if text else note("teammate-message")]


def for_agent(found: list[Piece]) -> list[Piece]:
    """A subagent's prompts come from the agent that started it, or from its team."""
    return [_as_order(piece) for piece in _from_the_team(found)]


def _as_order(piece: Piece) -> Piece:
    if is_typed(piece):
        return prompt(piece.text, Origin.ASSISTANT)
    if piece.kind is EntryKind.IMAGE and piece.origin is Origin.HUMAN:
        return Piece(kind=EntryKind.IMAGE, origin=Origin.ASSISTANT, text=piece.text)
    return piece


def assistant(context: Pass, record: Record) -> list[Piece]:
    message = dict_of(record.get("message"))
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content)
    model = text_of(message.get("model"))
    context.spend = next(iter(spends_in(record)), None)
    if record.get("isApiErrorMessage") is True or model == SYNTHETIC or text_of(record.get("error")):
        return _by_the_program(
            context, record, "\n".join(text_of(dict_of(block).get("text")) for block in blocks)
        )
    context.model = model or None
    return [_assistant_block(context, dict_of(block)) for block in blocks]


def _assistant_block(context: Pass, block: Record) -> Piece:
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
        return result_of(block, None, context.tool_of(text_of(block.get("tool_use_id"))))[0]
    if is_image(block):
        return image_of(block, said)
    if kind != "text":
        context.reading.unknown[f"assistant/{kind[:80]}"] += 1
    return note(kind or "assistant", gist(block), said)


def _by_the_program(context: Pass, record: Record, text: str) -> list[Piece]:
    """The program's message in place of an answer: a limit, or another error."""
    if limits := limits_hit(record, text, context.at):
        return [Piece(kind=EntryKind.LIMIT, origin=Origin.SYSTEM, text=text, limits=limits)]
    return [note("api_error" if record.get("isApiErrorMessage") is True else "synthetic", text)]


def progress(context: Pass, record: Record) -> list[Piece]:
    """A subagent's message, reported in the main transcript, or a notice of progress."""
    data = dict_of(record.get("data"))
    kind = text_of(data.get("type")) or "progress"
    inner = dict_of(data.get("message"))
    handler = {"user": user, "assistant": assistant}.get(text_of(inner.get("type")))
    if handler is None:
        return [note(kind[:80], text_of(data.get("command")))]
    context.subagent = text_of(data.get("agentId")) or text_of(record.get("parentToolUseID")) or kind
    context.at = moment_of(inner.get("timestamp")) or context.at
    return handler(context, inner)
