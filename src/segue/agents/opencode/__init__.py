"""OpenCode. It keeps all sessions in one SQLite database; before version 1.2 each message and each part of one
was a JSON file of its own; and `opencode export` writes a session as one document. All three hold the same
records, so one reader serves them: `store` gets the records, `parts` makes entries of them.

Nothing here is appended to, so a mark stays at the start and remembers every entry that was given. A read with
it gives what is new or says something else now; if something is gone (the person went back and deleted
messages), the read begins anew. What is still empty in the last message is left for the next read.

A fork copies the messages of its origin under new ids, and tells nothing but a title of where it came from.
So an answer is known by when its conversation began, with which words, and by when the answer began.

What cannot be told apart: a command's template, once filled in, looks like a typed prompt; and all prompts of
a sub-agent's session are taken for the main agent's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from segue.agents.opencode import store
from segue.agents.opencode.parts import Conversation, entries_of
from segue.agents.reading import Reading, text_of
from segue.model import Agent, Entry, Mark, Relation, Source

AGENT = Agent(name="opencode", title="OpenCode", vendor="opencode", program="opencode", tested="1.18.33")

SEEN = "seen"
"""In a mark's state: every entry that was given, with a short hash of what it said."""

UNTITLED = re.compile(r"(New|Child) session - \d{4}-")
FORK = re.compile(r"(.*) \(fork #(\d+)\)", re.DOTALL)

EXPORT = re.compile(rb'\s*\{\s*"info"\s*:\s*\{[^{}]{0,400}"id"\s*:\s*"ses_')
SESSION = re.compile(rb'\s*\{\s*"id"\s*:\s*"ses_')


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    folder = _data(env)
    if folder is None:
        return
    found = set()
    for source in store.in_databases(AGENT.name, folder, env.get("OPENCODE_DB", "")):
        found.add(source.part)
        yield source
    yield from store.in_files(AGENT.name, folder, without=found)


def _data(env: Mapping[str, str]) -> Path | None:
    if env.get("XDG_DATA_HOME"):
        return Path(env["XDG_DATA_HOME"], "opencode")
    return Path(env["HOME"], ".local", "share", "opencode") if env.get("HOME") else None


def recognise(start: bytes) -> bool:
    """An exported session, or a session's own file of the time before the database. The database is not told
    by its start: that may be an empty page while all is still in the log beside it."""
    return bool(EXPORT.match(start)) or (bool(SESSION.match(start)) and b'"projectID"' in start)


def read(source: Source, mark: Mark | None = None) -> Reading:
    return Reading(source, mark, _entries)


def _entries(reading: Reading) -> Iterator[Entry]:
    with store.opened(reading) as kept:
        session = kept.session
        _learn(reading, kept)
        seen = _seen(reading, kept)
        conversation = Conversation(
            id=text_of(session.get("id")),
            directory=text_of(session.get("directory")),
            is_subagent=bool(text_of(session.get("parentID"))),
            unknown=reading.unknown,
        )
        for entry in entries_of(conversation, session, kept.messages()):
            short = _hash(entry)
            if seen.get(entry.id) != short:
                seen[entry.id] = short
                yield entry
        reading.is_cut = reading.is_cut or conversation.is_unfinished
        reading.mark = Mark(state={SEEN: seen})


def _seen(reading: Reading, kept: store.Kept) -> dict[str, str]:
    """What was given before; nothing if some of it is no longer there."""
    before = reading.mark.state.get(SEEN)
    seen: dict[str, str] = dict(before) if isinstance(before, dict) else {}
    records = {id.partition("#")[0].partition("~")[0] for id in seen}
    if not seen or not records <= kept.ids():
        reading.start_over()
        return {}
    reading.is_anew = False
    return seen


def _hash(entry: Entry) -> str:
    """Of what an entry says. Its record may change in other ways: a running call's record ends as its result's."""
    said = (entry.kind, entry.text, entry.tool, entry.status, entry.is_error, entry.spend, entry.limits)
    return hashlib.blake2b(repr(said).encode(errors="replace"), digest_size=4).hexdigest()


def _learn(reading: Reading, kept: store.Kept) -> None:
    session = kept.session
    told: dict[str, Any] = {
        "id": text_of(session.get("id")),
        "version": text_of(session.get("version")),
        "project": text_of(session.get("directory")),
    }
    title = text_of(session.get("title"))
    if not UNTITLED.match(title):
        told["title"] = title
    if parent := text_of(session.get("parentID")):
        told |= {"parent": parent, "relation": Relation.SUBAGENT}
    elif (fork := FORK.fullmatch(title)) and (origin := kept.origin(_title_before(fork))):
        told |= {"parent": origin, "relation": Relation.FORK}
    reading.learn(**{name: value for name, value in told.items() if value})


def _title_before(fork: re.Match[str]) -> str:
    """The title of a fork's origin: forks of forks count on."""
    name, number = fork.group(1), int(fork.group(2)[:9])
    return f"{name} (fork #{number - 1})" if number > 1 else name
