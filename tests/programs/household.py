"""One person's machine: a private home with all four agent programs in it, and Segue.

Every command runs in the sandbox, with a model of its own behind all programs, so that the request log shows
what reached a model through whom.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from .claude import Claude
from .codex import Codex
from .gemini import Gemini
from .model_server import ModelServer, Reply, Request, Script, Step
from .opencode import OpenCode
from .program import Program
from .sandbox import Process, Sandbox

KINDS: dict[str, type[Program]] = {kind.name: kind for kind in (Claude, Codex, Gemini, OpenCode)}
PERMITTED = {"claude": "--dangerously-skip-permissions", "gemini": "--yolo"}
"""What a person passes who lets an agent work alone; the others are configured so."""


@dataclass(frozen=True)
class Ran:
    """A command of Segue that has ended."""

    exit_code: int
    stdout: str
    stderr: str
    server: ModelServer

    @property
    def data(self) -> Any:
        """What it printed as JSON."""
        return json.loads(self.stdout)

    @property
    def requests(self) -> tuple[Request, ...]:
        return self.server.main_requests

    @property
    def report(self) -> str:
        asked = "\n".join(f"  {r.protocol} {r.path} main={r.main}" for r in self.server.requests)
        return f"exit code {self.exit_code}\n{self.stdout[-6000:]}\n{self.stderr[-6000:]}\n{asked}\n{list(self.server.problems)}"


class Household:
    """A home that several commands share. Leaving the `with` block ends all of it."""

    def __init__(self, root: Path, *, older: Mapping[str, type[Program]] | None = None) -> None:
        self.sandbox = Sandbox(root / "machine")
        self.programs = {name: kind(root / "unused") for name, kind in {**KINDS, **(older or {})}.items()}
        self.bin = root / "bin"
        self.bin.mkdir()
        for name, program in self.programs.items():
            program.configure(self.sandbox.home, self.sandbox.url)
            (self.bin / name).symlink_to(program.executable)

    @property
    def home(self) -> Path:
        return self.sandbox.home

    @property
    def environment(self) -> dict[str, str]:
        """What the person's shell knows."""
        found: dict[str, str] = {}
        for program in self.programs.values():
            found |= program.environment(self.sandbox.url)
        path = f"{self.bin}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return {**found, "GEMINI_MODEL": Gemini.model, "ANTHROPIC_MODEL": Claude.model, "PATH": path}

    def project(self, name: str) -> Path:
        """A folder to work in, under git, with one commit."""
        folder = self.sandbox.root / "projects" / name
        folder.mkdir(parents=True)
        git(folder, "init", "-q", "-b", "main")
        (folder / "README.md").write_text("# A project\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "Begin")
        return folder

    def work(self, name: str, project: Path, prompt: str, script: Iterable[Step], **more: Any) -> str:
        """Let an agent work in a project; the id of its transcript."""
        run = self.programs[name].run(
            prompt, project, script, sandbox=self.sandbox, environment=self.environment, **more
        )
        return self.programs[name].session_id(run.stdout)

    def start(
        self,
        *arguments: str,
        cwd: Path,
        script: Script | Iterable[Step] = (),
        environment: Mapping[str, str] | None = None,
        timeout: float = 120.0,
        under: Sequence[str] = ("-m", "segue"),
    ) -> tuple[Process, ModelServer]:
        """`under` is what Python runs the command under: Segue itself, or a test's own script around it."""
        server = ModelServer(script, self.sandbox.listener)
        try:
            process = self.sandbox.start(
                [sys.executable, *under, *arguments],
                cwd=cwd,
                environment={**self.environment, **(environment or {})},
                timeout=timeout,
            )
        except BaseException:
            server.close()
            raise
        return process, server

    def segue(self, *arguments: str, cwd: Path, script: Script | Iterable[Step] = (), **more: Any) -> Ran:
        """Run one command of Segue to its end."""
        process, server = self.start(*arguments, cwd=cwd, script=script, **more)
        try:
            code = process.wait()
        finally:
            server.close()
        assert not process.timed_out, f"segue {arguments} did not end\n{process.stdout}\n{process.stderr}"
        return Ran(code, process.stdout, process.stderr, server)

    def close(self) -> None:
        self.sandbox.close()

    def __enter__(self) -> Household:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def git(folder: Path, *arguments: str) -> str:
    """Run git with nobody's configuration."""
    done = subprocess.run(
        ["git", "-c", "user.name=A Person", "-c", "user.email=person@example.org", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def saying(text: str) -> Script:
    """A model that always says the same."""
    return Script(then=Reply(text))
