"""Thousands of spoilt transcripts through every reader: none may crash, hang, or lose what is sound.

    ./dev bench mutations [FOLDER] [--count 5000] [--seed 1] [--agent NAME]

Spoils real transcripts from the folder (without one: the published ones of ../shared/data, if they are there)
and the samples of the tests, each cut to a size at which thousands can be read in minutes. Batches run in processes of
their own with a time-out, so that a reader that hangs is a finding and not the end. A finding names the
file, the seed and the mutation's number; `segue.testing.mutations` makes it again from these.
"""

from __future__ import annotations

import argparse
import bisect
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from bench.readers import PUBLISHED, claimed_by, files_in, unpacked
from segue import agents
from segue.testing import Toll, try_bad_input
from segue.testing.incremental_reads import earlier
from tests.samples import opencode_database, samples

BATCH = 25
TIMEOUT = 180
LARGEST = 40_000
LEAST_LINES = 30
PER_AGENT = 12
"""How many transcripts of one agent are spoilt."""


class Sample(NamedTuple):
    agent: str
    path: Path
    part: str
    label: str


class Batch(NamedTuple):
    sample: Sample
    seed: int
    size: int


class Outcome(Struct):
    tolls: dict[str, Toll] = {}
    findings: list[str] = []


def shortened(content: bytes) -> bytes:
    """The start of a transcript: some of its lines, or the document when it was shorter."""
    if len(content) <= LARGEST:
        return content
    try:
        json.loads(content)
    except ValueError:
        lines = content.splitlines(keepends=True)
        sizes = list(itertools.accumulate(map(len, lines)))
        return b"".join(lines[: max(LEAST_LINES, bisect.bisect(sizes, LARGEST))])
    fitting = [form for form in earlier(content) if len(form) <= 10 * LARGEST]
    return max(fitting, key=len, default=content)


def gather(folder: Path | None, scratch: Path) -> dict[str, list[Sample]]:
    """Samples by agent: those of the tests, and real ones of all sizes."""
    found: dict[str, list[Sample]] = defaultdict(list)
    for name in agents.names():
        if agents.can_be_read(name):
            found[name] = [Sample(name, one.path, one.part, one.path.name) for one in samples(name)]
    if found["opencode"]:
        found["opencode"].append(Sample(*opencode_database(scratch / "database"), "a database"))
    real: dict[str, list[Path]] = defaultdict(list)
    for path in files_in(folder) if folder else ():
        with path.open("rb") as file:
            for name in claimed_by(file.read(4096))[:1]:
                real[name].append(path)
    for name, paths in real.items():
        paths.sort(key=lambda path: path.stat().st_size)
        for number, path in enumerate(paths[:: max(1, len(paths) // PER_AGENT)]):
            short = scratch / name / str(number) / path.name
            short.parent.mkdir(parents=True)
            short.write_bytes(shortened(path.read_bytes()))
            found[name].append(Sample(name, short, "", f"{path.parent.name}/{path.name}"))
    return {name: ones for name, ones in found.items() if ones}


def batches(found: dict[str, list[Sample]], count: int, seed: int) -> Iterator[Batch]:
    """The same share for every agent, spread over its samples."""
    for name in found:
        left, number = -(-count // len(found)), 0
        while left > 0:
            sample = found[name][number % len(found[name])]
            yield Batch(sample, seed + number, min(BATCH, left))
            left -= BATCH
            number += 1


def run(batch: Batch) -> Outcome:
    sample = batch.sample
    argv = [sys.executable, "-m", "bench.mutations", "--child", sample.agent, str(sample.path)]
    argv += [sample.part, str(batch.seed), str(batch.size)]
    what = f"{sample.agent}: {sample.label}, seed {batch.seed}"
    try:
        done = subprocess.run(argv, capture_output=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return Outcome(findings=[f"{what}: hangs"])
    if done.returncode:
        lines = done.stderr.decode(errors="replace").split("\n")
        return Outcome(findings=[f"{what}: ended with {done.returncode}: {''.join(lines[-2:])}"])
    return msgspec.json.decode(done.stdout, type=Outcome)


def child(agent: str, path: str, part: str, seed: str, count: str) -> Outcome:
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="segue-bench-") as scratch:
        reader = agents.reader(agent)
        others = [name for name in agents.NAMES if name != agent]
        foreign = [one.path.read_bytes() for name in others for one in samples(name)]
        for kind, toll, problem in try_bad_input(
            reader, Path(path), Path(scratch), int(seed), int(count), part, foreign
        ):
            outcome.tolls[kind] = summed([outcome.tolls.get(kind, Toll()), toll])
            if problem:
                outcome.findings.append(f"{agent}: {problem}")
    return outcome


def show(tolls: dict[str, Toll]) -> None:
    print(f"{'mutation':<26}{'files':>7}{'entries read':>14}{'lines skipped':>15}{'refused':>9}")
    for kind, toll in [*sorted(tolls.items()), ("in all", summed(tolls.values()))]:
        print(f"{kind:<26}{toll.files:>7,}{toll.entries:>14,}{toll.broken:>15,}{toll.refused:>9,}")


def summed(tolls: Iterable[Toll]) -> Toll:
    return Toll(*map(sum, zip(Toll(), *tolls, strict=True)))


def campaign(folder: Path | None, scratch: Path, count: int, seed: int, only: str) -> list[str]:
    found = gather(folder, scratch)
    found = {name: ones for name, ones in found.items() if only in ("", name)}
    tolls: dict[str, Toll] = defaultdict(Toll)
    by_agent: dict[str, Toll] = defaultdict(Toll)
    findings: list[str] = []
    todo = list(batches(found, count, seed))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for batch, outcome in zip(todo, pool.map(run, todo), strict=True):
            for kind, toll in outcome.tolls.items():
                tolls[kind] = summed([tolls[kind], toll])
                by_agent[batch.sample.agent] = summed([by_agent[batch.sample.agent], toll])
            findings += outcome.findings
    show(tolls)
    for name, toll in by_agent.items():
        print(f"{name}: {toll.files:,} files of {len(found[name])} transcripts, {toll.refused:,} refused")
    return findings


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        sys.stdout.buffer.write(msgspec.json.encode(child(*sys.argv[2:])))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--agent", default="", help="only this one")
    options = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="segue-bench-") as scratch:
        folder = options.folder
        if folder is None and PUBLISHED.exists():
            folder = unpacked(PUBLISHED, Path(scratch) / "published")
        findings = campaign(folder, Path(scratch) / "short", options.count, options.seed, options.agent)
    print(f"{time.monotonic() - begun:.0f} s, {len(findings)} findings")
    for finding in findings:
        print("FINDING:", finding[:500])
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
