"""A request as every protocol's test sees it: what the model was told, in one shape, with no credentials."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

MASK = "***"
_SECRET_HEADER = re.compile(r"auth|key|token|secret|cookie", re.IGNORECASE)
_SECRET_QUERY = re.compile(r"([?&](?:key|token|access_token)=)[^&]*", re.IGNORECASE)
_TEXT_KEYS = ("text", "content", "output", "input", "arguments", "thinking", "summary", "parts")


@dataclass(frozen=True)
class Message:
    """Something that one party said. Roles: system, developer, user, assistant, tool."""

    role: str
    text: str


@dataclass(frozen=True)
class ToolResult:
    """What a tool that the model called gave back."""

    call_id: str
    text: str


@dataclass(frozen=True)
class Parsed:
    """What a protocol reads out of a request's body."""

    model: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[str, ...] = ()
    results: tuple[ToolResult, ...] = ()
    stream: bool = False
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Request:
    """One request that reached the server; credentials in headers and path are masked."""

    protocol: str
    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    at: float
    number: int
    main: bool = False
    model: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[str, ...] = ()
    results: tuple[ToolResult, ...] = ()
    stream: bool = False
    schema: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """All the text in this request, in order, one message after the other."""
        return "\n".join(message.text for message in self.messages)

    def said(self, role: str) -> str:
        """All the text of one role."""
        return "\n".join(message.text for message in self.messages if message.role == role)


def mask_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers with lower-case names; of a credential only its scheme ("Bearer") is left."""
    return {name.lower(): _masked(name, value) for name, value in headers}


def mask_path(path: str) -> str:
    """The path without credentials in its query."""
    return _SECRET_QUERY.sub(rf"\g<1>{MASK}", path)


def _masked(name: str, value: str) -> str:
    if not _SECRET_HEADER.search(name):
        return value
    scheme, space, _ = value.partition(" ")
    return f"{scheme} {MASK}" if space and "authorization" in name.lower() else MASK


def flatten(content: Any) -> str:
    """The text in a message's content, whatever nesting of blocks and parts it comes in."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        known = [flatten(content[key]) for key in _TEXT_KEYS if key in content]
        return "\n".join(text for text in known if text) if known else json.dumps(content, ensure_ascii=False)
    if isinstance(content, list):
        return "\n".join(text for text in map(flatten, content) if text)
    return str(content)


def estimate_tokens(messages: Iterable[Message]) -> int:
    """A plausible count: four characters a token."""
    return 1 + sum(len(message.text) for message in messages) // 4
