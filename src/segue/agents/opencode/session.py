"""A session of OpenCode as a whole: what is new since the last read, and what it says about itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from segue.agents.opencode import storage
from segue.agents.opencode.parts import Conversation, entries_of
from segue.agents.shared.transcripts.reader import Reading, text_of
from segue.base.hashes import short_hash
from segue.model import Entry, Mark, Relation

SEEN = "seen"
"""Key in a mark's state: every entry that was given, with a short hash of its content."""

UNTITLED = re.compile(r"(New|Child) session - \d{4}-")
FORK = re.compile(r"(.*) \(fork #(\d+)\)", re.DOTALL)


def entries(reading: Reading) -> Iterator[Entry]:
    with storage.opened(reading) as kept:
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


def _seen(reading: Reading, kept: storage.Kept) -> dict[str, str]:
    """The entries given earlier; empty if one of them is gone."""
    before = reading.mark.state.get(SEEN)
    seen: dict[str, str] = before if isinstance(before, dict) else {}
    records = {id.partition("#")[0].partition("~")[0] for id in seen}
    if not seen or not records <= kept.ids():
        reading.start_over()
        return {}
    reading.is_anew = False
    return seen


def _hash(entry: Entry) -> str:
    """A hash of an entry's content. Its record may change otherwise: a running call's record later becomes
    its result's."""
    said = (entry.kind, entry.text, entry.tool, entry.status, entry.is_error, entry.spend, entry.limits)
    return short_hash(repr(said).encode(errors="replace")).hex()[:8]


def _learn(reading: Reading, kept: storage.Kept) -> None:
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
    """The title of a fork's origin: forks of forks are numbered on."""
    name, number = fork.group(1), int(fork.group(2)[:9])
    return f"{name} (fork #{number - 1})" if number > 1 else name
