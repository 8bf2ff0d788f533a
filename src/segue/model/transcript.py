"""Transcripts and their entries, as every reader gives them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from segue.base.clock import Moment
from segue.model.usage import Limit, Spend
from segue.model.value import Value


class Origin(StrEnum):
    """Whose words something is. Only a human's may ever stand where instructions stand."""

    HUMAN = "human"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


INTERRUPT = "interrupt"
"""What a note is called (`Entry.tool`) that says that the person stopped the agent."""


class EntryKind(StrEnum):
    PROMPT = "prompt"
    REPLY = "reply"
    THOUGHT = "thought"
    CALL = "call"
    RESULT = "result"
    SUMMARY = "summary"
    LIMIT = "limit"
    IMAGE = "image"
    NOTE = "note"


class Ending(StrEnum):
    """How a transcript stands at its last entry."""

    OPEN = "open"
    """Something is still due: a result of a call, or a reply to a prompt."""
    ENDED = "ended"
    LIMIT = "limit"
    INTERRUPTED = "interrupted"


class Relation(StrEnum):
    """How a transcript came from another."""

    SUBAGENT = "subagent"
    FORK = "fork"
    CONTINUATION = "continuation"


class Source(Value, frozen=True):
    """Where a transcript is, and what tells whether it has changed: found by looking at folders alone."""

    agent: str
    path: str
    part: str = ""
    """Which of them, where one file holds several transcripts."""
    size: int = 0
    stamp: int = 0
    """Its last change in nanoseconds, as the file system or the agent has it."""


class Mark(Value, frozen=True):
    """Where a read of a transcript ended, and what its reader must know to go on from there."""

    offset: int = 0
    before: str = ""
    """A hash of the bytes just before the offset: if it differs, the file is another one now."""
    state: dict[str, Any] = msgspec.field(default_factory=dict)


class Transcript(Value, frozen=True):
    """One conversation that one agent keeps on disk, in its own format."""

    id: str
    agent: str
    path: str
    part: str = ""
    project: str = ""
    """The folder it began in; empty where the agent does not tell."""
    title: str = ""
    started_at: Moment | None = None
    updated_at: Moment | None = None
    branch: str = ""
    version: str = ""
    """The version of the agent that wrote it last."""
    model: str = ""
    """The model that answered last."""
    parent: str = ""
    """The id of the transcript that it came from."""
    relation: Relation | None = None
    ending: Ending = Ending.ENDED
    turns: int = 0
    """What a human typed, counted in prompts."""
    entries: int = 0
    calls: int = 0
    errors: int = 0
    """Results that report a failure."""
    interruptions: int = 0
    corrections: int = 0
    context_tokens: int | None = None
    """How much of the model's context was filled at the last answer."""
    contexts: tuple[tuple[Moment, int], ...] = ()
    """The same at the last few answers, the oldest first."""
    context_window: int | None = None
    """How much fits, where the agent tells."""
    limits: tuple[Limit, ...] = ()
    """What it last told of every limit."""
    broken: int = 0
    """Lines that are no record."""


class Entry(Value, frozen=True):
    """One immutable item of a transcript, linked to its parent."""

    id: str
    kind: EntryKind
    origin: Origin
    text: str
    parent: str | None = None
    at: Moment | None = None
    model: str | None = None
    tool: str | None = None
    call: str | None = None
    """The agent's own id of a call, on the call and on its result."""
    status: int | None = None
    """The exit status of a result, where there is one."""
    is_error: bool = False
    cwd: str | None = None
    branch: str | None = None
    subagent: str | None = None
    """Which sub-agent this belongs to, where one file holds them all."""
    spend: Spend | None = None
    limits: tuple[Limit, ...] = ()
    """What it tells of limits: the one that was hit, or those that were reported."""
    native: dict[str, Any] | None = None
    """The record as the agent wrote it: what a reader does not know is kept, not dropped."""
