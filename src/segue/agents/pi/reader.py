"""pi's sessions: found in its folder, recognised by their header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from segue.agents.pi import AGENT
from segue.agents.shared.transcripts.reader import Reading, sources_like
from segue.model import Mark, Source

PATTERNS = ("*/*.jsonl", "*.jsonl")

_HEADER = re.compile(rb'\s*\{[^{}]*"type"\s*:\s*"session"[,}\s]')


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    home, named = env.get("HOME", ""), env.get("PI_CODING_AGENT_DIR", "")
    if named.startswith("~"):
        named = home + named[1:]
    if named or home:
        folder = Path(named or Path(home) / ".pi" / "agent") / "sessions"
        yield from sources_like(AGENT.name, folder, PATTERNS)


def recognise(start: bytes) -> bool:
    return bool(_HEADER.match(start)) and b'"cwd"' in start


def read(source: Source, mark: Mark | None = None) -> Reading:
    from segue.agents.pi.records import entries  # lazy: finding and recognising need none of it

    return Reading(source, mark, entries)
