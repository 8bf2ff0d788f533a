"""A conversation as the records of a transcript of Claude Code. Pure.

It takes the record with the latest time for the newest, and goes back from there by the names of the parents: so
every record names the one before it, and no two have the same time. Neither a model nor figures are written down:
Claude Code would take up the model again, and another agent's is not its own; and nothing was spent here.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from segue.agents.claude.reader import AGENT
from segue.base import clock
from segue.base.clock import Moment
from segue.model.conversation import Conversation, Speaker, ToolUse, Turn

UNTIMED = datetime(2000, 1, 1, tzinfo=UTC)
"""For a conversation in which nothing tells the time; what is told to be earlier was told wrong."""
STEP = timedelta(milliseconds=1)
"""The program's times are no finer."""
NO_OUTPUT = "(no output)"
"""For an error without words: the vendor takes none."""

Record = dict[str, Any]


def records(conversation: Conversation, id: str, folder: str) -> list[Record]:
    """One for each block of a message, in order. The same conversation gives the same records."""
    told = [one for number, turn in enumerate(conversation.turns) for one in _told(turn, f"{id}/{number}")]
    times = _times([at for at, _ in told])
    found: list[Record] = []
    for number, (_, message) in enumerate(told):
        found.append(
            {
                "parentUuid": found[-1]["uuid"] if found else None,
                "isSidechain": False,
                "userType": "external",
                "cwd": folder,
                "sessionId": id,
                "version": AGENT.tested,
                "gitBranch": conversation.branch,
                "type": message["role"],
                "message": message,
                "uuid": _uuid(f"{id}/record/{number}"),
                "timestamp": times[number],
            }
        )
    if found and conversation.title:
        found.append({"type": "ai-title", "aiTitle": conversation.title, "sessionId": id})
    return found


def _told(turn: Turn, seed: str) -> Iterator[tuple[Moment | None, Record]]:
    """A turn as messages of one block each. Those of one answer bear one id; text of nothing but blanks is refused
    by the vendor."""
    if turn.speaker is Speaker.PERSON:
        if turn.text.strip():
            yield turn.at, {"role": "user", "content": turn.text}
        return
    answer = {
        "id": f"msg_{_uuid(seed).replace('-', '')}",
        "type": "message",
        "role": "assistant",
        "stop_reason": "tool_use" if turn.uses else "end_turn",
        "stop_sequence": None,
    }
    if turn.text.strip():
        yield turn.at, {**answer, "content": [{"type": "text", "text": turn.text}]}
    for use in turn.uses:
        call = {"type": "tool_use", "id": use.id, "name": use.tool, "input": use.arguments}
        yield turn.at, {**answer, "content": [call]}
    for use in turn.uses:
        yield turn.at, {"role": "user", "content": [_result(use)]}


def _result(use: ToolUse) -> Record:
    result = {"type": "tool_result", "tool_use_id": use.id, "content": use.result}
    if not use.is_error:
        return result
    return {**result, "content": use.result if use.result.strip() else NO_OUTPUT, "is_error": True}


def _times(known: Sequence[Moment | None]) -> list[str]:
    """A time for each record: later than the one before it, and none later than what is known, so that whatever the
    agent adds comes after all of them."""
    told = [max(UNTIMED, clock.parse(at)) if at else None for at in known]
    later = max([at for at in told if at] or [UNTIMED])
    times = []
    for at in reversed(told):
        later = min(later, at) if at else later
        times.append(later.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
        later -= STEP
    return times[::-1]


def _uuid(seed: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"segue/{seed}"))
