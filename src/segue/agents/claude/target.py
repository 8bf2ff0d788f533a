"""Claude Code as the receiver of work: how it is started, and where a conversation is put for its resume to open.

What is in such a transcript is told in `writing`. Whatever is written or started under an id of `new_id` can be told
from the program's own by that id alone, and nothing else is ever taken away.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path

import msgspec

from segue.agents.claude.reader import AGENT, roots
from segue.agents.claude.transcript_writer import records
from segue.agents.shared.launch import Launch, Start, Written
from segue.base import files
from segue.errors import AgentError
from segue.model import Source
from segue.model.conversation import Conversation
from segue.model.delivery import Mode

CONFIG = "CLAUDE_CONFIG_DIR"

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEADLESS = ("-p", "--output-format", "stream-json", "--verbose")
_ONLY_ANSWER = ("--tools=", "--strict-mcp-config", "--max-turns=1", '--settings={"disableAllHooks":true}')


# Starting


def command(start: Start, env: Mapping[str, str]) -> Launch:
    options = (
        *_transcript_of(start),
        *((f"--model={start.model}",) if start.model else ()),
        *(_ONLY_ANSWER if start.is_question else ()),
        *start.arguments,
    )
    added = _folder_named(start.project, env)
    if start.mode is Mode.OPEN and not start.is_question:
        prompt = ("--", _no_command(spoken(start.prompt))) if start.prompt.strip() else ()
        return Launch(argv=(start.program, *options, *prompt), env=added)
    return Launch(argv=(start.program, *_HEADLESS, *options), env=added, stdin=spoken(start.prompt))


def _transcript_of(start: Start) -> tuple[str, ...]:
    for option, id in (("--resume", start.resume), ("--session-id", start.id)):
        if id:
            return (f"{option}={_checked(id)}",)
    return ()


_MENTION = re.compile(r"(?<![!-~\w])@(?=\S)")
_SLASH = re.compile(r"\A([\s\ufeff]*)/")


def spoken(prompt: str) -> str:
    r"""The same as words and nothing else. What begins with / would be run as a command. A word that begins with
    @ would have the program read that file and send it along, whoever wrote the word: it is made to begin with \@."""
    said = prompt.encode(errors="replace").decode().replace("\0", "\ufffd")
    return _SLASH.sub(r"\1\\/", _MENTION.sub(r"\\@", said))


def _no_command(prompt: str) -> str:
    """A single word could be the name of something that the program does: `update`, `exit`."""
    return prompt if len(prompt.split()) > 1 else f"{prompt.rstrip()}."


# Writing


def new_id(seed: str) -> str:
    return _completed(uuid.uuid5(uuid.NAMESPACE_OID, f"segue/{AGENT.name}/{seed}").bytes[:8])


def _completed(half: bytes) -> str:
    rest = hashlib.sha256(b"segue" + half).digest()[:8]
    return str(uuid.UUID(bytes=half + rest, version=5))


def _is_ours(id: str) -> bool:
    """Whether an id was made by `new_id`: its second half follows from its first."""
    return bool(_ID.fullmatch(id)) and _completed(uuid.UUID(id).bytes[:8]) == id


def write(
    conversation: Conversation, id: str, project: Path, program: str, env: Mapping[str, str]
) -> Written:
    folder = os.path.realpath(project)
    path = _projects(project, env) / folder_name(folder) / f"{_checked(id)}.jsonl"
    found = records(conversation, id, folder)
    if not found:
        raise _error("there is nothing to write")
    try:
        content = b"".join(msgspec.json.encode(record) + b"\n" for record in found)
        if not os.path.lexists(path):
            files.write_file(path, content)
        elif not _begins_with(path, content):
            raise _error(f"{path} holds another conversation under this id; it was left as it is")
    except UnicodeEncodeError as error:
        raise _error(f"{path} cannot be written: not all of it is text") from error
    except OSError as error:
        raise _error(f"{path} cannot be written: {error.strerror or error}") from error
    return Written(id=id, path=path)


def _begins_with(path: Path, content: bytes) -> bool:
    """Whether a file is what was written: what the agent has added since is its own."""
    with files.open_file(path) as file:
        return file.read(len(content)) == content


def discard(source: Source, program: str, env: Mapping[str, str]) -> Launch | None:
    """Only under an id that Segue gave, and only where the program keeps its transcripts."""
    path = Path(source.path)
    projects = Path(os.path.realpath(path.parent)).parent
    known = [os.path.realpath(root / "projects") for root in roots(env)]
    if path.suffix != ".jsonl" or not _is_ours(path.stem) or str(projects) not in known:
        raise _error(f"{path} was not made by Segue; it was left as it is")
    beside = path.with_suffix("")
    try:
        path.unlink(missing_ok=True)
        if beside.is_dir() and not beside.is_symlink():
            shutil.rmtree(beside)
    except OSError as error:
        raise _error(f"{path} cannot be removed: {error.strerror or error}") from error
    return None


# Where it is


def _projects(project: Path, env: Mapping[str, str]) -> Path:
    found = roots(env)
    if not found:
        raise _error(f"neither HOME nor {CONFIG} says where it keeps its transcripts")
    # Of those that are named the first; of those that are usual, the one that it still uses.
    return project / (found[0] if _named(env) else found[-1]) / "projects"


def _folder_named(project: Path, env: Mapping[str, str]) -> dict[str, str]:
    """The program takes all that is named for one folder, a list as well, and knows no ~: it is told the first."""
    root = str(_projects(project, env).parent) if _named(env) else ""
    return {CONFIG: root} if root != _named(env) else {}


def _named(env: Mapping[str, str]) -> str:
    named = env.get(CONFIG, "")
    return named if named.strip(" ,") else ""


_LONGEST_NAME = 200


def folder_name(folder: str) -> str:
    """What the program calls the folder with the transcripts of a project; before 2.1 it shortened none."""
    pairs = folder.encode("utf-16-be", "surrogatepass")
    units = [high << 8 | low for high, low in zip(pairs[::2], pairs[1::2], strict=True)]
    name = "".join(chr(unit) if unit < 128 and chr(unit).isalnum() else "-" for unit in units)
    if len(name) <= _LONGEST_NAME:
        return name
    number = 0
    for unit in units:
        number = (number * 31 + unit) % 2**32
    return f"{name[:_LONGEST_NAME]}-{_base36(min(number, 2**32 - number))}"


def _base36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


def _checked(id: str) -> str:
    if not _ID.fullmatch(id):
        raise _error(f"{id[:80]!r} is no id of a transcript that it could go on with")
    return id


def _error(what: str) -> AgentError:
    return AgentError(agent=AGENT.title, what=what)
