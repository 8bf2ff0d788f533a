"""Runs a program with a private home and no way out: nothing of the machine's own configuration gets in,
nothing but loopback can be reached, and nothing of the program stays alive.

Where the machine permits it, the program runs in a network namespace of its own that has loopback and nothing
else. The model server still runs in the test's process: its listening socket was made inside the namespace
and passed out. Where that is not permitted (an ordinary container), the port is an ordinary one, and proxies
that lead nowhere keep well-behaved programs from other addresses. `ISOLATION` says which of the two holds.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal

Isolation = Literal["namespace", "environment"]

PORT_IN_NAMESPACE = 8899
DEAD_PROXY = "http://127.0.0.1:9"
LAUNCHER = Path(__file__).with_name("launcher.py")
START_WITHIN_S = 30.0
SWEEP_WITHIN_S = 30.0


class SandboxError(Exception):
    """A program could not be started, or its supervisor broke down."""


class Process:
    """A program that runs in a sandbox, under a watchdog from its first moment."""

    def __init__(
        self, supervisor: subprocess.Popen[bytes], control: socket.socket, logs: Path, seconds: float
    ):
        self._supervisor = supervisor
        self._control = control
        self._reader: IO[bytes] = control.makefile("rb")
        self._logs = logs
        self._seconds = seconds
        self._exit_code: int | None = None
        self.timed_out = False
        self.strays: tuple[str, ...] = ()
        """Command lines of what the program left running; it was killed."""
        try:
            self.pid = int(self._hear(START_WITHIN_S)["pid"])
        except BaseException:
            self._release()
            raise

    @property
    def stdout(self) -> str:
        """What the program has printed so far."""
        return self._logs.joinpath("stdout").read_text(errors="replace")

    @property
    def stderr(self) -> str:
        """What the program has printed to standard error so far."""
        return self._logs.joinpath("stderr").read_text(errors="replace")

    def signal(self, number: int) -> None:
        """Send a signal to the program alone, as a person's `kill` would; no effect once it has ended."""
        self._say(f"signal {int(number)}")

    def kill(self) -> None:
        """Kill the program alone with SIGKILL; what it started is swept away after it."""
        self.signal(signal.SIGKILL)

    def wait(self) -> int:
        """The exit code (minus the signal's number, if a signal ended it), when all of it has ended."""
        if self._exit_code is None:
            news = self._hear(self._seconds + SWEEP_WITHIN_S)
            self._exit_code = int(news["exit"])
            self.timed_out = bool(news["timed_out"])
            self.strays = tuple(news["strays"])
            self._release()
        return self._exit_code

    def stop(self) -> None:
        """End the program and all it started, at once."""
        if self._exit_code is None and not self._control.fileno() < 0:
            self._say("stop")
            self.wait()

    def _say(self, line: str) -> None:
        if self._exit_code is None:
            with contextlib.suppress(ConnectionError):
                self._control.sendall(line.encode() + b"\n")

    def _hear(self, seconds: float) -> dict[str, Any]:
        self._control.settimeout(seconds)
        try:
            line = self._reader.readline()
        except TimeoutError:
            line = b""
        news: dict[str, Any] = (
            json.loads(line) if line else {"error": f"its supervisor fell silent\n{self.stderr}"}
        )
        if "error" in news:
            self._release()
            raise SandboxError(f"the program could not be run: {news['error']}")
        return news

    def _release(self) -> None:
        """Let the supervisor go; it takes the end of the control socket as an order to stop."""
        self._reader.close()
        self._control.close()
        try:
            self._supervisor.wait(SWEEP_WITHIN_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._supervisor.pid, signal.SIGKILL)
            self._supervisor.wait()


class Sandbox:
    """A private home, temporary folder and network. Several programs can run in it, also at once.

    `listener` is the socket for a model server that these programs can reach at `url`.
    """

    def __init__(self, root: Path, *, isolation: Isolation | None = None) -> None:
        self.isolation: Isolation = isolation or ISOLATION
        self.root = root
        self.home = root / "home"
        self.tmp = Path(tempfile.mkdtemp(prefix="segue-"))
        """Short, since programs keep sockets there, and go to the machine's own where a path is too long."""
        self._namespaces: list[int] = []
        self._processes: list[Process] = []
        self._logs = itertools.count()
        if self.isolation == "namespace":
            self.listener, self._namespaces = _open_network()
        else:
            self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        for folder in (self.home, *map(Path, self._xdg().values())):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    @property
    def environment(self) -> dict[str, str]:
        """All that a program gets from us; of the caller's environment only PATH."""
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "TMPDIR": str(self.tmp),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "TZ": "UTC",
            **self._xdg(),
        }
        if self.isolation == "environment":
            proxies = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
            environment.update(dict.fromkeys(proxies, DEAD_PROXY))
            environment.update(dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"))
        return environment

    def start(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        timeout: float = 60.0,
    ) -> Process:
        """Start a program. After `timeout` seconds it is killed with all that it started."""
        logs = self.root / "logs" / str(next(self._logs))
        logs.mkdir(parents=True)
        ours, theirs = socket.socketpair()
        namespaces = ",".join(map(str, self._namespaces)) or "-"
        with theirs, (logs / "stdout").open("wb") as stdout, (logs / "stderr").open("wb") as stderr:
            supervisor = subprocess.Popen(
                [*_launcher("run", theirs), str(timeout), namespaces, *map(str, argv)],
                cwd=cwd,
                env={**self.environment, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                pass_fds=[theirs.fileno(), *self._namespaces],
                start_new_session=True,
            )
        process = Process(supervisor, ours, logs, timeout)
        self._processes.append(process)
        return process

    def close(self) -> None:
        """End every program, give the network back and clear the temporary folder; the home stays."""
        with contextlib.ExitStack() as ending:
            ending.callback(shutil.rmtree, self.tmp, ignore_errors=True)
            for fd in self._namespaces:
                ending.callback(os.close, fd)
            self._namespaces = []
            ending.callback(self.listener.close)
            for process in self._processes:
                ending.callback(process.stop)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _xdg(self) -> dict[str, str]:
        """The places that these names have by default, so that programs that ignore them agree."""
        return {
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_RUNTIME_DIR": str(self.tmp / "run"),
        }


def _launcher(mode: str, control: socket.socket) -> list[str]:
    return [sys.executable, "-I", "-S", str(LAUNCHER), mode, str(control.fileno())]


def _open_network() -> tuple[socket.socket, list[int]]:
    """A listening socket in a network of its own, and the namespaces of that network."""
    reasons = []
    for way in ("user", "net"):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            done = subprocess.run(
                [*_launcher("open", theirs), str(PORT_IN_NAMESPACE), way],
                env={},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=START_WITHIN_S,
            )
            if done.returncode == 0:
                _, fds, _, _ = socket.recv_fds(ours, 16, 3)
                return socket.socket(fileno=fds[0]), fds[1:]
        reasons.append(done.stderr.decode(errors="replace").strip().rpartition("\n")[2])
    raise SandboxError("no private network: " + "; ".join(reasons))


def _find_isolation() -> Isolation:
    """What this machine permits."""
    if sys.platform != "linux":
        return "environment"
    try:
        listener, namespaces = _open_network()
    except SandboxError:
        return "environment"
    listener.close()
    for fd in namespaces:
        os.close(fd)
    return "namespace"


ISOLATION: Isolation = _find_isolation()
