"""Starting the chat program with a model that has no tools, and writing a conversation as its transcript."""

from __future__ import annotations

import contextlib
import re
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from segue.agents.llm import AGENT, library
from segue.agents.llm.reader import ENDING, FIRST, chats
from segue.agents.shared.launch import Launch, Start, Written
from segue.agents.shared.transcripts import entries_file
from segue.agents.shared.transcripts.native_file import refuse_other, starts_with, translate_errors
from segue.agents.shared.transcripts.reader import compact
from segue.base import files, paths
from segue.briefs import prompt
from segue.errors import AgentError, BadInput
from segue.model import Entry, EntryKind, Origin, Source
from segue.model.conversation import Conversation, Speaker, Turn
from segue.model.delivery import Mode

MADE = FIRST + b'"made":"segue",'
NEW = "new"
"""In place of an id: the program chooses one."""
PROGRAM = "segue.agents.llm.chat"
NO_TOOLS = (
    "You have no tools here: nothing can be read, run or changed by you. What you would do next, say in words, with "
    "the commands and the changes to files written out in full.\n"
)

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_POINTER = re.compile(r"# Handoff (h-\w{1,64})\nRead (/[^\n]{1,4000}) first, ")


# Starting


def program(env: Mapping[str, str]) -> str:
    """Segue's own Python: the chat program is part of Segue."""
    return sys.executable


def check_model(model: str, env: Mapping[str, str]) -> None:
    """Refuse a model that cannot be used, before anything is prepared."""
    library.refuse_without()
    if not model:
        raise BadInput(
            what="llm needs a model.",
            next=f"segue to llm:MODEL; {library.KNOWN}",
        )
    library.get(model)


def spoken(text: str) -> str:
    """A handoff, with a note for a model without tools."""
    is_due = text.startswith("# Handoff ") and not text.endswith(NO_TOOLS)
    return f"{text}\n{NO_TOOLS}" if is_due else text


def command(start: Start, env: Mapping[str, str]) -> Launch:
    library.refuse_without()
    if not start.model and not start.resume:
        check_model(start.model, env)
    id = start.resume or start.id
    path = _folder(env) / f"{_known(id) if id else NEW}{ENDING}"
    model = ("--model", start.model) if start.model else ()
    passing = ("--passing",) if start.is_question else ()
    # -P: the project may contain files named like a module.
    argv = (start.program, "-P", "-m", PROGRAM, str(path), *model, *passing)
    if start.mode is Mode.HEADLESS:
        return Launch(argv=(*argv, "--headless", *start.arguments), stdin=start.prompt)
    file = _pointed_to(start.prompt, env)
    along = ("--along", str(file)) if file else ()
    said = ("--", start.prompt.replace("\0", "\ufffd")) if start.prompt else ()
    return Launch(argv=(*argv, *along, *start.arguments, *said))


def _pointed_to(text: str, env: Mapping[str, str]) -> Path | None:
    """The file of a handoff that was too long for the prompt. A model cannot open it, so its text is sent along."""
    found = _POINTER.match(text)
    file = Path(found[2]) if found else None
    if found is None or file is None:
        return None
    is_ours = file == _folder(env).parent / "runs" / found[1] / file.name
    return (
        file if is_ours and text.removesuffix(f"\n{NO_TOOLS}") == prompt.pointing_to(found[1], file) else None
    )


def _folder(env: Mapping[str, str]) -> Path:
    folder = chats(env)
    if folder is None:
        raise AgentError(
            agent=AGENT.name, what="neither HOME nor SEGUE_HOME says where to store the transcript"
        )
    return folder


def _known(id: str) -> str:
    if not _ID.fullmatch(id):
        raise AgentError(agent=AGENT.name, what=f"{id[:80]!r} is not an id of an llm transcript")
    return id


# Writing


def new_id(seed: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"segue/{AGENT.name}/{seed}"))


def write(
    conversation: Conversation, id: str, project: Path, program: str, env: Mapping[str, str]
) -> Written:
    path = _folder(env) / f"{_known(id)}{ENDING}"
    with translate_errors(AGENT.name, f"{path} cannot be written"):
        content = b"".join(_lines(conversation, project))
        if path.exists():
            refuse_other(AGENT.name, path, content)
        else:
            files.write_file(path, content)
    return Written(id=id, path=path)


def first_line(project: Path, branch: str = "", at: str | None = None, *, is_made: bool = False) -> bytes:
    """The first line of a transcript: the folder and branch. Only a transcript whose first line says that
    Segue made it is ever removed."""
    note = Entry(
        id="1",
        kind=EntryKind.NOTE,
        origin=Origin.SYSTEM,
        text="",
        tool="chat",
        at=at,
        cwd=paths.as_text(project),
        branch=branch or None,
    )
    return entries_file.line(note, llm=1, **({"made": "segue"} if is_made else {}))


def _lines(conversation: Conversation, project: Path) -> Iterator[bytes]:
    turns = conversation.turns
    yield first_line(project.resolve(), conversation.branch, turns[0].at if turns else None, is_made=True)
    number = 1
    for turn in turns:
        for entry in _entries(turn):
            number += 1
            yield entries_file.line(entry, id=str(number), parent=str(number - 1))


def _entries(turn: Turn) -> Iterator[Entry]:
    is_person = turn.speaker is Speaker.PERSON
    if turn.text:
        yield Entry(
            id="",
            kind=EntryKind.PROMPT if is_person else EntryKind.REPLY,
            origin=Origin.HUMAN if is_person else Origin.ASSISTANT,
            text=turn.text,
            at=turn.at,
            model=None if is_person else turn.model or None,
        )
    for use in turn.uses:
        shared: dict[str, Any] = {"id": "", "at": turn.at, "tool": use.tool, "call": use.id}
        arguments = compact(use.arguments)
        yield Entry(kind=EntryKind.CALL, origin=Origin.ASSISTANT, text=arguments, **shared)
        yield Entry(
            kind=EntryKind.RESULT, origin=Origin.TOOL, text=use.result, is_error=use.is_error, **shared
        )


# Taking away


def discard(source: Source, program: str, env: Mapping[str, str]) -> None:
    path = Path(source.path)
    is_named = path.name.endswith(ENDING) and _ID.fullmatch(path.name.removesuffix(ENDING))
    with translate_errors(AGENT.name, f"{path} cannot be removed"), contextlib.suppress(FileNotFoundError):
        if not is_named or path.parent.resolve() != _folder(env).resolve() or not starts_with(path, MADE):
            raise AgentError(agent=AGENT.name, what=f"{path} was not made by Segue; it was left as it is")
        path.unlink()
