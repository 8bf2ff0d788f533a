"""A transcript of Gemini CLI as a whole: its lines, or its one object, and the description of the session."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from segue.agents.gemini import parts
from segue.agents.gemini.messages import Conversation
from segue.agents.shared.transcripts import reader
from segue.agents.shared.transcripts.reader import Reading, dict_of, list_of, moment_of, text_of
from segue.errors import AgentError
from segue.model import Entry, Origin, Relation, Source

KEPT = ("sessionId", "projectHash", "kind", "summary")
"""What is remembered of a session's description."""
SMALL = 1 << 20
LONGEST_BRACE = 16


def entries(reading_: Reading) -> Iterator[Entry]:
    return _document(reading_) if _is_document(reading_.source) else _lines(reading_)


def _is_document(source: Source) -> bool:
    """Whether it is one object: by its name, or by its first line if it was renamed."""
    if source.path.endswith(".json"):
        return True
    with reader.open_file(source) as file:
        return file.readline(LONGEST_BRACE).strip() == b"{"


# Lines


def _lines(reading_: Reading) -> Iterator[Entry]:
    conversation: Conversation | None = None
    _describe(reading_)
    for record in reader.records(reading_):
        if conversation is None:  # after the first record, the reading knows whether the file is the same
            _describe(reading_)
            conversation = _conversation(reading_, is_appended=True)
        yield from _record(reading_, conversation, record)


def _record(reading_: Reading, conversation: Conversation, record: dict[str, Any]) -> Iterator[Entry]:
    if "$rewindTo" in record:
        yield conversation.note("$rewindTo", record, text_of(record["$rewindTo"]))
        conversation.rewind(text_of(record["$rewindTo"]))
    elif isinstance(record.get("$set"), dict):
        changes = record["$set"]
        yield conversation.note("$set", record, at=moment_of(changes.get("lastUpdated")))
        _update(reading_, conversation, changes)
        yield from conversation.history(list_of(changes.get("messages")))
    elif "sessionId" in record and "id" not in record:
        yield conversation.note("session", record, at=moment_of(record.get("startTime")))
        _update(reading_, conversation, record)
        yield from conversation.history(list_of(record.get("messages")))
    elif "content" in record or "type" in record:
        added = False
        for entry in conversation.message(record):
            added = True
            yield entry
        if not added:
            yield conversation.note("repeated", record, at=moment_of(record.get("timestamp")))
    else:
        reading_.unknown["record"] += 1
        yield conversation.note("record", record)


def _conversation(reading_: Reading, *, is_appended: bool) -> Conversation:
    is_subagent = dict_of(reading_.mark.state.get("session")).get("kind") == "subagent"
    writer = Origin.ASSISTANT if is_subagent else Origin.HUMAN
    return Conversation(reading_, is_appended=is_appended, writer=writer)


def _update(reading_: Reading, conversation: Conversation, changes: dict[str, Any]) -> None:
    """Apply what a line says about the session."""
    session = reading_.mark.state.setdefault("session", {})
    session.update({key: changes[key] for key in KEPT if isinstance(changes.get(key), str)})
    folders = parts.texts_of(changes.get("directories"))
    if folders:
        session["directory"] = folders[0]
    if session.get("kind") == "subagent":
        conversation.writer = Origin.ASSISTANT
    _describe(reading_)


# One object


def _document(reading_: Reading) -> Iterator[Entry]:
    found = reader.document(reading_)
    if not isinstance(found, dict):
        return
    session = dict_of(reading_.mark.state.get("session"))
    if session.get("sessionId") != found.get("sessionId"):
        reading_.start_over()
    else:
        reading_.is_anew = False
    reading_.mark.state.update(tail=None, stopped=False, typed=None)
    conversation = _conversation(reading_, is_appended=False)
    if reading_.is_anew:
        described = {key: value for key, value in found.items() if key != "messages"}
        yield conversation.note("session", described, at=moment_of(found.get("startTime")))
    _update(reading_, conversation, found)
    for number, message in enumerate(list_of(found.get("messages")), 1):
        if isinstance(message, dict):
            yield from conversation.message(message, f"message.{number}")


# The session as a whole


def _describe(reading_: Reading) -> None:
    session = dict_of(reading_.mark.state.get("session"))
    if not session:
        return
    learned = {"id": session.get("sessionId"), "title": session.get("summary")}
    folder = Path(reading_.source.path).parent
    if session.get("kind") == "subagent":
        learned["relation"] = Relation.SUBAGENT
        if folder.parent.name == "chats":
            learned["parent"], folder = folder.name, folder.parent
    if "project" not in session:
        session["project"] = (
            _project(folder.parent, session, reading_.source.agent) if folder.name == "chats" else ""
        )
    learned["project"] = session["project"] or session.get("directory")
    reading_.learn(**{key: value for key, value in learned.items() if value})


def _project(place: Path, session: dict[str, Any], agent: str) -> str:
    """The project folder of a session: from the file next to it, or from a list of all, by name or hash."""
    told = _small_file(place / ".project_root", agent).decode("utf-8", "replace").strip()
    if told:
        return told
    listed = dict_of(
        dict_of(reader.decode_any(_small_file(place.parents[1] / "projects.json", agent))).get("projects")
    )
    for project, name in listed.items():
        if name == place.name or hashlib.sha256(project.encode()).hexdigest() in (
            place.name,
            session.get("projectHash"),
        ):
            return project
    return ""


def _small_file(path: Path, agent: str) -> bytes:
    try:
        with reader.open_file(Source(agent=agent, path=str(path))) as file:
            return file.read(SMALL)
    except (AgentError, OSError):
        return b""
