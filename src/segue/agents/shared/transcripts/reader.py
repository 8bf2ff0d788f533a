"""What all readers share: going through a file once, from where the last read ended.

Nothing in a transcript is trusted to be well-formed. A line that is no record is counted and passed over,
a last line that is still being written is left for the next read, and a file that is not the one that was
read before is read from its start.
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
"""How many values may stand inside each other. No agent nests as deeply; and what can be read of more depends on how
much room the caller left."""
COUNTED = 4096

_DECODER = msgspec.json.Decoder()


class Reading:
    """One pass over a transcript. Iterate once for the entries; the rest tells how it went, up to there."""

    def __init__(
        self, source: Source, mark: Mark | None, entries: Callable[[Reading], Iterator[Entry]]
    ) -> None:
        self.source = source
        mark = mark or Mark()
        # What a mark remembers belongs to whoever kept it: it may be read from again.
        self.mark = Mark(offset=mark.offset, before=mark.before, state=_copied(mark.state))
        """Where to go on. A reader may change its state as it goes."""
        self.lines = 0
        self.broken = 0
        """Lines that are no record: counted, never fatal."""
        self.is_cut = False
        """Whether the last line is only half written: it is left for the next read."""
        self.is_anew = not self.mark.offset
        """Whether this read began at the start, although it may have been asked to go on: then it replaces what
        was known. Of a document, whose mark stays at the start, a read with a mark tells what is new or changed
        and is not anew; such entries cannot be added up, so whoever adds up (`scanning.scan`) reads documents
        without a mark."""
        self.unknown: Counter[str] = Counter()
        """Record types that the reader does not know; their entries are notes."""
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
        """Say of the transcript what its entries cannot: fields of `Transcript`, such as id or title."""
        self.learned.update(fields)

    def start_over(self) -> None:
        self.mark = Mark()
        self.is_anew = True


def _copied(value: Any) -> Any:
    """The same, sharing nothing that can change. A state holds what JSON can hold."""
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


class Spends(Value, frozen=True):
    """What a quick pass for tokens alone found: a reader may offer `spends(source, mark)`."""

    source: Source
    spends: tuple[Spend, ...]
    mark: Mark
    is_anew: bool


class Reader(Protocol):
    """What Segue needs of an agent to read its work. Nothing is ever written to what it reads."""

    AGENT: Agent

    def find(self, env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
        """Every transcript on this machine, by looking at folders alone. `projects` are the folders that
        are known to be worked in: for agents that keep their transcripts there."""

    def read(self, source: Source, mark: Mark | None = None) -> Reading:
        """The entries of a transcript in order; with a mark, those that came since."""

    def recognise(self, start: bytes) -> bool:
        """Whether the first bytes of a file are of a transcript of this agent."""


# Finding


def source_of(agent: str, path: str | os.PathLike[str]) -> Source | None:
    """A file as a source; None if it is gone, no ordinary file, or has a name that cannot be written down."""
    found = file_scan.found(agent, path)
    return source_from(found) if found else None


def source_from(found: Found) -> Source:
    agent, path, part, size, stamp = found
    return Source(agent=agent, path=path, part=part, size=size, stamp=stamp)


def found_from(source: Source) -> Found:
    return source.agent, source.path, source.part, source.size, source.stamp


def sources_like(agent: str, folder: Path, patterns: Iterable[str]) -> Iterator[Source]:
    """The files below a folder whose names fit, in order; nothing where it is missing or closed."""
    for pattern in patterns:
        try:
            found = sorted(folder.glob(pattern))
        except (OSError, ValueError):  # a folder that was there a moment ago, or no name for one
            continue
        for path in found:
            if source := source_of(agent, path):
                yield source


# Going through a file


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
    """Each line with the offset after it. Of one that is too long to be kept only the start is given."""
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
    """A file that is one JSON value; None where it is none. Its mark stays at the start: such a file is not
    appended to, it is written anew."""
    with open_file(reading.source) as file:
        content = file.read(LARGEST_DOCUMENT + 1)
    reading.lines = 1
    value = decode_any(content) if len(content) <= LARGEST_DOCUMENT else None
    if value is None:
        reading.broken = 1
        reading.is_cut = True
    return value


def open_file(source: Source, buffering: int = CHUNK) -> BinaryIO:
    """A transcript, to be read. A pipe or a device is none, and none is waited for."""
    return file_scan.open_file(source.agent, source.path, buffering)


def decode(line: bytes) -> dict[str, Any] | None:
    """A JSON object; None where it is none. Some editors put a mark before a file's first line."""
    value = decode_any(line.removeprefix(codecs.BOM_UTF8))
    return value if isinstance(value, dict) else None


def decode_any(content: bytes) -> Any:
    """A JSON value; None where it is none, or nested too deeply."""
    try:
        value = _DECODER.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = _salvage(content)
    except RecursionError:
        return None
    # In a short text brackets are soon counted; a long one is mostly words, and its value soon gone through.
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
    """What a stricter reader refuses: bytes that are no UTF-8, half of a surrogate pair, NULs of a crash."""
    import json  # lazy: only what is damaged needs it

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


# Values out of records


def tokens_within(total: int, read: int, written: int, output: int) -> Tokens:
    """Tokens of an agent that counts what came from a cache, or went into one, within all that was sent."""
    read = min(read, total)
    written = min(written, total - read)
    return Tokens(input=total - read - written, output=output, cache_read=read, cache_write=written)


def status_of(value: Any) -> int | None:
    """An exit status, if it is one."""
    is_status = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 32
    return value if is_status else None


def compact(value: Any) -> str:
    """JSON as one line."""
    try:
        return msgspec.json.encode(value).decode()
    except RecursionError:
        return "(nested too deeply to be shown)"
