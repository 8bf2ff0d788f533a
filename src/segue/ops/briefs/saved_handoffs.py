"""Saved handoffs: the state of a folder's work as a JSON file that any program and any person can read.

They are separate from the handoffs that Segue executes: a file to archive, to show to a model, or to continue from by
hand. It contains the task, files and next steps that the user gives, the last messages of this folder's session, and
its usage; secrets are replaced everywhere. A saved file is never changed.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from segue import agents, conversation, redact
from segue.base import clock, files
from segue.base.text import begun
from segue.errors import BadInput
from segue.model import Entry, EntryKind, Origin, Source
from segue.model.conversation import Speaker, ToolUse, Turn
from segue.ops.briefs import make
from segue.ops.common import redaction
from segue.ops.common.desk import Desk
from segue.ops.usage import folder_status
from segue.ops.usage.folder_status import Standing
from segue.ops.work import sessions
from segue.store import os_errors

FOLDER = "handoffs"
LATEST = "latest_handoff.json"
LAST_MESSAGES = 50
LONGEST_MESSAGE = 20_000
LARGEST = 64 << 20
DEEPEST = 50
AT_LIMIT = "token_limit_approaching"
BY_HAND = "manual_save"
LIST = "segue list"
SAVE = "segue save --task 'DESCRIPTION OF THE WORK'"

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FILE = re.compile(r"handoff_([A-Za-z0-9_-]{1,64})\.json")
_OWN = re.compile(r"(\d{8}_\d{6})(?:_(\d{1,9}))?")
"""An id made by Segue: the time, and a number if there are several in one second."""

WHY = {
    AT_LIMIT: "{agent} approached its token limit",
    "approaching_limit": "{agent} approached its token limit",
    "warning_threshold_reached": "{agent} approached its token limit",
    "auto_switch_threshold_reached": "{agent} reached its token limit",
    BY_HAND: "someone saved it by hand",
}


class TokenUsage(Struct, frozen=True):
    total_tokens: int
    warning_threshold: int
    auto_switch_threshold: int
    percentage_used: float


class Saved(Struct, frozen=True, kw_only=True):
    """The content of a saved handoff, with the field names that other tools use."""

    handoff_id: str
    timestamp: str
    reason: str
    session_id: str
    token_usage: TokenUsage
    conversation_history: tuple[dict[str, str], ...]
    current_task: str
    files_being_worked_on: tuple[str, ...]
    next_steps: tuple[str, ...]
    context: dict[str, Any]
    resumption_instructions: str


def save(
    desk: Desk,
    *,
    current_task: str,
    conversation_history: Sequence[Mapping[str, Any]] | None = None,
    files_being_worked_on: Sequence[str] = (),
    next_steps: Sequence[str] = (),
    context: Mapping[str, Any] | None = None,
    reason: str = AT_LIMIT,
) -> Path:
    """Save the state of this folder's work and return the file. Without a history, the session's last messages are
    saved."""
    if not current_task.strip():
        raise BadInput(what="A saved handoff needs a task.", next=SAVE)
    standing = folder_status.standing_here(desk)
    source, secrets = _source(desk, standing)
    if conversation_history is not None:
        history = [_message(one) for one in conversation_history[-LAST_MESSAGES:]]
    else:
        history = _said(source) if source else []
    told = {
        "current_task": current_task,
        "files_being_worked_on": list(files_being_worked_on),
        "next_steps": list(next_steps),
        "context": dict(context or {}),
        "reason": reason,
    }
    messages, rest = _cleaned(desk, history, _plain(told), secrets)
    agent = standing.agent if standing else ""
    made = Saved(
        handoff_id="",
        timestamp=desk.clock(),
        session_id=standing.work.session.id if standing else sessions.get_or_create(desk).id,
        token_usage=_usage(desk, standing),
        conversation_history=tuple(messages),
        resumption_instructions=_instructions(
            rest["current_task"], rest["next_steps"], rest["reason"], agent
        ),
        current_task=rest["current_task"],
        files_being_worked_on=tuple(rest["files_being_worked_on"]),
        next_steps=tuple(rest["next_steps"]),
        context=rest["context"],
        reason=rest["reason"],
    )
    return _write(desk.places.data / FOLDER, made)


def load(desk: Desk, id: str | None = None) -> dict[str, Any] | None:
    """The handoff saved under an id, or last; None if there is none."""
    folder = desk.places.data / FOLDER
    if id is not None and not _ID.fullmatch(id):
        raise BadInput(
            what=f"Invalid id '{id}': saved handoffs have ids of letters, digits, _ and -.", next=LIST
        )
    name = f"handoff_{id}.json" if id is not None else _latest(folder)
    if name is None or not _is_file(folder / name):
        return None
    found = _read(folder / name)
    if found is None:
        raise BadInput(what=f"{folder / name} is not a saved handoff, or is damaged.", next=LIST)
    return found


def listed(desk: Desk) -> list[dict[str, Any]]:
    """A summary of every saved handoff, the newest first. Other files are skipped."""
    folder = desk.places.data / FOLDER
    found = []
    for name in _names(folder):
        whole = _read(folder / name)
        if whole is not None:
            fields = ("handoff_id", "timestamp", "current_task", "reason")
            found.append(
                {
                    **{field: whole[field] for field in fields},
                    "token_usage": whole["token_usage"]["total_tokens"],
                }
            )
    return found


# Content


def _source(desk: Desk, standing: Standing | None) -> tuple[Source | None, dict[str, str]]:
    """This folder's current transcript, and the secrets seen in it."""
    if standing is None or standing.transcript is None:
        return None, {}
    known = make.open_known(desk, standing.transcript.id)
    return known.source, known.tracker.heat.secrets


def _said(source: Source) -> list[tuple[str, str]]:
    """The last messages of a transcript, as (role, text)."""
    last: deque[Entry] = deque(maxlen=LAST_MESSAGES)
    for entry in agents.reader(source.agent).read(source):
        is_prompt = entry.kind is EntryKind.PROMPT and entry.origin is Origin.HUMAN
        if (is_prompt or entry.kind is EntryKind.REPLY) and not entry.subagent and entry.text.strip():
            last.append(entry)
    return [("user" if entry.kind is EntryKind.PROMPT else "assistant", entry.text) for entry in last]


def _message(given: Mapping[str, Any]) -> tuple[str, str]:
    content = given.get("content", "") if isinstance(given, Mapping) else given
    role = given.get("role", "") if isinstance(given, Mapping) else ""
    return str(role), content if isinstance(content, str) else msgspec.json.encode(_plain(content)).decode()


def _plain(value: Any, depth: int = 0) -> Any:
    """Convert a value to JSON types; values that JSON does not have become text."""
    if depth > DEEPEST:
        raise BadInput(
            what=f"The context cannot be saved: it is nested more than {DEEPEST} levels deep.", next=SAVE
        )
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, bool | int | None):
        return value if not isinstance(value, int) or abs(value) < 1 << 63 else str(value)
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if isinstance(value, Mapping):
        return {str(_plain(str(key))): _plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner, depth + 1) for inner in value]
    return _plain(str(value), depth + 1)


def _cleaned(
    desk: Desk, history: list[tuple[str, str]], rest: dict[str, Any], secrets: dict[str, str]
) -> tuple[list[dict[str, str]], dict[str, Any]]:
    """Messages and fields without secrets. All are scanned as one text: a secret recognised anywhere is replaced
    everywhere."""
    told = ToolUse(id="rest", tool="save", arguments=rest, result="")
    turns = [Turn(speaker=Speaker.PERSON, text=_plain(content)) for _, content in history]
    turns.append(Turn(speaker=Speaker.AGENT, uses=(told,)))
    *said, last = conversation.cleaned(turns, _cleaner(desk, secrets))
    found = last.uses[0].arguments
    messages = [
        {"role": _plain(role), "content": begun(turn.text, LONGEST_MESSAGE)}
        for (role, _), turn in zip(history, said, strict=True)
    ]
    return messages, found if found.keys() == rest.keys() else _refused()


def _refused() -> dict[str, Any]:
    raise BadInput(
        what="A secret in the task or its context cannot be replaced without changing field names.",
        next="segue redact --help",
    )


def _cleaner(desk: Desk, secrets: dict[str, str]) -> Callable[[str], str]:
    key, allow = redaction.key(desk), desk.settings.redact_allow
    known = redact.Known(secrets, key, allow)

    def clean(text: str) -> str:
        rest, _ = known.out_of(text)
        return redact.redact(rest, key=key, allow=allow).text

    return clean


def _usage(desk: Desk, standing: Standing | None) -> TokenUsage:
    usage = standing.usage if standing else None
    model = standing.transcript.model if standing and standing.transcript else ""
    tokens, limit = (usage.tokens_used, usage.tokens_limit) if usage else (0, 0)
    limit = limit or folder_status.USUAL_WINDOW
    thresholds = folder_status.thresholds_of(desk)
    return TokenUsage(
        total_tokens=tokens,
        warning_threshold=limit * thresholds.recommend_for(model) // 100,
        auto_switch_threshold=limit * thresholds.urgent_for(model) // 100,
        percentage_used=tokens / limit * 100,
    )


def _instructions(task: str, steps: Sequence[str], reason: str, agent: str) -> str:
    who = agent or "the agent"
    why = WHY[reason].format(agent=who) if reason in WHY else f"of this: {reason}"
    listed = "\n".join(f"{n}. {step}" for n, step in enumerate(steps, 1))
    return f"""
# RESUMPTION INSTRUCTIONS{f" FOR {agent.upper()}" if agent else ""}

## Current Task
{task}

## Next Steps
{listed}

## Context
This handoff was created because {why}. The task can be continued by any
other agent or model, and can be resumed by {who} when it is available.

Segue helps with that:
- segue load shows this handoff again, segue list all that were saved
- segue to AGENT continues the work in another agent
- segue back returns, with what happened meanwhile
- segue show tells what was passed, what was not, and why

When resuming, verify the work that was done meanwhile and continue from the last completed step.
"""


# Files


def _write(folder: Path, made: Saved) -> Path:
    second = clock.parse(made.timestamp).strftime("%Y%m%d_%H%M%S")
    with os_errors.translated(folder), files.locked(folder / ".lock"):
        n = 1
        while (path := folder / f"handoff_{second}{f'_{n}' if n > 1 else ''}.json").exists():
            n += 1
        id = path.name.removeprefix("handoff_").removesuffix(".json")
        encoded = msgspec.json.encode(msgspec.structs.replace(made, handoff_id=id))
        files.write_file(path, msgspec.json.format(encoded, indent=2) + b"\n")
        with files.replacing(folder / LATEST) as temporary:
            temporary.symlink_to(path.name)
    return path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _latest(folder: Path) -> str | None:
    """The file saved last: the target of the link, or else the newest."""
    try:
        name = (folder / LATEST).readlink().name
    except OSError:
        name = ""
    if _FILE.fullmatch(name) and _is_file(folder / name):
        return name
    return next(iter(_names(folder)), None)


def _names(folder: Path) -> list[str]:
    """The names of all saved handoffs' files, the newest first."""
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return []
    return sorted((name for name in names if _FILE.fullmatch(name)), key=_age, reverse=True)


def _age(name: str) -> tuple[str, int]:
    id = name.removeprefix("handoff_").removesuffix(".json")
    own = _OWN.fullmatch(id)
    return (own.group(1), int(own.group(2) or 1)) if own else (id, 0)


def _read(path: Path) -> dict[str, Any] | None:
    """The content of a file; None if it is not a saved handoff."""
    try:
        found = msgspec.json.decode(files.read_file(path, LARGEST))
    except (OSError, msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("token_usage"), dict):
        return None
    has_words = all(
        isinstance(found.get(key), str) for key in ("handoff_id", "timestamp", "current_task", "reason")
    )
    return found if has_words and isinstance(found["token_usage"].get("total_tokens"), int) else None
