"""pi: an append-only tree of entries, one file per session, with the price of every answer in it.

Entries name their parents, so going back and branching need no new file; in the first version of the format
they had no ids and followed one another. A fork copies a branch into a file of its own, with other ids in the
first version: answers are told apart by their time and their figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from segue.agents.shared.transcripts.reader import Reading, sources_like
from segue.model import Agent, Entry, Mark, Source

if TYPE_CHECKING:
    from segue.conversation import Kept

AGENT = Agent(name="pi", title="pi", vendor="pi", program="pi", tested="")

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
    return Reading(source, mark, _entries)


def _entries(reading: Reading) -> Iterator[Entry]:
    from segue.agents.pi import records  # lazy: finding and recognising need none of it

    return records.entries(reading)


def kept(entry: Entry) -> Kept | None:
    """What an entry says of the conversation before it, for whoever carries that on."""
    from segue.agents.pi import compaction  # lazy: reading needs none of it

    return compaction.kept(entry)
