"""How long Segue itself takes from `segue to` to the target's start, with a warm brief.

    ./dev bench handoff [--sizes 4,40] [--runs 15] [--profile]

A Claude Code transcript, grown from a real one, lies in a private home. The target is a stand-in called `codex` that
says when its first line runs and ends. Before each run one entry is added to the transcript, as in real life, so
what is timed reads that entry, packs the brief, writes the conversation as a rollout, records it all and starts the
target. Nothing is taken off: the interpreter's own start is in it, and shown beside it. Each run is a handoff of its own,
since one whose target kept no record of it has failed. Bar: 300 ms, by the median.

A machine that does other things at the same time adds its waits: the processor time up to the start is told too.
"""

from __future__ import annotations

import argparse
import json
import os
import pstats
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench._tree import scratch, unpacked
from bench.readers import grow, seed_in
from segue import agents

BAR = 0.300
WARM_UPS = 2
PATIENCE = 60.0
SEGUE = str(Path(sys.executable).with_name("segue"))
COMMAND = ("to", "codex", "--headless", "--yes")
STAND_IN = """#!/bin/sh
[ "$1" = --version ] && echo codex-cli {version} && exit
read -r used waited rest < /proc/$PPID/schedstat
echo "$used" > '{pipe}'
"""
"""Says over a pipe that it has begun, and how long its parent has used a processor by then (Linux tells)."""


class Home:
    """A private home with one project in it, and one transcript of that project."""

    def __init__(self, root: Path, seed: Path, megabytes: int) -> None:
        self.root = root
        self.project = root / "project"
        self.pipe = root / "begun"
        (root / "bin").mkdir(parents=True)
        self.project.mkdir()
        os.mkfifo(self.pipe)
        stand_in = root / "bin" / "codex"
        stand_in.write_text(STAND_IN.format(pipe=self.pipe, version=agents.get("codex").tested))
        stand_in.chmod(0o755)
        self.env = {"HOME": str(root), "PATH": f"{root / 'bin'}:{os.environ.get('PATH', os.defpath)}"}
        for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "Begin"]):
            person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
            subprocess.run(["git", *person, *command], cwd=self.project, env=self.env, check=True)
        self.transcript = self._put(seed, megabytes << 20)
        self.entries = 0

    def _put(self, seed: Path, size: int) -> Path:
        """The transcript, as if it had been written in the project."""
        id = "5e90e000-0000-4000-8000-000000000000"
        moved = []
        for line in seed.read_bytes().splitlines():
            record = json.loads(line)
            known = {"sessionId": id, "cwd": str(self.project)}
            moved.append(json.dumps(record | {key: known[key] for key in known if key in record}).encode())
        folder = self.root / ".claude" / "projects" / "-project"
        folder.mkdir(parents=True)
        path = folder / f"{id}.jsonl"
        grow(b"\n".join(moved), path, size)
        return path

    def add_entry(self) -> None:
        """One thing more that the person says: it is in the next brief."""
        self.entries += 1
        last = json.loads(self.transcript.read_bytes()[-(4 << 20) :].splitlines()[-1])
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        entry = {
            "parentUuid": last["uuid"],
            "uuid": f"5e90e000-0000-4000-8000-{self.entries:012x}",
            "type": "user",
            "isSidechain": False,
            "userType": "external",
            "sessionId": self.transcript.stem,
            "cwd": str(self.project),
            "timestamp": now,
            "message": {
                "role": "user",
                "content": f"Now do step {self.entries}, and leave the API as it is.",
            },
        }
        with self.transcript.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def segue(self, *arguments: str, under: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*([sys.executable, *under, "-m", "segue"] if under else [SEGUE]), *arguments],
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def settle(self) -> None:
        """Back to how it was before a handoff: what the last one left with the target is away, and known to be."""
        for path in self.root.glob(".codex/sessions/**/*.jsonl"):
            path.unlink()
        self.segue("transcripts", "--json").communicate()
        self.add_entry()

    def hand_over(self) -> tuple[float, float]:
        """Seconds from the command to the target's start: by the clock, and of a processor's time."""
        with _reading(self.pipe) as begun:
            started = time.perf_counter()
            process = self.segue(*COMMAND)
            is_there, _, _ = select.select([begun], [], [], PATIENCE)
            taken = time.perf_counter() - started
            if not is_there:
                process.kill()
                raise SystemExit(f"bench: the target was never started\n{process.communicate()[1]}")
            used = os.read(begun, 100).strip()
            process.communicate()
        return taken, int(used or 0) / 1e9


@contextmanager
def _reading(pipe: Path) -> Iterator[int]:
    # Also for writing: a pipe that nobody has opened to write is at its end.
    begun = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        yield begun
    finally:
        os.close(begun)


def timed(argv: list[str], env: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(argv, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def measure(home: Home, runs: int) -> dict[str, list[float]]:
    """Every run's time, with the interpreter's own and a small command's beside each."""
    taken: dict[str, list[float]] = {}
    for run in range(runs + WARM_UPS):
        home.settle()
        wall, used = home.hand_over()
        once = {
            "segue to": wall,
            "  processor time of it": used,
            "segue version": timed([SEGUE, "version"], home.env),
            "python -c pass": timed([sys.executable, "-c", "pass"], home.env),
        }
        for name, seconds in once.items() if run >= WARM_UPS else ():
            taken.setdefault(name, []).append(seconds)
    return taken


def check_states(home: Home, runs: int) -> None:
    """Each run was a handoff of its own, which went natively and has failed."""
    listed = json.loads(home.segue("handoff", "list", "--json").communicate()[0])
    found = [(one["state"], one["delivery"]["way"]) for one in listed]
    if found != [("failed", "native")] * (runs + WARM_UPS):
        raise SystemExit(f"bench: {runs + WARM_UPS} native handoffs should have failed, but: {found}")


def profile(home: Home) -> None:
    """Where one run's time goes: modules that are slow to import, then functions. What comes after the target's start
    is in it too."""
    home.settle()
    with _reading(home.pipe):
        told = home.segue(*COMMAND, under=("-X", "importtime")).communicate()[1]
    rows = [
        line.removeprefix("import time:").split("|") for line in told.splitlines() if line.count("|") == 2
    ]
    slow = sorted((int(own), name.strip()) for own, _, name in rows if own.strip().isdigit())[::-1]
    print(f"  imports: {sum(own for own, _ in slow) / 1000:.0f} ms, of which")
    print("\n".join(f"  {own / 1000:8.1f} ms  {name}" for own, name in slow[:15]))
    home.settle()
    kept = home.root / "profile"
    with _reading(home.pipe):
        home.segue(*COMMAND, under=("-m", "cProfile", "-o", str(kept))).communicate()
    pstats.Stats(str(kept)).sort_stats("cumulative").print_stats("segue", 60)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="4,40", help="in MB")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--profile", action="store_true", help="say where the time goes instead")
    given = parser.parse_args()
    problems = []
    with scratch("handoff") as folder:
        seed = seed_in(unpacked(Path(folder)))
        if seed is None:
            raise SystemExit("bench: no transcript to grow from")
        for size in map(int, given.sizes.split(",")):
            home = Home(Path(folder) / f"home-{size}", seed, size)
            print(f"{size} MB {'median':>26} {'least':>10}")
            if given.profile:
                home.settle()
                home.hand_over()
                profile(home)
                continue
            for name, times in measure(home, given.runs).items():
                median = statistics.median(times)
                print(f"  {name:<22} {median * 1000:6.0f} ms {min(times) * 1000:7.0f} ms")
                if name == "segue to" and median > BAR:
                    problems.append(f"{size} MB: {median * 1000:.0f} ms; at most {BAR * 1000:.0f}")
            check_states(home, given.runs)
    if not given.profile:
        print("\n".join(problems) if problems else f"The bar of {BAR * 1000:.0f} ms is met.")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
