"""What Claude Code's transcripts say of tokens, and nothing else: the quick pass for totals.

Most of a transcript is output of tools. This looks for the lines that hold figures without taking the others
apart, and of an answer that was written in several lines decodes only the last. What it finds is what
`claude.read` finds; the conformance suite compares them. Nothing that takes long to load is loaded for a few
lines; for many there is `answers`, which takes them apart more quickly.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable

from segue.agents import files
from segue.agents.loose import count_of, dict_of, second_of, text_of
from segue.ledger import row

TYPE_CHECKING = False
if TYPE_CHECKING:  # not asked of typing: that takes long to load
    from typing import Any

    from segue.agents.files import Found
    from segue.ledger import Row

CHUNK = 1 << 17
"""Little enough to stay close to the processor while it is searched."""
MUCH = 2 << 20
"""From this many bytes on it pays to load what takes lines apart quickly."""
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

Told = tuple[str, "Any", str, int, int, int, int, int]
"""What a line tells of an answer: key, time as it is written, model, five counts."""
Tell = Callable[[bytearray], Told | None]


def rows(found: Found, offset: int = 0, before: str = "") -> tuple[list[Row], int, str, bool]:
    """What was spent since a mark, each answer once, as the index takes it; the mark to go on from; and whether all
    was read anew."""
    told, offset, before, is_anew = told_since(found, offset, before)
    rows = [
        row(key, second_of(at), model, input, output, read, written, long)
        for key, at, model, input, output, read, written, long in told
    ]
    return rows, offset, before, is_anew


def told_since(
    found: Found, offset: int, before: str, tell: Tell | None = None
) -> tuple[Iterable[Told], int, str, bool]:
    """The same as it is told. `tell` takes a line apart."""
    agent, path, _part, size, _stamp = found
    told: dict[str, Told] = {}
    with files.open_file(agent, path, buffering=0) as file:
        if offset and files.witness(file, offset) != before:
            offset = 0
        is_anew = not offset
        tell = tell or _teller(size - offset)
        for block, end in files.blocks(file, offset, CHUNK):
            if not end and _is_whole(bytes(block)):
                end = len(block)
            offset += abs(end)
            _add(told, block, end, tell)
        return told.values(), offset, files.witness(file, offset), is_anew


_so_far = 0
"""How many bytes this process was asked to look at."""


def _teller(size: int) -> Tell:
    global _so_far
    _so_far += size
    if _so_far < MUCH and "msgspec" not in sys.modules:
        return told_plainly
    from segue.agents.claude.answers import told_quickly  # lazy: see above

    return told_quickly


def _add(found: dict[str, Told], block: bytearray, size: int, tell: Tell) -> None:
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
            _add_run(found, block, run, tell)
            run = []
        run.append((start, end, is_answer))
        before = id
        start = end + 1
    if run:
        _add_run(found, block, run, tell)


def _add_run(found: dict[str, Told], block: bytearray, run: list[tuple[int, int, bool]], tell: Tell) -> None:
    """What lines tell that name the same answer: mostly the last tells all. One before it is looked at where the last
    tells nothing, or is of another request; and so is a sub-agent's report, which may hold an answer's figures
    again beside its own."""
    told: dict[str, Told] = {}
    request = b""
    while run:
        start, end, is_answer = run.pop()
        if request and is_answer and block.rfind(request, start, end) >= 0:
            continue
        one = tell(block[start:end])
        if one:
            told.setdefault(one[0], one)
            if run and is_answer:
                request = one[0].rpartition(":")[2].encode()
    found.update(told)


def told_plainly(line: bytearray) -> Told | None:
    """The figures of a line, taken apart by Python's own decoder."""
    try:
        record = _decode(str(line, "utf-8"))
        told = told_in(record) if isinstance(record, dict) else None
        if told:
            f"{told[0]}{told[2]}".encode()  # half of a surrogate pair is no text
        return told
    except (ValueError, RecursionError):
        return told_by_damaged(bytes(line))


@functools.cache
def _decoder() -> Callable[[str], Any]:
    import json  # lazy: mostly there is nothing new

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return json.JSONDecoder(parse_constant=refuse).decode


def _decode(text: str) -> Any:
    return _decoder()(text)


def told_by_damaged(line: bytes) -> Told | None:
    """The same, of a line that a stricter decoder refused."""
    from segue.agents import reading  # lazy: hardly a line is damaged

    record = reading.decode(line) if len(line) <= files.LONGEST_LINE else None
    return told_in(record) if record else None


def _is_whole(line: bytes) -> bool:
    """Whether a last line without an end is a whole record: what is still being written is left for the next time."""
    if not line.rstrip(b"\0 \t\r").endswith(b"}"):
        return False
    from segue.agents import reading  # lazy: mostly lines have an end

    return reading.decode(line) is not None


def told_in(record: dict[str, Any]) -> Told | None:
    """The figures of a record: an answer's own, or those of a sub-agent's that it reports."""
    if record.get("type") == "progress":
        record = dict_of(dict_of(record.get("data")).get("message"))
    if record.get("type") == "user":
        return None
    message = dict_of(record.get("message"))
    usage = message.get("usage")
    if not isinstance(usage, dict):
        return None
    input, output = count_of(usage.get("input_tokens")), count_of(usage.get("output_tokens"))
    read = count_of(usage.get("cache_read_input_tokens"))
    written = count_of(usage.get("cache_creation_input_tokens"))
    kept = count_of(dict_of(usage.get("cache_creation")).get("ephemeral_1h_input_tokens"))
    id, request = text_of(message.get("id")), text_of(record.get("requestId"))
    key = f"{id}:{request}" if id and request else id or request or text_of(record.get("uuid"))
    model = text_of(message.get("model"))
    if not key or model == SYNTHETIC or not (input or output or read or written):
        return None
    return key, record.get("timestamp"), model, input, output, read, written, min(kept, written)
