"""Usage totals against ccusage: a tree of 1 GB of Claude Code transcripts, in the same run, equal totals required.

Cold: no index of ours, the page cache warm for both, the index built during the run. Warm: after 1 MB was
appended. ccusage keeps nothing, so its cold and warm runs are the same work.

    ./dev bench usage [--size MB] [--rounds N]

Needs npm for ccusage, which is fetched once into your cache folder.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench import _tree as tree

PEER = "ccusage@20.0.24"
COLD_BAR, WARM_BAR = 2.0, 25.0
APPENDED = 1_000_000
NAMES = {
    "input": "inputTokens",
    "output": "outputTokens",
    "cache_read": "cacheReadTokens",
    "cache_write": "cacheCreationTokens",
}


def peer() -> Path:
    """The command that npm installs."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "segue-bench" / PEER
    if not (folder / "node_modules").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--no-save", "--silent", "--prefix", folder, PEER], check=True)
    return folder / "node_modules" / ".bin" / "ccusage"


def installed(folder: Path) -> Path:
    """Segue as a user has it: with what it needs to run, and nothing else that could slow it down or speed it up."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    pip: list[str | Path] = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "--no-deps", "--require-hashes", "-r", tree.ROOT / "requirements" / "run.txt"], check=True
    )
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", tree.ROOT], check=True)
    return folder / "bin" / "segue"


def timed(argv: list[str | Path], env: dict[str, str]) -> tuple[float, dict[str, Any]]:
    started = time.perf_counter()
    done = subprocess.run(argv, env=env, capture_output=True, check=True)
    return time.perf_counter() - started, json.loads(done.stdout)


def ours_of(report: dict[str, Any]) -> dict[str, int]:
    return {name: report["total"]["tokens"][name] for name in NAMES}


def theirs_of(report: dict[str, Any]) -> dict[str, int]:
    return {name: report["totals"][other] for name, other in NAMES.items()}


def append(projects: Path, number: int) -> None:
    """One more megabyte at the end of a transcript, with ids of its own."""
    path = sorted(projects.glob("*/*.jsonl"))[number]
    with path.open("rb") as file:
        start = file.read(APPENDED)
    whole = start[: start.rfind(b"\n") + 1]
    with path.open("ab") as file:
        file.write(tree.IDS.sub(rb'"\1":"\g<2>w%02d' % number, whole))


def compare(folder: Path, segue: Path, program: Path, rounds: int) -> bool:
    home = folder / "home"
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "nobody"),
        "CLAUDE_CONFIG_DIR": str(folder / "tree"),
        "SEGUE_HOME": str(home),
        "TZ": "UTC",
    }
    ours: list[str | Path] = [segue, "usage", "daily", "--json"]
    theirs: list[str | Path] = [program, "daily", "--json", "--offline"]
    for path in (folder / "tree").rglob("*.jsonl"):
        path.read_bytes()
    times: dict[str, list[float]] = {"cold": [], "warm": [], "peer": [], "peer after": []}
    is_equal = True
    for number in range(rounds):
        shutil.rmtree(home, ignore_errors=True)
        for peers, own in (("peer", "cold"), ("peer after", "warm")):
            seconds, report = timed(theirs, env)
            times[peers].append(seconds)
            expected = theirs_of(report)
            seconds, report = timed(ours, env)
            times[own].append(seconds)
            is_equal &= ours_of(report) == expected
            if own == "cold":
                append(folder / "tree" / "projects", number)
    medians = {label: statistics.median(found) for label, found in times.items()}
    cold = medians["peer"] / medians["cold"]
    warm = medians["peer after"] / medians["warm"]
    print(f"totals equal: {'yes' if is_equal else 'NO'} {expected}")
    print(
        f"cold: segue {medians['cold']:.3f} s, ccusage {medians['peer']:.3f} s: {cold:.2f}x (bar {COLD_BAR}x)"
    )
    print(
        f"warm: segue {medians['warm']:.3f} s, ccusage {medians['peer after']:.3f} s: {warm:.1f}x (bar {WARM_BAR}x)"
    )
    return is_equal and cold >= COLD_BAR and warm >= WARM_BAR


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=1000, help="megabytes")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    program = peer()
    with tree.scratch("usage") as name:
        folder = Path(name)
        files = tree.build(tree.unpacked(folder), folder / "tree", arguments.size * 1_000_000)
        print(f"{arguments.size} MB in {files} transcripts, {arguments.rounds} rounds, medians")
        return 0 if compare(folder, installed(folder / "venv"), program, arguments.rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
