"""Gemini: generateContent, streamGenerateContent and countTokens. Gemini CLI speaks it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .request import Message, Parsed, Request, ToolResult, flatten
from .script import Fault, Reply
from .wire import Frames, Kind, error_message, sse

_PATH = re.compile(r"^/v1(?:beta|alpha)?/models/(?P<model>[^:/]+):(?P<action>\w+)$")
_STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
_KINDS: Mapping[str, Kind] = {
    "generateContent": "generate",
    "streamGenerateContent": "generate",
    "countTokens": "count",
}


class GeminiContent:
    """Gemini's protocol: the model and the action are in the path."""

    name = "gemini"
    count_field = "totalTokens"

    def kind(self, method: str, path: str) -> Kind | None:
        match = _PATH.match(urlsplit(path).path)
        return _KINDS.get(match["action"]) if match and method == "POST" else None

    def parse(self, path: str, body: Mapping[str, Any]) -> Parsed:
        match = _PATH.match(urlsplit(path).path)
        content = body.get("generateContentRequest", body)
        messages: list[Message] = []
        results: list[ToolResult] = []
        if content.get("systemInstruction"):
            messages.append(Message("system", flatten(content["systemInstruction"])))
        for turn in content.get("contents", []):
            role = "assistant" if turn.get("role") == "model" else "user"
            for part in turn.get("parts", []):
                message, result = _read_part(role, part)
                messages.append(message)
                results += [result] if result else []
        config = body.get("generationConfig", {})
        offered = [tool.get("functionDeclarations", []) for tool in body.get("tools", [])]
        return Parsed(
            model=match["model"] if match else "",
            messages=tuple(messages),
            tools=tuple(declared["name"] for declarations in offered for declared in declarations),
            results=tuple(results),
            stream=bool(match and match["action"] == "streamGenerateContent"),
            schema=config.get("responseJsonSchema") or config.get("responseSchema"),
        )

    def stream(self, reply: Reply, request: Request) -> Frames:
        whole = self.whole(reply, request)
        parts = whole["candidates"][0]["content"]["parts"]
        open_chunks = [_chunk(request, {**_candidate([part]), "finishReason": None}) for part in parts]
        last = _chunk(request, {**_candidate([{"text": ""}]), "finishReason": "STOP"}, _usage(reply))
        if "sse" in parse_qs(urlsplit(request.path).query).get("alt", []):
            return Frames("text/event-stream", [sse(chunk) for chunk in open_chunks], [sse(last)])
        listed = [json.dumps(chunk).encode() + b",\n" for chunk in open_chunks]
        return Frames("application/json", [b"[", *listed], [json.dumps(last).encode(), b"]"])

    def whole(self, reply: Reply, request: Request) -> Mapping[str, Any]:
        return _chunk(request, {**_candidate(_parts(reply, request)), "finishReason": "STOP"}, _usage(reply))

    def error(self, fault: Fault) -> Mapping[str, Any]:
        status = _STATUS_NAMES.get(fault.status, "UNKNOWN")
        return {"error": {"code": fault.status, "message": error_message(fault), "status": status}}


def _read_part(role: str, part: Mapping[str, Any]) -> tuple[Message, ToolResult | None]:
    if "functionResponse" in part:
        response = part["functionResponse"]
        result = ToolResult(response.get("id", response["name"]), flatten(response.get("response")))
        return Message("tool", result.text), result
    if "functionCall" in part:
        call = part["functionCall"]
        return Message(role, f"{call['name']} {json.dumps(call.get('args', {}), ensure_ascii=False)}"), None
    return Message(role, flatten(part)), None


def _parts(reply: Reply, request: Request) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": reply.text}] if reply.text or not reply.calls else []
    for position, call in enumerate(reply.calls):
        given = {"input": call.arguments} if isinstance(call.arguments, str) else call.arguments
        call_id = f"call_scripted_{request.number}_{position}"
        parts.append({"functionCall": {"id": call_id, "name": call.tool, "args": given}})
    return parts


def _candidate(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"index": 0, "content": {"role": "model", "parts": parts}}


def _chunk(
    request: Request, candidate: Mapping[str, Any], usage: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    known = {key: value for key, value in candidate.items() if value is not None}
    chunk = {
        "candidates": [known],
        "modelVersion": request.model,
        "responseId": f"scripted-{request.number}",
    }
    return {**chunk, "usageMetadata": usage} if usage else chunk


def _usage(reply: Reply) -> dict[str, int]:
    return {
        "promptTokenCount": reply.tokens.input,
        "candidatesTokenCount": reply.tokens.output,
        "cachedContentTokenCount": reply.tokens.cached,
        "totalTokenCount": reply.tokens.input + reply.tokens.output,
    }
