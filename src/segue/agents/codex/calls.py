"""Tool calls and results, in the several formats of a rollout."""

from __future__ import annotations

from typing import Any

from segue.agents.codex import parts
from segue.agents.codex.records import Part, part
from segue.agents.shared.transcripts.reader import compact, dict_of, list_of, status_of, text_of
from segue.model import EntryKind, Origin

_NAMES = {
    "local_shell_call": "local_shell",
    "tool_search_call": "tool_search",
    "web_search_call": "web_search",
    "image_generation_call": "image_generation",
}
_DONE_NAMES = {"CommandExecution": "exec_command", "FileChange": "apply_patch"}
_ENDS = {
    "exec_command_end": "CommandExecution",
    "patch_apply_end": "FileChange",
    "mcp_tool_call_end": "McpToolCall",
}
_BAD = ("failed", "declined")


def item_call(kind: str, payload: dict[str, Any], model: str | None) -> list[Part]:
    """A call in the response items. A generated image and the end of a web search are in the same item."""
    call = text_of(payload.get("call_id")) or text_of(payload.get("id")) or None
    found = _call(_name(kind, payload), call, _arguments(kind, payload), model)
    if kind == "web_search_call" and payload.get("status") == "completed":
        return [found, part(EntryKind.RESULT, Origin.TOOL, "", call=call, tool=found["tool"])]
    if kind != "image_generation_call":
        return [found]
    image = text_of(payload.get("result"))
    text = text_of(payload.get("revised_prompt"))
    reference = parts.image_reference(f"data:image/png;base64,{image}") if image else ""
    images = [part(EntryKind.IMAGE, Origin.TOOL, reference)] if image else []
    result = part(EntryKind.RESULT, Origin.TOOL, text, call=call, tool=found["tool"])
    return [found, *images, result]


def _name(kind: str, payload: dict[str, Any]) -> str:
    name, space = text_of(payload.get("name")), text_of(payload.get("namespace"))
    return _NAMES.get(kind) or (f"{space}.{name}" if space else name)


def _arguments(kind: str, payload: dict[str, Any]) -> str:
    match kind:
        case "function_call" | "tool_search_call":
            value = payload.get("arguments")
        case "custom_tool_call":
            value = payload.get("input")
        case "image_generation_call":
            return ""
        case _:
            value = payload.get("action")
    return value if isinstance(value, str) else compact(value)


def item_result(kind: str, payload: dict[str, Any], tool: str | None) -> tuple[tuple[str, ...], Part]:
    """A result in the response items, and references to its images."""
    call = text_of(payload.get("call_id")) or None
    if kind == "tool_search_output":
        names = [text_of(dict_of(found).get("name")) for found in list_of(payload.get("tools"))]
        return (), part(
            EntryKind.RESULT, Origin.TOOL, "\n".join(names), call=call, tool=tool or "tool_search"
        )
    output = parts.output_of(payload.get("output"))
    result = part(EntryKind.RESULT, Origin.TOOL, output.text, call=call, status=output.status)
    name = tool or text_of(payload.get("name")) or None
    return output.images, {**result, "is_error": output.is_error, "tool": name}


def done_parts(kind: str, item: dict[str, Any], model: str | None) -> list[Part]:
    """A completed action of code mode: the call and its result."""
    call = text_of(item.get("id")) or None
    name = _DONE_NAMES.get(kind) or _tool_of(item)
    status = status_of(item.get("exit_code"))
    is_error = bool(status) or item.get("status") in _BAD or item.get("success") is False
    result = part(EntryKind.RESULT, Origin.TOOL, _outcome(item), call=call, tool=name, status=status)
    return [_call(name, call, _asked(kind, item), model), {**result, "is_error": is_error}]


def ended(kind: str, payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Convert an event that reports a completed action to an item of the paginated history. The kind is empty for all
    other events."""
    made = _ENDS.get(kind, "")
    asked, result = dict_of(payload.get("invocation")), dict_of(payload.get("result"))
    item = {**payload, **asked, "id": payload.get("call_id")}
    if made == "McpToolCall":
        item.pop("result", None)
        item |= {"result": result["Ok"]} if "Ok" in result else {"error": result.get("Err"), "success": False}
    return made, item


def _tool_of(item: dict[str, Any]) -> str:
    server, tool = text_of(item.get("server")), text_of(item.get("tool"))
    return f"{server}.{tool}" if server else tool


def _asked(kind: str, item: dict[str, Any]) -> str:
    if kind == "CommandExecution":
        cwd = text_of(item.get("cwd")).removeprefix("file://")
        return compact({"command": item.get("command"), **({"cwd": cwd} if cwd else {})})
    return compact(item.get("changes") if kind == "FileChange" else item.get("arguments"))


def _outcome(item: dict[str, Any]) -> str:
    output = item.get("aggregated_output")
    if isinstance(output, str):
        return output
    if "stdout" in item or "stderr" in item:
        return text_of(item.get("stdout")) + text_of(item.get("stderr"))
    for place in ("result", "error", "content_items"):
        if (value := item.get(place)) is not None:
            inner = dict_of(value)
            texts = parts.texts_of(inner.get("content", value))
            return "\n".join(texts) or text_of(inner.get("message")) or compact(value)
    return ""


def _call(tool: str, call: str | None, text: str, model: str | None) -> Part:
    return part(EntryKind.CALL, Origin.ASSISTANT, text, tool=tool, call=call, model=model)
