"""Count the tokens in Claude Code's transcripts: the fast path for usage totals.

Most of a transcript is output of tools. This searches for lines with token counts without decoding the others, and
decodes only the last of the lines that belong to one answer. It finds what `claude.read` finds; the conformance suite
compares them. For a few lines, nothing slow is loaded; for many, `token_decoder` decodes them faster.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection

from segue.agents.shared.transcripts import file_scan
from segue.agents.shared.transcripts.coerce import count_of, dict_of, second_of, text_of
from segue.usage.ledger import class_of, hashes

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` is slow to load
    from typing import Any

    from segue.agents.shared.transcripts.file_scan import Found
    from segue.usage.ledger import Row

CHUNK = 1 << 18
"""Small enough to stay in the processor's cache."""
MUCH = 2 << 20
"""From this many bytes on, loading the faster decoder pays off."""
FIGURES = b'"input_tokens":'
"""The text in every line with token counts."""
ID = b'"id":"msg_'
ID_LENGTH = 38
"""How many of the following bytes distinguish answers."""
KIND = b'"type":"'
ANSWER = (b"assis", b"messa")
"""Prefixes of the type of a record with an answer, or of its message's type if that comes first."""
WITHOUT = (b'user"', b'progress","data":{"message":{"type":"user"')
"""The types of records without token counts: prompts, tool results, and reports of such records of a subagent. They
make up most of a transcript."""
HEAD = 700
"""How much of a line is searched for its type."""
PARENT = len('{"parentUuid":"01234567-89ab-cdef-0123-456789abcdef"')
"""The length of the usual start of a record, which differs from line to line."""
ENOUGH = 24
"""How many bytes from its type on distinguish a line from those without token counts."""
NO_FIGURES = -1
"""In place of the position of an answer's id, for a line without token counts."""
SYNTHETIC = "<synthetic>"
"""The model in the program's own messages."""

Told = tuple[str, "Any", str, int, int, int, int, int]
"""The usage of an answer in a line: key, time as written, model, five counts."""
Tell = Callable[[bytearray], Told | None]


def rows(found: Found, offset: int = 0, before: str = "") -> tuple[list[Row], int, str, bool]:
    """The usage since a mark, each answer once, as rows for the index; the new mark; and whether the file was read from
    the start."""
    told, offset, before, is_anew = told_since(found, offset, before)
    rows = [
        (key, second_of(at), model, class_of(input + read + written), input, output, read, written, long, 0.0)
        for key, (_, at, model, input, output, read, written, long) in zip(
            hashes([one[0] for one in told]), told, strict=True
        )
    ]
    return rows, offset, before, is_anew


def told_since(
    found: Found, offset: int, before: str, tell: Tell | None = None
) -> tuple[Collection[Told], int, str, bool]:
    """The same, as tuples. `tell` decodes a line."""
    agent, path, _part, size, _stamp = found
    with file_scan.open_file(agent, path, buffering=0) as file:
        if offset and file_scan.witness(file, offset) != before:
            offset = 0
        is_anew = not offset
        lines = _Lines(tell or _teller(size - offset))
        for block, whole in file_scan.blocks(file, offset, CHUNK):
            if not whole and _is_whole(bytes(block[file_scan.LEAD :])):
                whole = len(block) - file_scan.LEAD
            offset += abs(whole)
            lines.add(block, file_scan.LEAD + whole)
        return lines.told.values(), offset, file_scan.witness(file, offset), is_anew


_so_far = 0
"""How many bytes this process has scanned."""


def _teller(size: int) -> Tell:
    global _so_far
    _so_far += size
    if _so_far < MUCH and "msgspec" not in sys.modules:
        return told_plainly
    from segue.agents.claude.token_decoder import told_quickly  # lazy: slow to load

    return told_quickly


class _Lines:
    """The usage in a transcript's lines.

    Within a session, the start of a record hardly changes, except for the name of its parent. So most lines are
    recognised by the start of earlier lines."""

    def __init__(self, tell: Tell) -> None:
        self.told: dict[str, Told] = {}
        self._tell = tell
        self._answer: tuple[bytes, ...] = ()
        """The start of an answer, up to its id."""
        self._begun: dict[bytes, bytes] = {}
        self._without: tuple[bytes, ...] = ()
        """The starts of lines without token counts, up to their type: one for each type."""
        self._other: tuple[bytes, ...] = ()
        """The start of a line that had to be searched."""
        self._tail = 0
        """The distance of the request's id from the end of a line."""

    def add(self, block: bytearray, size: int) -> None:
        """Scan a block of lines. Consecutive lines of the same answer are decoded together."""
        find, startswith = block.find, block.startswith
        start, before = file_scan.LEAD, None
        run: list[tuple[int, int, bool]] = []
        while start < size:
            end = find(b"\n", start, size)
            if end < 0:
                end = size
            same = start + PARENT
            is_answer = startswith(self._answer, same)
            if is_answer:
                named = same + len(self._answer[0])
            elif startswith(self._without, same) and find(b"{", start + 1, same) < 0:
                start = end + 1
                continue
            elif startswith(self._other, same):
                named = _named(block, start, end)
            else:
                named, is_answer = self._look_at(block, start, end)
            if named != NO_FIGURES:
                id = block[named : named + ID_LENGTH] if named else None
                if run and (id is None or id != before):
                    self._add_run(block, run)
                    run = []
                run.append((start, end, is_answer))
                before = id
            start = end + 1
        if run:
            self._add_run(block, run)

    def _look_at(self, block: bytearray, start: int, end: int) -> tuple[int, bool]:
        """The position of the answer's id in a line, and whether the line is the answer itself. Remember its start."""
        same = start + PARENT
        kind = block.find(KIND, start, start + HEAD) + len(KIND)
        if kind < end and block.startswith(ANSWER, kind):
            named = block.find(ID, max(start, kind - ID_LENGTH - 2 * len(ID)), end) + len(ID)
            if same < named < start + HEAD:
                self._answer = (bytes(block[same:named]),)
            return (named if named >= len(ID) else 0), True
        if kind < end and block.startswith(WITHOUT, kind) and block.find(b"{", start + 1, kind) < 0:
            if same < kind:
                told = next(each for each in WITHOUT if block.startswith(each, kind))
                self._begun[told] = bytes(block[same : kind + len(told)])
                self._without = (*self._begun.values(),)
            return NO_FIGURES, False
        if same < kind < end - ENOUGH:
            self._other = (bytes(block[same : kind + ENOUGH]),)
        return _named(block, start, end), False

    def _add_run(self, block: bytearray, run: list[tuple[int, int, bool]]) -> None:
        """Add the usage of lines with the same answer. Mostly the last line has it all. An earlier line is decoded if
        the last has none, or belongs to another request. So is a subagent's report, which may repeat an answer's counts
        next to its own."""
        told: dict[str, Told] = {}
        request = b""
        while run:
            start, end, is_answer = run.pop()
            if request and is_answer and self._names(request, block, start, end):
                continue
            one = self._tell(block[start:end])
            if one:
                told.setdefault(one[0], one)
                if run and is_answer:
                    request = one[0].rpartition(":")[2].encode()
        self.told.update(told)

    def _names(self, request: bytes, block: bytearray, start: int, end: int) -> bool:
        """Whether a line names a request, mostly at the usual distance from its end."""
        usual = end - self._tail
        if usual > start and block.startswith(request, usual, end):
            return True
        at = block.rfind(request, start, end)
        if at >= 0:
            self._tail = end - at
        return at >= 0


def _named(block: bytearray, start: int, end: int) -> int:
    """The position of the answer's id in a line with token counts; 0 if it has no id."""
    if block.find(FIGURES, start, end) < 0:
        return NO_FIGURES
    at = block.find(ID, start, end)
    return at + len(ID) if at >= 0 else 0


def told_plainly(line: bytearray) -> Told | None:
    """The usage in a line, decoded by Python's own decoder."""
    try:
        record = _decode(str(line, "utf-8"))
        told = told_in(record) if isinstance(record, dict) else None
        if told:
            f"{told[0]}{told[2]}".encode()  # raises for half of a surrogate pair
        return told
    except (ValueError, RecursionError):
        return told_by_damaged(bytes(line))


@functools.cache
def _decoder() -> Callable[[str], Any]:
    import json  # lazy: mostly no line is new

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return json.JSONDecoder(parse_constant=refuse).decode


def _decode(text: str) -> Any:
    return _decoder()(text)


def told_by_damaged(line: bytes) -> Told | None:
    """The usage in a line that a stricter decoder refused."""
    from segue.agents.shared.transcripts import reader  # lazy: damaged lines are rare

    record = reader.decode(line) if len(line) <= file_scan.LONGEST_LINE else None
    return told_in(record) if record else None


def _is_whole(line: bytes) -> bool:
    """Whether a last line without a newline is a complete record. An incomplete one is left for the next scan."""
    if not line.rstrip(b"\0 \t\r").endswith(b"}"):
        return False
    from segue.agents.shared.transcripts import reader  # lazy: most last lines end in a newline

    return reader.decode(line) is not None


def told_in(record: dict[str, Any]) -> Told | None:
    """The usage in a record: its own, or that of a reported subagent record."""
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
