"""The agents that Segue knows, one file each. Adding one is adding a file and its name here; other packages
add theirs by an entry point in the group `segue.agents` (docs/add-an-agent.md).

What a file offers decides what Segue can do with that agent: with `find` and `read` it can be read, with
`command` it can be handed work. An agent with neither still has its description, so that `segue doctor`
finds it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, cast

from msgspec import Struct

from segue.agents.reading import Reading
from segue.errors import AgentError, NotFound
from segue.model import Agent, Mark, Source

if TYPE_CHECKING:
    from pathlib import Path

    from segue.agents.starting import Starter, Writer

NAMES = ("claude", "codex", "gemini", "opencode", "copilot", "qwen", "pi", "aider", "ollama", "llm", "demo")
ENTRY_POINTS = "segue.agents"
PYTHONS_OWN = tuple(os.path.dirname(os.__file__) + below for below in ("", "/lib-dynload"))  # noqa: PTH120 - quick
"""Folders full of modules, none of which is a package that was installed."""

PLACES = {
    "claude": ("$CLAUDE_CONFIG_DIR", ".claude", ".config/claude"),
    "codex": ("$CODEX_HOME", ".codex"),
    "gemini": ("$GEMINI_CLI_HOME", ".gemini"),
    "opencode": ("$XDG_DATA_HOME", "$OPENCODE_DB", ".local/share/opencode"),
    "copilot": ("$COPILOT_HOME", "$XDG_STATE_HOME", ".copilot", ".local/state/.copilot"),
    "qwen": ("$QWEN_RUNTIME_DIR", "$QWEN_HOME", ".qwen"),
    "pi": ("$PI_CODING_AGENT_DIR", ".pi"),
    "aider": ("$AIDER_CHAT_HISTORY_FILE", "./.aider.chat.history.md"),
    "ollama": (),
    "llm": (
        "$SEGUE_HOME",
        "$XDG_DATA_HOME",
        ".local/share/segue/chats",
        "Library/Application Support/segue/chats",
    ),
}
"""Where an agent keeps its things: where a variable says, in a project (./), or in HOME. One that is nowhere is not
loaded; a test holds this to what each `find` does."""

VERSION_SECONDS = 10


class Reader(Protocol):
    """What Segue needs of an agent to read its work. Nothing is ever written to what it reads."""

    AGENT: Agent

    def find(self, env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
        """Every transcript on this machine, by looking at folders alone. `projects` are the folders that
        are known to be worked in: for agents that keep their transcripts there."""

    def read(self, source: Source, mark: Mark | None = None) -> Reading:
        """The entries of a transcript in order; with a mark, those that came since."""

    def recognise(self, start: bytes) -> bool:
        """Whether the first bytes of a file are of a transcript of this agent."""


class Installed(Struct, frozen=True):
    """An agent as it is found on this machine."""

    agent: Agent
    path: str | None
    version: str | None = None
    problem: str = ""


@functools.cache
def _others() -> dict[str, str]:
    """The agents that other packages bring, by name."""
    if not any(_brings_agents(folder) for folder in sys.path if folder not in PYTHONS_OWN):
        return {}
    from importlib.metadata import entry_points  # lazy: takes longer to load than all else together

    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS) if point.name not in NAMES}


def _brings_agents(folder: str) -> bool:
    """Whether a package in a folder of packages names agents: a look at what is there, and no more."""
    try:
        found = [
            item.path for item in os.scandir(folder or ".") if item.name.endswith((".dist-info", ".egg-info"))
        ]
    except OSError:
        return False
    group = f"[{ENTRY_POINTS}]".encode()
    for path in found:
        try:
            with open(f"{path}/entry_points.txt", "rb") as file:  # noqa: PTH123 - quick
                if group in file.read():
                    return True
        except OSError:
            continue
    return False


def names() -> list[str]:
    """Every agent, ours first."""
    return [*NAMES, *sorted(_others())]


@functools.cache
def _module(name: str) -> ModuleType:
    where = f"segue.agents.{name}" if name in NAMES else _others().get(name)
    if where is None:
        raise NotFound(noun="agent", name=name, next="segue doctor lists the agents")
    try:
        return importlib.import_module(where)
    except Exception as error:  # another's code: what it raises is not ours to know
        if name in NAMES:
            raise
        raise AgentError(
            agent=name, what=f"the package that brings it cannot be loaded: {error!r}"
        ) from error


def get(name: str) -> Agent:
    agent: Agent = _module(name).AGENT
    return agent


def can_be_read(name: str) -> bool:
    return hasattr(_module(name), "read")


def can_be_handed_work(name: str) -> bool:
    return hasattr(_module(name), "command")


def offers(name: str, what: str) -> Any:
    """Something that an agent may offer beyond what is asked of all: a function, or None."""
    return getattr(_module(name), what, None)


def reader(name: str) -> Reader:
    if not can_be_read(name):
        raise AgentError(agent=name, what="this version of Segue cannot read it yet")
    return cast(Reader, _module(name))


def starter(name: str) -> Starter:
    if not can_be_handed_work(name):
        raise AgentError(agent=name, what="this version of Segue cannot start it yet")
    return cast("Starter", _module(name))


def writer(name: str) -> Writer | None:
    """An agent that can be given a whole conversation; None where it cannot."""
    return cast("Writer", _module(name)) if hasattr(_module(name), "write") else None


def all_readers() -> list[Reader]:
    """Every agent that can be read, those that ship with Segue too: they are what a newcomer has."""
    return [reader(name) for name in names() if can_be_read(name)]


def program_of(name: str, env: Mapping[str, str]) -> str | None:
    """The program that is started for an agent; None where it is not installed."""
    named = offers(name, "program")
    found: str | None = named(env) if named else locate(get(name), env).path
    return found


def names_here(env: Mapping[str, str], projects: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Those that may have left something here: one that is nowhere is not even loaded."""
    known = [name for name in names() if name != "demo" or env.get("SEGUE_DEMO")]
    return [name for name in known if name == "demo" or _may_be_here(name, env, projects)]


def _may_be_here(name: str, env: Mapping[str, str], projects: Iterable[str | os.PathLike[str]]) -> bool:
    home = env.get("HOME")
    for place in PLACES.get(name, ("$HOME",)):
        if place.startswith("$"):
            is_there = bool(env.get(place[1:]))
        elif place.startswith("./"):
            is_there = any(os.path.exists(f"{project}/{place[2:]}") for project in projects)  # noqa: PTH110 - quick
        else:
            is_there = bool(home) and os.path.exists(f"{home}/{place}")  # noqa: PTH110 - quick
        if is_there:
            return True
    return False


def model_title(model: str) -> str:
    """A model as people call it: 'claude-opus-4-5-20251101' is 'Opus 4.5'."""
    plain = re.sub(r"[-@](\d{8}|\d{4}-\d{2}-\d{2}|latest)$", "", model.rpartition("/")[2])
    name = re.fullmatch(r"claude-(?:(\d[\d-]*)-)?([a-z]+)(?:-(\d[\d-]*))?(\[\w+\])?", plain)
    if name is None:
        return plain
    version = (name.group(3) or name.group(1) or "").replace("-", ".")
    return f"{name.group(2).capitalize()} {version}".strip()


def all_programs() -> list[Agent]:
    """The agents that are programs of their own, not part of Segue. One that cannot be loaded is left out."""
    found = []
    for name in names():
        with contextlib.suppress(AgentError):
            found.append(get(name))
    return [agent for agent in found if agent.program]


def locate(agent: Agent, env: Mapping[str, str]) -> Installed:
    """Whether an agent is on this machine. Quick: starts nothing."""
    import shutil  # lazy: totals are told without it

    # A folder that is named from where one stands could be anybody's.
    path = os.pathsep.join(part for part in env.get("PATH", "").split(os.pathsep) if part.startswith("/"))
    return Installed(agent, shutil.which(agent.program, path=path))


def seems_installed(name: str, env: Mapping[str, str]) -> bool:
    """Whether it is worth loading what is known of an agent: ours are named like their programs."""
    import shutil  # lazy: as above

    return name not in NAMES or shutil.which(name, path=env.get("PATH", "")) is not None


def ask_version(agent: Agent, env: Mapping[str, str]) -> Installed:
    """The same, with the version that the program itself tells."""
    import subprocess  # lazy: as above

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
