"""aider's chat histories: found in projects, recognised by their first line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from segue.agents.aider import AGENT
from segue.agents.shared.transcripts.reader import Reading, source_of
from segue.model import Mark, Source

NAME = ".aider.chat.history.md"
VARIABLE = "AIDER_CHAT_HISTORY_FILE"
FIRST_LINE = re.compile(rb"\s*# aider chat started at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s")


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    found = set()
    for project in projects:
        for name in dict.fromkeys((NAME, env.get(VARIABLE) or NAME)):
            path = project / name
            source = source_of(AGENT.name, path)
            if source and path not in found:
                found.add(path)
                yield source


def recognise(start: bytes) -> bool:
    return bool(FIRST_LINE.match(start))


def read(source: Source, mark: Mark | None = None) -> Reading:
    from segue.agents.aider.lines import entries  # lazy: finding and recognising need none of it

    return Reading(source, mark, entries)
