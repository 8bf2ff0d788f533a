"""Notebook keeps each conversation as a file of JSON lines in ~/.notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from segue.agents.reading import Reading, compact, count_of, dict_of, moment_of, records, text_of
from segue.model import Agent, Entry, EntryKind, Mark, Origin, Source, Spend, Tokens

AGENT = Agent(name="notebook", title="Notebook", vendor="Example", program="notebook", tested="1.0.0")


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    for path in sorted(Path(env.get("HOME", "/"), ".notebook").glob("*.jsonl")):
        try:
            found = path.stat()
        except OSError:
            continue  # gone since, or not ours to look at
        yield Source(agent=AGENT.name, path=str(path), size=found.st_size, stamp=found.st_mtime_ns)


def recognise(start: bytes) -> bool:
    return start.startswith(b'{"notebook": ')


def read(source: Source, mark: Mark | None = None) -> Reading:
    return Reading(source, mark, _entries)


def _entries(reading: Reading) -> Iterator[Entry]:
    for record in records(reading):
        # Only now is it known whether the mark holds: a file that was replaced starts with an empty state.
        state = reading.mark.state
        state["lines"] = state.get("lines", 0) + 1
        entry = _entry(reading, record, f"line-{state['lines']}", state)
        state["last"] = entry.id
        yield entry


def _entry(reading: Reading, record: dict[str, Any], id: str, state: dict[str, Any]) -> Entry:
    kind, origin = _kind(record)
    calls: dict[str, list[str]] = state.setdefault("calls", {})
    call, text, tool = (text_of(record.get(name)) for name in ("call", "says", "runs"))
    above: str | None = state.get("last")
    if kind is EntryKind.CALL:
        calls[call] = [id, tool]
        text = compact(dict_of(record.get("with")))
    elif kind is EntryKind.RESULT and call in calls:
        above, tool = calls.pop(call)
    elif kind is EntryKind.NOTE:
        tool = next(iter(record), "")
        if "notebook" in record:
            reading.learn(project=text_of(record.get("folder")))
        else:
            reading.unknown[tool] += 1
    exit_status = record.get("exit")
    return Entry(
        id=id,
        kind=kind,
        origin=origin,
        text=text,
        parent=above,
        at=moment_of(record.get("at")),
        model=text_of(record.get("model")) or None,
        tool=tool or None,
        call=call or None,
        status=exit_status if type(exit_status) is int else None,
        spend=_spend(record),
        native=record,
    )


def _kind(record: dict[str, Any]) -> tuple[EntryKind, Origin]:
    match record.get("who"):
        case "person":
            return EntryKind.PROMPT, Origin.HUMAN
        case "agent":
            return EntryKind.CALL if record.get("runs") else EntryKind.REPLY, Origin.ASSISTANT
        case "tool":
            return EntryKind.RESULT, Origin.TOOL
    return EntryKind.NOTE, Origin.SYSTEM


def _spend(record: dict[str, Any]) -> Spend | None:
    answer, tokens = text_of(record.get("answer")), dict_of(record.get("tokens"))
    if not answer:
        return None
    return Spend(
        key=f"notebook:{answer}",
        model=text_of(record.get("model")),
        tokens=Tokens(input=count_of(tokens.get("in")), output=count_of(tokens.get("out"))),
        at=moment_of(record.get("at")),
    )
