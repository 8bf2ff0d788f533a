"""How long Segue takes to start, as a multiple of the same environment's bare interpreter.

    ./dev bench startup [--runs 41]

`segue --version` and `segue` on an empty store, interleaved with `python -c pass` in one run; medians.
Bars: 3 and 10 times. Each program runs once beforehand, so that byte code is there as after an install.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = Path(sys.executable).parent
BARE = "python -c pass"
BARS = {"segue --version": 3.0, "segue": 10.0}


def seconds(argv: list[str], env: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(argv, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def measure(runs: int) -> dict[str, float]:
    """The median of each, in seconds."""
    segue = str(PROGRAMS / "segue")
    with tempfile.TemporaryDirectory(prefix="segue-bench-") as folder:
        # HOME, not SEGUE_HOME: the platform's folders are part of what a person waits for.
        env = {"PATH": os.environ.get("PATH", ""), "HOME": folder}
        subprocess.run(
            [segue, "session", "create"], env=env, check=True, stdout=subprocess.DEVNULL, cwd=folder
        )
        subprocess.run([segue, "undo"], env=env, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        programs = {
            BARE: [sys.executable, "-c", "pass"],
            "segue --version": [segue, "--version"],
            "segue": [segue],
        }
        taken: dict[str, list[float]] = {name: [] for name in programs}
        for run in range(runs + 2):
            for name, argv in programs.items():
                once = seconds(argv, env)
                if run >= 2:
                    taken[name].append(once)
    return {name: statistics.median(times) for name, times in taken.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=41)
    medians = measure(parser.parse_args().runs)
    failed = False
    for name, median in medians.items():
        ratio = median / medians[BARE]
        bar = BARS.get(name)
        verdict = "" if bar is None else f"  (bar {bar:g}x: {'met' if ratio <= bar else 'NOT met'})"
        failed = failed or (bar is not None and ratio > bar)
        print(f"{name:<16} {median * 1000:6.1f} ms  {ratio:5.2f}x{verdict}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
