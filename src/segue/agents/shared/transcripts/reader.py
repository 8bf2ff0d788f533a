"""Reading a transcript file once, from where the last read ended.

No transcript is trusted to be well-formed. A line that is no record is counted and skipped. An incomplete
last line is left for the next read. A file that was replaced is read from its start.
"""

from __future__ import annotations

import codecs
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import msgspec

from segue.agents.shared.transcripts import file_scan
from segue.agents.shared.transcripts.coerce import count_of as count_of
from segue.agents.shared.transcripts.coerce import dict_of as dict_of
from segue.agents.shared.transcripts.coerce import list_of as list_of
from segue.agents.shared.transcripts.coerce import moment_of as moment_of
from segue.agents.shared.transcripts.coerce import number_of as number_of
from segue.agents.shared.transcripts.coerce import second_of as second_of
from segue.agents.shared.transcripts.coerce import text_of as text_of
from segue.agents.shared.transcripts.file_scan import CHUNK, Found
from segue.agents.shared.transcripts.file_scan import LONGEST_LINE as LONGEST_LINE
from segue.agents.shared.transcripts.file_scan import WITNESS as WITNESS
from segue.agents.shared.transcripts.file_scan import items_in as items_in
from segue.agents.shared.transcripts.file_scan import witness as witness
from segue.errors import AgentError
from segue.model import INTERRUPT as INTERRUPT
from segue.model import Agent as Agent
from segue.model import Entry, Mark, Source, Spend, Tokens, Value

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_DOCUMENT = 64 << 20
DEEPEST = 200
"""How deeply values may be nested. No agent nests this deep, and what could be read beyond it would depend on
the caller's stack."""
COUNTED = 4096

_DECODER = msgspec.json.Decoder()


class Reading:
    """One pass over a transcript. Iterate over it once for the entries; the attributes describe the pass so far."""

    def __init__(
        self, source: Source, mark: Mark | None, entries: Callable[[Reading], Iterator[Entry]]
    ) -> None:
        self.source = source
        mark = mark or Mark()
        # The caller's mark must not change: it may be read from again.
        self.mark = Mark(offset=mark.offset, before=mark.before, state=_copied(mark.state))
        """Where to continue. A reader may change its state."""
        self.lines = 0
        self.broken = 0
        """Lines that are no record: counted, never fatal."""
        self.is_cut = False
        """Whether the last line is incomplete. It is left for the next read."""
        self.is_anew = not self.mark.offset
        """Whether this read began at the start, even if asked to continue: then it replaces what was known. A
        document's mark stays at the start, and a read with a mark gives only what is new or changed: then
        this is False. Such entries cannot be added up, so `index_scan.scan` reads documents without a mark."""
        self.unknown: Counter[str] = Counter()
        """Record types that the reader does not know. Their entries are notes."""
        self.learned: dict[str, Any] = {}
        self._entries = entries

    def __iter__(self) -> Iterator[Entry]:
        try:
            yield from self._entries(self)
        except AgentError:
            raise
        except Exception as error:  # another's format, and maybe another's code: anything may come out of it
            raise file_scan.reader_failed(self.source.agent, self.source.path, error) from error

    def learn(self, **fields: Any) -> None:
        """Set fields of `Transcript` that entries don't hold, such as id or title."""
        self.learned.update(fields)

    def start_over(self) -> None:
        self.mark = Mark()
        self.is_anew = True


def _copied(value: Any) -> Any:
    """A deep copy of a mark's state, which holds only what JSON can hold."""
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


class Spends(Value, frozen=True):
    """What a pass for tokens alone found. A reader may offer `spends(source, mark)`."""

    source: Source
    spends: tuple[Spend, ...]
    mark: Mark
    is_anew: bool


class Reader(Protocol):
    """An agent that can be read. Nothing is ever written to its files."""

    AGENT: Agent

    def find(self, env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
        """Every transcript on this machine, by listing folders alone. `projects` are the known project
        folders, for agents that keep their transcripts there."""

    def read(self, source: Source, mark: Mark | None = None) -> Reading:
        """The entries of a transcript in order; with a mark, only the new ones."""

    def recognise(self, start: bytes) -> bool:
        """Whether the first bytes of a file are from a transcript of this agent."""


# Finding


def source_of(agent: str, path: str | os.PathLike[str]) -> Source | None:
    """A file as a source; None if it is gone, is no regular file, or has a name that is not valid UTF-8."""
    found = file_scan.found(agent, path)
    return source_from(found) if found else None


def source_from(found: Found) -> Source:
    agent, path, part, size, stamp = found
    return Source(agent=agent, path=path, part=part, size=size, stamp=stamp)


def found_from(source: Source) -> Found:
    return source.agent, source.path, source.part, source.size, source.stamp


def sources_like(agent: str, folder: Path, patterns: Iterable[str]) -> Iterator[Source]:
    """The files below a folder that match the patterns, in order; none if the folder is missing or not readable."""
    for pattern in patterns:
        try:
            found = sorted(folder.glob(pattern))
        except (OSError, ValueError):  # the folder is gone, or its name is invalid
            continue
        for path in found:
            if source := source_of(agent, path):
                yield source


# Reading a file


def records(reading: Reading) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file of lines. What a reader must remember goes into `reading.mark.state`."""
    with open_file(reading.source) as file:
        if reading.mark.offset and witness(file, reading.mark.offset) != reading.mark.before:
            reading.start_over()
        state, offset = reading.mark.state, reading.mark.offset
        try:
            for line, end in _lines(file, offset):
                is_last = not line.endswith(b"\n")
                if not line.isspace():
                    record = decode(line) if len(line) <= file_scan.LONGEST_LINE + 1 else None
                    if record is None and is_last:
                        reading.is_cut = True
                        break
                    reading.lines += 1
                    if record is None:
                        reading.broken += 1
                    else:
                        yield record
                offset = end
        finally:
            reading.mark = Mark(offset=offset, before=witness(file, offset), state=state)


def _lines(file: BinaryIO, offset: int) -> Iterator[tuple[bytes, int]]:
    """Each line with the offset after it. Of an overlong line, only the start."""
    file.seek(offset)
    while line := file.readline(file_scan.LONGEST_LINE + 2):
        offset += len(line)
        if len(line) > file_scan.LONGEST_LINE and not line.endswith(b"\n"):
            while rest := file.readline(CHUNK):
                offset += len(rest)
                if rest.endswith(b"\n"):
                    line += b"\n"
                    break
        yield line, offset


def document(reading: Reading) -> Any:
    """A file that is one JSON value; None if it is not. Its mark stays at the start, because such a file is
    rewritten as a whole."""
    with open_file(reading.source) as file:
        content = file.read(LARGEST_DOCUMENT + 1)
    reading.lines = 1
    value = decode_any(content) if len(content) <= LARGEST_DOCUMENT else None
    if value is None:
        reading.broken = 1
        reading.is_cut = True
    return value


def open_file(source: Source, buffering: int = CHUNK) -> BinaryIO:
    """A transcript, open for reading. Never blocks on a pipe or a device."""
    return file_scan.open_file(source.agent, source.path, buffering)


def decode(line: bytes) -> dict[str, Any] | None:
    """A JSON object, or None. Skips the byte order mark that some editors write."""
    value = decode_any(line.removeprefix(codecs.BOM_UTF8))
    return value if isinstance(value, dict) else None


def decode_any(content: bytes) -> Any:
    """A JSON value; None if it is invalid or nested too deeply."""
    try:
        value = _DECODER.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = _salvage(content)
    except RecursionError:
        return None
    # Brackets are quick to count in a short text; in a long one, its value is quicker to walk.
    may_be_deep = len(content) > COUNTED or content.count(b"{") + content.count(b"[") > DEEPEST
    return None if may_be_deep and _is_deep(value) else value


def _is_deep(value: Any) -> bool:
    level, depth = [value] if isinstance(value, dict | list) else [], 0
    while level and depth < DEEPEST:
        below = []
        for one in level:
            for inner in one.values() if type(one) is dict else one:
                kind = type(inner)
                if kind is dict or kind is list:
                    below.append(inner)
        level, depth = below, depth + 1
    return bool(level)


def _salvage(content: bytes) -> Any:
    """Decode what a stricter decoder refuses: invalid UTF-8, half a surrogate pair, NULs from a crash."""
    import json  # lazy: only damaged lines need it

    try:
        text = content.replace(b"\0", b"").decode("utf-8", "replace")
        return _without_surrogates(json.loads(text, strict=False))
    except (ValueError, RecursionError):
        return None


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(inner) for key, inner in value.items()}
    return [_without_surrogates(inner) for inner in value] if isinstance(value, list) else value


# Values in records


def tokens_within(total: int, read: int, written: int, output: int) -> Tokens:
    """Tokens of an agent whose total input includes what was read from the cache or written to it."""
    read = min(read, total)
    written = min(written, total - read)
    return Tokens(input=total - read - written, output=output, cache_read=read, cache_write=written)


def status_of(value: Any) -> int | None:
    """An exit status; None if the value cannot be one."""
    is_status = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 32
    return value if is_status else None


def compact(value: Any) -> str:
    """JSON as one line."""
    try:
        return msgspec.json.encode(value).decode()
    except RecursionError:
        return "(nested too deeply to show)"
