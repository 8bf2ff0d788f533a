"""Anthropic Messages: /v1/messages, streamed and whole, and its count_tokens. Claude Code speaks it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from .request import Message, Parsed, Request, ToolResult, flatten
from .script import Call, Fault, Reply
from .wire import ERROR_NAMES, Frames, Kind, error_message, sse


class AnthropicMessages:
    """Claude's protocol."""

    name = "anthropic"
    count_field = "input_tokens"

    def kind(self, method: str, path: str) -> Kind | None:
        where = urlsplit(path).path
        if method == "POST" and where == "/v1/messages":
            return "generate"
        if method == "POST" and where == "/v1/messages/count_tokens":
            return "count"
        return None

    def parse(self, path: str, body: Mapping[str, Any]) -> Parsed:
        messages: list[Message] = []
        results: list[ToolResult] = []
        if body.get("system"):
            messages.append(Message("system", flatten(body["system"])))
        for message in body.get("messages", []):
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            for block in blocks:
                parsed, result = _read_block(message["role"], block)
                messages.append(parsed)
                results += [result] if result else []
        shape = body.get("output_config", body).get("format", body.get("output_format")) or {}
        return Parsed(
            model=body.get("model", ""),
            messages=tuple(messages),
            tools=tuple(tool["name"] for tool in body.get("tools", [])),
            results=tuple(results),
            stream=bool(body.get("stream")),
            schema=shape.get("schema"),
        )

    def stream(self, reply: Reply, request: Request) -> Frames:
        start = {**self.whole(reply, request), "content": [], "stop_reason": None}
        start["usage"] = {**start["usage"], "output_tokens": 1}
        head = [_event("message_start", message=start), _event("ping")]
        tail: list[bytes] = []
        for index, block in enumerate(_blocks(reply, request)):
            head += tail
            head += _open_block(index, block)
            tail = [_event("content_block_stop", index=index)]
        tail += [
            _event(
                "message_delta",
                delta={"stop_reason": _stop_reason(reply), "stop_sequence": None},
                usage=_usage(reply),
            ),
            _event("message_stop"),
        ]
        return Frames("text/event-stream", head, tail)

    def whole(self, reply: Reply, request: Request) -> dict[str, Any]:
        return {
            "id": f"msg_scripted_{request.number}",
            "type": "message",
            "role": "assistant",
            "model": request.model,
            "content": _blocks(reply, request),
            "stop_reason": _stop_reason(reply),
            "stop_sequence": None,
            "usage": _usage(reply),
        }

    def error(self, fault: Fault) -> Mapping[str, Any]:
        kind = ERROR_NAMES.get(fault.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": error_message(fault)}}


def _read_block(role: str, block: Mapping[str, Any]) -> tuple[Message, ToolResult | None]:
    if block["type"] == "tool_result":
        result = ToolResult(block["tool_use_id"], flatten(block.get("content")))
        return Message("tool", result.text), result
    if block["type"] == "tool_use":
        return Message(role, f"{block['name']} {json.dumps(block['input'], ensure_ascii=False)}"), None
    return Message(role, flatten(block)), None


def _event(event: str, **fields: Any) -> bytes:
    return sse({"type": event, **fields}, event)


def _open_block(index: int, block: Mapping[str, Any]) -> list[bytes]:
    if block["type"] == "text":
        opened = {**block, "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        opened = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        _event("content_block_start", index=index, content_block=opened),
        _event("content_block_delta", index=index, delta=delta),
    ]


def _blocks(reply: Reply, request: Request) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.text or not reply.calls:
        blocks.append({"type": "text", "text": reply.text})
    for position, call in enumerate(reply.calls):
        blocks.append(_tool_use(call, f"toolu_scripted_{request.number}_{position}"))
    return blocks


def _tool_use(call: Call, call_id: str) -> dict[str, Any]:
    given = {"input": call.arguments} if isinstance(call.arguments, str) else dict(call.arguments)
    return {"type": "tool_use", "id": call_id, "name": call.tool, "input": given}


def _stop_reason(reply: Reply) -> str:
    return "tool_use" if reply.calls else "end_turn"


def _usage(reply: Reply) -> dict[str, int]:
    return {
        "input_tokens": reply.tokens.input,
        "output_tokens": reply.tokens.output,
        "cache_read_input_tokens": reply.tokens.cached,
        "cache_creation_input_tokens": 0,
    }
