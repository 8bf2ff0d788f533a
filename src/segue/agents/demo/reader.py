"""The demo agent's transcripts: files of entries in the project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from segue.agents.demo import AGENT
from segue.agents.shared.transcripts import reader
from segue.agents.shared.transcripts.reader import Reading
from segue.errors import AgentError
from segue.model import Mark, Source, Usage

PATTERN = "*.demo.jsonl"

T = TypeVar("T")


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    for project in projects:
        yield from reader.sources_like(AGENT.name, project, [PATTERN])


def recognise(start: bytes) -> bool:
    return start.startswith(b'{"id": ') and b'"kind": ' in start


def read(source: Source, mark: Mark | None = None) -> Reading:
    from segue.agents.shared.transcripts import entries_file  # lazy: finding needs none of it

    return entries_file.read(source, mark, beside=("usage",))


def usage(source: Source) -> Usage | None:
    """The last usage record of the transcript."""
    found = [record["usage"] for record in reader.records(read(source)) if "usage" in record]
    return _as(Usage, found[-1], source) if found else None


def _as(type: type[T], record: object, source: Source) -> T:
    try:
        return msgspec.convert(record, type)
    except msgspec.ValidationError as error:
        raise AgentError(agent=AGENT.name, what=f"{source.path}: {error}") from error
