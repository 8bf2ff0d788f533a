"""The demonstration agent: small, shipped with Segue, with no model behind it.

It keeps transcripts as JSON lines, one entry each, and is started like any other agent: as a program
of its own (`answering.py`) that is given a brief and knows nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from segue.agents import linking, reading
from segue.agents.reading import Reading
from segue.agents.starting import Launch, Start
from segue.errors import AgentError
from segue.model import Agent, Entry, EntryKind, Mark, Origin, Source, Usage

AGENT = Agent(name="demo", title="Demonstration agent", vendor="none", program="", tested="1")

PATTERN = "*.demo.jsonl"
ORIGINS = {
    EntryKind.REPLY: (Origin.ASSISTANT,),
    EntryKind.THOUGHT: (Origin.ASSISTANT,),
    EntryKind.CALL: (Origin.ASSISTANT, Origin.HUMAN),
    EntryKind.RESULT: (Origin.TOOL,),
    EntryKind.PROMPT: (Origin.HUMAN, Origin.ASSISTANT, Origin.SYSTEM),
}
"""Whose words an entry of a kind can be."""

T = TypeVar("T")


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    for project in projects:
        yield from reading.sources_like(AGENT.name, project, [PATTERN])


def recognise(start: bytes) -> bool:
    return start.startswith(b'{"id": ') and b'"kind": ' in start


def read(source: Source, mark: Mark | None = None) -> Reading:
    return Reading(source, mark, _entries)


def _entries(reading_: Reading) -> Iterator[Entry]:
    reading_.learn(id=Path(reading_.source.path).name.split(".")[0])
    for record in reading.records(reading_):
        state = reading_.mark.state
        state["records"] = state.get("records", 0) + 1
        entry = _entry(record)
        if entry is None and "usage" not in record:
            reading_.unknown["record"] += 1
        piece = entry or linking.note("usage" if "usage" in record else "record")
        name = piece.id or f"note-{state['records']}"
        yield from linking.chained(state, name, piece.parent, [piece], native=record)


def _entry(record: dict[str, Any]) -> Entry | None:
    """A record is an entry as it is, if all that it says is sound."""
    try:
        entry = msgspec.convert(record, Entry)
    except msgspec.ValidationError:
        return None
    is_limited = bool(entry.limits) or entry.kind is not EntryKind.LIMIT
    is_sound = entry.origin in ORIGINS.get(entry.kind, Origin) and is_limited
    return linking.placed(entry, at=reading.moment_of(entry.at)) if is_sound else None


def usage(source: Source) -> Usage | None:
    """The last figures that the transcript holds."""
    found = [record["usage"] for record in reading.records(read(source)) if "usage" in record]
    return _as(Usage, found[-1], source) if found else None


def _as(type: type[T], record: object, source: Source) -> T:
    try:
        return msgspec.convert(record, type)
    except msgspec.ValidationError as error:
        raise AgentError(agent=AGENT.name, what=f"{source.path}: {error}") from error


def program(env: Mapping[str, str]) -> str:
    """It runs wherever Segue runs."""
    return sys.executable


def command(start: Start, env: Mapping[str, str]) -> Launch:
    answering = Path(__file__).with_name("answering.py")
    name = "asked" if start.is_question else "received"
    transcript = start.project / PATTERN.replace("*", name)
    return Launch(argv=(start.program, "-I", "-S", str(answering), str(transcript)), stdin=start.prompt)


def discard(source: Source, program: str, env: Mapping[str, str]) -> None:
    Path(source.path).unlink(missing_ok=True)
