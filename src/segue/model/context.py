"""The complete context that one model hands to the next, and its compressed form: nothing is lost. Pure.

`serialize` makes JSON, `compress` makes compressed JSON entry by entry, so that a long history can be read while it
is packed and is never in memory twice. Reading gives the same value or an error. JSON has the field names of other
tools: sessionId, conversationHistory, ...

Some agents write numbers that JSON cannot express. A context contains them as NaN, Infinity and -Infinity, which not
every tool reads; anything else would change the value.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import zstandard

from segue.base.clock import Moment
from segue.errors import BadInput
from segue.model import Entry, Hash, Preserve, Value
from segue.model.task import TaskContext

LEVEL = 3
LARGEST = 2**30
"""A context that claims to be larger, or turns out to be, is not unpacked: a small file can contain any size."""
STEP = 1 << 20
ENCODER = msgspec.json.Encoder()
BEYOND_JSON = (b"NaN", b"Infinity")


class HandoffContext(Value, frozen=True, rename="camel"):
    """Everything that a session contains when it is handed over."""

    session_id: str
    timestamp: Moment
    source_model: str
    target_model: str
    handoff_reason: str = ""
    preservation_level: Preserve = Preserve.STANDARD
    current_task: TaskContext = TaskContext()
    memory_graph: dict[str, Any] = msgspec.field(default_factory=dict)
    """Memory that outlives this session."""
    active_patterns: tuple[dict[str, Any], ...] = ()
    user_preferences: dict[str, Any] = msgspec.field(default_factory=dict)
    pending_subagents: tuple[dict[str, Any], ...] = ()
    """Subagents that were started and have not answered."""
    learning_state: dict[str, Any] = msgspec.field(default_factory=dict)
    conversation_history: tuple[Entry, ...] = ()
    """The last field: it is written entry by entry, after all others."""


class CompressedContext(Value, frozen=True):
    """A compressed context: its size before and after compression, and the hash of the JSON."""

    data: bytes
    size: int
    stored: int
    hash: Hash


def serialize(context: HandoffContext) -> str:
    return b"".join(encoded(context)).decode()


def deserialize(text: str | bytes | bytearray) -> HandoffContext:
    try:
        return msgspec.json.decode(text, type=HandoffContext)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        try:
            return _beyond_json(text)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            raise _damaged(str(error)) from error


def _beyond_json(text: str | bytes | bytearray) -> HandoffContext:
    """A context that contains numbers that JSON cannot express."""
    content = text.encode() if isinstance(text, str) else bytes(text)
    if not any(word in content for word in BEYOND_JSON):
        raise ValueError
    found = msgspec.convert(json.loads(content.decode()), HandoffContext)
    msgspec.json.encode(found)  # a lone surrogate, which json accepts, cannot be written
    return found


def encoded(context: HandoffContext, history: Iterable[Entry] | None = None) -> Iterator[bytes]:
    """The context as JSON, piece by piece. `history` replaces the history of the context."""
    entries = context.conversation_history if history is None else history
    yield _encoded(msgspec.structs.replace(context, conversation_history=())).removesuffix(b"]}")
    separator = b""
    for entry in entries:
        yield separator + _encoded(entry)
        separator = b","
    yield b"]}"


def _encoded(value: HandoffContext | Entry) -> bytes:
    try:
        written = ENCODER.encode(value)
        # The encoder writes null for a number that JSON cannot express.
        if b"null" not in written or not _has_such_numbers(plain := msgspec.to_builtins(value)):
            return written
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise BadInput(
            what=f"The context cannot be written as JSON: {error}.",
            next="segue transcripts shows what it was made from",
        ) from error


def _has_such_numbers(plain: Any) -> bool:
    left = [plain]
    while left:
        value = left.pop()
        if type(value) is float:
            if not math.isfinite(value):
                return True
        elif type(value) is dict:
            left += value.values()
        elif type(value) is list or type(value) is tuple:
            left += value
    return False


def compress(context: HandoffContext, history: Iterable[Entry] | None = None) -> CompressedContext:
    """The context compressed, quickly. `history` is read while it is packed, and replaces that of the context."""
    packing = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compressobj()
    digest, size, packed = hashlib.sha256(), 0, bytearray()
    for piece in encoded(context, history):
        digest.update(piece)
        size += len(piece)
        packed += packing.compress(piece)
    packed += packing.flush()
    return CompressedContext(data=bytes(packed), size=size, stored=len(packed), hash=digest.hexdigest())


def decompress(compressed: CompressedContext) -> HandoffContext:
    """The context that was compressed, checked against its size and hash."""
    content = _unpacked(compressed)
    if hashlib.sha256(content).hexdigest() != compressed.hash:
        raise _damaged("its content does not match its hash")
    return deserialize(content)


def _unpacked(compressed: CompressedContext) -> bytearray:
    if not 0 <= compressed.size <= LARGEST:
        raise _damaged("it claims to be too large")
    if len(compressed.data) != compressed.stored:
        raise _damaged("its length is not what it says")
    content = bytearray()
    try:
        with zstandard.ZstdDecompressor().stream_reader(compressed.data) as stream:
            while len(content) <= compressed.size and (piece := stream.read(STEP)):
                content += piece
    except (zstandard.ZstdError, MemoryError) as error:
        raise _damaged(str(error)) from error
    if len(content) != compressed.size:
        raise _damaged("its size is not what it says")
    return content


def _damaged(what: str) -> BadInput:
    return BadInput(
        what=f"The context cannot be read: {what}.", next="segue pack makes a new one from its transcript"
    )
