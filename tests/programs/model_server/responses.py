"""OpenAI Responses: /v1/responses, streamed and whole. Codex speaks it.

Codex offers its tools in `tools`, or, to models that write code ("code mode"), in an input item of type
`additional_tools`; there the model calls a custom tool with free text. A `Call` whose arguments are a string
becomes such a custom call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from .request import Message, Parsed, Request, ToolResult, flatten
from .script import Call, Fault, Reply
from .wire import ERROR_NAMES, Frames, Kind, arguments_text, error_message, sse

Item = dict[str, Any]


class OpenAIResponses:
    """Codex's protocol."""

    name = "responses"
    count_field = "input_tokens"

    def kind(self, method: str, path: str) -> Kind | None:
        where = urlsplit(path).path
        if method == "POST" and where == "/v1/responses":
            return "generate"
        if method == "POST" and where == "/v1/responses/input_tokens":
            return "count"
        return None

    def parse(self, path: str, body: Mapping[str, Any]) -> Parsed:
        given = body.get("input", [])
        items: list[Item] = [{"role": "user", "content": given}] if isinstance(given, str) else given
        messages = [Message("system", body["instructions"])] if body.get("instructions") else []
        results: list[ToolResult] = []
        tools = list(_tool_names(body.get("tools", [])))
        for item in items:
            kind = item.get("type", "message")
            if kind == "additional_tools":
                tools += _tool_names(item.get("tools", []))
            elif kind.endswith("_call_output"):
                results.append(ToolResult(item["call_id"], flatten(item.get("output"))))
                messages.append(Message("tool", results[-1].text))
            elif kind.endswith("_call"):
                messages.append(Message("assistant", f"{item.get('name', kind)} {flatten(_given(item))}"))
            else:
                messages.append(Message(item.get("role", "assistant"), flatten(item.get("content"))))
        shape = body.get("text", {}).get("format", {})
        return Parsed(
            model=body.get("model", ""),
            messages=tuple(messages),
            tools=tuple(tools),
            results=tuple(results),
            stream=bool(body.get("stream")),
            schema=shape.get("schema"),
        )

    def stream(self, reply: Reply, request: Request) -> Frames:
        done = self.whole(reply, request)
        started = {**done, "status": "in_progress", "output": [], "usage": None}
        events: list[Item] = [
            {"type": "response.created", "response": started},
            {"type": "response.in_progress", "response": started},
        ]
        tail: list[Item] = []
        for index, item in enumerate(done["output"]):
            opening, tail_of_item = _open_item(index, item)
            events += tail + opening
            tail = tail_of_item
        tail.append({"type": "response.completed", "response": done})
        head_frames = [_event(number, event) for number, event in enumerate(events)]
        tail_frames = [_event(len(events) + number, event) for number, event in enumerate(tail)]
        return Frames("text/event-stream", head_frames, tail_frames)

    def whole(self, reply: Reply, request: Request) -> Item:
        return {
            "id": f"resp_scripted_{request.number}",
            "object": "response",
            "created_at": int(request.at),
            "model": request.model,
            "status": "completed",
            "error": None,
            "output": _items(reply, request),
            "usage": {
                "input_tokens": reply.tokens.input,
                "input_tokens_details": {"cached_tokens": reply.tokens.cached},
                "output_tokens": reply.tokens.output,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": reply.tokens.input + reply.tokens.output,
            },
        }

    def error(self, fault: Fault) -> Mapping[str, Any]:
        kind = ERROR_NAMES.get(fault.status, "server_error")
        return {"error": {"type": kind, "code": kind, "message": error_message(fault), "param": None}}


def _tool_names(tools: Iterable[Mapping[str, Any]]) -> list[str]:
    """Names of tools; a namespace counts with the tools in it."""
    names: list[str] = []
    for tool in tools:
        inner = tool.get("tools")
        prefix = f"{tool['name']}." if inner and "name" in tool else ""
        names += [prefix + name for name in _tool_names(inner)] if inner else [tool.get("name", tool["type"])]
    return names


def _given(item: Mapping[str, Any]) -> Any:
    return item.get("arguments", item.get("input", item.get("action")))


def _event(number: int, event: Item) -> bytes:
    return sse({**event, "sequence_number": number}, event["type"])


def _items(reply: Reply, request: Request) -> list[Item]:
    items: list[Item] = []
    if reply.text or not reply.calls:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        items.append(
            {
                "type": "message",
                "id": f"item_scripted_{request.number}",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        )
    for position, call in enumerate(reply.calls):
        items.append(_call_item(call, f"{request.number}_{position}"))
    return items


def _call_item(call: Call, number: str) -> Item:
    common = {"id": f"item_scripted_{number}", "call_id": f"call_scripted_{number}", "name": call.tool}
    if isinstance(call.arguments, str):
        return {"type": "custom_tool_call", **common, "input": call.arguments, "status": "completed"}
    arguments = arguments_text(call.arguments)
    return {"type": "function_call", **common, "arguments": arguments, "status": "completed"}


def _open_item(index: int, item: Item) -> tuple[list[Item], list[Item]]:
    """Events up to the item's last piece of content, and events that close it."""
    where = {"output_index": index, "item_id": item["id"]}
    closed: list[Item] = [{"type": "response.output_item.done", "output_index": index, "item": item}]
    if item["type"] == "message":
        part = {**where, "content_index": 0}
        text = item["content"][0]["text"]
        empty = {**item["content"][0], "text": ""}
        opened: Item = {**item, "content": [], "status": "in_progress"}
        content: list[Item] = [
            {"type": "response.content_part.added", **part, "part": empty},
            {"type": "response.output_text.delta", **part, "delta": text},
        ]
        ending: list[Item] = [
            {"type": "response.output_text.done", **part, "text": text},
            {"type": "response.content_part.done", **part, "part": item["content"][0]},
        ]
    else:
        field, event = ("input", "custom_tool_call_input")
        if item["type"] == "function_call":
            field, event = ("arguments", "function_call_arguments")
        opened = {**item, field: "", "status": "in_progress"}
        content = [{"type": f"response.{event}.delta", **where, "delta": item[field]}]
        ending = [{"type": f"response.{event}.done", **where, field: item[field]}]
    added: Item = {"type": "response.output_item.added", "output_index": index, "item": opened}
    return [added, *content], [*ending, *closed]
