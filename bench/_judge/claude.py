"""Claude Code's raw lines."""

from __future__ import annotations

import re
from typing import Any

from bench._judge.records import CALL, HUMAN, REPLY, RESULT, SUMMARY, Place, Raw, Record, at, text_of

TYPES = {"user", "assistant", "system", "summary", "attachment", "file-history-snapshot", "progress"}
ADDED = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|local-command-\w+|bash-stdout|bash-stderr|bash-input"
    r"|task-notification|teammate-message|command-name|command-message|user-memory-input)\b[^>]*>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
ARGUMENTS = re.compile(r"</?command-args>")
INTERRUPTED = "[Request interrupted by user"
EXIT = re.compile(r"\bexit code:? (\d+)", re.IGNORECASE)


def recognise(units: list[Raw], around: Raw | None) -> bool:
    return around is None and any(
        unit.get("type") in ("user", "assistant") and "message" in unit and "sessionId" in unit
        for unit in units[:200]
    )


def records(units: list[Raw]) -> list[Record]:
    found: list[Record] = []
    for number, unit in enumerate(units):
        if unit.get("isSidechain") or unit.get("type") not in TYPES:
            continue
        content = at(unit, "message", "content")
        if unit["type"] == "assistant":
            found += _answer(number, unit, content)
        elif unit["type"] == "user":
            found += _said(number, unit, content)
        elif at(unit, "attachment", "type") == "queued_command":
            found += _words(number, unit, text_of(at(unit, "attachment", "prompt")))
    return found


def _place(unit: Raw) -> Place:
    return {"branch": str(unit.get("gitBranch") or ""), "folder": str(unit.get("cwd") or "")}


def _answer(number: int, unit: Raw, content: Any) -> list[Record]:
    found = []
    for block in content if isinstance(content, list) else [{"type": "text", "text": text_of(content)}]:
        kind = at(block, "type")
        if kind == "text" and text_of(block) and not unit.get("isApiErrorMessage"):
            found.append(Record(kind=REPLY, text=text_of(block), unit=number, **_place(unit)))
        elif kind == "tool_use":
            given = block.get("input")
            found.append(
                Record(
                    kind=CALL,
                    unit=number,
                    call=str(block.get("id")),
                    tool=str(block.get("name")),
                    arguments=given if isinstance(given, dict) else {},
                    **_place(unit),
                )
            )
    return found


def _said(number: int, unit: Raw, content: Any) -> list[Record]:
    if unit.get("isCompactSummary"):
        return [Record(kind=SUMMARY, text=text_of(content), unit=number)]
    blocks = content if isinstance(content, list) else []
    results = [block for block in blocks if at(block, "type") == "tool_result"]
    if results:
        return [_result(number, unit, block) for block in results]
    if unit.get("isMeta"):
        return []
    return _words(
        number, unit, text_of([block for block in blocks if at(block, "type") == "text"] or content)
    )


def _words(number: int, unit: Raw, text: str) -> list[Record]:
    is_notice = text.lstrip().startswith("<task-notification>")
    text = ARGUMENTS.sub(" ", ADDED.sub(" ", text)).strip()
    if not text or is_notice or text.startswith((INTERRUPTED, "Caveat:")):
        return []
    return [Record(kind=HUMAN, text=text, unit=number, **_place(unit))]


def _result(number: int, unit: Raw, block: Raw) -> Record:
    text = text_of(block.get("content"))
    failed = bool(block.get("is_error"))
    details = unit.get("toolUseResult")
    code = EXIT.search(text[:200]) if failed else None
    return Record(
        kind=RESULT,
        text=text,
        unit=number,
        call=str(block.get("tool_use_id")),
        is_failed=failed,
        exit=int(code.group(1)) if code else (1 if failed else 0),
        details=details if isinstance(details, dict) else {},
        **_place(unit),
    )


def without_summaries(units: list[Raw]) -> list[Raw]:
    """Without what stands for a compaction; what came after it follows on what came before."""
    moved: dict[str, Any] = {}
    kept: list[Raw] = []
    for unit in units:
        if unit.get("isCompactSummary") or unit.get("subtype") == "compact_boundary":
            before = unit.get("parentUuid") or unit.get("logicalParentUuid")
            moved[str(unit.get("uuid"))] = moved.get(str(before), before)
            continue
        parent = str(unit.get("parentUuid"))
        kept.append({**unit, "parentUuid": moved[parent]} if parent in moved else unit)
    return kept


def said_by_human(units: list[Raw], position: int, text: str) -> list[Raw]:
    return _inserted(units, position, "user", {"role": "user", "content": text})


def said_by_agent(units: list[Raw], position: int, text: str) -> list[Raw]:
    message = {
        "id": f"msg_noise{position}x{len(units)}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": text}],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    return _inserted(units, position, "assistant", message)


def _inserted(units: list[Raw], position: int, kind: str, message: Raw) -> list[Raw]:
    """One more unit before `position`, in the chain of parents."""
    later = next((n for n in range(position, len(units)) if units[n].get("uuid")), None)
    model = units[later] if later is not None else next(u for u in reversed(units) if u.get("uuid"))
    own = f"5e9ue000-0000-4000-8000-{len(units):06x}{position:06x}"
    parent = model.get("parentUuid") if later is not None else model.get("uuid")
    kept = ("cwd", "sessionId", "version", "gitBranch", "timestamp", "userType")
    unit = {key: model[key] for key in kept if key in model}
    unit |= {"type": kind, "uuid": own, "parentUuid": parent, "isSidechain": False, "message": message}
    if later is None:
        return [*units, unit]
    joined = {**model, "parentUuid": own}
    return [*units[:later], unit, joined, *units[later + 1 :]]
