"""The fast decoder for lines of Claude Code's transcripts."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from segue.agents.claude.token_scan import SYNTHETIC, Told, told_by_damaged
from segue.agents.shared.transcripts.coerce import ABSURD

Count = Annotated[int, Meta(ge=0, lt=ABSURD)]


class _Kept(Struct, gc=False):
    ephemeral_1h_input_tokens: Count = 0


class _Usage(Struct, gc=False):
    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_input_tokens: Count = 0
    cache_creation_input_tokens: Count = 0
    cache_creation: _Kept | None = None


class _Message(Struct, gc=False):
    id: str | None = None
    model: str | None = None
    usage: _Usage | None = None


class _Reported(Struct, gc=False):
    """The subagent's own record in a progress record."""

    type: str | None = None
    message: _Message | None = None
    request: str | None = field(default=None, name="requestId")
    timestamp: str | None = None
    uuid: str | None = None


class _Data(Struct, gc=False):
    message: _Reported | None = None


class _Record(Struct, gc=False):
    type: str
    message: _Message | None = None
    request: str | None = field(default=None, name="requestId")
    timestamp: str | None = None
    uuid: str | None = None
    data: _Data | None = None


_DECODER = msgspec.json.Decoder(_Record)


def told_quickly(line: bytearray) -> Told | None:
    """The usage in a line: what `find_usage` finds, but only the needed fields are decoded."""
    try:
        record = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return told_by_damaged(bytes(line))
    own: _Record | _Reported | None = record
    if record.type == "progress":
        own = record.data.message if record.data else None
    message = own.message if own else None
    if own is None or message is None or message.usage is None or own.type == "user":
        return None
    usage, id, request, model = message.usage, message.id, own.request, message.model or ""
    written, kept = usage.cache_creation_input_tokens, usage.cache_creation
    read, output, input = usage.cache_read_input_tokens, usage.output_tokens, usage.input_tokens
    key = f"{id}:{request}" if id and request else id or request or own.uuid
    if not key or model == SYNTHETIC or not (input or output or read or written):
        return None
    long = min(kept.ephemeral_1h_input_tokens, written) if kept else 0
    return key, own.timestamp, model, input, output, read, written, long
