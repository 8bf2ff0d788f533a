"""Conformance suite for agents: functions that raise AssertionError with a sentence, for authors of agents.

    from segue.testing import check_bad_input, check_reader, check_starter, check_writer

    def test_it_keeps_the_promises(tmp_path):
        check_reader(my_agent, SAMPLE, tmp_path)
        check_bad_input(my_agent, SAMPLE, tmp_path, seed=1, count=100)

    def test_it_can_be_handed_work(tmp_path):
        check_starter(my_agent, tmp_path / "start")
        check_writer(my_agent, SAMPLE, tmp_path / "write")

No test framework is needed. The sample is copied to `scratch`, a folder that may be filled, and only the copy
is read. docs/add-an-agent.md explains the promises.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from segue.agents import Reader
from segue.errors import ReaderFailed, SegueError
from segue.testing.entries import check_entries, check_links, check_records, is_json_lines
from segue.testing.incremental_reads import (
    check_cut,
    check_following,
    check_replaced,
    check_scan,
    check_twice,
)
from segue.testing.launch import check_starter
from segue.testing.mutations import mutations
from segue.testing.sample import ensure, placed, read_all, source_of, state_of
from segue.testing.tool_calls import check_acts
from segue.testing.transcript_writer import check_writer

__all__ = [
    "Toll",
    "check_bad_input",
    "check_reader",
    "check_starter",
    "check_writer",
    "mutations",
    "try_bad_input",
]

START = 4096
LARGE = 10_000_000
SECONDS_PER_10_MB = 5.0


class Toll(NamedTuple):
    """What happened to the mutations of one kind."""

    files: int = 0
    entries: int = 0
    broken: int = 0
    """Lines that were skipped and counted."""
    refused: int = 0
    """Files that were refused with an error that gives the reason."""


def check_reader(
    reader: Reader, sample: Path, scratch: Path, *, part: str = "", foreign: Iterable[bytes] = ()
) -> None:
    """Check that a reader keeps every promise with a sample. `foreign` are starts of other agents' files."""
    path = placed(sample, scratch)
    content = path.read_bytes()
    before = state_of(path.parent)
    whole = read_all(reader, source_of(reader, path, part))
    ensure(bool(whole.entries), f"{sample.name} gives no entries: take a sample with a conversation in it")
    check_entries(whole.entries)
    check_links(whole.entries)
    check_acts(reader, whole.entries)
    if is_json_lines(content):
        check_records(whole, content)
    check_recognition(reader, content, foreign, is_whole=not part)
    check_twice(reader, whole)
    check_scan(reader, whole.reading.source)
    check_search(reader, scratch)
    ensure(state_of(path.parent) == before, "reading has changed the folder that was read")
    check_following(reader, path, content, whole)
    check_replaced(reader, path, content, whole)


def check_bad_input(
    reader: Reader,
    sample: Path,
    scratch: Path,
    seed: int,
    count: int,
    *,
    part: str = "",
    foreign: Sequence[bytes] = (),
) -> dict[str, Toll]:
    """Check that a reader copes with damaged files: it reads what is valid, counts the rest, finishes in
    time, and fails only with an error that gives the reason."""
    tolls: dict[str, Toll] = {}
    for kind, toll, problem in try_bad_input(reader, sample, scratch, seed, count, part, foreign):
        if problem is not None:
            raise AssertionError(str(problem)) from problem.__cause__
        tolls[kind] = Toll(*map(sum, zip(tolls.get(kind, Toll()), toll, strict=True)))
    return tolls


def try_bad_input(
    reader: Reader,
    sample: Path,
    scratch: Path,
    seed: int,
    count: int,
    part: str = "",
    foreign: Sequence[bytes] = (),
) -> Iterator[tuple[str, Toll, AssertionError | None]]:
    """The same as a list: one outcome for each mutation."""
    path = placed(sample, scratch)
    content = path.read_bytes()
    bearing = Bearing(reader, path, part, content)
    for number, (kind, spoilt) in enumerate(mutations(content, seed, count, foreign)):
        toll, problem = Toll(files=1), None
        try:
            toll = bearing.bear(spoilt)
        except Exception as error:  # noqa: BLE001 - any exception of a reader is a finding
            problem = AssertionError(f"{sample.name}, seed {seed}, mutation {number} ({kind}): {error!r}")
            problem.__cause__ = error
        yield kind, toll, problem


class Bearing:
    """Reads mutations of one sample."""

    def __init__(self, reader: Reader, path: Path, part: str, content: bytes) -> None:
        self.reader, self.path, self.part = reader, path, part
        self.mark = read_all(reader, source_of(reader, path, part)).reading.mark
        self.is_of_lines = is_json_lines(content)
        self.lines = {line.strip() for line in content.split(b"\n")}

    def bear(self, content: bytes) -> Toll:
        self.path.write_bytes(content)
        source = source_of(self.reader, self.path, self.part)
        begun = time.process_time()  # CPU time: other work on the machine must not fail a test
        try:
            found = read_all(self.reader, source)
            taken = time.process_time() - begun
            check_scan(self.reader, source, is_sound=self._is_sound(content))
            for _ in self.reader.read(source, self.mark):  # the mark is from before the mutation
                pass
        except ReaderFailed as error:
            raise error.__cause__ or error from None
        except SegueError as error:
            ensure(not self.is_of_lines, f"bad lines end the reading: {error}")
            return Toll(files=1, refused=1)
        allowed = SECONDS_PER_10_MB * max(1.0, len(content) / 10_000_000)
        ensure(taken <= allowed, f"reading {len(content):,} bytes took {taken:.1f} s")
        check_entries(found.entries)
        check_acts(self.reader, found.entries)
        if self.is_of_lines:
            check_records(found, content)
        if len(content) < LARGE:
            check_cut(self.reader, self.path, content, zlib.crc32(content) % (len(content) + 1), found)
        return Toll(files=1, entries=len(found.entries), broken=found.reading.broken)

    def _is_sound(self, content: bytes) -> bool:
        """Whether every line is from the sample, in any order."""
        return self.lines.issuperset(line.strip() for line in content.split(b"\n"))


def check_recognition(reader: Reader, content: bytes, foreign: Iterable[bytes], *, is_whole: bool) -> None:
    """Check `recognise`. A file of many transcripts is found by its location, and need not be recognised."""
    ensure(not is_whole or reader.recognise(content[:START]), "`recognise` rejects the reader's own sample")
    for start in (b"", b"\n", b"\0" * START, b"{}", b"[]", b"null", b"# Notes\n", b"\xff\xfe{", *foreign):
        ensure(not reader.recognise(start[:START]), f"the reader takes this for its own: {start[:200]!r}")


def check_search(reader: Reader, scratch: Path) -> None:
    """Check that `find` finds nothing in an empty home."""
    nowhere = scratch / "nowhere"
    found = list(reader.find({"HOME": str(nowhere)}, [nowhere]))
    ensure(not found, f"`find` found something in an empty home: {found[:1]}")
