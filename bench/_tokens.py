"""Tokens counted straight from the files, with nothing of Segue's: what its readers are compared with.

Each function takes a file's content and gives the sum of all tokens in it, each answer of a model once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

Record = dict[str, Any]


def lines_of(content: bytes) -> Iterator[Record]:
    for line in content.split(b"\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def at(value: Any, *path: str) -> Any:
    """What lies at the end of a path of keys, or None."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def total(usage: Any, *keys: str) -> int:
    return sum(int(at(usage, *key.split(".")) or 0) for key in keys)


def claude(content: bytes) -> int:
    """The last record of each answer. Sub-agents that ran inside are in records of the type progress."""
    keys = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    answers: dict[Any, int] = {}
    for record in lines_of(content):
        if record.get("type") == "progress":
            record = at(record, "data", "message") or {}
        message = record.get("message")
        usage = at(message, "usage")
        if record.get("type") == "assistant" and isinstance(usage, dict):
            answers[at(message, "id"), record.get("requestId")] = total(usage, *keys)
    return sum(answers.values())


def codex(content: bytes) -> int:
    """How much the sum so far grew from one event to the next, which tells of answers whose own event is missing
    too; where it begins anew, or in the first event, what the last answer used."""
    found, before = 0, 0
    for record in lines_of(content):
        info = at(record, "payload", "info")
        if at(record, "payload", "type") == "token_count" and isinstance(info, dict):
            now = total(info.get("total_token_usage"), "input_tokens", "output_tokens")
            last = total(info.get("last_token_usage"), "input_tokens", "output_tokens")
            found += now - before if 0 < before <= now else last
            before = now
    return found


def gemini(content: bytes) -> int:
    try:
        messages = at(json.loads(content), "messages") or []
    except ValueError:
        messages = list(lines_of(content))
    answers = {at(message, "id"): at(message, "tokens", "total") or 0 for message in messages}
    return sum(answers.values())


def opencode(content: bytes) -> int:
    try:
        messages = at(json.loads(content), "messages") or []
    except ValueError:
        return 0
    keys = ("input", "output", "reasoning", "cache.read", "cache.write")
    return sum(total(at(message, "info", "tokens"), *keys) for message in messages)


def pi(content: bytes) -> int:
    usages = (at(record, "message", "usage") for record in lines_of(content))
    return sum(total(usage, "input", "output", "cacheRead", "cacheWrite") for usage in usages)


def copilot(content: bytes) -> int:
    """What each run summed up when it was shut down; of one that was not, only its answers' output is known."""
    found, since = 0, 0
    for record in lines_of(content):
        metrics = at(record, "data", "modelMetrics")
        if record.get("type") == "session.shutdown" and isinstance(metrics, dict):
            found += sum(total(at(one, "usage"), "inputTokens", "outputTokens") for one in metrics.values())
            since = 0
        elif record.get("type") == "assistant.message":
            since += total(record, "data.outputTokens")
    return found + since


COUNTS: dict[str, Callable[[bytes], int]] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
    "copilot": copilot,
    "pi": pi,
}
