"""Running the project's own tests, by a command that the person named: never by one that was only found."""

from __future__ import annotations

import collections
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from segue.assertions import Kind, TestRun
from segue.facts import outcomes
from segue.ops.desk import Desk

SECONDS = 900.0
"""How long a run may take."""
KEPT = 400_000
"""How many bytes of the end of its output are looked at."""
PIECE = 1 << 16
LARGEST_FILE = 1 << 20
DECIDED = (Kind.TESTS, Kind.TEST)
MOST_FAILING = 50


class Command(Struct, frozen=True):
    """A command that runs the project's tests; `is_set` where the person said so."""

    argv: tuple[str, ...] = ()
    is_set: bool = False


def command_for(desk: Desk, folder: Path) -> Command:
    """The command of the settings, else the one that the folder's files suggest."""
    if desk.settings.verify_test_command:
        return Command(desk.settings.verify_test_command, True)
    return Command(_suggested(folder))


def _suggested(folder: Path) -> tuple[str, ...]:
    text = {
        name: _text(folder / name)
        for name in ("package.json", "pyproject.toml", "Makefile", "pytest.ini", "tox.ini")
    }
    if text["pytest.ini"] or "pytest" in text["pyproject.toml"] or (folder / "conftest.py").is_file():
        return ("pytest",)
    if '"test"' in text["package.json"] and _has_test_script(text["package.json"]):
        return ("npm", "test")
    if (folder / "Cargo.toml").is_file():
        return ("cargo", "test")
    if (folder / "go.mod").is_file():
        return ("go", "test", "./...")
    if re.search(r"^test\s*:", text["Makefile"], re.MULTILINE):
        return ("make", "test")
    return ()


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_FILE).decode(errors="replace")
    except OSError:
        return ""


def _has_test_script(package: str) -> bool:
    try:
        scripts = json.loads(package).get("scripts", {})
        return "no test specified" not in str(scripts.get("test", "no test specified"))
    except (ValueError, AttributeError, RecursionError):
        return False


def run(argv: Sequence[str], folder: Path, env: Mapping[str, str], seconds: float = SECONDS) -> TestRun:
    """Run a test command to its end, or until its time is over, and read what it told."""
    command = " ".join(argv)
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=folder,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return TestRun(
            command=command, status=None, summary=f"it could not be started: {error.strerror or error}"
        )
    over = threading.Event()
    watchdog = threading.Timer(seconds, _end, [process, over])
    watchdog.daemon = True
    watchdog.start()
    with process:
        output = _tail(process)
    watchdog.cancel()
    if over.is_set():
        return TestRun(command=command, status=None, summary=f"it took longer than {seconds:g} s")
    tally = outcomes.tally_in(output)
    failing = [name for name, is_passing in outcomes.tests_in(output).items() if not is_passing]
    status = process.returncode or (1 if tally and tally.failed else 0)
    summary = f"{tally.passed} passed, {tally.failed} failed" if tally else f"it ended with status {status}"
    return TestRun(command=command, status=status, summary=summary, failing=tuple(failing[:MOST_FAILING]))


def _tail(process: subprocess.Popen[bytes]) -> str:
    pieces: collections.deque[bytes] = collections.deque(maxlen=1 + KEPT // PIECE)
    while process.stdout and (piece := process.stdout.read(PIECE)):
        pieces.append(piece)
    return b"".join(pieces).decode(errors="replace")


def _end(process: subprocess.Popen[bytes], over: threading.Event) -> None:
    """End it with all that it started: what holds its output open would be waited for."""
    over.set()
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
