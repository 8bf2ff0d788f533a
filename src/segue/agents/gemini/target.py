"""Starting Gemini CLI, and writing a conversation as a session file that it can resume.

In every prompt, the program looks for file references (`@name`, anywhere) and commands (`/name`, at the start): it
reads the file or runs the command before the model sees anything. A brief contains many such words and means none of
them. So each gets a backslash, the program's own escape sign; the model sees the backslash too.

Its file names end in the first eight characters of an id. When it resumes a session, it leaves an empty file with
such a name next to it. At its next start it deletes empty files, and with them all files with the same ending: the
session too. So Segue's files have the whole id in their names, and `tidy` removes the empty files.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from segue.agents.gemini import AGENT, parts
from segue.agents.gemini.project_slug import claim
from segue.agents.gemini.reader import FOLDER, read
from segue.agents.shared.launch import Launch, Start, Written
from segue.agents.shared.transcripts.native_file import refuse_other, translate_errors
from segue.agents.shared.transcripts.reader import compact, decode, source_of
from segue.base import clock, files
from segue.base.clock import Moment
from segue.base.text import begun
from segue.errors import AgentError
from segue.model import EntryKind, Origin, Source
from segue.model.conversation import Conversation, Speaker, ToolUse, Turn
from segue.model.delivery import Mode

MAKER = "segue"
"""The maker in the first line. Only sessions with this mark are ever removed."""
UNTIMED = "1970-01-01T00:00:00.000000Z"
"""The time of a conversation without any times."""
NO_TOOLS = Path(__file__).with_name("no_tools.toml")
ALONE = ("--allowed-mcp-server-names", "none", "--extensions", "none")
SHOWN = 120
"""How many characters of a call's arguments the user sees in an opened session. The model gets all of them."""

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAME = re.compile(rf"session-\d{{4}}-\d\d-\d\dT\d\d-\d\d-({_ID.pattern})\.jsonl")
_REFERENCE = re.compile(r"(?<!\\)@(?=[^ \t\n\r,;!?()\[\]{}])")
_LEFT_OUT = ("/", "?", "<session_context>", "<hook_context>")
"""Prefixes of user messages that the program, on resuming, does not take for the user's."""
_LONGEST_FIRST_LINE = 1 << 20

Record = dict[str, Any]


# Starting


def command(start: Start, env: Mapping[str, str]) -> Launch:
    known = ("--resume", start.resume) if start.resume else ()
    new = ("--session-id", start.id) if start.id and not start.resume else ()
    model = ("--model", start.model) if start.model else ()
    only_answer = ("--policy", str(NO_TOOLS), *ALONE) if start.is_question else ()
    argv = (start.program, *known, *new, *model, *only_answer, *start.arguments)
    if start.mode is Mode.OPEN:
        prompt = (f"--prompt-interactive={spoken(start.prompt)}",) if start.prompt else ()
        return Launch(argv=(*argv, *prompt))
    return Launch(argv=(*argv, "--output-format", "stream-json"), stdin=spoken(start.prompt))


def spoken(prompt: str) -> str:
    """The prompt with escapes, so that nothing in it is taken for a reference or a command. The transcript
    holds this text."""
    plain = _REFERENCE.sub(r"\\@", prompt.replace("\0", "\N{REPLACEMENT CHARACTER}"))
    return plain.replace("/", r"\/", 1) if plain.lstrip().startswith("/") else plain


# Writing


def new_id(seed: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{MAKER}/{AGENT.name}/{seed}"))


def write(
    conversation: Conversation, id: str, project: Path, program: str, env: Mapping[str, str]
) -> Written:
    if not _ID.fullmatch(id):
        raise AgentError(agent=AGENT.name, what=f"{id!r} is not a session id")
    root = _root(env)
    began = next(_moments(conversation.turns), UNTIMED)
    with translate_errors(AGENT.name, f"cannot write a session below {root}"):
        folder = project.resolve()
        content = b"".join(_line(record) for record in _records(conversation, id, folder, began))
        chats = root / "tmp" / claim(root, folder) / "chats"
        known = next(iter(sorted(chats.glob(f"session-*-{id}.jsonl"))), None)
        path = known or chats / f"session-{began[:16].replace(':', '-')}-{id}.jsonl"
        if known is None:
            files.write_file(path, content)
        else:
            refuse_other(AGENT.name, known, content)
    return Written(id=id, path=path)


def _root(env: Mapping[str, str]) -> Path:
    home = env.get("GEMINI_CLI_HOME") or env.get("HOME")
    if not home or "\0" in home:
        what = "neither HOME nor GEMINI_CLI_HOME says where its sessions are"
        raise AgentError(agent=AGENT.name, what=what)
    return Path(home, FOLDER)


def _line(record: Record) -> bytes:
    return msgspec.json.encode(record) + b"\n"


def _records(conversation: Conversation, id: str, project: Path, began: Moment) -> Iterator[Record]:
    # No `lastUpdated`: the program deletes sessions that are too old by it.
    yield {
        "sessionId": id,
        "projectHash": hashlib.sha256(str(project).encode(errors="surrogateescape")).hexdigest(),
        "startTime": _time(began),
        "kind": "main",
        "madeBy": MAKER,
        **({"summary": conversation.title} if conversation.title else {}),
    }
    at, number = began, itertools.count(1)
    for turn in conversation.turns:
        at = next(_moments([turn]), at)
        for message in _messages(turn):
            name = str(uuid.uuid5(uuid.UUID(id), str(next(number))))
            yield {"id": name, "timestamp": _time(at), **message}


def _messages(turn: Turn) -> Iterator[Record]:
    yield _person(turn) if turn.speaker is Speaker.PERSON else _agent(turn)
    if turn.uses:
        yield _results(turn)


def _moments(turns: Iterable[Turn]) -> Iterator[Moment]:
    for turn in turns:
        with contextlib.suppress(ValueError):
            if turn.at:
                yield clock.moment(clock.parse(turn.at))


def _time(at: Moment) -> str:
    """A time in the program's form: with milliseconds."""
    return at[:23] + "Z"


def _person(turn: Turn) -> Record:
    part: Record = {"text": turn.text}
    shown = {} if _is_plain(turn.text) else {"displayContent": turn.text}
    if turn.text.strip().startswith(_LEFT_OUT):
        part["thought"] = (
            False  # changes nothing for the model, and keeps the program from dropping the message
        )
    return {"type": "user", "content": [part], **shown}


def _is_plain(text: str) -> bool:
    """Whether the program will take the text for the user's: some prefixes are its own."""
    read = [(entry.kind, entry.text) for entry in parts.user_texts([{"text": text}], None, Origin.HUMAN)]
    return read == [(EntryKind.PROMPT, text)] and not text.strip().startswith(_LEFT_OUT)


def _agent(turn: Turn) -> Record:
    words = [{"text": turn.text}] if turn.text else []
    calls = [{"functionCall": {"id": use.id, "name": use.tool, "args": use.arguments}} for use in turn.uses]
    shown = "\n".join([*filter(None, [turn.text]), *map(_shown, turn.uses)])
    model = {"model": turn.model} if turn.model else {}
    return {"type": "gemini", "content": [*words, *calls], "displayContent": shown, "thoughts": [], **model}


def _shown(use: ToolUse) -> str:
    return f"[{use.tool}] {begun(compact(use.arguments), SHOWN)}"


def _results(turn: Turn) -> Record:
    """A separate message: next to the calls, the program would send them to the model again with every resumption."""
    answers = [
        {"id": use.id, "name": use.tool, "response": {"error" if use.is_error else "output": use.result}}
        for use in turn.uses
    ]
    content = [{"functionResponse": answer} for answer in answers]
    return {"type": "user", "content": content, "displayContent": " "}  # shows nothing


# Taking away


def discard(source: Source, program: str, env: Mapping[str, str]) -> Launch | None:
    """Remove a session that Segue made, and nothing else."""
    path, root = Path(source.path), _root(env)
    named = _NAME.fullmatch(path.name)
    with translate_errors(AGENT.name, f"{path} cannot be removed"), contextlib.suppress(FileNotFoundError):
        if not named or not path.parent.resolve().is_relative_to((root / "tmp").resolve()):
            raise AgentError(
                agent=AGENT.name, what=f"{path} is not a session of Gemini CLI; it was left as it is"
            )
        with files.open_file(path) as file:
            about = decode(file.readline(_LONGEST_FIRST_LINE)) or {}
        if about.get("madeBy") != MAKER or about.get("sessionId") != named[1]:
            raise AgentError(agent=AGENT.name, what=f"{path} was not made by Segue; it was left as it is")
        path.unlink()
    return None


def tidy(id: str, env: Mapping[str, str]) -> None:
    """Remove the empty files that the program left next to a session when it resumed it."""
    if not _ID.fullmatch(id):
        return
    for chats in {path.parent for path in (_root(env) / "tmp").glob(f"*/chats/session-*-{id[:8]}*.jsonl")}:
        named = [source_of(AGENT.name, path) for path in chats.glob(f"session-*-{id[:8]}*.jsonl")]
        holds = {source.path: _holds(source, id) for source in named if source}
        if True in holds.values():
            for path in (path for path, is_held in holds.items() if is_held is False):
                with contextlib.suppress(OSError):
                    Path(path).unlink()


def _holds(source: Source, id: str) -> bool | None:
    """Whether a file contains anything of this session; None if it belongs to another."""
    reading = read(source)
    try:
        has_words = any(entry.kind is not EntryKind.NOTE for entry in reading)
    except AgentError:
        return None
    return has_words if reading.learned.get("id") == id else None
