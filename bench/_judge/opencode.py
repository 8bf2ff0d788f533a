"""OpenCode's raw messages, as `opencode export` writes them: {info, parts}."""

from __future__ import annotations

from bench._judge.records import CALL, HUMAN, REPLY, RESULT, SUMMARY, Raw, Record, at


def recognise(units: list[Raw], around: Raw | None) -> bool:
    return around is not None and "info" in around and all("parts" in unit for unit in units[:20])


def records(units: list[Raw]) -> list[Record]:
    found: list[Record] = []
    for number, unit in enumerate(units):
        role = at(unit, "info", "role")
        folder = str(at(unit, "info", "path", "cwd") or "")
        for part in unit.get("parts") or []:
            if not isinstance(part, dict):
                continue
            text = str(part.get("text") or "").strip()
            if part.get("type") == "text" and text and not part.get("synthetic"):
                kind = HUMAN if role == "user" else REPLY
                kind = SUMMARY if at(unit, "info", "summary") is True else kind
                found.append(Record(kind=kind, text=text, unit=number))
            elif part.get("type") == "tool":
                found += _call(number, part, folder)
    return found


def _call(number: int, part: Raw, folder: str) -> list[Record]:
    given = at(part, "state", "input")
    key = str(part.get("callID"))
    asked = Record(
        kind=CALL,
        unit=number,
        call=key,
        tool=str(part.get("tool")),
        folder=folder,
        arguments=given if isinstance(given, dict) else {},
    )
    status = at(part, "state", "status")
    if status not in ("completed", "error"):
        return [asked]
    details = at(part, "state", "metadata")
    code = at(details, "exit")
    code = code if isinstance(code, int) else int(status == "error")
    text = str(at(part, "state", "output") or at(part, "state", "error") or "")
    result = Record(
        kind=RESULT,
        unit=number,
        call=key,
        text=text,
        is_failed=code != 0,
        exit=code,
        details=details if isinstance(details, dict) else {},
    )
    return [asked, result]


def without_summaries(units: list[Raw]) -> list[Raw]:
    return [unit for unit in units if at(unit, "info", "summary") is not True]


def said_by_human(units: list[Raw], position: int, text: str) -> list[Raw]:
    return _inserted(units, position, "user", text)


def said_by_agent(units: list[Raw], position: int, text: str) -> list[Raw]:
    return _inserted(units, position, "assistant", text)


def _inserted(units: list[Raw], position: int, role: str, text: str) -> list[Raw]:
    same = [unit for unit in units if at(unit, "info", "role") == role]
    model = at(same[0], "info") if same else {}
    own = f"msg_noise{position:06}x{len(units):06}"
    info = {**model, "id": own, "role": role}
    part = {"id": f"prt_noise{position:06}x{len(units):06}", "messageID": own, "type": "text", "text": text}
    part["sessionID"] = str(model.get("sessionID") or "")
    return [*units[:position], {"info": info, "parts": [part]}, *units[position:]]
