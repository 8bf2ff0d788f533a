"""Starting OpenCode, and writing a conversation as a document that it imports.

Segue does not write into its database: a session gets in by `opencode import`, and out by `opencode session delete`.
An import adds what is not there under the same ids and changes nothing else, so a second import does no harm.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from segue.agents.opencode import AGENT, default_model, storage
from segue.agents.opencode.reader import data_folder, read
from segue.agents.shared.launch import Launch, Start, Written
from segue.agents.shared.transcripts.native_file import translate_errors
from segue.agents.shared.transcripts.reader import compact, decode, dict_of, text_of
from segue.base import clock, files, paths
from segue.base.clock import Clock
from segue.base.text import begun
from segue.errors import AgentError
from segue.model import Source
from segue.model.conversation import Conversation, Speaker, ToolUse, Turn
from segue.model.delivery import Mode

MAKER = "segue"
"""The prefix of the short name of sessions that Segue made. Only these are ever removed."""
FOLDER = "segue"
"""The folder for documents to import, next to the database."""
LONGEST_TITLE = 60
UNTIMED = 946_684_800_000
"""The time of a conversation without any times: the year 2000, in milliseconds."""
LOG = ("--print-logs", "--log-level", "ERROR")
"""While it retries, it prints nothing else; see `exit_reason`."""
NOBODY = {"providerID": "unknown", "modelID": "unknown"}
NOTHING_USED = {"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}
UNATTENDED = {"question": "deny", "plan_enter": "deny", "plan_exit": "deny"}
"""What the program refuses by itself in a session that began headless. In any other it would wait for an answer."""
ANSWERER = "segue-answers"
"""An OpenCode agent without tools."""
NO_TOOLS = {"mode": "primary", "description": "Only answers", "permission": {"*": "deny"}}

_ID = re.compile(r"ses_[0-9a-f]{12}[0-9A-Za-z]{14}")
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

Record = dict[str, Any]


# Starting


def command(start: Start, env: Mapping[str, str]) -> Launch:
    session = ("--session", start.resume) if start.resume else ()
    model = ("--model", start.model) if start.model else ()
    answerer = ("--agent", ANSWERER) if start.is_question else ()
    options = (*session, *model, *answerer, *start.arguments)
    settings = _settings(start, env)
    if start.mode is Mode.OPEN:
        # The full screen ignores a prompt when it resumes a session; the small one sends it.
        small = ("--mini",) if start.resume and start.prompt else ()
        prompt = (f"--prompt={_plain(start.prompt)}",) if start.prompt else ()
        return Launch(argv=(start.program, *small, *options, *prompt), env=settings)
    argv = (start.program, "run", "--format", "json", *LOG, *options)
    # It works in PWD, not in the folder where it was started.
    return Launch(argv=argv, stdin=start.prompt, env={"PWD": str(start.project.resolve()), **settings})


def _plain(prompt: str) -> str:
    """A prompt that is only a prompt: a command counts at the very start, and quotes around the whole text are lost."""
    plain = prompt.replace("\0", "\N{REPLACEMENT CHARACTER}")  # not allowed in an argument
    return f"\n{plain}" if plain.startswith(("/", '"', "'")) else plain


def _settings(start: Start, env: Mapping[str, str]) -> dict[str, str]:
    """Settings that narrow the user's own."""
    narrowed: dict[str, str] = {}
    if start.mode is Mode.HEADLESS:
        own = _object(env, "OPENCODE_PERMISSION")
        kept = {name: value for name, value in own.items() if name not in UNATTENDED}  # the last rule wins
        narrowed["OPENCODE_PERMISSION"] = compact({**kept, **UNATTENDED})
    if start.is_question:
        own = _object(env, "OPENCODE_CONFIG_CONTENT")
        agents = {**dict_of(own.get("agent")), ANSWERER: NO_TOOLS}
        narrowed["OPENCODE_CONFIG_CONTENT"] = compact({**own, "agent": agents})
    return narrowed


def _object(env: Mapping[str, str], name: str) -> Record:
    return decode(env.get(name, "").encode(errors="replace")) or {}


# Writing


def new_id(seed: str) -> str:
    digest = _digest(f"{MAKER}/{AGENT.name}/{seed}")
    return f"ses_{digest[:6].hex()}{_letters(digest[6:])}"


def write(
    conversation: Conversation,
    id: str,
    project: Path,
    program: str,
    env: Mapping[str, str],
    now: Clock = clock.now,
) -> Written:
    if not _ID.fullmatch(id):
        raise AgentError(agent=AGENT.name, what=f"{id!r} is not a session id")
    path = _document(id, env)
    made = _Making(
        id, paths.as_text(project), default_model.model_of_choice(project, env), _ms(now()) or UNTIMED
    )
    with translate_errors(AGENT.name, f"{path} cannot be written"):
        files.write_file(path, msgspec.json.encode(made.session(conversation)))
    return Written(id=id, path=path, admit=(program, "import", str(path)))


def _document(id: str, env: Mapping[str, str]) -> Path:
    folder = data_folder(env)
    if folder is None or "\0" in str(folder):
        what = "neither HOME nor XDG_DATA_HOME says where its sessions are"
        raise AgentError(agent=AGENT.name, what=what)
    return folder / FOLDER / f"{id}.json"


class _Making:
    """A session being made. Its ids start at the lowest, so that everything the program adds comes after them."""

    def __init__(self, id: str, project: str, model: default_model.Model, now: int) -> None:
        self.id, self.project, self.model = id, project, model
        self.latest = now
        """No message gets a later time: the program sorts by time as well."""
        self._count = itertools.count(1)

    def session(self, conversation: Conversation) -> Record:
        times = list(self._times(conversation.turns))
        first = next((turn.text for turn in conversation.turns if turn.text), "")
        title = " ".join((conversation.title or begun(first, LONGEST_TITLE)).split())
        info = {
            "id": self.id,
            "slug": f"{MAKER}-{self.id[-8:].lower()}",
            "projectID": "global",
            "directory": self.project,
            "title": title or "Handoff",
            "version": AGENT.tested,
            "time": {"created": times[0] if times else UNTIMED, "updated": times[-1] if times else UNTIMED},
        }
        return {"info": info, "messages": list(self._messages(conversation.turns, times))}

    def _times(self, turns: tuple[Turn, ...]) -> Iterator[int]:
        told = [_ms(turn.at) for turn in turns]
        at = min(next((time for time in told if time), UNTIMED), self.latest)
        for time in told:
            at = max(at, min(time or at, self.latest))
            yield at

    def _messages(self, turns: tuple[Turn, ...], times: list[int]) -> Iterator[Record]:
        asked = ""
        for turn, at in zip(turns, times, strict=True):
            id = self._next("msg")
            if turn.speaker is Speaker.PERSON:
                asked, info = id, self._person(at)
            else:
                info = self._agent(turn, asked or id, at)
            parts = (
                [{"type": "text", "text": turn.text, "time": {"start": at, "end": at}}] if turn.text else []
            )
            parts += [_tool(use, at) for use in turn.uses]
            placed = [
                {**part, "id": self._next("prt"), "sessionID": self.id, "messageID": id} for part in parts
            ]
            yield {"info": {**info, "id": id, "sessionID": self.id}, "parts": placed}

    def _person(self, at: int) -> Record:
        return {"role": "user", "time": {"created": at}, "agent": "build", "model": self.model}

    def _agent(self, turn: Turn, asked: str, at: int) -> Record:
        return {
            "role": "assistant",
            "parentID": asked,
            **NOBODY,
            **({"modelID": turn.model} if turn.model else {}),
            "mode": "build",
            "agent": "build",
            "path": {"cwd": self.project, "root": self.project},
            "cost": 0,
            "tokens": NOTHING_USED,
            "time": {"created": at, "completed": at},
            "finish": "tool-calls" if turn.uses else "stop",
        }

    def _next(self, kind: str) -> str:
        number = next(self._count)
        return f"{kind}_{number:012x}{_letters(_digest(f'{self.id}/{number}'))}"


def _tool(use: ToolUse, at: int) -> Record:
    state: Record = {"input": use.arguments, "time": {"start": at, "end": at}}
    if use.is_error:
        state |= {"status": "error", "error": use.result}
    else:
        state |= {"status": "completed", "output": use.result, "title": "", "metadata": {}}
    return {"type": "tool", "tool": use.tool, "callID": use.id, "state": state}


def _ms(at: str | None) -> int:
    """Milliseconds since 1970; 0 if there is no time."""
    with contextlib.suppress(ValueError, OverflowError):
        return max(0, int(clock.parse(at).timestamp() * 1000)) if at else 0
    return 0


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="replace")).digest()


def _letters(digest: bytes) -> str:
    """The second part of an id in the program's form: fourteen letters and digits."""
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:14])


# Taking away


def discard(source: Source, program: str, env: Mapping[str, str]) -> Launch | None:
    """The command that removes a session, if Segue made it. Its document is removed at once."""
    id = source.part
    if not _ID.fullmatch(id):
        raise AgentError(agent=AGENT.name, what=f"{id!r} is not a session of OpenCode; it was left as it is")
    with contextlib.suppress(OSError):
        _document(id, env).unlink(missing_ok=True)
    folder = data_folder(env)
    databases = storage.in_databases(AGENT.name, folder, env.get("OPENCODE_DB", "")) if folder else iter(())
    found = next((one for one in databases if one.part == id), None)
    if found is None:
        return None
    with storage.opened(read(found)) as kept:
        if not text_of(kept.session.get("slug")).startswith(f"{MAKER}-"):
            raise AgentError(agent=AGENT.name, what=f"{id} was not made by Segue; it was left as it is")
    return Launch(argv=(program, "session", "delete", id))
