"""The demonstration agent: small, shipped with Segue, with no model behind it.

It keeps transcripts as JSON lines, one entry each, and is started like any other agent: as a program
of its own (`program.py`) that is given a brief and knows nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from segue.agents import reading
from segue.agents.reading import Reading
from segue.errors import AgentError
from segue.model import Agent, Entry, EntryKind, Mark, Origin, Source, Usage

AGENT = Agent(name="demo", title="Demonstration agent", vendor="none", program="", tested="1")

PATTERN = "*.demo.jsonl"

T = TypeVar("T")


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    for project in projects:
        for path in sorted(project.glob(PATTERN)):
            try:
                found = path.stat()
            except OSError:
                continue
            yield Source(agent=AGENT.name, path=str(path), size=found.st_size, stamp=found.st_mtime_ns)


def recognise(start: bytes) -> bool:
    return start.startswith(b'{"id": ') and b'"kind": ' in start


def read(source: Source, mark: Mark | None = None) -> Reading:
    return Reading(source, mark, _entries)


def _entries(reading_: Reading) -> Iterator[Entry]:
    reading_.learn(id=Path(reading_.source.path).name.split(".")[0])
    seen: dict[str, int] = {}
    for record in reading.records(reading_):
        if "kind" in record:
            try:
                entry = msgspec.convert({**record, "native": record}, Entry)
            except msgspec.ValidationError:
                reading_.broken += 1
                continue
            number = seen[entry.id] = seen.get(entry.id, 0) + 1
            yield entry if number == 1 else msgspec.structs.replace(entry, id=f"{entry.id}~{number}")
        else:
            id = f"note-{reading_.lines}"
            yield Entry(
                id=id, kind=EntryKind.NOTE, origin=Origin.SYSTEM, text="", tool="usage", native=record
            )


def usage(source: Source) -> Usage | None:
    """The last figures that the transcript holds."""
    found = [record["usage"] for record in reading.records(read(source)) if "usage" in record]
    return _as(Usage, found[-1], source) if found else None


def _as(type: type[T], record: object, source: Source) -> T:
    try:
        return msgspec.convert(record, type)
    except msgspec.ValidationError as error:
        raise AgentError(agent=AGENT.name, what=f"{source.path}: {error}") from error


def command(brief: Path, project: Path) -> list[str]:
    program = Path(__file__).with_name("program.py")
    return [sys.executable, "-I", "-S", str(program), str(brief), str(project / "received.demo.jsonl")]
