"""The seam between the server and a vendor's protocol: one implementation per file beside this one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from .request import Parsed, Request
from .script import Fault, Reply

Kind = Literal["generate", "count"]

ERROR_NAMES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "service_unavailable",
    529: "overloaded_error",
}


@dataclass(frozen=True)
class Frames:
    """A streamed reply. `head` ends with the last piece of content, `tail` completes the message.

    A stream that is cut off, or that falls silent, is the head alone.
    """

    content_type: str
    head: Sequence[bytes]
    tail: Sequence[bytes]


class Wire(Protocol):
    """A vendor's protocol. It reads requests and words replies; it decides nothing."""

    name: str
    count_field: str
    """The field that holds the figure when a request only counts tokens."""

    def kind(self, method: str, path: str) -> Kind | None:
        """What a request to this path wants, or None if the path is not of this protocol."""

    def parse(self, path: str, body: Mapping[str, Any]) -> Parsed:
        """What the request tells the model."""

    def stream(self, reply: Reply, request: Request) -> Frames:
        """The reply in pieces."""

    def whole(self, reply: Reply, request: Request) -> Mapping[str, Any]:
        """The reply in one piece."""

    def error(self, fault: Fault) -> Mapping[str, Any]:
        """The vendor's own error body for this status."""


def sse(data: Mapping[str, Any], event: str | None = None) -> bytes:
    """One server-sent event."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


def arguments_text(arguments: Mapping[str, Any] | str) -> str:
    """A tool call's arguments as the text that goes over the wire."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def error_message(fault: Fault) -> str:
    """What a fault without a body of its own says."""
    return f"scripted error {fault.status}"
