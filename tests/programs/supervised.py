"""Kills a supervised run in the middle, and takes it up again, within one sandbox: what the dead leave running goes on.

    python supervised.py agent|segue|both MARK COMMAND...

Segue is started with the command. As soon as the file MARK is there, one of them is killed with SIGKILL: the agent that
is at work, Segue, or both. Where Segue is gone, the same command is run again. The exit code is that of the last Segue.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

WITHIN_S = 60.0


def agent_at_work() -> int:
    """The process that the supervisor started last."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path(os.environ["HOME"]) / ".local/share") / "segue"
    notes = [*data.glob("supervised/*/start-*/pid"), *data.glob("runs/h-*/pid")]
    newest = max(notes, key=lambda path: path.stat().st_mtime_ns)
    return int(newest.read_text().split()[0])


def main(whom: str, mark: Path, command: list[str]) -> int:
    argv = [sys.executable, "-m", "segue", *command]
    segue = subprocess.Popen(argv)
    end = time.monotonic() + WITHIN_S
    while not mark.exists():
        if time.monotonic() > end or segue.poll() is not None:
            print(json.dumps({"error": "it never came to the mark"}), flush=True)
            return 1
        time.sleep(0.02)
    if whom in ("segue", "both"):
        segue.send_signal(signal.SIGKILL)
        segue.wait()
    if whom in ("agent", "both"):
        os.kill(agent_at_work(), signal.SIGKILL)
    mark.with_suffix(".killed").touch()
    if whom == "agent":
        return segue.wait()
    return subprocess.run(argv).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
