"""Packing large transcripts: how long, beside merely parsing them, and with how much memory.

    ./dev bench pack [--sizes 4,40,200]

Each transcript is grown from a real one with ids rewritten. Parsing is every line through the fastest JSON parser at
hand (of msgspec and orjson); packing is everything from the file to the brief's text, by a program that is loaded and
remembers nothing of the transcript. Each has two turns, in a process of its own, of three rounds and a second at least;
the best round counts. Then a brief is kept warm over 40 MB, one entry is added, and the time is taken until the new
brief is there. Fails beyond 10 times the parse, 400 MB at 200 MB, or 50 ms for the refresh.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench._tree import scratch, unpacked
from bench.readers import grow, peak_memory, seed_in
from segue.model import Tier
from segue.ops.briefs import make
from segue.ops.index import tracked_transcript
from segue.ops.work import transcripts

BUDGET = 8000
TURNS, ROUNDS, ROUNDS_SECONDS = 2, 3, 1.0
"""How often each has its turn, and how many rounds that has: so many, and no less than so long."""
MOST_TIMES, MOST_MEMORY, MOST_REFRESH = 10.0, 400 << 20, 0.050
REFRESHED = 40


def parsers() -> dict[str, Callable[[bytes], object]]:
    found: dict[str, Callable[[bytes], object]] = {"msgspec": msgspec.json.Decoder().decode}
    try:
        import orjson
    except ImportError:
        return found
    return {**found, "orjson": orjson.loads}


def parse(path: Path, parser: str) -> None:
    decode = parsers()[parser]
    with path.open("rb") as file:
        for line in file:
            decode(line)


def pack(path: Path) -> None:
    make.pack_file(path, budget=BUDGET, tier=Tier.SELECTIVE)


def child(what: str, path: Path) -> None:
    """Some rounds in one process, so that nobody's loading counts; the best of them, and the memory of all."""
    times: list[float] = []
    while len(times) < ROUNDS or sum(times) < ROUNDS_SECONDS:
        forget()
        started = time.perf_counter()
        if what == "pack":
            pack(path)
        else:
            parse(path, what)
        times.append(time.perf_counter() - started)
    print(json.dumps([min(times), peak_memory()]))


def forget() -> None:
    """Nobody packs the same transcript again and again: what Segue remembers of its words is found out anew."""
    for one in gc.get_objects():
        is_ours = isinstance(one, functools._lru_cache_wrapper) and one.__module__.startswith("segue.")
        if is_ours and one.cache_parameters()["maxsize"] is not None:
            one.cache_clear()


def measured(what: str, path: Path) -> tuple[float, int]:
    argv = [sys.executable, "-m", "bench.pack", "--child", what, str(path)]
    seconds, memory = json.loads(subprocess.run(argv, check=True, capture_output=True).stdout)
    return seconds, memory


def measure_refresh(path: Path) -> float:
    """From the moment that one more entry is there to its brief."""
    wish, secrets = make.Wish(budget=BUDGET), make.Secrets(b"segue")
    known = tracked_transcript.open_warm(transcripts.recognise(path))
    make.make(known, wish, secrets)
    last = path.read_bytes()[-(4 << 20) :].splitlines()[-1]
    times = []
    for _ in range(10):
        with path.open("ab") as file:
            file.write(last + b"\n")
        started = time.perf_counter()
        known.source = transcripts.recognise(path)
        known.refresh()
        make.make(known, wish, secrets)
        times.append(time.perf_counter() - started)
    return sorted(times)[len(times) // 2]


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--sizes", default="4,40,200", help="in MB")
    options.add_argument("--child", nargs=2)
    given = options.parse_args()
    if given.child:
        child(given.child[0], Path(given.child[1]))
        return 0
    problems = []
    with scratch("pack") as folder:
        seed = seed_in(unpacked(Path(folder)))
        if seed is None:
            raise SystemExit("bench: no transcript to grow from")
        print(f"{'size':>8} {'parse':>9} {'pack':>9} {'ratio':>7} {'memory':>9}")
        for size in map(int, given.sizes.split(",")):
            path = Path(folder) / f"{size}.jsonl"
            grow(seed.read_bytes(), path, size << 20)
            turns = [{what: measured(what, path) for what in (*parsers(), "pack")} for _ in range(TURNS)]
            parsed = min(turn[name][0] for turn in turns for name in parsers())
            packed = min(turn["pack"][0] for turn in turns)
            memory = max(turn["pack"][1] for turn in turns)
            ratio = packed / parsed
            print(f"{size:>5} MB {parsed:>8.3f}s {packed:>8.3f}s {ratio:>6.1f}x {memory >> 20:>6} MB")
            if ratio > MOST_TIMES:
                problems.append(f"{size} MB: {ratio:.1f} times the parse; at most {MOST_TIMES:.0f}")
            if memory > MOST_MEMORY:
                problems.append(f"{size} MB: {memory >> 20} MB of memory")
            if size == REFRESHED:
                refreshed = measure_refresh(path)
                print(f"         refreshed after one more entry: {refreshed * 1000:.1f} ms (median of 10)")
                if refreshed > MOST_REFRESH:
                    problems.append(f"a refresh takes {refreshed * 1000:.0f} ms")
            path.unlink()
    print("\n".join(problems) if problems else "All bars are met.")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
