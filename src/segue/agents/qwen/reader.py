"""Qwen Code's transcripts: its own, and those of older versions in Gemini CLI's format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from segue.agents.gemini import reader as gemini
from segue.agents.qwen import AGENT
from segue.agents.shared.transcripts.reader import Reading, sources_like
from segue.model import Mark, Source

FOLDER = ".qwen"
LINES = ("projects/*/chats/*.jsonl", "projects/*/subagents/*/*.jsonl")

_START = re.compile(rb'\s*\{\s*"uuid"\s*:')
_CONTENT = re.compile(rb'"parts"\s*:\s*\[|"systemPayload"\s*:')


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    home = env.get("HOME")
    named = env.get("QWEN_RUNTIME_DIR") or env.get("QWEN_HOME")
    root = Path(named) if named else Path(home) / FOLDER if home else None
    if root:
        yield from sources_like(AGENT.name, root, LINES)
        yield from gemini.find_chats(AGENT.name, root)


def recognise(start: bytes) -> bool:
    if _START.match(start):
        return bool(_CONTENT.search(start))
    return gemini.is_ours(start) and bool(gemini.FORK.search(start))


def read(source: Source, mark: Mark | None = None) -> Reading:
    name = Path(source.path).name
    if name.startswith("session-") or name.endswith(".json"):
        return gemini.read(source, mark)
    from segue.agents.qwen.records import entries  # lazy: finding and recognising need none of it

    return Reading(source, mark, entries)
