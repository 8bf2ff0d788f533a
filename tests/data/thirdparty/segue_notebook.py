"""Notebook keeps each conversation as a file of JSON lines in ~/.notebook."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from segue.agents.shared.launch import Launch, Start, Written
from segue.agents.shared.transcripts.reader import (
    Reading,
    compact,
    count_of,
    decode,
    dict_of,
    moment_of,
    records,
    text_of,
)
from segue.base import files
from segue.errors import AgentError
from segue.model import Agent, Entry, EntryKind, Mark, Origin, Source, Spend, Tokens
from segue.model.conversation import Conversation, Speaker, Turn
from segue.model.delivery import Mode

AGENT = Agent(name="notebook", title="Notebook", vendor="Example", program="notebook", tested="1.0.0")


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    for path in sorted(Path(env.get("HOME", "/"), ".notebook").glob("*.jsonl")):
        try:
            found = path.stat()
        except OSError:
            continue  # gone since, or not ours to look at
        yield Source(agent=AGENT.name, path=str(path), size=found.st_size, stamp=found.st_mtime_ns)


def recognise(start: bytes) -> bool:
    return start.startswith(b'{"notebook":')


def read(source: Source, mark: Mark | None = None) -> Reading:
    return Reading(source, mark, _entries)


def _entries(reading: Reading) -> Iterator[Entry]:
    for record in records(reading):
        # Only now is it known whether the mark holds: a file that was replaced starts with an empty state.
        state = reading.mark.state
        state["lines"] = state.get("lines", 0) + 1
        entry = _entry(reading, record, f"line-{state['lines']}", state)
        state["last"] = entry.id
        yield entry


def _entry(reading: Reading, record: dict[str, Any], id: str, state: dict[str, Any]) -> Entry:
    kind, origin = _kind(record)
    calls: dict[str, list[str]] = state.setdefault("calls", {})
    call, text, tool = (text_of(record.get(name)) for name in ("call", "says", "runs"))
    above: str | None = state.get("last")
    if kind is EntryKind.CALL:
        calls[call] = [id, tool]
        text = compact(dict_of(record.get("with")))
    elif kind is EntryKind.RESULT and call in calls:
        above, tool = calls.pop(call)
    elif kind is EntryKind.NOTE:
        tool = next(iter(record), "")
        if "notebook" in record:
            reading.learn(project=text_of(record.get("folder")))
        else:
            reading.unknown[tool] += 1
    exit_status = record.get("exit")
    return Entry(
        id=id,
        kind=kind,
        origin=origin,
        text=text,
        parent=above,
        at=moment_of(record.get("at")),
        model=text_of(record.get("model")) or None,
        tool=tool or None,
        call=call or None,
        status=exit_status if type(exit_status) is int else None,
        is_error=type(exit_status) is int and exit_status != 0,
        spend=_spend(record),
        native=record,
    )


def _kind(record: dict[str, Any]) -> tuple[EntryKind, Origin]:
    match record.get("who"):
        case "person":
            return EntryKind.PROMPT, Origin.HUMAN
        case "agent":
            return EntryKind.CALL if record.get("runs") else EntryKind.REPLY, Origin.ASSISTANT
        case "tool":
            return EntryKind.RESULT, Origin.TOOL
    return EntryKind.NOTE, Origin.SYSTEM


def _spend(record: dict[str, Any]) -> Spend | None:
    answer, tokens = text_of(record.get("answer")), dict_of(record.get("tokens"))
    if not answer:
        return None
    return Spend(
        key=f"notebook:{answer}",
        model=text_of(record.get("model")),
        tokens=Tokens(input=count_of(tokens.get("in")), output=count_of(tokens.get("out"))),
        at=moment_of(record.get("at")),
    )


# Being handed work


def command(start: Start, env: Mapping[str, str]) -> Launch:
    known = ("--continue", start.resume) if start.resume else ()
    model = ("--model", start.model) if start.model else ()
    only_answer = ("--no-tools",) if start.is_question else ()
    options = (*known, *model, *only_answer, *start.arguments)
    if start.mode is Mode.OPEN:
        prompt = ("--", start.prompt) if start.prompt else ()
        return Launch(argv=(start.program, *options, *prompt))
    return Launch(argv=(start.program, "--batch", *options), stdin=start.prompt)


def new_id(seed: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"segue/notebook/{seed}"))


def write(
    conversation: Conversation, id: str, project: Path, program: str, env: Mapping[str, str]
) -> Written:
    if not re.fullmatch("[0-9a-f-]{36}", id) or not env.get("HOME"):
        raise AgentError(agent=AGENT.name, what=f"there is no place for a transcript {id!r}")
    path = Path(env["HOME"], ".notebook", f"{id}.jsonl")
    about = {"notebook": 1, "folder": str(project.resolve()), "made_by": "segue"}
    lines = [about, *(line for turn in conversation.turns for line in _lines(turn))]
    content = "".join(compact(line) + "\n" for line in lines).encode()
    try:
        if not path.exists():
            files.write_file(path, content)
        if not path.read_bytes().startswith(content):  # what the agent has added since is its own
            raise AgentError(agent=AGENT.name, what=f"{path} holds another conversation; it stays as it is")
    except OSError as error:
        raise AgentError(agent=AGENT.name, what=f"{path} cannot be written: {error.strerror}") from error
    return Written(id=id, path=path)


def _lines(turn: Turn) -> Iterator[dict[str, Any]]:
    at = {"at": turn.at} if turn.at else {}
    if turn.text:
        yield {"who": "person" if turn.speaker is Speaker.PERSON else "agent", "says": turn.text, **at}
    for use in turn.uses:
        yield {"who": "agent", "runs": use.tool, "with": use.arguments, "call": use.id, **at}
        yield {"who": "tool", "call": use.id, "says": use.result, "exit": int(use.is_error), **at}


def discard(source: Source, program: str, env: Mapping[str, str]) -> Launch | None:
    path = Path(source.path)
    if not path.exists():
        return None
    with files.open_file(path) as file:
        is_ours = (decode(file.readline(10_000)) or {}).get("made_by") == "segue"
    if path.parent != Path(env.get("HOME", "/"), ".notebook") or not is_ours:
        raise AgentError(agent=AGENT.name, what=f"{path} was not made by Segue; it stays as it is")
    path.unlink()
    return None
