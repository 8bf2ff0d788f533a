"""A conversation without the marks of the agent that kept it: what the writers of transcripts write. Pure.

A turn is either the person's (a text) or the agent's (a text, then the calls it made, each with its result). What
does not fit one vendor's rules is mended here, once for all: see `carried`.
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
    """A call of a tool and what came of it. Every one has a result: a call that was cut off says so in it."""

    id: str
    """Letters, digits, - and _ only, at most 64 of them; the only one of its kind in a conversation."""
    tool: str
    """As above: a name that every vendor takes."""
    arguments: dict[str, Any]
    result: str
    is_error: bool = False


class Turn(Struct, frozen=True, kw_only=True):
    """What one of the two said. Turns need not alternate; none is empty."""

    speaker: Speaker
    text: str = ""
    uses: tuple[ToolUse, ...] = ()
    """After the text; only an agent has any."""
    at: Moment | None = None
    model: str = ""


class Conversation(Struct, frozen=True, kw_only=True):
    """Turns in order, from where the last compaction left off. The first is the person's."""

    turns: tuple[Turn, ...] = ()
    title: str = ""
    branch: str = ""
