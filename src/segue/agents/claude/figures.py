"""What Claude Code's transcripts say of tokens, and nothing else: the quick pass for totals.

Most of a transcript is output of tools. This looks for the lines that hold figures without taking the others
apart, and of an answer that was written in several lines decodes only the last. What it finds is what
`claude.read` finds; the conformance suite compares them.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, BinaryIO

import msgspec
from msgspec import Meta, Struct, field

from segue.agents import reading
from segue.agents.reading import Spends, count_of, dict_of, moment_of, second_of, text_of
from segue.ledger import Row, row
from segue.model import Mark, Source, Spend, Tokens

CHUNK = 1 << 17
"""Little enough to stay close to the processor while it is searched."""
FIGURES = b'"input_tokens":'
"""In every line with figures, whatever else is in it."""
ID = b'"id":"msg_'
ID_LENGTH = 48
KIND = b'"type":"'
ANSWER = (b"assis", b"messa")
"""How the kind of a record with an answer begins, or the kind of its message where that comes first."""
WITHOUT = (b'user"', b'progress","data":{"message":{"type":"user"')
"""The kind of a record with what was typed, or with results of tools, and of one that reports such a record of a
sub-agent: most of a transcript, and without figures."""
HEAD = 700
"""How much of a line is looked at for its kind."""
SYNTHETIC = "<synthetic>"
"""The model that Claude Code names where it speaks itself."""


Count = Annotated[int, Meta(ge=0, lt=reading.ABSURD)]


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
    """What a record of a sub-agent's doing holds of the sub-agent's own record."""

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


def spends_in(record: dict[str, Any]) -> list[Spend]:
    """The figures of a record: an answer's own, or those of a sub-agent's that it reports."""
    if record.get("type") == "progress":
        record = dict_of(dict_of(record.get("data")).get("message"))
    if record.get("type") == "user":
        return []
    message = dict_of(record.get("message"))
    usage = message.get("usage")
    if not isinstance(usage, dict):
        return []
    written = count_of(usage.get("cache_creation_input_tokens"))
    kept = count_of(dict_of(usage.get("cache_creation")).get("ephemeral_1h_input_tokens"))
    tokens = Tokens(
        input=count_of(usage.get("input_tokens")),
        output=count_of(usage.get("output_tokens")),
        cache_read=count_of(usage.get("cache_read_input_tokens")),
        cache_write=written,
        cache_write_long=min(kept, written),
    )
    id, request = text_of(message.get("id")), text_of(record.get("requestId"))
    key = f"{id}:{request}" if id and request else id or request or text_of(record.get("uuid"))
    model = text_of(message.get("model"))
    if not key or not tokens.total or model == SYNTHETIC:
        return []
    return [Spend(key=key, model=model, tokens=tokens, at=moment_of(record.get("timestamp")))]


Told = tuple[str, Any, str, int, int, int, int, int]
"""What a line tells of an answer: key, time as it is written, model, five counts."""


def spends(source: Source, mark: Mark | None = None) -> Spends:
    """What was spent since the mark, each answer once."""
    told, mark, is_anew = _told(source, mark)
    return Spends(source=source, spends=tuple(map(_spend, told)), mark=mark, is_anew=is_anew)


def rows(source: Source, mark: Mark | None = None) -> tuple[list[Row], Mark, bool]:
    """The same as the index takes it."""
    found, mark, is_anew = _told(source, mark)
    rows = [
        row(key, second_of(at), model, input, output, read, written, long)
        for key, at, model, input, output, read, written, long in found
    ]
    return rows, mark, is_anew


def _spend(told: Told) -> Spend:
    key, at, model, input, output, read, written, long = told
    tokens = Tokens(input=input, output=output, cache_read=read, cache_write=written, cache_write_long=long)
    return Spend(key=key, model=model, tokens=tokens, at=moment_of(at))


def _told(source: Source, mark: Mark | None) -> tuple[Iterable[Told], Mark, bool]:
    """What is told since the mark, where to go on, and whether all was read anew."""
    found: dict[str, Told] = {}
    with reading.open_file(source, buffering=0) as file:
        offset = mark.offset if mark else 0
        if mark and offset and reading.witness(file, offset) != mark.before:
            offset = 0
        is_anew = not offset
        for block, end in _blocks(file, offset):
            offset += abs(end)
            _add(found, block, end)
        return found.values(), Mark(offset=offset, before=reading.witness(file, offset)), is_anew


def _blocks(file: BinaryIO, offset: int) -> Iterator[tuple[bytearray, int]]:
    """The file from an offset on, in pieces: a buffer, always the same, and how much of it is whole lines; a negative
    number is passed over. A last line without an end is only given if it is a whole record."""
    file.seek(offset)
    left = os.fstat(file.fileno()).st_size - offset
    buffer = bytearray(min(CHUNK, max(left, 1)))
    kept = 0
    while got := file.readinto(memoryview(buffer)[kept:]):  # type: ignore[attr-defined]
        filled = kept + got
        end = buffer.rfind(b"\n", kept, filled) + 1
        if end:
            yield buffer, end
            buffer[: filled - end] = buffer[end:filled]
        kept = filled - end
        if kept > reading.LONGEST_LINE:
            # No record is as long: what there is of it is passed over, up to its end.
            skipped = kept
            while rest := file.read(CHUNK):
                line_end = rest.find(b"\n") + 1
                skipped += line_end or len(rest)
                if line_end:
                    file.seek(line_end - len(rest), os.SEEK_CUR)
                    break
            yield buffer, -skipped
            kept = 0
        if kept == len(buffer):
            buffer.extend(bytes(CHUNK))
    if kept and reading.decode(bytes(buffer[:kept])) is not None:
        yield buffer, kept


def _add(found: dict[str, Told], block: bytearray, size: int) -> None:
    """What the lines of a block tell. Those in a row that name the same answer are looked at together."""
    find, startswith = block.find, block.startswith
    start, before = 0, None
    run: list[tuple[int, int, bool]] = []
    while start < size:
        end = find(b"\n", start, size)
        if end < 0:
            end = size
        kind = find(KIND, start, start + HEAD) + len(KIND)
        is_answer = kind < end and startswith(ANSWER, kind)
        if is_answer:
            near = kind - ID_LENGTH - len(ID)
            named = find(ID, near if near > start else start, end)
        elif kind < end and startswith(WITHOUT, kind) and find(b"{", start + 1, kind) < 0:
            start = end + 1
            continue
        elif find(FIGURES, start, end) >= 0:
            named = find(ID, start, end)
        else:
            start = end + 1
            continue
        id = block[named : named + ID_LENGTH] if named >= 0 else None
        if run and (id is None or id != before):
            _add_run(found, block, run)
            run = []
        run.append((start, end, is_answer))
        before = id
        start = end + 1
    if run:
        _add_run(found, block, run)


def _add_run(found: dict[str, Told], block: bytearray, run: list[tuple[int, int, bool]]) -> None:
    """What lines tell that name the same answer: mostly the last tells all. One before it is looked at where the last
    tells nothing, or is of another request; and so is a sub-agent's report, which may hold an answer's figures
    again beside its own."""
    told: dict[str, Told] = {}
    request = b""
    while run:
        start, end, is_answer = run.pop()
        if request and is_answer and block.rfind(request, start, end) >= 0:
            continue
        one = _told_by(block[start:end])
        if one:
            told.setdefault(one[0], one)
            if run and is_answer:
                request = one[0].rpartition(":")[2].encode()
    found.update(told)


def _told_by(line: bytearray) -> Told | None:
    """The figures of a line: what `spends_in` finds, without making of the line more than is asked for."""
    try:
        record = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _told_by_damaged(bytes(line))
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


def _told_by_damaged(line: bytes) -> Told | None:
    whole = reading.decode(line) if len(line) <= reading.LONGEST_LINE else None
    for spend in spends_in(whole) if whole else ():
        tokens = spend.tokens
        counts = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.cache_write_long)
        return spend.key, spend.at, spend.model, *counts
    return None
