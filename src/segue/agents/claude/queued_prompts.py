"""Prompts that the user typed while Claude Code was busy.

Such a prompt is queued and recorded up to three times: when it was typed (`enqueue`), when the model got it between two
calls (`remove`, from 2.1.9x on with an attachment), and when its turn came (`dequeue`, then a user record). It may also
be taken back for editing (`popAll`), be queued again, or never be delivered. It becomes one prompt: when it was typed,
if the agent was working then; otherwise when it is delivered, which follows at once.
"""

from __future__ import annotations

from typing import Any

from segue.agents.claude.user_text import Piece, gist, is_typed, joined, note, pieces_of, prompt
from segue.agents.shared.transcripts.reader import dict_of, list_of, text_of
from segue.model import Origin

QUEUED = "queued"
"""The tool name of a note that repeats a prompt."""

_BACK = ("popAll", "dequeue")
"""Operations that remove a prompt without delivering it: taken back for editing, or dequeued too early."""
_MOST = 32
_LONGEST = 4000


def of_operation(record: dict[str, Any], state: dict[str, Any]) -> list[Piece]:
    operation = text_of(record.get("operation")) or "queue-operation"
    waiting: list[dict[str, Any]] = state.setdefault("queue", [])
    if operation == "enqueue":
        return _enqueued(content_pieces(record.get("content")), waiting, bool(state.get("busy")))
    leaving = [item for item in waiting if not item.get("left")]
    for item in leaving if operation == "popAll" else leaving[:1]:
        item["left"] = operation
        if item["text"] is None:
            waiting.remove(item)
        elif operation == "remove" and not item["shown"]:
            item["shown"] = True
            return [prompt(item["text"])]
    return [note(operation, gist(record.get("content")))]


def _enqueued(found: list[Piece], waiting: list[dict[str, Any]], is_busy: bool) -> list[Piece]:
    typed = [piece for piece in found if is_typed(piece)]
    text = _key(typed) if typed else None
    again = next(
        (item for item in waiting if text and item["text"] == text and item.get("left") in _BACK), None
    )
    if again:
        waiting.remove(again)
    waiting.append({"text": text, "shown": is_busy or bool(again and again["shown"])})
    del waiting[:-_MOST]
    is_new = is_busy and not (again and again["shown"])
    return (found if is_new else [_as_note(piece) for piece in found]) or [note("enqueue")]


def delivered(found: list[Piece], state: dict[str, Any], operation: str) -> list[Piece]:
    """The pieces that a record delivers to the model. A prompt reported before becomes a note. `operation` is the
    one that took it off the queue: "remove" for an attachment, "dequeue" for a separate turn."""
    typed = [piece for piece in found if is_typed(piece)]
    waiting: list[dict[str, Any]] = state.get("queue") or []
    if not waiting or not typed:
        return found
    ways = (None, "remove") if operation == "remove" else (None, "dequeue", "popAll")
    items = _matching(_key(typed), [item for item in waiting if item.get("left") in ways])
    if not items:
        # Other prompts that left the queue were edited or delivered.
        state["queue"] = [item for item in waiting if not item.get("left")]
        return found
    for item in items:
        waiting.remove(item)
    is_shown = any(item["shown"] for item in items)
    return [_as_note(piece) for piece in found] if is_shown else found


def _matching(text: str, waiting: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The queued prompt with this text, or all of them if their joined text matches."""
    for item in waiting:
        if item["text"] == text:
            return [item]
    several = [item for item in waiting if item["text"]]
    return several if len(several) > 1 and "\n".join(item["text"] for item in several) == text else []


def content_pieces(content: Any) -> list[Piece]:
    """The pieces of a queued prompt: a text, or the blocks of a message."""
    if isinstance(content, str):
        return pieces_of(content)
    blocks = (text_of(dict_of(block).get("text")) for block in list_of(content))
    return joined([piece for text in blocks for piece in pieces_of(text)])


def _key(typed: list[Piece]) -> str:
    return "\n".join(piece.text.strip() for piece in typed)[:_LONGEST]


def _as_note(piece: Piece) -> Piece:
    return note(QUEUED, piece.text, Origin.HUMAN) if is_typed(piece) else piece
