"""Start Claude Code, and write a conversation as a transcript that it can resume.

`transcript_writer` makes the records. Segue recognises its own transcripts by their ids, made by `new_id`, and never
removes any other.
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
from segue.agents.shared.transcripts.native_file import refuse_other, translate_errors
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
    r"""Escape a prompt. The program would run a prompt that begins with / as a command, and read and send the file
    named by a word that begins with @, whoever wrote the word. So both get a backslash."""
    said = prompt.encode(errors="replace").decode().replace("\0", "\ufffd")
    return _SLASH.sub(r"\1\\/", _MENTION.sub(r"\\@", said))


def _no_command(prompt: str) -> str:
    """Add a full stop to a single word: it could be a subcommand, such as `update`."""
    return prompt if len(prompt.split()) > 1 else f"{prompt.rstrip()}."


# Writing


def new_id(seed: str) -> str:
    return _completed(uuid.uuid5(uuid.NAMESPACE_OID, f"segue/{AGENT.name}/{seed}").bytes[:8])


def _completed(half: bytes) -> str:
    rest = hashlib.sha256(b"segue" + half).digest()[:8]
    return str(uuid.UUID(bytes=half + rest, version=5))


def _is_ours(id: str) -> bool:
    """Whether an id was made by `new_id`: its second half is a hash of its first."""
    return bool(_ID.fullmatch(id)) and _completed(uuid.UUID(id).bytes[:8]) == id


def write(
    conversation: Conversation, id: str, project: Path, program: str, env: Mapping[str, str]
) -> Written:
    folder = os.path.realpath(project)
    path = _projects(project, env) / folder_name(folder) / f"{_checked(id)}.jsonl"
    found = records(conversation, id, folder)
    if not found:
        raise _error("the conversation is empty, so there is nothing to write")
    with translate_errors(AGENT.title, f"{path} cannot be written"):
        content = b"".join(msgspec.json.encode(record) + b"\n" for record in found)
        if os.path.lexists(path):
            refuse_other(AGENT.title, path, content)
        else:
            files.write_file(path, content)
    return Written(id=id, path=path)


def discard(source: Source, program: str, env: Mapping[str, str]) -> Launch | None:
    """Remove a transcript with an id of Segue's, from the program's own folder. Refuse all others."""
    path = Path(source.path)
    projects = Path(os.path.realpath(path.parent)).parent
    known = [os.path.realpath(root / "projects") for root in roots(env)]
    if path.suffix != ".jsonl" or not _is_ours(path.stem) or str(projects) not in known:
        raise _error(f"{path} was not made by Segue; it was left as it is")
    beside = path.with_suffix("")
    with translate_errors(AGENT.title, f"{path} cannot be removed"):
        path.unlink(missing_ok=True)
        if beside.is_dir() and not beside.is_symlink():
            shutil.rmtree(beside)
    return None


# Folders


def _projects(project: Path, env: Mapping[str, str]) -> Path:
    found = roots(env)
    if not found:
        raise _error(f"neither HOME nor {CONFIG} says where its transcripts are")
    # The first folder in the variable, or the default one that is still in use.
    return project / (found[0] if _named(env) else found[-1]) / "projects"


def _folder_named(project: Path, env: Mapping[str, str]) -> dict[str, str]:
    """The variable with its first folder alone: the program takes a list for one path, and does not expand ~."""
    root = str(_projects(project, env).parent) if _named(env) else ""
    return {CONFIG: root} if root != _named(env) else {}


def _named(env: Mapping[str, str]) -> str:
    named = env.get(CONFIG, "")
    return named if named.strip(" ,") else ""


_LONGEST_NAME = 200


def folder_name(folder: str) -> str:
    """The name of a project's transcript folder. Before 2.1, the program did not shorten long names."""
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
        raise _error(f"{id[:80]!r} is not a session id")
    return id


def _error(what: str) -> AgentError:
    return AgentError(agent=AGENT.title, what=what)
