"""The state between records of a transcript, and what one record adds to it.

A file may be read in steps, so everything known about earlier records is in the mark's state. Its size is bounded,
however long the file is.
"""

from __future__ import annotations

import re
from typing import Any

from segue.agents.shared.transcripts.entry_links import remember, short
from segue.agents.shared.transcripts.index_scan import title_of
from segue.agents.shared.transcripts.reader import Reading, dict_of, moment_of, text_of
from segue.base.clock import Moment
from segue.model import Relation, Spend

_LINES = 128
"""The minimum number of recent subagent records that are remembered."""

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")

Record = dict[str, Any]
State = dict[str, Any]


class Pass:
    """A record that is being converted, with the state from the records before it."""

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
        """Whether the record belongs to a subagent: its prompts come from the main agent."""
        return self.subagent is not None or bool(self.state.get("agent"))

    def tool_of(self, call: str) -> str | None:
        return call_of(call, self.state)[1]


def learn(context: Pass) -> None:
    record, state, reading = context.record, context.state, context.reading
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
        _learn_session(context, session)


def _learn_session(context: Pass, session: str) -> None:
    """Learn whose transcript it is: from the file name, if Claude Code chose it."""
    record, state, reading = context.record, context.state, context.reading
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
    is_known = state.get("agent") or state.get("forked") or state.get("continued")
    if session != state.get("name") and _UUID.match(stem) and not is_known:
        state["continued"] = session
        reading.learn(parent=session, relation=Relation.CONTINUATION)


def learn_title(context: Pass, title: str, is_chosen: bool = False) -> None:
    title = title_of(title)
    if title and (is_chosen or not context.state.get("titled")):
        context.state["titled"] = is_chosen or bool(context.state.get("titled"))
        context.reading.learn(title=title)


def subagent_of(record: Record, state: State) -> str | None:
    """The subagent of a record in the main file: its name, or else the first record of its chain."""
    above = text_of(record.get("parent_tool_use_id"))
    if state.get("agent") or not (record.get("isSidechain") is True or above):
        return None
    if named := text_of(record.get("agentId")) or above:
        return named
    own, parent = text_of(record.get("uuid")), text_of(record.get("parentUuid"))
    lines: dict[str, str] = state.setdefault("lines", {})
    line = lines.get(short(parent)) or (parent or own)[:8] or "sidechain"
    remember(lines, short(own), line, _LINES)
    return line


def call_of(call: str | None, state: State) -> tuple[str | None, str | None]:
    """The entry and the tool of a call without a result so far."""
    known = dict_of(state.get("calls")).get(call or "")
    return (known[0], known[1]) if known else (None, None)
