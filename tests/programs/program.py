"""What a test knows about an agent program: how to set it up, run it, and have its model use its tools.

Each of the four programs is one file beside this one. A test that takes the `program` fixture runs with all
of them and never names one; the words of their tools come from `write_file` and `shell`.
"""

from __future__ import annotations

import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from . import install
from .model_server import Call, Fault, ModelServer, Request, Script, Step
from .sandbox import Process, Sandbox

DEFAULT_TIMEOUT_S = 90.0


@dataclass(frozen=True)
class Run:
    """A program that has ended."""

    exit_code: int
    stdout: str
    stderr: str
    home: Path
    server: ModelServer
    timed_out: bool
    strays: tuple[str, ...]

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests of the conversation, without those on the side."""
        return self.server.main_requests

    @property
    def report(self) -> str:
        """All that a failed assertion should show."""
        asked = "\n".join(
            f"  {e.request.protocol} {e.request.path} -> {str(e.turn)[:200]} ({e.outcome})"
            for e in self.server.exchanges
        )
        return (
            f"exit code {self.exit_code}{', killed by the watchdog' if self.timed_out else ''}\n"
            f"stdout: {self.stdout[-4000:]}\nstderr: {self.stderr[-4000:]}\n"
            f"requests:\n{asked}\nproblems: {list(self.server.problems)}"
        )


class Running:
    """A program that is under way with its model. Leaving the `with` block ends both."""

    def __init__(
        self, process: Process, server: ModelServer, sandbox: Sandbox, *, owns_sandbox: bool
    ) -> None:
        self.process = process
        self.server = server
        self.sandbox = sandbox
        self._owns_sandbox = owns_sandbox

    @property
    def home(self) -> Path:
        """The program's private home."""
        return self.sandbox.home

    def kill(self) -> None:
        """Kill the program with SIGKILL, as a crash would."""
        self.process.kill()

    def signal(self, number: int) -> None:
        """Send the program a signal."""
        self.process.signal(number)

    def wait(self) -> Run:
        """Wait for the program's end, or for the watchdog's."""
        code = self.process.wait()
        return Run(
            exit_code=code,
            stdout=self.process.stdout,
            stderr=self.process.stderr,
            home=self.home,
            server=self.server,
            timed_out=self.process.timed_out,
            strays=self.process.strays,
        )

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.stop()
        if self._owns_sandbox:
            self.sandbox.close()
        self.server.__exit__(kind, error, trace)


def write_new(path: Path, text: str) -> None:
    """Write a configuration file, unless it is there from a run before: a test may have added to it."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def first_value(stdout: str, key: str) -> str:
    """The first value of a key at the top of a line of JSON."""
    for line in stdout.splitlines():
        if line.startswith("{") and key in (news := json.loads(line)):
            return str(news[key])
    raise AssertionError(f"no line of the output has a {key}:\n{stdout}")


class Program(ABC):
    """One agent program. It keeps the homes of its runs under `root`."""

    name: str
    model: str
    """The model that the program is told to use."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._homes = itertools.count()

    @property
    def executable(self) -> Path:
        """The installed program."""
        return install.executable(self.name)

    @property
    def version(self) -> str:
        """The version that the lock pins."""
        return install.versions()[self.name]

    @abstractmethod
    def environment(self, url: str) -> dict[str, str]:
        """Variables that point the program at a model server, on top of the sandbox's own."""

    @abstractmethod
    def configure(self, home: Path, url: str) -> None:
        """Write the configuration that the program needs into a private home; what is there stays."""

    @abstractmethod
    def command(self, prompt: str, *, resume: str | None = None) -> list[str]:
        """The command line of a headless run, fresh or in a session of before."""

    @abstractmethod
    def write_file(self, path: Path, content: str) -> Call:
        """How its model writes a file."""

    @abstractmethod
    def shell(self, command: str) -> Call:
        """How its model runs a shell command."""

    @abstractmethod
    def usage_limit(self, resets_at: int) -> Fault:
        """The vendor's refusal when a person's limit is reached, with the time of its reset if it is told."""

    @abstractmethod
    def session_id(self, stdout: str) -> str:
        """The name that the program gave its session, from what a headless run printed."""

    def sandbox(self) -> Sandbox:
        """A fresh home that several runs can share; the caller closes it."""
        return Sandbox(self.root / f"{self.name}-{next(self._homes)}")

    def start(
        self,
        prompt: str,
        cwd: Path,
        script: Script | Iterable[Step],
        *,
        sandbox: Sandbox | None = None,
        resume: str | None = None,
        arguments: Iterable[str] = (),
        environment: Mapping[str, str] | None = None,
        timeout: float = DEFAULT_TIMEOUT_S,
    ) -> Running:
        """Start a headless run, with a model of its own, in a fresh home or in the sandbox given."""
        box = sandbox or self.sandbox()
        server = ModelServer(script, box.listener)
        try:
            self.configure(box.home, server.url)
            process = box.start(
                [*self.command(prompt, resume=resume), *arguments],
                cwd=cwd,
                environment={**self.environment(server.url), **(environment or {})},
                timeout=timeout,
            )
        except BaseException:
            server.close()
            if sandbox is None:
                box.close()
            raise
        return Running(process, server, box, owns_sandbox=sandbox is None)

    def run(
        self,
        prompt: str,
        cwd: Path,
        script: Script | Iterable[Step],
        *,
        sandbox: Sandbox | None = None,
        resume: str | None = None,
        arguments: Iterable[str] = (),
        environment: Mapping[str, str] | None = None,
        timeout: float = DEFAULT_TIMEOUT_S,
    ) -> Run:
        """A headless run from start to end; fails if the watchdog ended it or the script had problems."""
        with self.start(
            prompt,
            cwd,
            script,
            sandbox=sandbox,
            resume=resume,
            arguments=arguments,
            environment=environment,
            timeout=timeout,
        ) as running:
            run = running.wait()
        if run.timed_out:
            raise AssertionError(f"{self.name} did not end within {timeout} s\n{run.report}")
        return run
