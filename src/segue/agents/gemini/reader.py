"""Gemini CLI's transcripts: files of lines, or documents of older versions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from segue.agents.gemini import AGENT
from segue.agents.shared.transcripts.reader import Reading, sources_like
from segue.model import Mark, Source

FOLDER = ".gemini"
LINES = ("tmp/*/chats/*.jsonl", "tmp/*/chats/*/*.jsonl")
DOCUMENTS = ("tmp/*/chats/*.json",)
FORK = re.compile(rb'"type"\s*:\s*"qwen"')
"""Tells old transcripts of Qwen Code, in the same format, from Gemini CLI's."""


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    home = env.get("GEMINI_CLI_HOME") or env.get("HOME")
    if home:
        yield from find_chats(AGENT.name, Path(home) / FOLDER)


def find_chats(agent: str, root: Path) -> Iterator[Source]:
    lines = list(sources_like(agent, root, LINES))
    yield from lines
    copied = {source.path for source in lines}
    for source in sources_like(agent, root, DOCUMENTS):
        if source.path + "l" not in copied:  # a resumed document continues as lines, and stays
            yield source


def recognise(start: bytes) -> bool:
    return is_ours(start) and not FORK.search(start)


def is_ours(start: bytes) -> bool:
    names = (b'"sessionId":', b'"projectHash":')
    return start.lstrip().startswith(b"{") and all(name in start for name in names)


def read(source: Source, mark: Mark | None = None) -> Reading:
    from segue.agents.gemini.session import entries  # lazy: finding and recognising need none of it

    return Reading(source, mark, entries)
