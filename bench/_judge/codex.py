"""Codex's raw lines: {timestamp, type, payload}."""

from __future__ import annotations

import json
import re
from typing import Any

from bench._judge.records import CALL, HUMAN, REPLY, RESULT, SUMMARY, Place, Raw, Record, at, text_of

EXIT = re.compile(r"(?:Process exited with code|Exit code:?|exit_code\"?:) *(-?\d+)")
RUNNING = re.compile(r"Process running with session ID (\d+)")
ADDED = (
    "# AGENTS.md instructions",
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<skill>",
)
OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


def recognise(units: list[Raw], around: Raw | None) -> bool:
    return around is None and any(
        unit.get("type") == "session_meta" and isinstance(unit.get("payload"), dict) for unit in units[:20]
    )


def records(units: list[Raw]) -> list[Record]:
    found: list[Record] = []
    place: Place = {"branch": "", "folder": ""}
    for number, unit in enumerate(units):
        payload = unit.get("payload")
        if not isinstance(payload, dict):
            continue
        if unit["type"] in ("session_meta", "turn_context"):
            place["folder"] = str(payload.get("cwd") or place["folder"])
            place["branch"] = str(at(payload, "git", "branch") or place["branch"])
        elif unit["type"] == "compacted":
            found.append(Record(kind=SUMMARY, text=str(payload.get("message") or ""), unit=number))
        elif unit["type"] == "response_item":
            found += _item(number, payload, place)
        elif payload.get("type") == "item_completed":
            found += _completed(number, payload.get("item") or {}, place)
    return found


def _item(number: int, payload: Raw, place: Place) -> list[Record]:
    kind = payload.get("type")
    if kind == "message":
        return _message(number, payload, place)
    if kind in ("function_call", "custom_tool_call", "local_shell_call"):
        if kind == "custom_tool_call" and payload.get("name") == "exec":
            # A program in JavaScript; what it ran stands in items of its own.
            return []
        return [
            Record(
                kind=CALL,
                unit=number,
                call=str(payload.get("call_id")),
                tool=str(payload.get("name") or "shell"),
                arguments=_arguments(payload),
                **place,
            )
        ]
    if kind in OUTPUTS:
        return [_output(number, payload, place)]
    return []


def _message(number: int, payload: Raw, place: Place) -> list[Record]:
    text = text_of(payload.get("content")).strip()
    if payload.get("role") == "assistant" and text:
        return [Record(kind=REPLY, text=text, unit=number, **place)]
    if payload.get("role") == "user" and text and not text.startswith(ADDED):
        return [Record(kind=HUMAN, text=text, unit=number, **place)]
    return []


def _arguments(payload: Raw) -> Raw:
    given = payload.get("arguments") or payload.get("input") or payload.get("action") or {}
    if isinstance(given, dict):
        return given
    try:
        parsed = json.loads(given)
    except (ValueError, RecursionError):
        return {"input": str(given)}
    return parsed if isinstance(parsed, dict) else {"input": str(given)}


def _output(number: int, payload: Raw, place: Place) -> Record:
    output: Any = payload.get("output")
    text = text_of(output)
    try:
        parsed = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        parsed = None
    code = at(parsed, "metadata", "exit_code")
    if isinstance(parsed, dict) and isinstance(parsed.get("output"), str):
        text = parsed["output"]
    match = EXIT.search(text[:400])
    if not isinstance(code, int):
        code = int(match.group(1)) if match else None
    running = RUNNING.search(text[:400])
    return Record(
        kind=RESULT,
        text=text,
        unit=number,
        call=str(payload.get("call_id")),
        is_failed=None if code is None else code != 0,
        exit=code,
        details={"session": running.group(1)} if running else {},
        **place,
    )


def _completed(number: int, item: Raw, place: Place) -> list[Record]:
    """What a program in code mode ran or changed."""
    key = f"item {number}"
    if item.get("type") == "CommandExecution":
        name, arguments = "shell", {"command": item.get("command")}
    elif item.get("type") == "FileChange":
        name, arguments = "file_change", {"changes": item.get("changes")}
    else:
        return []
    code = item.get("exit_code")
    call = Record(kind=CALL, unit=number, call=key, tool=name, arguments=arguments, **place)
    result = Record(
        kind=RESULT,
        unit=number,
        call=key,
        text=text_of(item.get("aggregated_output")),
        exit=code if isinstance(code, int) else 0,
        is_failed=bool(code) or item.get("status") == "failed",
        **place,
    )
    return [call, result]


def without_summaries(units: list[Raw]) -> list[Raw]:
    return [
        unit
        for unit in units
        if unit.get("type") != "compacted" and at(unit, "payload", "type") != "context_compacted"
    ]


def said_by_human(units: list[Raw], position: int, text: str) -> list[Raw]:
    event = {"type": "user_message", "message": text, "images": []}
    return _inserted(units, position, "user", "input_text", text, event)


def said_by_agent(units: list[Raw], position: int, text: str) -> list[Raw]:
    event = {"type": "agent_message", "message": text}
    return _inserted(units, position, "assistant", "output_text", text, event)


def _inserted(units: list[Raw], position: int, role: str, kind: str, text: str, event: Raw) -> list[Raw]:
    stamp = units[min(position, len(units) - 1)].get("timestamp")
    message = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    added = [
        {"timestamp": stamp, "type": "response_item", "payload": message},
        {"timestamp": stamp, "type": "event_msg", "payload": event},
    ]
    return [*units[:position], *added, *units[position:]]
