"""Transcript files: found by listing folders, opened without blocking, identified by the bytes before a mark.

Totals need this and little else, so it loads nothing slow. `reader` uses it too.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from operator import attrgetter

from segue import agents
from segue.base.hashes import short_hash
from segue.errors import AgentError, ReaderFailed

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` is slow to load
    from typing import BinaryIO

CHUNK = 1 << 20
LONGEST_LINE = 32 << 20
COMPRESSED = ".zst"
LARGEST_DECOMPRESSED = 2 << 30
WITNESS = 64
"""How many bytes before a mark identify the file."""

Found = tuple[str, str, str, int, int]
"""A source: agent, path, part, size, and the time of its last change."""


def found(agent: str, path: str | os.PathLike[str]) -> Found | None:
    """A file as a source; None if it is gone, is no regular file, or has a name that is not valid UTF-8."""
    name = os.fspath(path)
    try:
        name.encode()
        seen = os.stat(name)  # noqa: PTH116 - quick
    except (OSError, ValueError):
        return None
    return (agent, name, "", seen.st_size, seen.st_mtime_ns) if stat.S_ISREG(seen.st_mode) else None


def items_in(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    """The items of a folder, sorted by name; empty if it is missing or not readable."""
    try:
        with os.scandir(folder) as items:
            return sorted(items, key=attrgetter("name"))
    except (OSError, ValueError):
        return []


def open_file(agent: str, path: str, buffering: int = CHUNK) -> BinaryIO:
    """A transcript, open for reading and decompressed. Never blocks on a pipe or a device."""
    try:
        fd, path = _open(path)
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or str(error)
        raise AgentError(agent=agent, what=f"{path} cannot be read: {what}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise AgentError(agent=agent, what=f"{path} is not a regular file")
    file = os.fdopen(fd, "rb", buffering=buffering)
    return _decompressed(file, agent, path) if path.endswith(COMPRESSED) else file


def _open(path: str) -> tuple[int, str]:
    """Open the file, or its other form: the agent may have compressed or decompressed it in the meantime."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    path = as_it_is(path)
    return os.open(path, flags), path


def as_it_is(path: str) -> str:
    """The file's path, or that of its other form where only that one exists."""
    other = path.removesuffix(COMPRESSED) if path.endswith(COMPRESSED) else path + COMPRESSED
    return other if not os.path.exists(path) and os.path.exists(other) else path  # noqa: PTH110 - quick


def _decompressed(file: BinaryIO, agent: str, path: str) -> BinaryIO:
    import tempfile  # lazy: few transcripts are compressed

    import zstandard

    whole = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        with file, zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as content:
            while (block := content.read(CHUNK)) and whole.tell() <= LARGEST_DECOMPRESSED:
                whole.write(block)
    except (OSError, zstandard.ZstdError) as error:
        whole.close()
        raise AgentError(agent=agent, what=f"{path} cannot be decompressed: {error}") from error
    if whole.tell() > LARGEST_DECOMPRESSED:
        whole.close()
        raise AgentError(
            agent=agent, what=f"{path} decompresses to more than {LARGEST_DECOMPRESSED >> 30} GiB"
        )
    whole.seek(0)
    return whole


def reader_failed(agent: str, path: str, error: Exception) -> ReaderFailed:
    """What a reader raised on a transcript, as an error that names both."""
    title = agents.get(agent).title if agent in agents.names() else agent
    return ReaderFailed(agent=title, path=path, cause=f"{type(error).__name__}: {error}")


def witness(file: BinaryIO, offset: int) -> str:
    start = max(0, offset - WITNESS)
    seen = os.pread(file.fileno(), offset - start, start)
    return short_hash(seen).hex()


LEAD = 2048
"""Where lines begin in a block: half a page in. The system caches files in whole pages, and copying from the
start of a page to just after the start of another is several times slower than to anywhere else."""
_spare: list[bytearray] = []
"""Blocks to reuse: allocating one per file takes a good part of the reading time."""


def blocks(file: BinaryIO, offset: int, size: int) -> Iterator[tuple[bytearray, int]]:
    """The lines of a file from an offset on, in one reused block. Each time it says how many bytes of it,
    counted from LEAD, are whole lines. A negative number means: skip. The end of the file without a line end
    comes as 0, in a block of its own length."""
    file.seek(offset)
    try:
        block = _spare.pop()
    except IndexError:
        block = bytearray(LEAD + size)
    end = LEAD
    while got := file.readinto(memoryview(block)[end:]):  # type: ignore[attr-defined]
        filled = end + got
        whole = block.rfind(b"\n", end, filled) + 1
        if whole:
            yield block, whole - LEAD
            block[LEAD : LEAD + filled - whole] = block[whole:filled]
        end = LEAD + filled - whole if whole else filled
        if end - LEAD > LONGEST_LINE:
            # No record is this long: skip to its end.
            yield block, -(end - LEAD + _to_line_end(file, size))
            end = LEAD
        if end == len(block):
            block.extend(bytes(size))
    if end > LEAD:
        yield block[:end], 0
    if len(block) == LEAD + size:
        _spare.append(block)


def _to_line_end(file: BinaryIO, size: int) -> int:
    """The number of bytes up to the end of the line. Leaves the file there."""
    passed = 0
    while rest := file.read(size):
        end = rest.find(b"\n") + 1
        passed += end or len(rest)
        if end:
            file.seek(end - len(rest), os.SEEK_CUR)
            break
    return passed
