"""Files of agents: found by a look at folders, opened without waiting, known again by the bytes before a mark.

Totals are told with this and little else, so it loads nothing that takes long; `reading` has it too.
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
if TYPE_CHECKING:  # not asked of typing: that takes long to load
    from typing import BinaryIO

CHUNK = 1 << 20
LONGEST_LINE = 32 << 20
COMPRESSED = ".zst"
LARGEST_DECOMPRESSED = 2 << 30
WITNESS = 64
"""How many bytes before a mark tell whether a file is still the same."""

Found = tuple[str, str, str, int, int]
"""A source as it is found: agent, path, part, size, and the time of its last change."""


def found(agent: str, path: str | os.PathLike[str]) -> Found | None:
    """A file as a source; None if it is gone, no ordinary file, or has a name that cannot be written down."""
    name = os.fspath(path)
    try:
        name.encode()
        seen = os.stat(name)  # noqa: PTH116 - quick
    except (OSError, ValueError):
        return None
    return (agent, name, "", seen.st_size, seen.st_mtime_ns) if stat.S_ISREG(seen.st_mode) else None


def items_in(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    """What is in a folder, by name; nothing where it is missing or closed."""
    try:
        with os.scandir(folder) as items:
            return sorted(items, key=attrgetter("name"))
    except (OSError, ValueError):
        return []


def open_file(agent: str, path: str, buffering: int = CHUNK) -> BinaryIO:
    """A transcript, open for reading; a compressed one is decompressed. Never waits for a pipe or a device."""
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
    """The file, or its other form: an agent may have compressed it, or the reverse, since it was found."""
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
"""Where lines begin in a block: half a page into it. The system keeps files in whole pages, and to copy what is at the
beginning of one to just after the beginning of another takes a processor several times as long as to anywhere else."""
_spare: list[bytearray] = []
"""Blocks that nobody reads into any more: making one for every file takes a good part of what reading it does."""


def blocks(file: BinaryIO, offset: int, size: int) -> Iterator[tuple[bytearray, int]]:
    """A file of lines from an offset on, in blocks, of which one is filled again and again; with each how much of it,
    from LEAD on, is whole lines. A negative number is passed over. What comes last has no end: 0, and the block is no
    longer than it."""
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
            # No record is as long: what there is of it is passed over, up to its end.
            yield block, -(end - LEAD + _to_line_end(file, size))
            end = LEAD
        if end == len(block):
            block.extend(bytes(size))
    if end > LEAD:
        yield block[:end], 0
    if len(block) == LEAD + size:
        _spare.append(block)


def _to_line_end(file: BinaryIO, size: int) -> int:
    """How far it is to the end of a line, with the file left there."""
    passed = 0
    while rest := file.read(size):
        end = rest.find(b"\n") + 1
        passed += end or len(rest)
        if end:
            file.seek(end - len(rest), os.SEEK_CUR)
            break
    return passed
