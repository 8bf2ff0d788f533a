"""Which agents are installed, and in which version."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping

from msgspec import Struct

from segue.model import Agent

VERSION_SECONDS = 10


class Installed(Struct, frozen=True):
    """An agent as found on this machine."""

    agent: Agent
    path: str | None
    version: str | None = None
    problem: str = ""


def locate(agent: Agent, env: Mapping[str, str]) -> Installed:
    """Find an agent's program. Starts nothing."""
    # A relative folder in PATH could be anybody's.
    path = os.pathsep.join(part for part in env.get("PATH", "").split(os.pathsep) if part.startswith("/"))
    return Installed(agent, shutil.which(agent.program, path=path))


def ask_version(agent: Agent, env: Mapping[str, str]) -> Installed:
    """The same, with the version that the program prints."""
    import subprocess  # lazy: most callers only need the path

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
        return Installed(agent, found.path, problem=f"did not answer '--version' within {VERSION_SECONDS} s")
    except OSError as error:
        return Installed(agent, found.path, problem=error.strerror or str(error))
    match = re.search(r"\d+\.\d+\.\d+[\w.-]*", done.stdout)
    if done.returncode or match is None:
        return Installed(
            agent, found.path, problem=f"'--version' exited with {done.returncode} and printed no version"
        )
    return Installed(agent, found.path, version=match.group())
