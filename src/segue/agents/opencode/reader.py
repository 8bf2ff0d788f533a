"""OpenCode's sessions: in its database, in files of older versions, or exported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from segue.agents.opencode import AGENT
from segue.agents.shared.transcripts.reader import Reading
from segue.errors import AgentError
from segue.model import Mark, Source

EXPORT = re.compile(rb'\s*\{\s*"info"\s*:\s*\{[^{}]{0,400}"id"\s*:\s*"ses_')
SESSION = re.compile(rb'\s*\{\s*"id"\s*:\s*"ses_')


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    folder = data_folder(env)
    if folder is None:
        return
    from segue.agents.opencode import storage  # lazy: imports SQLite

    found = set()
    unread: AgentError | None = None
    try:
        for source in storage.in_databases(AGENT.name, folder, env.get("OPENCODE_DB", "")):
            found.add(source.part)
            yield source
    except AgentError as error:
        unread = error
    yield from storage.in_files(AGENT.name, folder, without=found)
    if unread:
        raise unread


def data_folder(env: Mapping[str, str]) -> Path | None:
    """The folder with its data."""
    if env.get("XDG_DATA_HOME"):
        return Path(env["XDG_DATA_HOME"], "opencode")
    return Path(env["HOME"], ".local", "share", "opencode") if env.get("HOME") else None


def recognise(start: bytes) -> bool:
    """An exported session, or a session file from before the database. The database is not recognised by its
    start, which may be an empty page while all data is still in the log next to it."""
    return bool(EXPORT.match(start)) or (bool(SESSION.match(start)) and b'"projectID"' in start)


def read(source: Source, mark: Mark | None = None) -> Reading:
    from segue.agents.opencode.session import entries  # lazy: finding and recognising need none of it

    return Reading(source, mark, entries)
