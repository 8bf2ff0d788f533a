"""Copilot CLI keeps a session as a file of events, each with an id and the id of the one before it.

It tells whose words a message is, every call and its result, sub-agents (in the same file), and the person's
answers to questions. Of tokens it tells what each call used since about 1.0.100. Before, it tells with each
answer only what came out; what went in, and what was cached, only when the program ends, as a sum for each
model. So an older session that is still open, that crashed, or that was left by `/new`, shows output alone,
and none of its answers shows how full the context was. It tells of a limit when one is hit, with its kind and
seldom with its end; of how much of it is used, it tells in the record of a call, if at all. What it costs it
tells in units of its own, never in dollars.
"""

from __future__ import annotations

import copy
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from segue.agents.copilot.events import Events
from segue.agents.reading import Reading, records
from segue.model import Agent, Entry, Mark, Source

AGENT = Agent(name="copilot", title="Copilot CLI", vendor="github", program="copilot", tested="")

FOLDERS = ("session-state", "history-session-state")
EVENTS = "events.jsonl"

_START = re.compile(rb'\s*\{"type"\s*:\s*"[a-z_]+(?:\.[a-z_]+){0,2}"\s*,\s*"data"\s*:\s*\{')
_IN_ORDER = re.compile(rb'\s*\{[^\n]{0,4000}?"type"\s*:\s*"session\.start"[^\n]*?"copilotVersion"')


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    for root in _roots(env):
        for folder in FOLDERS:
            for item in _items(Path(root, folder)):
                if item.name.endswith(".jsonl"):
                    yield from _source(Path(item.path))
                else:
                    yield from _source(Path(item.path, EVENTS))


def _roots(env: Mapping[str, str]) -> list[str]:
    """Where it keeps its things; versions before 1.0 followed the folder for state, if one was set."""
    if named := env.get("COPILOT_HOME"):
        found = [named]
    else:
        homes = (env.get("HOME"), env.get("XDG_STATE_HOME"))
        found = [f"{home}/.copilot" for home in homes if home]
    return [root for root in dict.fromkeys(found) if "\0" not in root]


def _items(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda item: item.name)
    except OSError:
        return []


def _source(path: Path) -> Iterator[Source]:
    try:
        str(path).encode()
        found = path.stat()
    except (OSError, UnicodeEncodeError):
        return
    if stat.S_ISREG(found.st_mode):
        yield Source(agent=AGENT.name, path=str(path), size=found.st_size, stamp=found.st_mtime_ns)


def recognise(start: bytes) -> bool:
    return bool(_START.match(start) or _IN_ORDER.match(start))


def read(source: Source, mark: Mark | None = None) -> Reading:
    own = msgspec.structs.replace(mark, state=copy.deepcopy(mark.state)) if mark else None
    return Reading(source, own, _entries)


def _entries(reading: Reading) -> Iterator[Entry]:
    events: Events | None = None
    for record in records(reading):
        # Only now is it known whether the mark holds: a file that was replaced starts with an empty state.
        events = events or Events(reading)
        yield from events.entries(record)
