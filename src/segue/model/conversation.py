"""A conversation in no vendor's format: what the writers of transcripts get. Pure.

A turn is either the user's (a text) or the agent's (a text, then the calls it made, each with its result).
`segue.conversation` fits it to the rules of all vendors.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct

from segue.base.clock import Moment


class Speaker(StrEnum):
    PERSON = "person"
    AGENT = "agent"


class ToolUse(Struct, frozen=True, kw_only=True):
    """A call of a tool and its result. Every call has a result; that of an interrupted call says so."""

    id: str
    """Unique in a conversation; letters, digits, - and _ only, at most 64."""
    tool: str
    """A name that every vendor accepts, with the same characters."""
    arguments: dict[str, Any]
    result: str
    is_error: bool = False


class Turn(Struct, frozen=True, kw_only=True):
    """One turn of the user or the agent. Turns need not alternate; none is empty."""

    speaker: Speaker
    text: str = ""
    uses: tuple[ToolUse, ...] = ()
    """Calls after the text; only an agent has any."""
    at: Moment | None = None
    model: str = ""


class Conversation(Struct, frozen=True, kw_only=True):
    """The turns since the last compaction, in order. The first is the user's."""

    turns: tuple[Turn, ...] = ()
    title: str = ""
    branch: str = ""
