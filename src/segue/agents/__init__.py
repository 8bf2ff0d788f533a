"""The agents that Segue knows, one file each. Adding one is adding a file and its name here.

What an agent's file must offer is `Adapter`. An agent whose transcripts Segue cannot read yet still has
its description, so that `segue doctor` finds it.
"""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from segue.errors import AgentError, NotFound
from segue.model import Agent, Entry, Transcript

NAMES = ("claude", "codex", "gemini", "opencode", "demo")

VERSION_SECONDS = 10


class Adapter(Protocol):
    """What Segue needs of an agent to read its work and hand work to it."""

    AGENT: Agent

    def find(self, project: Path) -> Iterable[Transcript]:
        """The transcripts that belong to a project folder."""

    def read(self, transcript: Transcript) -> Iterable[Entry]:
        """The entries of a transcript, in order. The file is never written to."""

    def command(self, brief: Path, project: Path) -> list[str]:
        """The program and its arguments that start the agent, headless, with a brief."""


class Installed(Struct, frozen=True):
    """An agent as it is found on this machine."""

    agent: Agent
    path: str | None
    version: str | None = None
    problem: str = ""


def get(name: str) -> Agent:
    if name not in NAMES:
        raise NotFound(noun="agent", name=name, next="segue doctor lists the agents")
    agent: Agent = importlib.import_module(f"segue.agents.{name}").AGENT
    return agent


def adapter(name: str) -> Adapter:
    """An agent that can be read and started."""
    if not can_be_handed_work(name):
        raise AgentError(agent=name, what="this version of Segue can neither read it nor start it yet")
    found: Adapter = importlib.import_module(f"segue.agents.{name}")
    return found


def can_be_handed_work(name: str) -> bool:
    """Whether Segue can read what this agent leaves behind, and start it."""
    get(name)
    return hasattr(importlib.import_module(f"segue.agents.{name}"), "command")


def all_programs() -> list[Agent]:
    """The agents that are programs of their own, not part of Segue."""
    return [agent for agent in map(get, NAMES) if agent.program]


def locate(agent: Agent, env: Mapping[str, str]) -> Installed:
    """Whether an agent is on this machine. Quick: starts nothing."""
    return Installed(agent, shutil.which(agent.program, path=env.get("PATH", "")))


def ask_version(agent: Agent, env: Mapping[str, str]) -> Installed:
    """The same, with the version that the program itself tells."""
    found = locate(agent, env)
    if found.path is None:
        return found
    try:
        done = subprocess.run(
            [found.path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=dict(env),
            timeout=VERSION_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Installed(agent, found.path, problem=f"gave no version within {VERSION_SECONDS} s")
    except OSError as error:
        return Installed(agent, found.path, problem=error.strerror or str(error))
    match = re.search(r"\d+\.\d+\.\d+[\w.-]*", done.stdout)
    if done.returncode or match is None:
        return Installed(agent, found.path, problem=f"'--version' ended with {done.returncode} and told none")
    return Installed(agent, found.path, version=match.group())
