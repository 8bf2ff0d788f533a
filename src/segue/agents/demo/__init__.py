"""The demonstration agent: small, shipped with Segue, with no model behind it.

It keeps transcripts as JSON lines, one entry each, and is started like any other agent: as a program
of its own (`answer.py`) that is given a brief and knows nothing else.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from segue.agents.shared.transcripts import reader
from segue.agents.shared.transcripts.reader import Reading
from segue.errors import AgentError
from segue.model import Agent, Mark, Source, Usage

if TYPE_CHECKING:
    from segue.agents.shared.launch import Launch, Start

AGENT = Agent(name="demo", title="Demonstration agent", vendor="none", program="", tested="1")

PATTERN = "*.demo.jsonl"

T = TypeVar("T")


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    for project in projects:
        yield from reader.sources_like(AGENT.name, project, [PATTERN])


def recognise(start: bytes) -> bool:
    return start.startswith(b'{"id": ') and b'"kind": ' in start


def read(source: Source, mark: Mark | None = None) -> Reading:
    from segue.agents.shared.transcripts import entries_file  # lazy: finding does without it

    return entries_file.read(source, mark, beside=("usage",))


def usage(source: Source) -> Usage | None:
    """The last figures that the transcript holds."""
    found = [record["usage"] for record in reader.records(read(source)) if "usage" in record]
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
    from segue.agents.shared.launch import Launch  # lazy: as above

    program = Path(__file__).with_name("answer.py")
    name = "asked" if start.is_question else "received"
    transcript = start.project / PATTERN.replace("*", f"{name}-{start.id}" if start.id else name)
    return Launch(argv=(start.program, "-I", "-S", str(program), str(transcript)), stdin=start.prompt)


def new_id(seed: str) -> str:
    return hashlib.sha256(seed.encode()).hexdigest()[:12]


def discard(source: Source, program: str, env: Mapping[str, str]) -> None:
    Path(source.path).unlink(missing_ok=True)
