"""Agents' raw files: recognised, read into records, cut, and written again in the same format.

Summaries that an agent made of its own conversation are taken out of what a strategy gets to see, and what stood
after them is joined to what stood before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import ModuleType

from bench._judge import claude, codex, gemini, opencode
from bench._judge.records import CALL, RESULT, Raw, Record, Transcript

FORMATS: dict[str, ModuleType] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
}


def load(content: bytes) -> Transcript | None:
    """None where no format fits."""
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and isinstance(whole.get("messages"), list):
        units = [unit for unit in whole["messages"] if isinstance(unit, dict)]
        around = {key: value for key, value in whole.items() if key != "messages"}
        key = "messages"
    else:
        units, around, key = list(_lines(content)), None, ""
    for name, module in FORMATS.items():
        if module.recognise(units, around):
            return Transcript(agent=name, units=units, around=around, messages=key)
    return None


def _lines(content: bytes) -> Iterator[Raw]:
    for line in content.split(b"\n"):
        try:
            unit = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(unit, dict):
            yield unit


def records(transcript: Transcript) -> list[Record]:
    found: list[Record] = FORMATS[transcript.agent].records(transcript.units)
    return _paired(found)


def _paired(found: list[Record]) -> list[Record]:
    """Results whose call is not known by name belong to the oldest call that has none."""
    waiting: list[str] = []
    paired = []
    for number, record in enumerate(found):
        if record.kind == CALL:
            key = f"{number}"
            waiting.append(f"{key} {record.call}")
            paired.append(_with_call(record, key))
        elif record.kind == RESULT and waiting:
            named = [one for one in waiting if one.partition(" ")[2] == record.call]
            if not named:
                continue
            waiting.remove(named[0])
            paired.append(_with_call(record, named[0].partition(" ")[0]))
        elif record.kind != RESULT:
            paired.append(record)
    return paired


def _with_call(record: Record, key: str) -> Record:
    fields = {name: getattr(record, name) for name in record.__struct_fields__}
    return Record(**{**fields, "call": key})


def prefix(transcript: Transcript, end: int) -> Transcript:
    """The units before `end`, without the agent's own summaries."""
    units = FORMATS[transcript.agent].without_summaries(transcript.units[:end])
    return Transcript(
        agent=transcript.agent, units=units, around=transcript.around, messages=transcript.messages
    )


def dump(transcript: Transcript) -> bytes:
    """The file in the agent's own format."""
    if transcript.around is not None:
        whole = {**transcript.around, transcript.messages: transcript.units}
        return json.dumps(whole, ensure_ascii=False).encode("utf-8", "surrogatepass")
    lines = (json.dumps(unit, ensure_ascii=False) for unit in transcript.units)
    return "".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass")


def suffix(transcript: Transcript) -> str:
    return ".json" if transcript.around is not None else ".jsonl"
