"""All made-up names of a transcript renamed consistently: what a judge or a packer may know must not hang on them.

The words that names are made of change places with others of the same length, so that names stay as long, and as
many tokens, as they were. Plain words, keys, tools and ids stay.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

from bench._judge.records import Transcript

NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
STAYS = {
    "test", "tests", "spec", "init", "main", "index", "node", "modules", "begin", "patch", "file", "end", "exit",
    "code", "error", "failed", "passed", "true", "false", "http", "https", "git", "hub", "github", "run", "package",
}  # fmt: skip
KEYS = {
    "type", "subtype", "id", "uuid", "parentUuid", "logicalParentUuid", "sessionId", "session_id", "requestId",
    "tool_use_id", "tool_call_id", "call_id", "callID", "messageID", "sessionID", "parentID", "projectID", "name",
    "tool", "role", "model", "timestamp", "version", "status", "stop_reason", "userType", "level", "signature",
    "operation", "kind", "originator", "source", "messageId", "leafUuid", "toolUseID", "sourceToolAssistantUUID",
    "namespace", "phase", "providerID", "modelID", "agent", "mode", "subagent_type", "media_type", "data",
    "encrypted_content", "projectHash", "startTime", "lastUpdated", "turn_id", "window_id", "taskId",
}  # fmt: skip


def renamed(transcript: Transcript, seed: int) -> Transcript:
    found: set[str] = set()
    _walk([transcript.units, transcript.around], lambda text: _collect(text, found))
    swap = _swaps(found, seed)
    return Transcript(
        agent=transcript.agent,
        units=_walk(transcript.units, lambda text: NAME.sub(lambda m: _swapped(m.group(), swap), text)),
        around=transcript.around,
        messages=transcript.messages,
    )


def _walk(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        inner = _parsed(value)
        return change(value) if inner is None else json.dumps(_walk(inner, change), ensure_ascii=False)
    if isinstance(value, list):
        return [_walk(one, change) for one in value]
    if isinstance(value, dict):
        return {key: one if key in KEYS else _walk(one, change) for key, one in value.items()}
    return value


def _parsed(text: str) -> Any:
    """Arguments that are written as JSON inside of a string."""
    if not text.startswith("{"):
        return None
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return inner if isinstance(inner, dict) else None


def _is_made_up(name: str) -> bool:
    return len(name) > 4 and ("_" in name or bool(re.search(r"[a-z0-9][A-Z]", name)))


def _collect(text: str, found: set[str]) -> str:
    for name in NAME.findall(text):
        if _is_made_up(name):
            found.update(part.lower() for part in PART.findall(name))
    return text


def _swaps(parts: set[str], seed: int) -> dict[str, str]:
    chance = random.Random(seed)
    by_length: dict[int, list[str]] = {}
    for part in sorted(parts):
        if part.isalpha() and len(part) > 2 and part not in STAYS:
            by_length.setdefault(len(part), []).append(part)
    swap: dict[str, str] = {}
    for some in by_length.values():
        others = some[1:] + some[:1] if len(some) < 4 else chance.sample(some, len(some))
        swap |= dict(zip(some, others, strict=True))
    return swap


def _swapped(name: str, swap: dict[str, str]) -> str:
    if not _is_made_up(name):
        return name

    def change(match: re.Match[str]) -> str:
        part = match.group()
        other = swap.get(part.lower(), part)
        if part.isupper():
            return other.upper()
        return other.capitalize() if part[0].isupper() else other.lower() if part.islower() else part

    return PART.sub(change, name)
