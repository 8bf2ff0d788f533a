"""Running an agent's program: on the person's terminal, or headless under a watchdog. An argv list, never a shell."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from segue import disk
from segue.agents.starting import Launch
from segue.delivery import Mode
from segue.errors import SegueError

LOOK_SECONDS = 0.2
"""How often a look is taken at what the program does."""
PATIENCE_SECONDS = 900.0
"""A headless program that has shown no sign of life for so long is given up: some never end by themselves."""
ERRAND_SECONDS = 120.0
GRACE_SECONDS = 5.0
TAIL = 4000
PID = "pid"
LARGEST_LOG = 1 << 20
TERMINAL = 0
PLAIN = (
    b"\x1b[<9u\x1b[?1049l\x1b[<9u\x1b[>4m\x1b>"
    b"\x1b[?9;1000;1002;1003;1004;1005;1006;1015;2004;2026;2027;2031l\x1b[?25h\x1b[0m\r\n"
)
"""What makes a terminal plain again: the usual keyboard, screen and colours, a cursor, and nothing reported."""


class Ended(Struct, frozen=True):
    """How a program ended. Its exit code alone says little: what it recorded counts."""

    exit_code: int
    said: str = ""
    """The end of what it printed to standard error, or else to standard output."""
    is_given_up: bool = False


def run(
    launch: Launch,
    *,
    mode: Mode,
    folder: Path,
    env: Mapping[str, str],
    logs: Path,
    look: Callable[[], object],
    patience: float = PATIENCE_SECONDS,
) -> Ended:
    """Start a program and wait for its end. `look` is called again and again while it runs; what it returns changes
    for as long as the program gets on."""
    disk.make_private_folder(logs)
    with undisturbed(mode), _terminal_kept(mode), _streams(launch, mode, logs) as streams:
        child = subprocess.Popen(
            launch.argv,
            cwd=folder,
            env={**env, **launch.env},
            start_new_session=mode is Mode.HEADLESS,
            # In the child, before the program begins: whoever dies when, what runs can be found.
            preexec_fn=lambda: _sign(logs / PID),
            **streams,
        )
        try:
            is_given_up = _wait(child, look, patience if mode is Mode.HEADLESS else None, logs)
        except BaseException:
            _end(child, mode)
            raise
    said = _tail(logs) if mode is Mode.HEADLESS else ""
    _cut(logs)
    return Ended(child.returncode, said, is_given_up)


def _cut(logs: Path) -> None:
    """Of what a program printed, the beginning is enough to look at afterwards."""
    for name in OUTPUTS:
        with contextlib.suppress(OSError):
            if (logs / name).stat().st_size > LARGEST_LOG:
                os.truncate(logs / name, LARGEST_LOG)


def _wait(
    child: subprocess.Popen[bytes], look: Callable[[], object], patience: float | None, logs: Path
) -> bool:
    """Whether the child had to be given up."""
    seen: object = None
    found: object = None
    can_look = True
    alive = time.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(LOOK_SECONDS)
            return False
        if can_look:
            try:
                found = look()
            except (SegueError, OSError):
                can_look = False  # no reason to end the agent: what counts is looked at once more at the end
        now = (found, _sizes(logs))
        if now != seen:
            seen, alive = now, time.monotonic()
        elif patience is not None and time.monotonic() - alive > patience:
            _end(child, Mode.HEADLESS)
            return True


def _sign(path: Path) -> None:
    pid = os.getpid()
    fd = disk.open_private(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    disk.write_all(fd, f"{pid} {_started(pid)}".encode())
    os.close(fd)


def is_running(logs: Path) -> bool:
    """Whether the program that was started here last is still running, whoever started it."""
    try:
        pid, _, started = disk.read_file(logs / PID, 100).decode().partition(" ")
        return bool(started) and _started(int(pid)) == started
    except (OSError, ValueError):
        return False


def wait(logs: Path, look: Callable[[], object]) -> None:
    """Wait for a program that another process started."""
    while is_running(logs):
        look()
        time.sleep(LOOK_SECONDS)


def _started(pid: int) -> str:
    """What tells a process from a later one with the same number; empty where there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return _started_elsewhere(pid)
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]


def _started_elsewhere(pid: int) -> str:
    if Path("/proc/self").exists():
        return ""
    done = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return "_".join(done.stdout.split())


def _end(child: subprocess.Popen[bytes], mode: Mode) -> None:
    """Ask it to end, then make it; headless, with all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            if mode is Mode.HEADLESS:
                os.killpg(child.pid, number)
            else:
                child.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_SECONDS)
            return


@contextlib.contextmanager
def _streams(launch: Launch, mode: Mode, logs: Path) -> Iterator[dict[str, Any]]:
    """Where the child reads and writes: the terminal itself, or files of ours."""
    if mode is Mode.OPEN:
        yield {}
        return
    disk.write_file(logs / "stdin", (launch.stdin or "").encode(), is_lasting=False)
    out, err = (disk.open_private(logs / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for name in OUTPUTS)
    with (logs / "stdin").open("rb") as given, os.fdopen(out, "wb") as stdout, os.fdopen(err, "wb") as stderr:
        yield {"stdin": given, "stdout": stdout, "stderr": stderr}


OUTPUTS = ("stdout", "stderr")


def _sizes(logs: Path) -> tuple[int, ...]:
    found = []
    for name in OUTPUTS:
        with contextlib.suppress(OSError):
            found.append((logs / name).stat().st_size)
    return tuple(found)


def _tail(logs: Path) -> str:
    for name in reversed(OUTPUTS):
        with contextlib.suppress(OSError), disk.open_file(logs / name) as file:
            file.seek(max(0, (logs / name).stat().st_size - TAIL))
            if text := file.read().decode(errors="replace").strip():
                return text
    return ""


@contextlib.contextmanager
def undisturbed(mode: Mode) -> Iterator[None]:
    """On a terminal, what the person interrupts is the agent, not Segue."""
    if mode is Mode.HEADLESS or threading.current_thread() is not threading.main_thread():
        yield
        return
    # No SIG_IGN: the child would inherit that.
    kept = {number: signal.signal(number, _heard) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _heard(_number: int, _frame: object) -> None:
    """The agent gets the same signal, and knows what to do."""


@contextlib.contextmanager
def _terminal_kept(mode: Mode) -> Iterator[None]:
    """A program that dies on the terminal leaves it as it had made it: without echo, on another screen, with the mouse
    reporting. What ended well has put all that back itself, and nothing is done."""
    before = termios.tcgetattr(TERMINAL) if mode is Mode.OPEN and os.isatty(TERMINAL) else None
    try:
        yield
    finally:
        with contextlib.suppress(OSError, termios.error):  # the window may be closed
            if before is not None and termios.tcgetattr(TERMINAL) != before:
                termios.tcsetattr(TERMINAL, termios.TCSAFLUSH, before)
                os.write(TERMINAL, PLAIN)
