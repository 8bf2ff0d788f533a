"""What a person typed while Claude Code was busy.

It is queued, and written down up to three times: when it was typed (`enqueue`), when the model was given it
between two calls (`remove`, from 2.1.9x on with an attachment), or when its turn came (`dequeue`, then a
user record). It may also come back to be edited (`popAll`) or to be queued anew, or never be delivered at all. It is
a prompt once: when it was typed if the agent was at work then, else when it is delivered, which follows at once.
"""

from __future__ import annotations

from typing import Any

from segue.agents.claude.user_text import Piece, gist, is_typed, joined, note, pieces_of, prompt
from segue.agents.shared.transcripts.reader import dict_of, list_of, text_of
from segue.model import Origin

QUEUED = "queued"
"""What a note is called that repeats what was typed before."""

_BACK = ("popAll", "dequeue")
"""How what was not delivered left: it was taken back to be edited, or its turn came too early."""
_MOST = 32
_LONGEST = 4000


def of_operation(record: dict[str, Any], state: dict[str, Any]) -> list[Piece]:
    """A `queue-operation`."""
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


def delivered(found: list[Piece], state: dict[str, Any], way: str) -> list[Piece]:
    """What a record hands to the model, with what was already told as a prompt told as a note. `way` is how
    it was taken off the queue: "remove" for an attachment, "dequeue" for a turn of its own."""
    typed = [piece for piece in found if is_typed(piece)]
    waiting: list[dict[str, Any]] = state.get("queue") or []
    if not waiting or not typed:
        return found
    ways = (None, "remove") if way == "remove" else (None, "dequeue", "popAll")
    items = _matching(_key(typed), [item for item in waiting if item.get("left") in ways])
    if not items:
        # What left and is not this was edited, or has been dealt with.
        state["queue"] = [item for item in waiting if not item.get("left")]
        return found
    for item in items:
        waiting.remove(item)
    is_shown = any(item["shown"] for item in items)
    return [_as_note(piece) for piece in found] if is_shown else found


def _matching(text: str, waiting: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The item that says this, or those that say it together."""
    for item in waiting:
        if item["text"] == text:
            return [item]
    several = [item for item in waiting if item["text"]]
    return several if len(several) > 1 and "\n".join(item["text"] for item in several) == text else []


def content_pieces(content: Any) -> list[Piece]:
    """What was queued: a text, or the blocks of a message."""
    if isinstance(content, str):
        return pieces_of(content)
    blocks = (text_of(dict_of(block).get("text")) for block in list_of(content))
    return joined([piece for text in blocks for piece in pieces_of(text)])


def _key(typed: list[Piece]) -> str:
    return "\n".join(piece.text.strip() for piece in typed)[:_LONGEST]


def _as_note(piece: Piece) -> Piece:
    return note(QUEUED, piece.text, Origin.HUMAN) if is_typed(piece) else piece
