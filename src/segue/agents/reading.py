"""What all readers share: going through a file once, from where the last read ended.

Nothing in a transcript is trusted to be well-formed. A line that is no record is counted and passed over,
a last line that is still being written is left for the next read, and a file that is not the one that was
read before is read from its start.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from segue import clock
from segue.clock import Moment
from segue.digest import short_hash
from segue.errors import AgentError
from segue.model import INTERRUPT as INTERRUPT
from segue.model import Entry, Mark, Source, Spend, Tokens, Value

if TYPE_CHECKING:
    from pathlib import Path

CHUNK = 1 << 20
LONGEST_LINE = 32 << 20
LARGEST_DOCUMENT = 64 << 20
ABSURD = 1 << 48
"""No count of tokens is as large as this."""
FIRST, LAST = "1970", "2200"
"""No agent wrote before the first of these years, or from the last on: such a time is none."""
LAST_SECOND = 7_258_118_400
"""When the last of these years begins."""
DEEPEST = 200
"""How many values may stand inside each other. No agent nests as deeply; and what can be read of more depends on how
much room the caller left."""
COUNTED = 4096
WITNESS = 64
"""How many bytes before a mark tell whether a file is still the same."""

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
        return self._entries(self)

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


# Finding


def source_of(agent: str, path: str | os.PathLike[str]) -> Source | None:
    """A file as a source; None if it is gone, no ordinary file, or has a name that cannot be written down."""
    name = os.fspath(path)
    try:
        name.encode()
        found = os.stat(name)  # noqa: PTH116 - quick
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return Source(agent=agent, path=name, size=found.st_size, stamp=found.st_mtime_ns)


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


def items_in(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    """What is in a folder, by name; nothing where it is missing or closed."""
    try:
        with os.scandir(folder) as items:
            return sorted(items, key=attrgetter("name"))
    except (OSError, ValueError):
        return []


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
                content = line.strip()
                if content:
                    record = decode(content) if len(content) <= LONGEST_LINE else None
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
    while line := file.readline(LONGEST_LINE + 2):
        offset += len(line)
        if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
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
    try:
        fd = os.open(source.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise AgentError(agent=source.agent, what=f"{source.path} cannot be read: {what}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise AgentError(agent=source.agent, what=f"{source.path} is no ordinary file")
    return os.fdopen(fd, "rb", buffering=buffering)


def witness(file: BinaryIO, offset: int) -> str:
    start = max(0, offset - WITNESS)
    found = os.pread(file.fileno(), offset - start, start)
    return short_hash(found).hex()


def decode(line: bytes) -> dict[str, Any] | None:
    """A JSON object; None where it is none."""
    value = decode_any(line)
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


# Values out of records, whatever is really there


def moment_of(value: Any) -> Moment | None:
    """A time as agents write it: ISO text, or seconds or milliseconds since 1970."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            if _is_usual(value):
                return value[:-1] + "000Z" if FIRST <= value < LAST else None
            moment = clock.moment(found if found.tzinfo else found.replace(tzinfo=UTC))
            return moment if FIRST <= moment < LAST else None
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            moment = clock.moment(datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC))
            return moment if moment < LAST else None
    except (ValueError, OverflowError, OSError):
        pass
    return None


def _is_usual(time: str) -> bool:
    """Whether a time is written as most agents do: UTC, to the millisecond."""
    return len(time) == 24 and time[4:20:3] == "--T::." and time[23] == "Z"


def second_of(value: Any) -> int:
    """The same in seconds since 1970, 0 where there is none: without the text, where only a number is wanted."""
    if not isinstance(value, str):
        moment = moment_of(value)
        return int(clock.parse(moment).timestamp()) if moment else 0
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return 0
    second = int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp())
    return second if 0 <= second < LAST_SECOND else 0


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def dict_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def count_of(value: Any) -> int:
    """A number of tokens: never negative, never absurd."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < ABSURD else 0


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
