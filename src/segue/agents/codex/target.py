"""Start Codex, and write a conversation as a rollout that it can resume.

A rollout contains most things twice: the model gets the response items, and the user sees the events when the session
is opened. Segue writes neither a model nor a sandbox, because Codex would use them again, and they may be another
agent's. The history is paginated, as in every newer version: only then does Codex record the commands of code mode.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from segue.agents.codex import AGENT
from segue.agents.codex.parts import output_of
from segue.agents.codex.reader import FOLDERS
from segue.agents.shared.launch import Launch, Start, Written
from segue.agents.shared.transcripts import file_scan
from segue.agents.shared.transcripts.native_file import translate_errors
from segue.agents.shared.transcripts.reader import decode, dict_of, text_of
from segue.base import clock, paths
from segue.base import files as base_files
from segue.base.clock import Moment
from segue.errors import AgentError
from segue.model import Source
from segue.model.conversation import Conversation, Speaker, ToolUse, Turn
from segue.model.delivery import Mode

MAKER = "segue"
"""The program that a rollout names as its maker. Only rollouts with this name are ever removed."""
FAILED = "tool call error: "
"""The prefix of a failed tool's output: Codex has no field for it."""
UNTIMED = "1970-01-01T00:00:00.000000Z"
"""The time of a conversation without any times."""

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAME = re.compile(rf"rollout-[\dT-]+-({_ID.pattern})\.jsonl(?:{re.escape(file_scan.COMPRESSED)})?")
_SERVER = re.compile(r"[A-Za-z0-9_-]+")
_TOOLS = ("shell_tool", "multi_agent", "plugins", "apps")
"""Features with tools that can be switched off. A version that does not know one of them ignores it."""
_LARGEST_CONFIG = 1 << 20
_LONGEST_FIRST_LINE = 1 << 20

Record = dict[str, Any]


# Starting


def command(start: Start, env: Mapping[str, str]) -> Launch:
    model = ("-m", start.model) if start.model else ()
    options = (*(_only_answer(env) if start.is_question else ()), *model, *start.arguments)
    resume = ("resume", start.resume) if start.resume else ()
    if start.mode is Mode.OPEN:
        prompt = ("--", _plain(start.prompt)) if start.prompt else ()
        return Launch(argv=(start.program, *resume, *options, *prompt))
    # A headless Codex refuses a folder outside any repository. The user chose this folder.
    unversioned = () if _is_versioned(start.project) else ("--skip-git-repo-check",)
    # Older versions accept options only before `resume`.
    argv = (start.program, "exec", "--json", *unversioned, *options, *resume, "-")
    return Launch(argv=argv, stdin=start.prompt)


def _only_answer(env: Mapping[str, str]) -> Iterator[str]:
    """Options that remove everything it could change something with."""
    yield from ("-s", "read-only", "-c", 'approval_policy="never"')
    for tool in _TOOLS:
        yield from ("-c", f"features.{tool}=false")
    for server in _servers(env):
        yield from ("-c", f"mcp_servers.{server}.enabled=false")


def _servers(env: Mapping[str, str]) -> list[str]:
    """The names of the configured MCP servers. Each is switched off by name: an empty list overrides nothing, and an
    unknown name is an error."""
    servers = dict_of(_config(env).get("mcp_servers"))
    is_set_up = {name for name, server in servers.items() if {"command", "url"} & set(dict_of(server))}
    return sorted(filter(_SERVER.fullmatch, is_set_up))


def _config(env: Mapping[str, str]) -> dict[str, Any]:
    """The user's settings; empty if they cannot be read."""
    import tomllib  # lazy: slow to load

    with contextlib.suppress(AgentError, OSError, ValueError, RecursionError):
        return tomllib.loads(
            base_files.read_file(_sessions(env).with_name("config.toml"), _LARGEST_CONFIG).decode()
        )
    return {}


def _provider(env: Mapping[str, str]) -> str:
    """The provider of the user's models. The terminal program resumes no conversation without one."""
    config = _config(env)
    profile = dict_of(dict_of(config.get("profiles")).get(text_of(config.get("profile"))))
    return text_of(profile.get("model_provider")) or text_of(config.get("model_provider")) or "openai"


def _plain(prompt: str) -> str:
    """Escape a prompt: on a terminal, a prompt that starts with ! is run as a command."""
    said = prompt.replace("\0", "\ufffd")
    return f"\n{said}" if said.startswith("!") else said


def _is_versioned(project: Path) -> bool:
    return any(paths.is_there(folder / ".git") for folder in (project, *project.parents))


# Writing


def new_id(seed: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{MAKER}/{AGENT.name}/{seed}"))


def write(
    conversation: Conversation, id: str, project: Path, program: str, env: Mapping[str, str]
) -> Written:
    if not _ID.fullmatch(id):
        raise AgentError(agent=AGENT.name, what=f"{id!r} is not a session id")
    sessions = _sessions(env)
    began = next(_moments(conversation.turns), UNTIMED)
    day, time = began[:10], began[11:19].replace(":", "-")
    known = _kept(sessions, id)
    path = known or sessions.joinpath(*day.split("-"), f"rollout-{day}T{time}-{id}.jsonl")
    with translate_errors(AGENT.name, f"{path} cannot be written"):
        records = _records(conversation, id, project.resolve(), began, _provider(env))
        content = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
        if known is None:
            base_files.write_file(path, content)
    if known and not _begins_with(known, content):
        what = f"{known} holds another conversation under this id; it was left as it is"
        raise AgentError(agent=AGENT.name, what=what)
    return Written(id=id, path=path)


def _kept(sessions: Path, id: str) -> Path | None:
    """The existing file of an id, in any folder: Codex expects an id where it first saw it."""
    for folder, _, names in os.walk(sessions):
        for name in sorted(names):
            if (named := _NAME.fullmatch(name)) and named[1] == id:
                return Path(folder, name)
    return None


def _sessions(env: Mapping[str, str]) -> Path:
    home = env.get("HOME", "")
    root = env.get("CODEX_HOME") or (home and f"{home}/.codex")
    if not root or "\0" in root:
        raise AgentError(agent=AGENT.name, what="neither HOME nor CODEX_HOME says where its sessions are")
    return Path(root, FOLDERS[0])


def _begins_with(path: Path, content: bytes) -> bool:
    """Whether a file, compressed or not, starts with what was written. The agent may have appended to it."""
    with contextlib.suppress(OSError, AgentError), file_scan.open_file(AGENT.name, str(path)) as file:
        return file.read(len(content)) == content
    return False


def _records(
    conversation: Conversation, id: str, project: Path, began: Moment, provider: str
) -> Iterator[Record]:
    about = {
        "id": id,
        "timestamp": began,
        "cwd": paths.as_text(project),
        "originator": MAKER,
        # The version whose format this is.
        "cli_version": AGENT.tested,
        "source": "cli",
        "model_provider": provider,
        # In any other history, code mode records no commands.
        "history_mode": "paginated",
        **({"git": {"branch": conversation.branch}} if conversation.branch else {}),
    }
    told = itertools.chain([("session_meta", about, began)], _history(conversation.turns, id, began))
    for ordinal, (kind, payload, at) in enumerate(told):
        yield {"timestamp": at, "ordinal": ordinal, "type": kind, "payload": payload}


def _history(turns: Iterable[Turn], id: str, at: Moment) -> Iterator[tuple[str, Record, Moment]]:
    """The records of a conversation. Codex groups items by task: a user's message starts one."""
    task = ""
    for number, turn in enumerate(turns, 1):
        if not task or turn.speaker is Speaker.PERSON:
            if task:
                yield "event_msg", {"type": "task_complete", "turn_id": task}, at
            task = f"turn-{number}"
            at = next(_moments([turn]), at)
            yield "event_msg", {"type": "task_started", "turn_id": task, "model_context_window": None}, at
        at = next(_moments([turn]), at)
        if turn.text:
            about = {"thread_id": id, "turn_id": task, "completed_at_ms": _milliseconds(at)}
            item = _item(turn) | {"id": f"item-{number}"}
            yield "event_msg", {"type": "item_completed", **about, "item": item}, at
        for payload in _payloads(turn):
            yield "response_item", payload, at
    if task:
        yield "event_msg", {"type": "task_complete", "turn_id": task}, at


def _milliseconds(at: Moment) -> int:
    return int(clock.parse(at).timestamp() * 1000)


def _moments(turns: Iterable[Turn]) -> Iterator[Moment]:
    for turn in turns:
        with contextlib.suppress(ValueError):
            if turn.at:
                yield clock.moment(clock.parse(turn.at))


def _item(turn: Turn) -> Record:
    """The item of a turn for the user."""
    if turn.speaker is Speaker.PERSON:
        return {
            "type": "UserMessage",
            "content": [{"type": "text", "text": turn.text, "text_elements": []}],
        }
    return {"type": "AgentMessage", "content": [{"type": "Text", "text": turn.text}]}


def _payloads(turn: Turn) -> Iterator[Record]:
    """The response items of a turn for the model."""
    if turn.text:
        is_person = turn.speaker is Speaker.PERSON
        part = {"type": "input_text" if is_person else "output_text", "text": turn.text}
        yield {"type": "message", "role": "user" if is_person else "assistant", "content": [part]}
    for use in turn.uses:
        called = {"type": "function_call", "name": use.tool, "call_id": use.id}
        yield called | {"arguments": msgspec.json.encode(use.arguments).decode()}
        yield {"type": "function_call_output", "call_id": use.id, "output": _output(use)}


def _output(use: ToolUse) -> str:
    is_told = not use.is_error or output_of(use.result).is_error
    return use.result if is_told else FAILED + use.result


# Removing


def discard(source: Source, program: str, env: Mapping[str, str]) -> Launch | None:
    """Remove a rollout that Segue made. Its row in Codex's index does no harm: Codex checks the files."""
    path, sessions = Path(file_scan.as_it_is(source.path)), _sessions(env)
    named = _NAME.fullmatch(path.name)
    with translate_errors(AGENT.name, f"{path} cannot be removed"), contextlib.suppress(FileNotFoundError):
        if not named or not path.parent.resolve().is_relative_to(sessions.resolve()):
            raise AgentError(agent=AGENT.name, what=f"{path} is not a session of Codex; it was left as it is")
        path.lstat()  # raises FileNotFoundError before anything is read
        if _maker_of(path) != (named[1], MAKER):
            raise AgentError(agent=AGENT.name, what=f"{path} was not made by Segue; it was left as it is")
        path.unlink()
    return None


def _maker_of(path: Path) -> tuple[str, str]:
    """The id and the maker in a rollout's first line."""
    with file_scan.open_file(AGENT.name, str(path)) as file:
        line = file.readline(_LONGEST_FIRST_LINE)
    about = dict_of((decode(line) or {}).get("payload"))
    return text_of(about.get("id")), text_of(about.get("originator"))
