"""The demonstration agent: small, shipped with Segue, with no model behind it.

It keeps transcripts as JSON lines, one entry each, and is started like any other agent: as a program
of its own (`demo_program.py`) that is given a brief and knows nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from segue.errors import AgentError
from segue.model import Agent, Entry, Transcript, Usage

AGENT = Agent(name="demo", title="Demonstration agent", vendor="none", program="", tested="1")

PATTERN = "*.demo.jsonl"

T = TypeVar("T")


def find(project: Path) -> Iterable[Transcript]:
    for path in sorted(project.glob(PATTERN)):
        yield Transcript(id=path.name.split(".")[0], agent=AGENT.name, path=str(path), project=str(project))


def _records(transcript: Transcript) -> Iterable[dict[str, object]]:
    for number, line in enumerate(Path(transcript.path).read_bytes().splitlines(), 1):
        try:
            yield msgspec.json.decode(line, type=dict[str, object])
        except msgspec.DecodeError as error:
            raise AgentError(agent=AGENT.name, what=f"{transcript.path}:{number}: {error}") from error


def read(transcript: Transcript) -> Iterable[Entry]:
    for record in _records(transcript):
        if "kind" in record:
            yield _as(Entry, {**record, "native": record}, transcript)


def usage(transcript: Transcript) -> Usage | None:
    """The last figures that the transcript holds."""
    found = [record["usage"] for record in _records(transcript) if "usage" in record]
    return _as(Usage, found[-1], transcript) if found else None


def _as(type: type[T], record: object, transcript: Transcript) -> T:
    try:
        return msgspec.convert(record, type)
    except msgspec.ValidationError as error:
        raise AgentError(agent=AGENT.name, what=f"{transcript.path}: {error}") from error


def command(brief: Path, project: Path) -> list[str]:
    program = Path(__file__).with_name("demo_program.py")
    return [sys.executable, "-I", "-S", str(program), str(brief), str(project / "received.demo.jsonl")]
