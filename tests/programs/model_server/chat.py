"""OpenAI Chat Completions: /v1/chat/completions, streamed and whole. OpenCode and local models speak it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from .request import Message, Parsed, Request, ToolResult, flatten
from .script import Fault, Reply
from .wire import ERROR_NAMES, Frames, Kind, arguments_text, error_message, sse


class ChatCompletions:
    """The protocol that everybody imitates."""

    name = "chat"
    count_field = "total_tokens"

    def kind(self, method: str, path: str) -> Kind | None:
        return "generate" if (method, urlsplit(path).path) == ("POST", "/v1/chat/completions") else None

    def parse(self, path: str, body: Mapping[str, Any]) -> Parsed:
        messages: list[Message] = []
        results: list[ToolResult] = []
        for message in body.get("messages", []):
            text = flatten(message.get("content"))
            calls = [call["function"] for call in message.get("tool_calls") or []]
            spoken = [text] if text or not calls else []
            for part in spoken + [f"{call['name']} {call['arguments']}" for call in calls]:
                messages.append(Message(message["role"], part))
            if message["role"] == "tool":
                results.append(ToolResult(message["tool_call_id"], text))
        shape = body.get("response_format", {}).get("json_schema", {})
        return Parsed(
            model=body.get("model", ""),
            messages=tuple(messages),
            tools=tuple(tool["function"]["name"] for tool in body.get("tools", [])),
            results=tuple(results),
            stream=bool(body.get("stream")),
            schema=shape.get("schema"),
        )

    def stream(self, reply: Reply, request: Request) -> Frames:
        head = [_chunk(request, {"role": "assistant", "content": ""})]
        if reply.text:
            head.append(_chunk(request, {"content": reply.text}))
        for index, call in enumerate(_tool_calls(reply, request)):
            opened = {**call, "function": {**call["function"], "arguments": ""}}
            rest = {"function": {"arguments": call["function"]["arguments"]}}
            head.append(_chunk(request, {"tool_calls": [{"index": index, **opened}]}))
            head.append(_chunk(request, {"tool_calls": [{"index": index, **rest}]}))
        tail = [_chunk(request, {}, finish=_finish(reply))]
        if request.body.get("stream_options", {}).get("include_usage"):
            tail.append(
                sse({**_envelope(request, "chat.completion.chunk"), "choices": [], "usage": _usage(reply)})
            )
        return Frames("text/event-stream", head, [*tail, b"data: [DONE]\n\n"])

    def whole(self, reply: Reply, request: Request) -> Mapping[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = _tool_calls(reply, request)
        choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
        return {**_envelope(request, "chat.completion"), "choices": [choice], "usage": _usage(reply)}

    def error(self, fault: Fault) -> Mapping[str, Any]:
        kind = ERROR_NAMES.get(fault.status, "server_error")
        return {"error": {"type": kind, "code": kind, "message": error_message(fault), "param": None}}


def _envelope(request: Request, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-scripted-{request.number}",
        "object": kind,
        "created": int(request.at),
        "model": request.model,
    }


def _chunk(request: Request, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return sse({**_envelope(request, "chat.completion.chunk"), "choices": [choice]})


def _tool_calls(reply: Reply, request: Request) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_scripted_{request.number}_{position}",
            "type": "function",
            "function": {"name": call.tool, "arguments": _as_json(call.arguments)},
        }
        for position, call in enumerate(reply.calls)
    ]


def _as_json(arguments: Mapping[str, Any] | str) -> str:
    return json.dumps({"input": arguments}) if isinstance(arguments, str) else arguments_text(arguments)


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _usage(reply: Reply) -> dict[str, Any]:
    return {
        "prompt_tokens": reply.tokens.input,
        "completion_tokens": reply.tokens.output,
        "total_tokens": reply.tokens.input + reply.tokens.output,
        "prompt_tokens_details": {"cached_tokens": reply.tokens.cached},
    }
