"""Entries from OpenCode's records: sessions, messages and their parts.

A part is a record, and so is its message, which comes after its parts: only the message says how an answer
ended. Tokens are in the part that ends each step, and again in the message, there only for the last step:
they are taken from the message only if no step had them. A price of zero counts as unknown: OpenCode also
writes it if it does not know the price.
"""

from __future__ import annotations

import binascii
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from segue.agents.opencode.limits import OVERFLOW, limit_of
from segue.agents.shared.transcripts.image_ref import reference_to
from segue.agents.shared.transcripts.reader import (
    INTERRUPT,
    compact,
    count_of,
    dict_of,
    list_of,
    moment_of,
    status_of,
    text_of,
)
from segue.base.clock import Moment
from segue.base.hashes import short_hash
from segue.model import Entry, EntryKind, Origin, Spend, Tokens

Record = dict[str, Any]

ABORTED = "MessageAbortedError"
NOTES = {"step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction", "subtask"}
"""Bookkeeping parts."""

TYPED_COMMAND = "The following tool was executed by the user"
"""Text that OpenCode writes for a user who ran a command with `!`. The call that follows is theirs."""


@dataclass
class Conversation:
    """State while reading a session's messages."""

    id: str
    directory: str
    is_subagent: bool
    unknown: Counter[str]
    began: str = ""
    """Identifies its answers in a fork: a hash of its start time and first words."""
    last: str | None = None
    """The last entry: the next one's parent."""
    is_typed_command: bool = False
    is_unfinished: bool = False
    """Whether something at the end is still being written."""
    _given: Counter[str] = field(default_factory=Counter)

    def unique(self, id: str) -> str:
        self._given[id] += 1
        return id if self._given[id] == 1 else f"{id}~{self._given[id]}"


@dataclass
class Message:
    """A message, and what its entries share."""

    info: Record
    id: str
    is_open: bool
    """Whether it is the last message, and still being written."""
    steps: int = 0
    """How many of its parts gave a step's tokens."""

    def __post_init__(self) -> None:
        time = dict_of(self.info.get("time"))
        self.role = text_of(self.info.get("role"))
        self.is_answer = self.role == "assistant"
        self.created = time.get("created")
        self.at = moment_of(self.created)
        self.completed = moment_of(time.get("completed"))
        self.model = text_of(self.info.get("modelID")) or None
        self.cwd = text_of(dict_of(self.info.get("path")).get("cwd"))
        self.error = dict_of(self.info.get("error"))


@dataclass
class Said:
    """One future entry, from one record."""

    kind: EntryKind
    origin: Origin
    text: str = ""
    at: Moment | None = None
    more: dict[str, Any] = field(default_factory=dict)


def entries_of(
    conversation: Conversation, session: Record, messages: Iterator[tuple[Record, list[Record]]]
) -> Iterator[Entry]:
    if session:
        created = moment_of(dict_of(session.get("time")).get("created"))
        said = Said(
            EntryKind.NOTE, Origin.SYSTEM, text_of(session.get("title")), created, {"tool": "session"}
        )
        yield from _entries(conversation, [said], session, conversation.id or "session", None)
    following = next(messages, None)
    number = 0
    while following is not None:
        (info, parts), following, number = following, next(messages, None), number + 1
        message = _message(info, text_of(info.get("id")) or f"message-{number}", is_last=following is None)
        if not conversation.began:
            conversation.began = _began(message, parts)
        yield from _message_entries(conversation, message, parts)


def _message(info: Record, id: str, *, is_last: bool) -> Message:
    message = Message(info, id, is_open=False)
    is_ended = bool(message.completed or message.error)
    message.is_open = is_last and message.is_answer and bool(message.at) and not is_ended
    return message


def _began(message: Message, parts: list[Record]) -> str:
    words = [text_of(part.get("text")) for part in parts]
    return short_hash(repr((message.created, words)).encode(errors="replace")).hex()


def _message_entries(conversation: Conversation, message: Message, parts: list[Record]) -> Iterator[Entry]:
    for number, part in enumerate(parts, 1):
        said = _part(conversation, message, part)
        if not said:
            conversation.is_unfinished = True
        id = text_of(part.get("id")) or f"{message.id}.{number}"
        yield from _entries(conversation, said, part, id, message)
    if message.role not in ("user", "assistant"):
        conversation.unknown[f"message:{message.role}"] += 1
    if message.is_open:
        conversation.is_unfinished = True
    else:
        yield from _entries(conversation, [_end(conversation, message)], message.info, message.id, message)
    if not message.is_answer:
        texts = [text_of(part.get("text")) for part in parts]
        conversation.is_typed_command = texts == [TYPED_COMMAND]


def _entries(
    conversation: Conversation, said: list[Said], native: Record, id: str, message: Message | None
) -> Iterator[Entry]:
    """A record's entries as a chain. The last one has its id. A call always keeps its id, because its result
    follows."""
    own = conversation.unique(id)
    is_call_alone = len(said) == 1 and said[0].kind is EntryKind.CALL
    for number, one in enumerate(said, 1):
        is_last = number == len(said) and not is_call_alone
        entry = Entry(
            id=own if is_last else f"{own}#{number}",
            kind=one.kind,
            origin=one.origin,
            text=one.text,
            parent=conversation.last,
            at=one.at or (message.at if message else None),
            cwd=(message.cwd if message else "") or conversation.directory or None,
            model=message.model if message and message.is_answer else None,
            native=native,
            **one.more,
        )
        conversation.last = entry.id
        yield entry


def _end(conversation: Conversation, message: Message) -> Said:
    """The message's own entry: how an answer ended, and its tokens if no step gave them."""
    more: dict[str, Any] = {"tool": message.role or "message"}
    if message.is_answer and not message.steps:
        more["spend"] = _spend(conversation, message, message.info)
    if not message.error:
        text = text_of(message.info.get("finish")) or text_of(message.info.get("content"))
        return Said(EntryKind.NOTE, Origin.SYSTEM, text, message.completed, more)
    name = text_of(message.error.get("name"))
    text = text_of(dict_of(message.error.get("data")).get("message")) or name
    at = message.completed or message.at
    limit = limit_of(message.error, at, message.model or "")
    if name == ABORTED:
        return Said(EntryKind.NOTE, Origin.SYSTEM, text, at, {**more, "tool": INTERRUPT})
    more["is_error"] = True
    if limit:
        more["limits"] = (limit,)
    kind = EntryKind.LIMIT if limit and name != OVERFLOW else EntryKind.NOTE
    return Said(kind, Origin.SYSTEM, text, at, {**more, "tool": name or "error"})


def _spend(conversation: Conversation, message: Message, record: Record) -> Spend | None:
    told = dict_of(record.get("tokens"))
    cache = dict_of(told.get("cache"))
    tokens = Tokens(
        input=count_of(told.get("input")),
        output=count_of(told.get("output")) + count_of(told.get("reasoning")),
        cache_read=count_of(cache.get("read")),
        cache_write=count_of(cache.get("write")),
    )
    cost = record.get("cost")
    price = float(cost) if isinstance(cost, int | float) and 0 < cost < 1e9 else None
    if not tokens.total and price is None:
        return None
    message.steps += 1
    key = f"{conversation.began}:{message.created}" if count_of(message.created) else message.id
    return Spend(
        key=key if message.steps == 1 else f"{key}:{message.steps}",
        model=message.model or "",
        tokens=tokens,
        at=message.at,
        cost_usd=price,
    )


# Parts


def _part(conversation: Conversation, message: Message, part: Record) -> list[Said]:
    """The content of a part; nothing while it is still being written."""
    kind = text_of(part.get("type"))
    match kind:
        case "text":
            return _text(conversation, message, part)
        case "reasoning":
            return _written(message, part, EntryKind.THOUGHT, Origin.ASSISTANT)
        case "tool":
            return _tool(conversation, message, part)
        case "file":
            return [_file(part, _who(conversation, message))]
    note = Said(EntryKind.NOTE, Origin.SYSTEM, _note(kind, part), more={"tool": kind or "part"})
    if kind == "step-finish" and message.is_answer:
        note.more["spend"] = _spend(conversation, message, part)
    elif kind == "retry":
        at = moment_of(dict_of(part.get("time")).get("created")) or message.at
        limit = limit_of(dict_of(part.get("error")), at, message.model or "")
        note.at, note.more["limits"] = at, (limit,) if limit else ()
    elif kind not in NOTES:
        conversation.unknown[kind or "part"] += 1
    return [note]


def _note(kind: str, part: Record) -> str:
    match kind:
        case "patch":
            return "\n".join(map(text_of, list_of(part.get("files"))))
        case "subtask":
            return "\n".join(filter(None, (text_of(part.get(key)) for key in ("description", "prompt"))))
        case "retry":
            return text_of(dict_of(dict_of(part.get("error")).get("data")).get("message"))
    return text_of(part.get("reason")) or text_of(part.get("name")) or text_of(part.get("text"))


def _text(conversation: Conversation, message: Message, part: Record) -> list[Said]:
    if part.get("synthetic") or part.get("ignored"):
        return [Said(EntryKind.NOTE, Origin.SYSTEM, text_of(part.get("text")), more={"tool": "text"})]
    if message.is_answer:
        kind = EntryKind.SUMMARY if message.info.get("summary") is True else EntryKind.REPLY
        return _written(message, part, kind, Origin.ASSISTANT)
    if message.role != "user":
        return [Said(EntryKind.NOTE, Origin.SYSTEM, text_of(part.get("text")), more={"tool": "text"})]
    return _written(message, part, EntryKind.PROMPT, _who(conversation, message))


def _who(conversation: Conversation, message: Message) -> Origin:
    is_human = message.role == "user" and not conversation.is_subagent
    return Origin.HUMAN if is_human else Origin.ASSISTANT


def _written(message: Message, part: Record, kind: EntryKind, origin: Origin) -> list[Said]:
    time = dict_of(part.get("time"))
    text = text_of(part.get("text"))
    if text:
        return [Said(kind, origin, text, moment_of(time.get("start")))]
    if message.is_open and not time.get("end"):
        return []
    return [Said(EntryKind.NOTE, Origin.SYSTEM, more={"tool": text_of(part.get("type"))})]


def _tool(conversation: Conversation, message: Message, part: Record) -> list[Said]:
    state = dict_of(part.get("state"))
    status = text_of(state.get("status"))
    name = text_of(part.get("tool")) or "tool"
    call = text_of(part.get("callID")) or None
    time = dict_of(state.get("time"))
    if status == "pending":
        if message.is_open:
            return []
        return [Said(EntryKind.NOTE, Origin.SYSTEM, text_of(state.get("raw")), more={"tool": "tool"})]
    shared = {"tool": name, "call": call}
    given = state.get("input")
    said = Said(
        EntryKind.CALL,
        Origin.HUMAN if conversation.is_typed_command else Origin.ASSISTANT,
        given if isinstance(given, str) else compact(given if given is not None else {}),
        moment_of(time.get("start")),
        shared,
    )
    if status == "running":
        return [said]
    if status not in ("completed", "error"):
        conversation.unknown[f"tool:{status}"] += 1
    return [said, _result(state, shared, moment_of(time.get("end"))), *_attached(state)]


def _result(state: Record, shared: dict[str, Any], at: Moment | None) -> Said:
    status = status_of(dict_of(state.get("metadata")).get("exit"))
    is_error = state.get("status") == "error"
    text = text_of(state.get("error")) if is_error else text_of(state.get("output"))
    more = {**shared, "status": status, "is_error": is_error}
    return Said(EntryKind.RESULT, Origin.TOOL, text, at, more)


def _attached(state: Record) -> Iterator[Said]:
    for attachment in map(dict_of, list_of(state.get("attachments"))):
        if attachment:
            yield _file(attachment, Origin.TOOL)


def _file(part: Record, origin: Origin) -> Said:
    """An image or other attached file, by its name or type, never its content."""
    mime = text_of(part.get("mime"))
    if mime.startswith("image/"):
        return Said(EntryKind.IMAGE, origin, _reference(part, mime))
    return Said(EntryKind.NOTE, Origin.SYSTEM, _reference(part, mime), more={"tool": "file"})


def _reference(part: Record, mime: str) -> str:
    url = text_of(part.get("url"))
    if url.startswith("data:"):
        name = text_of(part.get("filename"))
        return f"{name + ', ' if name else ''}{reference_to(mime, _content(url))}"
    if url.startswith("file://"):
        return unquote(url.removeprefix("file://").partition("?")[0])
    path = text_of(dict_of(part.get("source")).get("path"))
    return url or path or text_of(part.get("filename")) or mime


def _content(url: str) -> bytes:
    head, _, content = url.partition(",")
    written = content.encode(errors="replace")
    try:
        return binascii.a2b_base64(written) if head.endswith(";base64") else unquote_to_bytes(written)
    except binascii.Error:
        return written
