"""Requests as each protocol words them, and a small client, for the tests of the model server itself."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .model_server import ModelServer

WITHIN_S = 20
STREAMED = {"stream": True}


@dataclass(frozen=True)
class Answer:
    """What came back; `text` is the body."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def events(self) -> list[Any]:
        """The data of server-sent events, without the mark of the end."""
        lines = [line.removeprefix("data: ") for line in self.text.splitlines() if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]


@dataclass(frozen=True)
class Sample:
    """One protocol: the same conversation, asked for whole or streamed.

    The system says "be brief", the user "hello"; the model called the tool `look` with {"at": "this"}, as
    call `c1`, and the tool gave "seen". `look` is offered.
    """

    protocol: str
    whole_path: str
    stream_path: str
    body: Mapping[str, Any]
    credential: tuple[str, str]
    count_path: str = ""

    def request_body(self, *, stream: bool, tools: bool = True) -> dict[str, Any]:
        """The body, with the tools or without them."""
        body = {key: value for key, value in self.body.items() if tools or key != "tools"}
        return body | STREAMED if stream and self.protocol != "gemini" else body

    def ask(
        self, server: ModelServer, *, stream: bool = False, tools: bool = True, timeout: float = WITHIN_S
    ) -> Answer:
        """Send the request as a program would."""
        path = self.stream_path if stream else self.whole_path
        return post(server, path, self.request_body(stream=stream, tools=tools), timeout=timeout)


def post(
    server: ModelServer,
    path: str,
    body: Any,
    *,
    headers: Mapping[str, str] | None = None,
    method: str = "POST",
    timeout: float = WITHIN_S,
) -> Answer:
    """One request over a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)
    try:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, raw, {"content-type": "application/json", **(headers or {})})
        response = connection.getresponse()
        return Answer(
            response.status,
            {name.lower(): value for name, value in response.getheaders()},
            response.read().decode(),
        )
    finally:
        connection.close()


_ARGUMENTS = {"at": "this"}
_SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}}

ANTHROPIC = Sample(
    "anthropic",
    "/v1/messages?beta=true",
    "/v1/messages?beta=true",
    {
        "model": "m1",
        "system": [{"type": "text", "text": "be brief"}],
        "messages": [
            {"role": "user", "content": "hello"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": _ARGUMENTS}],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "seen"}],
                    }
                ],
            },
        ],
        "tools": [{"name": "look", "input_schema": _SCHEMA}],
    },
    ("x-api-key", "canary-secret"),
    "/v1/messages/count_tokens",
)

RESPONSES = Sample(
    "responses",
    "/v1/responses",
    "/v1/responses",
    {
        "model": "m1",
        "instructions": "be brief",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
            {"type": "function_call", "name": "look", "arguments": json.dumps(_ARGUMENTS), "call_id": "c1"},
            {"type": "function_call_output", "call_id": "c1", "output": "seen"},
        ],
        "tools": [{"type": "function", "name": "look", "parameters": _SCHEMA}],
    },
    ("authorization", "Bearer canary-secret"),
    "/v1/responses/input_tokens",
)

_CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": json.dumps(_ARGUMENTS)}}
CHAT = Sample(
    "chat",
    "/v1/chat/completions",
    "/v1/chat/completions",
    {
        "model": "m1",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "hello"}]},
            {"role": "assistant", "content": None, "tool_calls": [_CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        ],
        "tools": [{"type": "function", "function": {"name": "look", "parameters": _SCHEMA}}],
    },
    ("authorization", "Bearer canary-secret"),
)

GEMINI = Sample(
    "gemini",
    "/v1beta/models/m1:generateContent",
    "/v1beta/models/m1:streamGenerateContent?alt=sse",
    {
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "contents": [
            {"role": "user", "parts": [{"text": "hello"}]},
            {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "look", "args": _ARGUMENTS}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"id": "c1", "name": "look", "response": {"output": "seen"}}}],
            },
        ],
        "tools": [{"functionDeclarations": [{"name": "look", "parameters": _SCHEMA}]}],
    },
    ("x-goog-api-key", "canary-secret"),
    "/v1beta/models/m1:countTokens",
)

SAMPLES = {sample.protocol: sample for sample in (ANTHROPIC, RESPONSES, CHAT, GEMINI)}
