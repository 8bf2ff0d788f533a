"""Find Codex's rollouts by folder and name, and recognise them by their first record."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from segue.agents.codex import AGENT
from segue.agents.shared.transcripts.file_scan import COMPRESSED
from segue.agents.shared.transcripts.reader import Reading, source_of
from segue.agents.shared.transcripts.reader import records as json_records
from segue.model import Entry, Mark, Source

FOLDERS = ("sessions", "archived_sessions")

_START = re.compile(
    rb'\s*\{[^{]{0,200}?"type"\s*:\s*"(?:session_meta|response_item|event_msg|turn_context|compacted)"\s*,'
    rb'\s*"payload"\s*:\s*\{'
)
_OLD_START = re.compile(
    rb'\s*\{"id"\s*:\s*"[0-9a-f-]{36}"\s*,\s*"timestamp"\s*:\s*"[^"]*"\s*,\s*"instructions"'
)


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    home = env.get("HOME", "")
    root = env.get("CODEX_HOME") or (home and f"{home}/.codex")
    if not root or "\0" in root:
        return
    for folder in FOLDERS:
        for path, folders, names in os.walk(Path(root, folder)):
            folders.sort()
            plain = set(names)
            for name in sorted(names):
                is_rollout = name.startswith("rollout-") and name.endswith((".jsonl", ".jsonl" + COMPRESSED))
                is_copy = name.endswith(COMPRESSED) and name.removesuffix(COMPRESSED) in plain
                if is_rollout and not is_copy and (source := source_of(AGENT.name, f"{path}/{name}")):
                    yield source


def recognise(start: bytes) -> bool:
    return bool(_START.match(start) or _OLD_START.match(start))


def read(source: Source, mark: Mark | None = None) -> Reading:
    return Reading(source, mark, _entries)


def _entries(reading: Reading) -> Iterator[Entry]:
    from segue.agents.codex.rollout import Rollout  # lazy: finding and recognising don't need it

    rollout: Rollout | None = None
    for record in json_records(reading):
        # Created only now, when it is known whether the mark is valid: a replaced file starts with an empty state.
        rollout = rollout or Rollout(reading)
        yield from rollout.entries(record)
