"""Run of the project's own tests, only with a command from the settings, never with a detected one."""

from __future__ import annotations

import contextlib
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
from segue.base import files
from segue.facts.output import command_output
from segue.ops.common.desk import Desk

SECONDS = 900.0
"""Time limit of a run."""
KEPT = 400_000
"""Bytes read from the end of the output."""
PIECE = 1 << 16
LARGEST_FILE = 1 << 20
LAST_WORDS_SECONDS = 2.0
"""How long the output is read after the command has ended."""
DECIDED = (Kind.TESTS, Kind.TEST)
MOST_FAILING = 50


class Command(Struct, frozen=True):
    """Command that runs the project's tests. `is_set` means that it comes from the settings."""

    argv: tuple[str, ...] = ()
    is_set: bool = False


def command_for(desk: Desk, folder: Path) -> Command:
    """Command from the settings, or else the one that the folder's files suggest."""
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
        with files.open_file(path) as file:
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
    """Run a test command until it ends or times out, and parse its output."""
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
    said = bytearray()
    reading = threading.Thread(target=_read, args=[process, said], daemon=True)
    reading.start()
    is_over = False
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        is_over = True
    # Kill everything that it started, because a child may hold the output open.
    _end(process)
    reading.join(LAST_WORDS_SECONDS)
    output = bytes(said).decode(errors="replace")
    if is_over:
        return TestRun(command=command, status=None, summary=f"it took longer than {seconds:g} s")
    tally = command_output.tally_in(output)
    failing = [name for name, is_passing in command_output.tests_in(output).items() if not is_passing]
    status = process.returncode or (1 if tally and tally.failed else 0)
    summary = f"{tally.passed} passed, {tally.failed} failed" if tally else f"it ended with status {status}"
    return TestRun(command=command, status=status, summary=summary, failing=tuple(failing[:MOST_FAILING]))


def _read(process: subprocess.Popen[bytes], said: bytearray) -> None:
    """Keep the end of a program's output while it runs."""
    if process.stdout is None:
        return
    with process.stdout as output:
        while piece := os.read(output.fileno(), PIECE):
            said += piece
            del said[:-KEPT]


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
