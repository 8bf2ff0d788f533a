"""What the readers make of real transcripts: what is lost, what is not understood, how fast, in how much memory.

    ./dev bench readers [FOLDER] [--sizes 1,10,50,200]

Reads every file in the folder with the reader that recognises it. Without one, takes the published
transcripts of ../shared/data, if they are there. Fails if a line is lost, if two readers claim a file, if one
crashes, or if a transcript of 200 MB takes more than 300 MB of memory or more than 1.5 times as long per entry
as one of 1 MB. Tokens are compared with a count of its own that knows nothing of Segue (_tokens.py).
"""

from __future__ import annotations

import argparse
import io
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import zstandard

from bench import _tokens
from segue import agents
from segue.agents.shared.transcripts import index_scan
from segue.model import Source
from segue.testing.entries import is_json_lines, lost_records, records_in
from segue.testing.sample import Pass, source_of

PUBLISHED = Path(__file__).parents[2] / "shared" / "data" / "transcripts.tar.zst"
START = 4096
MEGABYTE = 1_000_000
MOST_MEMORY = 300 * MEGABYTE
MOST_SLOWER = 1.5
GROWN = "claude"
"""The agent whose transcripts grow largest: the big ones are made of one of its files."""


@dataclass
class Figures:
    """What was found in the files of one agent."""

    files: int = 0
    bytes: int = 0
    entries: int = 0
    lines: int = 0
    broken: int = 0
    cut: int = 0
    lost: int = 0
    seconds: float = 0.0
    unknown: Counter[str] = field(default_factory=Counter)
    counted: int = 0
    differ: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def unpacked(archive: Path, folder: Path) -> Path:
    folder.mkdir(parents=True)
    with archive.open("rb") as file:
        stream = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file)
        with tarfile.open(fileobj=io.BufferedReader(stream), mode="r|") as tar:
            tar.extractall(folder, filter="data")
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 else folder


def files_in(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and path.parent != folder)


def claimed_by(content: bytes) -> list[str]:
    start = content[:START]
    return [
        name for name in agents.names() if agents.can_be_read(name) and agents.reader(name).recognise(start)
    ]


def measure(name: str, path: Path, content: bytes, figures: Figures, label: str) -> None:
    """One file, read as its agent's."""
    reader = agents.reader(name)
    source = source_of(reader, path)
    begun = time.perf_counter()
    try:
        reading = reader.read(source)
        whole = Pass(list(reading), reading)
    except Exception as error:  # noqa: BLE001 - whatever comes out is a finding
        figures.problems.append(f"{label}: {error!r}")
        return
    figures.seconds += time.perf_counter() - begun
    figures.files += 1
    figures.bytes += len(content)
    figures.entries += len(whole.entries)
    figures.lines += reading.lines
    figures.broken += reading.broken
    figures.cut += reading.is_cut
    figures.unknown.update(reading.unknown)
    lost = lines_lost(whole, content)
    figures.lost += lost
    if lost:
        figures.problems.append(f"{label}: {lost} lines lost")
    if not whole.entries and content.strip():
        figures.problems.append(f"{label}: no entries")
    compare_tokens(name, source, content, figures, label)


def lines_lost(whole: Pass, content: bytes) -> int:
    """Lines that are neither in an entry nor counted as broken or half written."""
    if not whole.reading.mark.offset or not is_json_lines(content):
        return 0
    sound = records_in(whole, content).sound
    held = len(sound) - lost_records(whole, sound).total()
    non_blank = sum(1 for line in content.split(b"\n") if line.strip())
    return non_blank - held - whole.reading.broken - whole.reading.is_cut


def compare_tokens(name: str, source: Source, content: bytes, figures: Figures, label: str) -> None:
    if name not in _tokens.COUNTS:
        return
    reader = agents.reader(name)
    own = getattr(reader, "scan", None)
    found = own(source, None, None) if own else index_scan.scan(reader.read(source))
    ours = sum(spend.tokens.total for spend in found.spends)
    theirs = _tokens.COUNTS[name](content)
    figures.counted += 1
    if ours != theirs:
        figures.differ.append(f"{label}: {ours:,}, counted apart {theirs:,}")


def survey(folder: Path) -> tuple[dict[str, Figures], Counter[str], list[str]]:
    """Every file of a folder: figures by agent, folders without a reader, and what is wrong."""
    found: dict[str, Figures] = defaultdict(Figures)
    strangers: Counter[str] = Counter()
    problems: list[str] = []
    for path in files_in(folder):
        content = path.read_bytes()
        label = path.relative_to(folder).as_posix()
        names = claimed_by(content)
        if len(names) > 1:
            problems.append(f"{label}: claimed by {' and '.join(names)}")
        if not names:
            strangers[label.split("/")[0]] += 1
        for name in names[:1]:
            measure(name, path, content, found[name], label)
    return found, strangers, problems + [line for figures in found.values() for line in figures.problems]


def show(found: dict[str, Figures], strangers: Counter[str]) -> None:
    print(
        f"{'agent':<10}{'files':>6}{'entries':>9}{'lines':>9}{'broken':>8}{'cut':>5}{'lost':>6}{'MB/s':>7}  tokens agree"
    )
    for name, one in found.items():
        speed = one.bytes / MEGABYTE / one.seconds if one.seconds else 0
        agree = (
            f"{one.counted - len(one.differ)} of {one.counted} files" if one.counted else "not counted apart"
        )
        print(
            f"{name:<10}{one.files:>6}{one.entries:>9,}{one.lines:>9,}{one.broken:>8}{one.cut:>5}{one.lost:>6}{speed:>7.1f}  {agree}"
        )
    for name, one in found.items():
        if one.unknown:
            print(f"unknown to {name}:", ", ".join(f"{kind} {n}" for kind, n in one.unknown.most_common()))
    for name, one in found.items():
        for line in one.differ:
            print(f"tokens of {name} differ: {line}")
    if strangers:
        print("no reader:", ", ".join(f"{folder} {n}" for folder, n in sorted(strangers.items())))


# Large transcripts

IDS = re.compile(rb"((?:msg|req|toolu)_\w{8,}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})")
SESSION = re.compile(rb'"sessionId":\s*"([^"]+)"')


def grow(seed: bytes, path: Path, size: int) -> None:
    """A transcript made of many copies of one, each with ids of its own; the session's id stays."""
    seed = seed if seed.endswith(b"\n") else seed + b"\n"
    sessions = set(SESSION.findall(seed))
    pieces = IDS.split(seed)
    with path.open("wb") as file:
        copy = 0
        while file.tell() < size:
            end = b"%06x" % copy
            file.write(
                b"".join(
                    piece[:-6] + end if number % 2 and piece not in sessions else piece
                    for number, piece in enumerate(pieces)
                )
            )
            copy += 1


def seed_in(folder: Path) -> Path | None:
    """A real transcript of about a megabyte."""
    reader = agents.reader(GROWN)
    fitting = []
    for path in files_in(folder):
        with path.open("rb") as file:
            if reader.recognise(file.read(START)):
                fitting.append(path)
    return min(fitting, key=lambda path: abs(path.stat().st_size - MEGABYTE), default=None)


class Cost(msgspec.Struct):
    """What one pass over a large transcript took."""

    entries: int
    seconds: float
    memory: int
    mark: int
    spent: int


def child(path: Path) -> Cost:
    reader = agents.reader(GROWN)
    source = source_of(reader, path)
    best = float("inf")
    for _ in range(max(2, min(9, 50 * MEGABYTE // source.size))):
        begun = time.process_time()
        reading = reader.read(source)
        entries = sum(1 for _ in reading)
        best = min(best, time.process_time() - begun)
    own = getattr(reader, "scan", None)
    scan = own(source, None, None) if own else index_scan.scan(reader.read(source))
    return Cost(entries, best, peak_memory(), len(msgspec.json.encode(reading.mark)), len(scan.spends))


def peak_memory() -> int:
    """Of this process alone: what getrusage tells includes the parent that started it, on Linux."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        found = None
    if found:
        return int(found.group(1)) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure_large(folder: Path, sizes: list[int]) -> list[str]:
    """What is wrong with how time and memory grow."""
    seed = seed_in(folder)
    if seed is None:
        print(f"no transcript of {GROWN} to make large ones of")
        return []
    costs: dict[int, Cost] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="segue-bench-") as scratch:
            path = Path(scratch) / "5e9ue000-0000-4000-8000-000000000000.jsonl"
            grow(seed.read_bytes(), path, size * MEGABYTE)
            argv = [sys.executable, "-m", "bench.readers", "--child", str(path)]
            done = subprocess.run(argv, capture_output=True, check=True, timeout=600)
        cost = costs[size] = msgspec.json.decode(done.stdout, type=Cost)
        print(
            f"{size:>4} MB: {cost.entries:>8,} entries, {cost.seconds / cost.entries * 1e6:6.1f} µs each,"
            f" {size / cost.seconds:6.1f} MB/s, peak {cost.memory / MEGABYTE:5.0f} MB,"
            f" mark {cost.mark / 1000:,.1f} kB, {cost.spent:,} spends"
        )
    return problems_of(costs)


def problems_of(costs: dict[int, Cost]) -> list[str]:
    small, large = costs[min(costs)], costs[max(costs)]
    slower = (large.seconds / large.entries) / (small.seconds / small.entries)
    print(
        f"time per entry at {max(costs)} MB is {slower:.2f} times that at {min(costs)} MB (bar {MOST_SLOWER})"
    )
    found = []
    if slower > MOST_SLOWER:
        found.append(f"an entry of a large transcript takes {slower:.2f} times as long")
    if large.memory > MOST_MEMORY:
        found.append(f"a transcript of {max(costs)} MB takes {large.memory / MEGABYTE:.0f} MB of memory")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument(
        "--sizes", default="1,10,50,200", help="of the large transcripts, in MB; empty for none"
    )
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        sys.stdout.buffer.write(msgspec.json.encode(child(options.child)))
        return 0
    with tempfile.TemporaryDirectory(prefix="segue-bench-") as scratch:
        folder = options.folder
        if folder is None:
            if not PUBLISHED.exists():
                print("which folder? ./dev bench readers FOLDER", file=sys.stderr)
                return 2
            folder = unpacked(PUBLISHED, Path(scratch) / "published")
        found, strangers, problems = survey(folder)
        show(found, strangers)
        if options.sizes and agents.can_be_read(GROWN):
            problems += measure_large(folder, [int(size) for size in options.sizes.split(",")])
    for problem in problems:
        print("PROBLEM:", problem)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
