"""Checks that a growing transcript can be read in steps, from marks, with the same outcome."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from segue.agents import Reader
from segue.agents.shared.transcripts import index_scan
from segue.agents.shared.transcripts.index_scan import Scan
from segue.agents.shared.transcripts.reader import WITNESS, Spends
from segue.model import Entry, Mark, Source, Spend, Transcript
from segue.testing.entries import is_deep
from segue.testing.sample import Pass, ensure, read_all, source_of

MOST_CUTS = 200
BYTES_OF_CUTS = 40_000_000


def check_twice(reader: Reader, whole: Pass) -> None:
    """Check that a second read gives the same, and a read from the mark nothing."""
    source = whole.reading.source
    again = read_all(reader, source)
    ensure(again.entries == whole.entries, "reading twice gives two different things")
    ensure(again.reading.mark == whole.reading.mark, "reading twice ends at two different marks")
    since = read_all(reader, source, kept(whole.reading.mark))
    given = [entry.id for entry in since.entries]
    ensure(not given, f"from the mark on nothing is new, yet {len(given)} entries came, such as {given[:1]}")


def kept(mark: Mark) -> Mark:
    """A mark after being stored as JSON, as in the index."""
    try:
        content = msgspec.json.encode(mark)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise AssertionError(f"the mark's state cannot be kept as JSON: {error}") from error
    return msgspec.json.decode(content, type=Mark)


def scan(reader: Reader, source: Source, mark: Mark | None = None, so_far: Transcript | None = None) -> Scan:
    own = getattr(reader, "scan", None)
    if own is None:
        return index_scan.scan(reader.read(source, mark), so_far)
    found: Scan = own(source, mark, so_far)
    return found


def check_scan(reader: Reader, source: Source, *, is_sound: bool = True) -> None:
    """Check that a reader's own scan finds what its entries say, and so does its pass for spends. The latter
    may differ if there are lines that no agent wrote."""
    expected = index_scan.scan(reader.read(source))
    if getattr(reader, "scan", None):
        _same_scan(scan(reader, source), expected, "the reader's own scan")
    quick = quick_spends(reader, source)
    if is_sound:
        _same_spends(quick.spends, expected.spends, "the reader's own pass for spends")
    msgspec.json.encode(expected.transcript)


def quick_spends(reader: Reader, source: Source, mark: Mark | None = None) -> Spends:
    """The result of a reader's pass for spends, or else of a scan."""
    own = getattr(reader, "spends", None)
    if own is None:
        scanned = scan(reader, source, mark)
        return Spends(source=source, spends=scanned.spends, mark=scanned.mark, is_anew=scanned.is_anew)
    found: Spends = own(source, mark)
    return found


def _same_spends(found: Iterable[Spend], expected: Iterable[Spend], what: str) -> None:
    ours, wanted = ({spend.key: spend for spend in spends} for spends in (found, expected))
    missing, extra = wanted.keys() - ours.keys(), ours.keys() - wanted.keys()
    ensure(not missing, f"{what}: {len(missing)} spends are missing, such as {min(missing, default='')!r}")
    ensure(not extra, f"{what}: {len(extra)} spends are too many, such as {min(extra, default='')!r}")
    for key, spend in wanted.items():
        ensure(ours[key] == spend, f"{what}, {key!r} differs: {difference(ours[key], spend)}")


def _same_scan(found: Scan, expected: Scan, what: str) -> None:
    for name in ("transcript", "spends", "reports", "lines", "unknown", "is_anew"):
        one, other = getattr(found, name), getattr(expected, name)
        ensure(one == other, f"{what} differs in {name}: {difference(one, other)}")
    ensure(found.mark.offset == expected.mark.offset, f"{what} ends at {found.mark.offset}")


def difference(one: Any, other: Any) -> str:
    """The difference of two values, in short."""
    if isinstance(one, msgspec.Struct) and type(one) is type(other):
        pairs = ((name, getattr(one, name), getattr(other, name)) for name in one.__struct_fields__)
        return "; ".join(
            f"{name} {left!r:.120} instead of {right!r:.120}" for name, left, right in pairs if left != right
        )
    return f"{one!r:.300} instead of {other!r:.300}"


def check_following(reader: Reader, path: Path, content: bytes, whole: Pass) -> None:
    """Check that reading a growing transcript gives the same as reading it at the end, wherever it was cut."""
    expected = scan(reader, whole.reading.source)
    if not _is_text(content):
        return
    for cut in cuts(content):
        _check_steps(reader, path, [content[:cut], content], whole, expected, f"cut at byte {cut}")
    steps = [content[: len(content) * n // 25] for n in range(1, 26)]
    _check_steps(reader, path, steps, whole, expected, "read in 25 steps")
    if not whole.reading.mark.offset:
        _check_steps(reader, path, [*earlier(content), content], whole, expected, "rewritten in steps")


def _check_steps(
    reader: Reader, path: Path, steps: list[bytes], whole: Pass, expected: Scan, what: str
) -> None:
    follower = Follower(reader, path, whole.reading.source.part)
    for step in steps:
        path.write_bytes(step)
        follower.go_on()
    _same_entries(follower.entries, {entry.id: entry for entry in whole.entries}, what)
    at_end = kept(whole.reading.mark)
    ensure(follower.mark == at_end, f"{what}: the mark is {follower.mark!r:.300}, not {at_end!r:.300}")
    transcript = follower.scanned.transcript if follower.scanned else None
    ensure(
        transcript == expected.transcript,
        f"{what}, the scan differs: {difference(transcript, expected.transcript)}",
    )
    _same_spends(follower.spends.values(), expected.spends, what)
    _same_spends(follower.quick.values(), expected.spends, f"{what}, by the pass for spends")


class Follower:
    """Reads a file now and then, and keeps the entries."""

    def __init__(self, reader: Reader, path: Path, part: str) -> None:
        self.reader, self.path, self.part = reader, path, part
        self.entries: dict[str, Entry] = {}
        self.spends: dict[str, Spend] = {}
        self.quick: dict[str, Spend] = {}
        self.mark: Mark | None = None
        self.quick_mark: Mark | None = None
        self.scanned: Scan | None = None

    def go_on(self) -> None:
        source = source_of(self.reader, self.path, self.part)
        found = read_all(self.reader, source, self.mark)
        self.mark = kept(found.reading.mark)
        self.entries |= {entry.id: entry for entry in found.entries}
        self._scan(source)
        quick = quick_spends(self.reader, source, self.quick_mark)
        self.quick_mark = kept(quick.mark) if quick.mark.offset else None
        self.quick = ({} if quick.is_anew else self.quick) | {spend.key: spend for spend in quick.spends}

    def _scan(self, source: Source) -> None:
        before = self.scanned
        if before and before.mark.offset:
            now = scan(self.reader, source, kept(before.mark), before.transcript)
        else:
            now = scan(
                self.reader, source
            )  # a rewritten file is scanned from its start: it cannot be added up
        self.scanned = now
        self.spends = ({} if now.is_anew else self.spends) | {spend.key: spend for spend in now.spends}


def check_cut(reader: Reader, path: Path, content: bytes, cut: int, whole: Pass) -> None:
    """The same for entries alone and one cut, for any content."""
    if not _is_text(content) or is_deep(content) or content[:cut].endswith(b"}"):
        return  # with two records in one line, a part of it is a record as well
    entries: dict[str, Entry] = {}
    mark: Mark | None = None
    for step in (content[:cut], content):
        path.write_bytes(step)
        found = read_all(reader, source_of(reader, path, whole.reading.source.part), mark)
        mark = kept(found.reading.mark)
        entries |= {entry.id: entry for entry in found.entries}
    _same_entries(entries, {entry.id: entry for entry in whole.entries}, f"cut at byte {cut}")


def _same_entries(found: Mapping[str, Entry], wanted: Mapping[str, Entry], what: str) -> None:
    missing = [id for id in wanted if id not in found]
    extra = [id for id in found if id not in wanted]
    ensure(not missing, f"{what}: {len(missing)} entries are missing, such as {missing[:1]}")
    ensure(not extra, f"{what}: {len(extra)} entries are too many, such as {extra[:1]}")
    for id, entry in wanted.items():
        ensure(_are_same(found[id], entry), f"{what}, {id!r} differs: {difference(found[id], entry)}")


def _are_same(one: Entry, other: Entry) -> bool:
    try:
        # NaN equals nothing, not even itself, but its text is the same.
        return one == other or repr(one) == repr(other)
    except RecursionError:
        return True


def _is_text(content: bytes) -> bool:
    return b"\0" not in content[:4096]


def cuts(content: bytes) -> list[int]:
    """Offsets around line ends and elsewhere; fewer for a large file."""
    chance = random.Random(len(content))  # noqa: S311 - the same cuts every time
    ends = [place + 1 for place, byte in enumerate(content) if byte == ord("\n")]
    around = {end + by for end in ends for by in (-1, 0, 1) if end + by <= len(content)}
    anywhere = {chance.randrange(len(content) + 1) for _ in range(MOST_CUTS // 4)}
    most = min(MOST_CUTS, max(12, BYTES_OF_CUTS // max(1, len(content))))
    found = sorted(around | anywhere | {0, len(content)})
    return sorted(chance.sample(found, most)) if len(found) > most else found


def earlier(content: bytes) -> Iterator[bytes]:
    """A document with shorter versions of its longest list."""
    try:
        document = json.loads(content)
    except ValueError:
        return
    holders = [document, *document.values()] if isinstance(document, dict) else []
    lists = [
        (holder, key, value)
        for holder in holders
        if isinstance(holder, dict)
        for key, value in holder.items()
        if isinstance(value, list)
    ]
    if not lists:
        return
    holder, key, items = max(lists, key=lambda found: len(found[2]))
    for length in sorted({0, 1, len(items) // 2, max(0, len(items) - 1)}):
        holder[key] = items[:length]
        yield json.dumps(document).encode()


def check_replaced(reader: Reader, path: Path, content: bytes, whole: Pass) -> None:
    """Check that a replaced file is noticed, and read from its start."""
    lines = content.splitlines(keepends=True)
    if not whole.reading.mark.offset or len(lines) < 3:
        return
    ended = [line.rstrip(b"\r\n") + b"\n" for line in lines]
    for other in (b"".join(ended[:-1]), b"".join([*ended[-2:], *ended[:-2]])):
        end = slice(max(0, whole.reading.mark.offset - WITNESS), whole.reading.mark.offset)
        if other[end] == content[end]:
            continue  # the bytes before the mark happen to be equal
        path.write_bytes(other)
        source = source_of(reader, path, whole.reading.source.part)
        fresh = read_all(reader, source)
        found = read_all(reader, source, kept(whole.reading.mark))
        ensure(found.reading.is_anew, "the file was replaced, and the reader continued in it")
        ensure(found.entries == fresh.entries, "the file was replaced, and was not read as a new one")
