"""Lines of an aider history, assembled to blocks, and when a block is given."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from segue.agents.aider.blocks import (
    EMPTY,
    OUTPUT,
    PROMPT,
    REPLY,
    START,
    Block,
    Told,
    fence_after,
    is_known_output,
    start_of,
)
from segue.agents.shared.transcripts.reader import LONGEST_LINE, Reading, open_file, witness
from segue.base.hashes import short_hash
from segue.model import Entry, Mark

SPACES = "  "
BLANKS_BEFORE_A_PROMPT = 2
PENDING = "pending"
"""Key in a mark's state: the last block, if it was given at the end of the file."""


def entries(reading: Reading) -> Iterator[Entry]:
    path = Path(reading.source.path)
    name = hashlib.sha256(str(path).encode(errors="replace")).hexdigest()[:12]
    reading.learn(id=f"aider-{name}", project=str(path.parent))
    with open_file(reading.source) as file:
        mark = reading.mark
        if not mark.offset or witness(file, mark.offset) != mark.before or _has_grown(file, mark):
            reading.start_over()
        blocks = Blocks(reading.mark)
        for line, end in _lines(file, blocks.offset):
            reading.lines += 1
            yield from blocks.add(line, end)
        reading.is_cut = not _is_whole(file)
        if not reading.is_cut:
            yield from blocks.pending()
        reading.mark = Mark(offset=blocks.offset, before=witness(file, blocks.offset), state=blocks.state)
        reading.learn(**blocks.shown.learned())


def _has_grown(file: BinaryIO, mark: Mark) -> bool:
    """Whether the last block, given at the end of the file, has grown since."""
    given: object = mark.state.get(PENDING)
    if given is None:
        return False
    blocks = Blocks(Mark(offset=mark.offset, state={**mark.state, PENDING: None}))
    for line, end in _lines(file, mark.offset):
        for entry in blocks.add(line, end):
            return _short(entry) != given
    return _is_whole(file) and any(_short(entry) != given for entry in blocks.pending())


def _is_whole(file: BinaryIO) -> bool:
    """Whether the file, read to its end, ends in a whole line."""
    end = file.tell()
    return not end or os.pread(file.fileno(), 1, end - 1) == b"\n"


def _lines(file: BinaryIO, offset: int) -> Iterator[tuple[str, int]]:
    """Each whole line, without its line end, and the offset after it. Of an overlong line, only the start."""
    file.seek(offset)
    while line := file.readline(LONGEST_LINE):
        offset += len(line)
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(LONGEST_LINE)
            offset += len(rest)
        if rest:
            yield line.decode("utf-8", "replace").rstrip("\r\n"), offset


class Blocks:
    """Assembles lines to blocks. What a line is depends on those before."""

    def __init__(self, mark: Mark) -> None:
        self.offset = mark.offset
        """Everything before it has been given for good."""
        self.told = Told(mark.state)
        self.shown = self.told
        """The same including a last block that may still grow."""
        self._given = mark.state.get(PENDING)
        self._block: Block | None = None
        self._blanks = 0
        """How many empty lines of a reply came just before."""

    @property
    def state(self) -> dict[str, Any]:
        return {**self.told.state(), PENDING: self._given}

    def add(self, line: str, end: int) -> Iterator[Entry]:
        kind = self._kind(line)
        block = self._block
        if block and block.kind == kind and not (kind == OUTPUT and _is_output(line)):
            block.add(line, end)
        else:
            yield from self._close()
            block = self._block = None if kind == EMPTY else Block(kind, self.offset, end, [line])
            self.offset = self.offset if block else end
        self._remember(kind, line)
        is_at_its_end = line.endswith(SPACES) or self.told.is_spaced is False
        if kind == START or (kind == OUTPUT and is_at_its_end):
            yield from self._close()

    def _remember(self, kind: str, line: str) -> None:
        """Update what the kind of the next line depends on."""
        told = self.told
        told.is_near = kind in (PROMPT, OUTPUT)
        if kind == START:
            told.is_spaced = None
        elif told.is_near and told.is_spaced is None:
            is_single = kind == PROMPT or line.startswith("> Aider v")
            told.is_spaced = True if line.endswith(SPACES) else False if is_single else None
        self._blanks = self._blanks + 1 if kind == REPLY and not line.strip() else 0
        if self._block and kind == REPLY:
            self._block.fence = fence_after(self._block.fence, line)

    def _kind(self, line: str) -> str:
        block = self._block
        if start_of(line):
            return START
        is_prompt, is_output = self._marks(line)
        if block and block.fence:
            is_prompt = is_prompt and self._blanks >= BLANKS_BEFORE_A_PROMPT
            is_output = is_output and self._blanks > 0 and is_known_output(line)
        if is_prompt:
            return PROMPT
        if is_output or (block and block.kind == OUTPUT):
            return OUTPUT
        return REPLY if line.strip() or (block and block.kind == REPLY) else EMPTY

    def _marks(self, line: str) -> tuple[bool, bool]:
        """Whether a line has aider's form of a prompt, or of an output."""
        is_prompt, is_output = line.startswith("#### ") or line == "####", _is_output(line)
        if not self.told.is_spaced or line.endswith(SPACES):
            return is_prompt, is_output
        return False, is_output and (self.told.is_near or is_known_output(line))

    def _close(self) -> Iterator[Entry]:
        """Give the finished block."""
        if self._block is None:
            return
        block, self._block = self._block, None
        entry = self.told.entry(block)
        if self._given != _short(entry):
            yield entry
        self._given = None
        self.offset = block.end

    def pending(self) -> Iterator[Entry]:
        """Give the block at the end of the file."""
        if self._block:
            self.shown = Told(self.told.state())
            entry = self.shown.entry(self._block)
            if self._given != _short(entry):
                yield entry
            self._given = _short(entry)


def _is_output(line: str) -> bool:
    return line.startswith("> ") or line == ">"


def _short(entry: Entry) -> list[str]:
    """A hash that shows whether a block has grown since it was given."""
    written = repr(entry.native).encode(errors="replace")
    return [entry.id, short_hash(written).hex()]
