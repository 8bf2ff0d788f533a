"""Transcripts and their entries, as every reader gives them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from segue.base.clock import Moment
from segue.model.usage import Limit, Spend
from segue.model.value import Value


class Origin(StrEnum):
    """The author of a text. Only a human's text may appear among instructions."""

    HUMAN = "human"
    ASSISTANT = "assistant"
    TOOL = "tool"
    SYSTEM = "system"


INTERRUPT = "interrupt"
"""The name (`Entry.tool`) of a note that the user interrupted the agent."""


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
    """The state of a transcript at its last entry."""

    OPEN = "open"
    """Something is still pending: a result of a call, or a reply to a prompt."""
    ENDED = "ended"
    LIMIT = "limit"
    INTERRUPTED = "interrupted"


class Relation(StrEnum):
    """How a transcript derives from another."""

    SUBAGENT = "subagent"
    FORK = "fork"
    CONTINUATION = "continuation"


class Source(Value, frozen=True):
    """The location of a transcript, and what shows whether it has changed. Found by listing folders only."""

    agent: str
    path: str
    part: str = ""
    """Which transcript, if one file contains several."""
    size: int = 0
    stamp: int = 0
    """Its last change in nanoseconds, from the file system or the agent."""


class Mark(Value, frozen=True):
    """The position where a read of a transcript ended, and the state that the next read needs."""

    offset: int = 0
    before: str = ""
    """A hash of the bytes just before the offset. If it differs, the file was replaced."""
    state: dict[str, Any] = msgspec.field(default_factory=dict)


class Transcript(Value, frozen=True):
    """One conversation that one agent keeps on disk, in its own format."""

    id: str
    agent: str
    path: str
    part: str = ""
    project: str = ""
    """The folder it began in; empty if the agent does not record it."""
    title: str = ""
    started_at: Moment | None = None
    updated_at: Moment | None = None
    branch: str = ""
    version: str = ""
    """The version of the agent that wrote it last."""
    model: str = ""
    """The model that answered last."""
    parent: str = ""
    """The id of the transcript that it derives from."""
    relation: Relation | None = None
    ending: Ending = Ending.ENDED
    turns: int = 0
    """The number of prompts that the user typed."""
    entries: int = 0
    calls: int = 0
    errors: int = 0
    """Results that report a failure."""
    interruptions: int = 0
    corrections: int = 0
    context_tokens: int | None = None
    """The number of tokens in the model's context at the last answer."""
    contexts: tuple[tuple[Moment, int], ...] = ()
    """The same at the last few answers, oldest first."""
    context_window: int | None = None
    """The size of the context window, if the agent reports it."""
    limits: tuple[Limit, ...] = ()
    """The last reported state of every limit."""
    broken: int = 0
    """Lines that could not be parsed."""


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
    """The exit status of a result, if there is one."""
    is_error: bool = False
    cwd: str | None = None
    branch: str | None = None
    subagent: str | None = None
    """The subagent that this belongs to, if one file contains them all."""
    spend: Spend | None = None
    limits: tuple[Limit, ...] = ()
    """Reported limits: the one that was hit, or all of them."""
    native: dict[str, Any] | None = None
    """The record as the agent wrote it: unknown data is kept, not dropped."""
