"""Processes of agents: on the user's terminal, or headless under a watchdog. Always an argv list, never a shell."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct

from segue.agents.shared.launch import Launch
from segue.base import files
from segue.errors import SegueError
from segue.model.delivery import Mode
from segue.model.exit_reason import Output

LOOK_SECONDS = 0.2
"""How often to check on the program."""
CLOSER_LOOK_SECONDS = 5.0
"""How often to read its output and usage."""
PATIENCE_SECONDS = 900.0
"""A headless program without progress for so long is ended: some never exit by themselves."""
ERRAND_SECONDS = 120.0
GRACE_SECONDS = 5.0
TAIL = 1 << 16
SAID = 4000
PID = "pid"
BOOT = Path("/proc/sys/kernel/random/boot_id")
LARGEST_LOG = 1 << 20
ENDING = (signal.SIGTERM, signal.SIGHUP)
TERMINAL = 0
PLAIN = (
    b"\x1b[<9u\x1b[?1049l\x1b[<9u\x1b[>4m\x1b>"
    b"\x1b[?9;1000;1002;1003;1004;1005;1006;1015;2004;2026;2027;2031l\x1b[?25h\x1b[0m\r\n"
)
"""Resets a terminal: keyboard mode, main screen, colours, visible cursor, no mouse or paste reports."""


class End(StrEnum):
    """Who ended a program."""

    ITSELF = "itself"
    GIVEN_UP = "given up"
    """Segue, because the program made no progress."""
    ENOUGH = "enough"
    """Segue, because the caller asked for it."""


class Ended(Struct, frozen=True, kw_only=True):
    """How a program ended. The exit code alone says little: its transcript counts."""

    output: Output
    by: End = End.ITSELF

    @property
    def exit_code(self) -> int | None:
        """None if another process had started it."""
        return self.output.exit_code

    @property
    def is_given_up(self) -> bool:
        return self.by is End.GIVEN_UP

    @property
    def said(self) -> str:
        """The end of its standard error, or else of its standard output."""
        return (self.output.stderr.strip() or self.output.stdout.strip())[-SAID:]


def never() -> bool:
    return False


def seldom(look: Callable[[], bool]) -> Callable[[], bool]:
    """Throttle a slow check to one call every few seconds; False in between."""
    looked_at = time.monotonic()

    def enough() -> bool:
        nonlocal looked_at
        if time.monotonic() - looked_at < CLOSER_LOOK_SECONDS:
            return False
        found = look()
        looked_at = time.monotonic()
        return found

    return enough


def run(
    launch: Launch,
    *,
    mode: Mode,
    folder: Path,
    env: Mapping[str, str],
    logs: Path,
    look: Callable[[], object],
    patience: float = PATIENCE_SECONDS,
    enough: Callable[[], bool] = never,
) -> Ended:
    """Start a program and wait until it ends. `look` is called repeatedly while it runs; a changed return value counts
    as progress. When `enough` returns true, the program is ended. On a terminal, callers use `ignore_interrupts`, so
    that Ctrl-C goes to the program only."""
    files.make_private_folder(logs)
    with _terminal_kept(mode), _streams(launch, mode, logs) as streams:
        child = subprocess.Popen(
            launch.argv,
            cwd=folder,
            env={**env, **launch.env},
            start_new_session=mode is Mode.HEADLESS,
            # In the child, before exec: a running program can be found even if Segue dies now.
            preexec_fn=lambda: sign(logs),
            **streams,
        )
        try:
            by = _attend(
                _is_ended(child),
                lambda: _end(child, mode),
                look,
                patience if mode is Mode.HEADLESS else None,
                enough,
                logs,
            )
        except BaseException:
            with _to_the_end():
                _end(child, mode)
            raise
    if mode is Mode.HEADLESS and child.returncode < 0:
        _sweep(child.pid)
    output = Output(exit_code=child.returncode, stdout="", stderr="")
    if mode is Mode.HEADLESS:
        output = output_of(logs, child.returncode)
    _cut(logs)
    return Ended(output=output, by=by)


def _sweep(pid: int) -> None:
    """Kill what is left of a dead program's process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _cut(logs: Path) -> None:
    """Truncate large output files: the beginning is enough for later reading."""
    for name in OUTPUTS:
        with contextlib.suppress(OSError):
            if (logs / name).stat().st_size > LARGEST_LOG:
                os.truncate(logs / name, LARGEST_LOG)


def _is_ended(child: subprocess.Popen[bytes]) -> Callable[[], bool]:
    def is_ended() -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(LOOK_SECONDS)
            return True
        return False

    return is_ended


def _attend(
    is_ended: Callable[[], bool],
    end: Callable[[], None],
    look: Callable[[], object],
    patience: float | None,
    enough: Callable[[], bool],
    logs: Path,
) -> End:
    """Watch a program until it ends, or has to be ended."""
    seen: object = None
    found: object = None
    can_look = True
    alive = time.monotonic()
    while not is_ended():
        if can_look:
            try:
                found = look()
            except (SegueError, OSError):
                can_look = False  # no reason to end the agent: the transcript is checked again at the end
        now = (found, _sizes(logs))
        if now != seen:
            seen, alive = now, time.monotonic()
        elif patience is not None and time.monotonic() - alive > patience:
            end()
            return End.GIVEN_UP
        if enough():
            end()
            return End.ENOUGH
    return End.ITSELF


def sign(logs: Path) -> None:
    """Write this process's id and start time into a folder."""
    pid = os.getpid()
    fd = files.open_private(logs / PID, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    files.write_all(fd, f"{pid} {_started(pid)}".encode())
    os.close(fd)


def is_running(logs: Path) -> bool:
    """Whether the last program started here is still running, even if another process started it."""
    return _running(logs) is not None


def _running(logs: Path) -> int | None:
    """The process id of the last program started here, while it runs."""
    try:
        pid, _, started = files.read_file(logs / PID, 200).decode().partition(" ")
        return int(pid) if started and _started(int(pid)) == started else None
    except (OSError, ValueError):
        return None


def wait(
    logs: Path,
    look: Callable[[], object],
    patience: float | None = None,
    enough: Callable[[], bool] = never,
) -> Ended:
    """Wait for a headless program that another process started."""

    def is_ended() -> bool:
        if not is_running(logs):
            return True
        time.sleep(LOOK_SECONDS)
        return False

    try:
        by = _attend(is_ended, lambda: end(logs), look, patience, enough, logs)
    except (KeyboardInterrupt, SystemExit):
        with _to_the_end():
            end(logs)
        raise
    return Ended(output=output_of(logs, None), by=by)


def end(logs: Path) -> None:
    """End a headless program that another process started, and its children."""
    first = _running(logs)
    if first is None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        pid = _running(logs)
        if pid is None:
            break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, number)
        gone = time.monotonic() + GRACE_SECONDS
        while is_running(logs) and time.monotonic() < gone:
            time.sleep(LOOK_SECONDS / 4)
    _sweep(first)


def _started(pid: int) -> str:
    """Start time of a process, which tells it from a later one with the same id; empty if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return _started_elsewhere(pid)
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else f"{fields[19]} {_boot()}"


@functools.cache
def _boot() -> str:
    """Id of this boot: start times are relative to it."""
    try:
        return BOOT.read_text().strip()
    except OSError:
        return ""


def _started_elsewhere(pid: int) -> str:
    if Path("/proc/self").exists():
        return ""
    done = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return "_".join(done.stdout.split())


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Make signals that would kill Segue end the program that it started, too. Signals that are ignored or handled by
    the caller stay as they are."""
    with _handled([one for one in ENDING if signal.getsignal(one) is signal.SIG_DFL], _exit):
        yield


@contextlib.contextmanager
def _handled(numbers: Iterable[int], handler: Callable[[int, Any], None]) -> Iterator[None]:
    """Handle signals temporarily. Only the main thread can, and only it receives them."""
    is_main = threading.current_thread() is threading.main_thread()
    # No SIG_IGN: a child would inherit that.
    kept = {number: signal.signal(number, handler) for number in numbers} if is_main else {}
    try:
        yield
    finally:
        for number, before in kept.items():
            signal.signal(number, before)


def _exit(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _to_the_end() -> contextlib.AbstractContextManager[None]:
    """Ignore further signals while a program is being ended."""
    ending = (one for one in ENDING if signal.getsignal(one) is _exit)
    return _handled((signal.SIGINT, *ending), _heard)


def _end(child: subprocess.Popen[bytes], mode: Mode) -> None:
    """Terminate a program, then kill it; headless, with its children."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            if mode is Mode.HEADLESS:
                os.killpg(child.pid, number)
            else:
                child.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_SECONDS)
            break
    if mode is Mode.HEADLESS:
        _sweep(child.pid)


@contextlib.contextmanager
def _streams(launch: Launch, mode: Mode, logs: Path) -> Iterator[dict[str, Any]]:
    """The child's streams: the terminal itself, or files."""
    if mode is Mode.OPEN:
        yield {}
        return
    files.write_file(logs / "stdin", (launch.stdin or "").encode(), is_lasting=False)
    out, err = (files.open_private(logs / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for name in OUTPUTS)
    with (logs / "stdin").open("rb") as given, os.fdopen(out, "wb") as stdout, os.fdopen(err, "wb") as stderr:
        yield {"stdin": given, "stdout": stdout, "stderr": stderr}


OUTPUTS = ("stdout", "stderr")


def _sizes(logs: Path) -> tuple[int, ...]:
    found = []
    for name in OUTPUTS:
        with contextlib.suppress(OSError):
            found.append((logs / name).stat().st_size)
    return tuple(found)


def output_of(logs: Path, exit_code: int | None) -> Output:
    """The end of a program's output."""
    stdout, stderr = (_tail(logs / name) for name in OUTPUTS)
    return Output(exit_code=exit_code, stdout=stdout, stderr=stderr)


def _tail(path: Path) -> str:
    with contextlib.suppress(OSError), files.open_file(path) as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        return file.read().decode(errors="replace")
    return ""


def undisturbed(mode: Mode) -> contextlib.AbstractContextManager[None]:
    """On a terminal, let Ctrl-C interrupt the agent, not Segue."""
    return _handled((signal.SIGINT, signal.SIGQUIT) if mode is Mode.OPEN else (), _heard)


def _heard(_number: int, _frame: object) -> None:
    """Do nothing: the agent gets the same signal."""


@contextlib.contextmanager
def _terminal_kept(mode: Mode) -> Iterator[None]:
    """Restore the terminal after a program that died there: it may have left echo off, another screen or mouse reports
    on. A program that exits properly restores the terminal itself, and nothing is done."""
    before = termios.tcgetattr(TERMINAL) if mode is Mode.OPEN and os.isatty(TERMINAL) else None
    try:
        yield
    finally:
        with contextlib.suppress(OSError, termios.error):  # the window may be closed
            if before is not None and termios.tcgetattr(TERMINAL) != before:
                termios.tcsetattr(TERMINAL, termios.TCSAFLUSH, before)
                os.write(TERMINAL, PLAIN)
