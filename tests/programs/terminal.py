"""A person's terminal inside the sandbox: keys go in, what is shown comes out, and it can be closed.

The same file has both ends. `Terminal` is the test's; run as a program (standard library only, since it is run by its
path) it makes a pseudo-terminal with a shell in it, as a terminal's window does, and says at the end what was left of
it: the exit code, whether the line settings are as before, and which processes are still in it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import stat
import struct
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .sandbox import Process, Sandbox

ROWS, COLUMNS = 50, 160
WITHIN_S = 60.0
LOOK_EVERY_S = 0.05
LEAVES_WITHIN_S = 5.0
STOPPED = "the shell has the terminal again"
SHELL = f"""
set -m
"$@"; code=$?
while [ $code -eq 147 ] || [ $code -eq 148 ]; do
    echo "{STOPPED}"; read -r line; fg >/dev/null; code=$?
done
exit $code
"""
"""As a person's shell: a job of its own, and what was stopped goes on when something is typed."""

ANSWERS = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[c": b"\x1b[?62;22c"}
"""What every terminal says when a program asks it where its cursor is, and what it is."""

CTRL_C, CTRL_D, CTRL_Z, ENTER = "\x03", "\x04", "\x1a", "\r"

_ESCAPE = re.compile(
    r"\x1b(?:\[[0-9;?<>=]*[ -/]*[@-~]|[\]P_^][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78NOMc])"
)
_MODE = re.compile(r"\x1b(?:\[\?([0-9;]+)([hl])|\[([<>])([0-9]*)u|\[>4(?:;([0-9]))?m|([=>])(?![0-9]))")
SHOWS_CURSOR = "25"
HARMLESS = {"2026", "2027", "7", "12"}
"""Modes that change nothing for whoever comes next: drawing at once, joined characters, wrapped lines, a blinking cursor."""


# The test's end


class Closed(NamedTuple):
    """What a terminal was like when all in it had ended."""

    exit_code: int
    is_sane: bool
    """Whether the line settings are what they were."""
    left: list[str]
    """What still ran in it."""


class Terminal:
    """A command on a terminal of its own. Leaving the `with` block closes it."""

    def __init__(
        self,
        sandbox: Sandbox,
        argv: list[str],
        *,
        cwd: Path,
        environment: dict[str, str],
        timeout: float = 90.0,
    ) -> None:
        self._keys = sandbox.tmp / f"keys-{time.monotonic_ns()}"
        os.mkfifo(self._keys)
        self.process: Process = sandbox.start(
            [sys.executable, "-I", "-S", __file__, self._keys, *argv],
            cwd=cwd,
            environment=environment,
            timeout=timeout,
        )
        self._fd = self._open()

    def _open(self) -> int:
        deadline = time.monotonic() + WITHIN_S
        while True:
            with contextlib.suppress(OSError):
                return os.open(self._keys, os.O_WRONLY | os.O_NONBLOCK)
            assert time.monotonic() < deadline, self.process.stderr
            time.sleep(LOOK_EVERY_S)

    @property
    def shown(self) -> str:
        """All that was shown so far, as words."""
        text = re.sub(r"\x1b\[(\d*)C", lambda found: " " * int(found[1] or 1), self.process.stdout)
        return _ESCAPE.sub("", text)

    @property
    def modes(self) -> set[str]:
        """What is switched on that a plain terminal has off: mouse, another screen, another keyboard, ..."""
        return modes_after(self.process.stdout)

    def type(self, keys: str) -> None:
        """Press keys; no effect once all has ended."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._fd, keys.encode())

    def wait_for(self, what: str | Callable[[], object], within: float = WITHIN_S) -> None:
        """Wait for words on the screen, or for something else to be so."""
        deadline = time.monotonic() + within
        while not (what in self.shown if isinstance(what, str) else what()):
            assert time.monotonic() < deadline, f"waited for {what!r}; shown:\n{self.shown[-5000:]}"
            time.sleep(LOOK_EVERY_S)

    def hang_up(self) -> None:
        """Close the window: what runs in it is told by a signal."""
        os.close(self._fd)
        self._fd = -1

    def end(self) -> Closed:
        """Wait until what was started has ended."""
        self.process.wait()
        assert not self.process.timed_out, f"it did not end\n{self.shown[-5000:]}"
        assert stat.S_ISFIFO(self._keys.stat().st_mode)
        told = json.loads(self.process.stderr.splitlines()[-1])
        return Closed(told["exit_code"], told["is_sane"], told["left"])

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stop()
        if self._fd >= 0:
            self.hang_up()


def modes_after(output: str) -> set[str]:
    """Which modes a terminal is in after it has got all this."""
    on: set[str] = set()
    pushed = 0
    for numbers, letter, sign, _, other_keys, keypad in _MODE.findall(output):
        if numbers:
            for number in numbers.split(";"):
                is_on = (letter == "h") is (number != SHOWS_CURSOR)
                (on.add if is_on else on.discard)(number)
        elif sign:
            pushed = max(0, pushed + (1 if sign == ">" else -1))
        elif keypad:
            (on.add if keypad == "=" else on.discard)("keypad")
        else:
            (on.add if other_keys not in ("", "0") else on.discard)("other keys")
    return (on | ({"keyboard"} if pushed else set())) - HARMLESS


# The other end


def main(keys: str, argv: list[str]) -> None:
    leader, master = pty.fork()
    if leader == 0:
        # As in a window: whoever runs the tests may have had this ignored (nohup), and it would be inherited.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.execvp("sh", ["sh", "-c", SHELL, "sh", *argv])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    keep_what_is_shown(master)
    before = termios.tcgetattr(master)
    with Path(keys).open("rb", buffering=0) as typed:
        is_closed = relay(master, typed.fileno(), leader)
    is_sane = is_closed or termios.tcgetattr(master) == before
    if is_closed:
        os.close(master)
    code = os.waitstatus_to_exitcode(os.waitpid(leader, 0)[1])
    print(json.dumps({"exit_code": code, "is_sane": is_sane, "left": left_in(leader)}), file=sys.stderr)


def keep_what_is_shown(master: int) -> None:
    """A key that interrupts throws away what the window has not drawn yet: a test would look for it in vain."""
    settings = termios.tcgetattr(master)
    settings[3] |= termios.NOFLSH
    termios.tcsetattr(master, termios.TCSANOW, settings)


def relay(master: int, typed: int, leader: int) -> bool:
    """Pass on what is typed and what is shown, until the shell has ended; whether the window was closed first."""
    while True:
        ready = select.select([master, typed], [], [], LOOK_EVERY_S)[0]
        if master in ready:
            shown = _read(master)
            os.write(1, shown)
            for question, answer in ANSWERS.items():
                os.write(master, answer * shown.count(question))
            if not shown:
                return False
        elif os.waitid(os.P_PID, leader, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return False
        if typed in ready:
            keys = os.read(typed, 4096)
            if not keys:
                return True
            os.write(master, keys)


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # nobody has the other end open any more
        return b""


def left_in(leader: int) -> list[str]:
    """What still runs in the terminal's session, once it had the time to end."""
    deadline = time.monotonic() + LEAVES_WITHIN_S
    while (found := _session(leader)) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY_S)
    return found


def _session(leader: int) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields: list[Any] = entry.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                found.append(
                    entry.with_name("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
    return found


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main(sys.argv[1], sys.argv[2:])
