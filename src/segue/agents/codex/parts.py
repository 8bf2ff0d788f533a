"""Unwrap the content of Codex's records: outputs with a header, prompts with added context, images as data. Pure."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from segue.agents.shared.transcripts.image_ref import reference
from segue.agents.shared.transcripts.reader import dict_of, list_of, status_of, text_of

LONGEST_ADDRESS = 2048

_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<skill>",
    "<user_shell_command>",
    "<subagent_notification>",
    "<hook_prompt",
    "<goal_context>",
    "<codex_internal_context",
    "<external_",
    "<user_action>",
    "<startup_context>",
    "<recommended_plugins>",
    "# AGENTS.md instructions",
    "Warning: The maximum number of unified exec processes",
    "Warning: apply_patch was requested via ",
    "Warning: Your account was flagged",
)
_WRAPPED = re.compile(r"<([a-z][a-z0-9]*(?:[_-][a-z0-9]+)+)(?:\s[^<>]{0,500})?>.*</\1>\s*\Z", re.DOTALL)
"""A text within a single tag of two words: programs write those, not people."""

_IMAGE_TAG = re.compile(r"\s*</?image(?:\s[^<>]*)?>\s*\Z")
_EDITOR = "# Context from my IDE setup:"
_REQUEST = "## My request for Codex:"

_HEADER_LINE = (
    r"(?:Chunk ID|Wall time|Exit code|Process exited|Process running|Original token count|Total output lines)"
)
_COMMAND = re.compile(r"Command: .{0,65000}?\n(?=Chunk ID: |Wall time: )", re.DOTALL)
_HEADER = re.compile(rf"(?:{_HEADER_LINE}\b[^\n]*\n){{1,8}}(?:Output:\n?|\Z)")
_STATUS = re.compile(r"^(?:Exit code:|Process exited with code) (-?\d{1,9})\s*$", re.MULTILINE)
_FAILURES = (
    "apply_patch verification failed",
    "patch rejected",
    "unsupported call",
    "unsupported custom tool call",
    "failed to parse function arguments",
    "execution error",
    "exec_command failed",
    "write_stdin failed",
    "aborted by user",
    "Script failed",
    "tool call error",
    "err: ",
)


class Output(NamedTuple):
    """The result of a tool."""

    text: str
    status: int | None = None
    is_error: bool = False
    images: tuple[str, ...] = ()


def is_injected(text: str) -> bool:
    """Whether the program inserted a text into a user's message."""
    start = text.lstrip()
    return start.startswith(_INJECTED) or bool(_WRAPPED.match(start))


def is_by_program(payload: dict[str, Any]) -> bool:
    """Whether a message is marked as not coming from the user."""
    passed = dict_of(payload.get("internal_chat_message_metadata_passthrough"))
    told = [dict_of(item).get("provenance") for item in list_of(passed.get("content_item_metadata"))]
    kinds = {text_of(dict_of(provenance).get("type")) for provenance in told} - {""}
    return bool(kinds) and "user" not in kinds


def typed(text: str) -> str:
    """The typed text, without the context that an editor put before it. A selection may contain the mark too, so the
    last one counts."""
    if text.startswith(_EDITOR) and _REQUEST in text:
        return text.rpartition(_REQUEST)[2].strip()
    return text


def texts_of(content: Any) -> list[str]:
    """The texts in the content of a message or an output."""
    if isinstance(content, str):
        return [content]
    return [text for part in list_of(content) if (text := text_of(dict_of(part).get("text")))]


def human_texts(payload: dict[str, Any]) -> list[str]:
    """The typed texts of a user's message in the response items."""
    if is_by_program(payload):
        return []
    texts = texts_of(payload.get("content"))
    return [typed(text) for text in texts if not is_injected(text) and not _IMAGE_TAG.match(text)]


def images_of(content: Any) -> tuple[str, ...]:
    """References to the images in the content of a message or an output."""
    found = (dict_of(part) for part in list_of(content))
    sources = (image_source(part) for part in found)
    return tuple(image_reference(source) for source in sources if source)


def image_source(part: dict[str, Any]) -> str:
    if "image" not in text_of(part.get("type")).lower():
        return ""
    address = part.get("image_url")
    return text_of(address) or text_of(dict_of(address).get("url")) or text_of(part.get("path"))


def image_reference(source: str) -> str:
    """A reference to an image, without its data."""
    if not source.startswith("data:"):
        return source[:LONGEST_ADDRESS]
    head, _, data = source.partition(",")
    kind = head.removeprefix("data:").partition(";")[0] or "image"
    return reference(kind, data)


def output_of(value: Any) -> Output:
    """The result of a tool, unwrapped from the format of any version."""
    if isinstance(value, list):
        found = _unwrapped("".join(texts_of(value)))
        return found._replace(images=images_of(value))
    if isinstance(value, dict):
        found = output_of(value.get("content") or value.get("content_items") or value.get("output") or "")
        return found._replace(is_error=found.is_error or value.get("success") is False)
    text = text_of(value)
    if text.startswith("{") and '"metadata"' in text:
        return _from_json(text)
    return _unwrapped(text)


def _from_json(text: str) -> Output:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _unwrapped(text)
    output, about = dict_of(value).get("output"), dict_of(dict_of(value).get("metadata"))
    if not isinstance(output, str):
        return _unwrapped(text)
    return _judged(output, status_of(about.get("exit_code")))


def _unwrapped(text: str) -> Output:
    command = _COMMAND.match(text)
    header = _HEADER.match(text, command.end() if command else 0)
    if not header:
        return _judged(text, None)
    told = _STATUS.search(header.group())
    return _judged(text[header.end() :], int(told[1]) if told else None)


def _judged(text: str, status: int | None) -> Output:
    return Output(text, status, is_error=bool(status) or text.startswith(_FAILURES))


def answers_in(output: str) -> list[list[str]]:
    """The user's answers to each of the model's questions."""
    try:
        value = json.loads(output)
    except (ValueError, RecursionError):
        return []
    given = dict_of(dict_of(value).get("answers")).values()
    said = ([text_of(one) for one in list_of(dict_of(answer).get("answers"))] for answer in given)
    return [words for answer in said if (words := list(filter(None, answer)))]
