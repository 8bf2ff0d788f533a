"""Write a conversation as the records of a Claude Code transcript. Pure.

Claude Code takes the record with the latest time as the newest, and follows the parents from there. So every record
names the one before it, and no two have the same time. The records contain no model, because Claude Code would use it
again, and it may be another agent's; and no token counts, because nothing was spent.
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
"""The time of a conversation without any times, and the earliest valid time."""
STEP = timedelta(milliseconds=1)
"""The resolution of the program's times."""
NO_OUTPUT = "(no output)"
"""For an error without text, which the vendor rejects."""

Record = dict[str, Any]


def records(conversation: Conversation, id: str, folder: str) -> list[Record]:
    """One record for each block of a message, in order. The same conversation gives the same records."""
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
    """A turn as messages of one block each. All messages of an answer have the same id. Blank text is left out: the
    vendor rejects it."""
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
    """A time for each record: later than the one before it, but not later than the known times, so that new records of
    the agent come after all of them."""
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
