"""What was said and done in a transcript, in one form for all agents."""

from __future__ import annotations

from typing import Any, TypedDict

from msgspec import Struct

Raw = dict[str, Any]

HUMAN, REPLY, CALL, RESULT, SUMMARY = "human", "reply", "call", "result", "summary"


class Record(Struct, frozen=True, kw_only=True):
    """One thing that was said or done."""

    kind: str
    text: str = ""
    unit: int = 0
    """Which line or message of the file it stands in."""
    call: str = ""
    """What joins a call and its result."""
    tool: str = ""
    arguments: Raw = {}
    is_failed: bool | None = None
    """Of a result; None where the agent did not tell."""
    exit: int | None = None
    details: Raw = {}
    """Of a result: what else the agent noted."""
    branch: str = ""
    folder: str = ""


class Place(TypedDict):
    """Where a record was made, for agents that tell."""

    branch: str
    folder: str


class Transcript(Struct, frozen=True, kw_only=True):
    """A raw transcript: units that can be cut, and what stands around them."""

    agent: str
    units: list[Raw]
    around: Raw | None = None
    """Of a file that is one object: the object without its messages."""
    messages: str = ""
    """The key that the units stand under in `around`."""


def at(value: Any, *path: str) -> Any:
    """What lies at the end of a path of keys, or None."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_of(content: Any) -> str:
    """The words of a message that is a string, or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content") or content.get("output") or "")
    if isinstance(content, list):
        return "\n".join(filter(None, (text_of(part) for part in content)))
    return ""
