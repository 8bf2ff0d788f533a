"""Copilot CLI's sessions: found by the folders of its state."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from segue.agents.copilot import AGENT
from segue.agents.shared.transcripts.reader import Reading, items_in, source_of
from segue.model import Mark, Source

FOLDERS = ("session-state", "history-session-state")
EVENTS = "events.jsonl"

_START = re.compile(rb'\s*\{"type"\s*:\s*"[a-z_]+(?:\.[a-z_]+){0,2}"\s*,\s*"data"\s*:\s*\{')
_IN_ORDER = re.compile(rb'\s*\{[^\n]{0,4000}?"type"\s*:\s*"session\.start"[^\n]*?"copilotVersion"')


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    for root in _roots(env):
        for folder in FOLDERS:
            for item in items_in(Path(root, folder)):
                path = item.path if item.name.endswith(".jsonl") else f"{item.path}/{EVENTS}"
                if source := source_of(AGENT.name, path):
                    yield source


def _roots(env: Mapping[str, str]) -> list[str]:
    """Its folders. Versions before 1.0 used the folder for state, if one was set."""
    if named := env.get("COPILOT_HOME"):
        found = [named]
    else:
        homes = (env.get("HOME"), env.get("XDG_STATE_HOME"))
        found = [f"{home}/.copilot" for home in homes if home]
    return [root for root in dict.fromkeys(found) if "\0" not in root]


def recognise(start: bytes) -> bool:
    return bool(_START.match(start) or _IN_ORDER.match(start))


def read(source: Source, mark: Mark | None = None) -> Reading:
    from segue.agents.copilot.events import entries  # lazy: finding and recognising need none of it

    return Reading(source, mark, entries)
