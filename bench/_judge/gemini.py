"""Gemini CLI's raw messages: lines, or one object with messages. The same id again takes the place of the first."""

from __future__ import annotations

import re
from typing import Any

from bench._judge.records import CALL, HUMAN, REPLY, RESULT, Raw, Record, at, text_of

EXIT = re.compile(r"Exit Code: *(\d+)")
REFUSED = ("cancelled", "error")


def recognise(units: list[Raw], around: Raw | None) -> bool:
    if not any(unit.get("type") in ("user", "gemini") and "id" in unit for unit in units[:200]):
        return False
    return "projectHash" in (around or {}) or any("projectHash" in unit for unit in units[:20])


def records(units: list[Raw]) -> list[Record]:
    last = {str(unit["id"]): number for number, unit in enumerate(units) if "id" in unit}
    found: list[Record] = []
    for number, unit in enumerate(units):
        if "id" not in unit or last[str(unit["id"])] != number:
            continue
        # Where a command of the agent's own was typed, the content is what that stands for.
        text = text_of(unit.get("displayContent") or unit.get("content")).strip()
        if unit.get("type") == "user" and text:
            found.append(Record(kind=HUMAN, text=text, unit=number))
        elif unit.get("type") == "gemini":
            if text:
                found.append(Record(kind=REPLY, text=text, unit=number))
            for call in unit.get("toolCalls") or []:
                if isinstance(call, dict):
                    found += _call(number, call)
    return found


def _call(number: int, call: Raw) -> list[Record]:
    given = call.get("args")
    asked = Record(
        kind=CALL,
        unit=number,
        call=str(call.get("id")),
        tool=str(call.get("name")),
        arguments=given if isinstance(given, dict) else {},
    )
    if call.get("status") in (None, "executing", "scheduled", "awaiting_approval"):
        return [asked]
    text = _answer(call.get("result"))
    code = EXIT.search(text)
    failed = call.get("status") in REFUSED or bool(code and int(code.group(1)))
    shown = call.get("resultDisplay")
    result = Record(
        kind=RESULT,
        unit=number,
        call=str(call.get("id")),
        text=text,
        is_failed=failed,
        exit=int(code.group(1)) if code else int(failed),
        details=shown if isinstance(shown, dict) else {},
    )
    return [asked, result]


def _answer(result: Any) -> str:
    parts = result if isinstance(result, list) else [result]
    answers = (at(part, "functionResponse", "response") for part in parts)
    return "\n".join(
        str(answer.get("output") or answer.get("error") or "")
        for answer in answers
        if isinstance(answer, dict)
    )


def without_summaries(units: list[Raw]) -> list[Raw]:
    return units


def said_by_human(units: list[Raw], position: int, text: str) -> list[Raw]:
    return _inserted(units, position, "user", text)


def said_by_agent(units: list[Raw], position: int, text: str) -> list[Raw]:
    return _inserted(units, position, "gemini", text)


def _inserted(units: list[Raw], position: int, kind: str, text: str) -> list[Raw]:
    stamp = next((unit["timestamp"] for unit in units[position:] + units[::-1] if "timestamp" in unit), "")
    unit = {"id": f"noise-{position}-{len(units)}", "timestamp": stamp, "type": kind, "content": text}
    return [*units[:position], unit, *units[position:]]
