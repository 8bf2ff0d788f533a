"""Registry of agents: which ones there are, and what each can do.

Segue's own agents are in `NAMES`, one folder each. Other packages add theirs by an entry point in the group
`segue.agents` (docs/add-an-agent.md).

An agent with `find` and `read` can be read; one with `command` can be started. Even one with neither has a
description, which `segue doctor` shows.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from collections.abc import Iterable, Mapping

from segue.errors import AgentError, NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` is slow to load
    from typing import Any

    from segue.agents.capabilities import Capabilities
    from segue.agents.shared.installation import Installed as Installed
    from segue.agents.shared.installation import ask_version as ask_version
    from segue.agents.shared.installation import locate as locate
    from segue.agents.shared.launch import Starter, Writer
    from segue.agents.shared.transcripts.reader import Reader as Reader
    from segue.model import Agent

NAMES = ("claude", "codex", "gemini", "opencode", "copilot", "qwen", "pi", "aider", "ollama", "llm", "demo")
ENTRY_POINTS = "segue.agents"
PYTHONS_OWN = tuple(os.path.dirname(os.__file__) + below for below in ("", "/lib-dynload"))  # noqa: PTH120 - quick
"""Python's own module folders, which hold no installed packages."""

PLACES = {
    "claude": ("$CLAUDE_CONFIG_DIR", ".claude", ".config/claude"),
    "codex": ("$CODEX_HOME", ".codex"),
    "gemini": ("$GEMINI_CLI_HOME", ".gemini"),
    "opencode": ("$XDG_DATA_HOME/opencode", "$OPENCODE_DB", ".local/share/opencode"),
    "copilot": ("$COPILOT_HOME", "$XDG_STATE_HOME", ".copilot", ".local/state/.copilot"),
    "qwen": ("$QWEN_RUNTIME_DIR", "$QWEN_HOME", ".qwen"),
    "pi": ("$PI_CODING_AGENT_DIR", ".pi"),
    "aider": ("$AIDER_CHAT_HISTORY_FILE", "./.aider.chat.history.md"),
    "ollama": (),
    "llm": (
        "$SEGUE_HOME/data/chats",
        "$XDG_DATA_HOME/segue/chats",
        ".local/share/segue/chats",
        "Library/Application Support/segue/chats",
    ),
}
"""Where an agent keeps its files: at or below a variable ($), in a project (./), or below HOME. An agent with
none of them is not loaded. A test compares this with each `find`."""

ELSEWHERE = {
    "Reader": "transcripts.reader", "Installed": "installation", "ask_version": "installation", "locate": "installation"
}  # fmt: skip
"""Names exported from here, by the file that defines them. Loaded on use: totals don't need them."""


def __getattr__(name: str) -> object:
    if name in ELSEWHERE:
        return getattr(_loaded(f"segue.agents.shared.{ELSEWHERE[name]}"), name)
    raise AttributeError(f"module 'segue.agents' has no attribute '{name}'")


def _loaded(module: str) -> Any:
    """Import a module without importlib, which is slow to load."""
    __import__(module)
    return sys.modules[module]


@functools.cache
def _others() -> dict[str, str]:
    """The agents of other packages, by name."""
    if not any(_brings_agents(folder) for folder in sys.path if folder not in PYTHONS_OWN):
        return {}
    from importlib.metadata import entry_points  # lazy: slower to load than everything else together

    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS) if point.name not in NAMES}


def _brings_agents(folder: str) -> bool:
    """Whether a package in a site folder declares agents. Reads only entry_points.txt files."""
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
    """All agents, Segue's own first."""
    return [*NAMES, *sorted(_others())]


@functools.cache
def _package(name: str) -> Any:
    where = f"segue.agents.{name}" if name in NAMES else _others().get(name)
    if where is None:
        raise NotFound(noun="agent", name=name, next="segue doctor lists the agents")
    try:
        return _loaded(where)
    except Exception as error:  # code of another package may raise anything
        if name in NAMES:
            raise
        raise AgentError(agent=name, what=f"its package cannot be loaded: {error!r}") from error


class LazyAgent:
    """An agent whose capabilities are attributes, loaded on first use. A missing one is None."""

    def __init__(self, package: Any) -> None:
        self._package = package
        self._modules: Mapping[str, str] = getattr(package, "CAPABILITIES", {})

    def __getattr__(self, capability: str) -> Any:
        if capability not in self._modules:
            return getattr(self._package, capability, None)
        return getattr(_loaded(f"{self._package.__name__}.{self._modules[capability]}"), capability)


@functools.cache
def _lazy_agent(name: str) -> Any:
    return LazyAgent(_package(name))


def load(name: str) -> Capabilities:
    """What an agent offers, each part loaded on first use; None for what it lacks."""
    agent: Capabilities = _lazy_agent(name)
    return agent


def has(name: str, capability: str) -> bool:
    """Whether an agent has a capability, without loading it."""
    package = _package(name)
    return capability in getattr(package, "CAPABILITIES", ()) or hasattr(package, capability)


def get(name: str) -> Agent:
    return load(name).AGENT


def can_be_read(name: str) -> bool:
    return has(name, "read")


def can_be_handed_work(name: str) -> bool:
    return has(name, "command")


def reader(name: str) -> Reader:
    if not can_be_read(name):
        raise AgentError(agent=name, what="this version of Segue cannot read it yet")
    found: Reader = _lazy_agent(name)
    return found


def starter(name: str) -> Starter:
    if not can_be_handed_work(name):
        raise AgentError(agent=name, what="this version of Segue cannot start it yet")
    found: Starter = _lazy_agent(name)
    return found


def writer(name: str) -> Writer | None:
    """An agent that accepts a whole conversation; None if it does not."""
    found: Writer = _lazy_agent(name)
    return found if has(name, "write") else None


def all_readers() -> list[Reader]:
    """All agents that can be read, including those that ship with Segue."""
    return [reader(name) for name in names() if can_be_read(name)]


def program_of(name: str, env: Mapping[str, str]) -> str | None:
    """The program that an agent is started with; None if it is not installed."""
    from segue.agents.shared.installation import locate  # lazy: totals don't need it

    named = load(name).program
    return named(env) if named else locate(get(name), env).path


def names_here(env: Mapping[str, str], projects: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The agents that may have left files here. The others are not even loaded."""
    known = [name for name in names() if name != "demo" or env.get("SEGUE_DEMO")]
    return [name for name in known if name == "demo" or _may_be_here(name, env, projects)]


def _may_be_here(name: str, env: Mapping[str, str], projects: Iterable[str | os.PathLike[str]]) -> bool:
    for place in PLACES.get(name, ("$HOME",)):
        where, mark, below = place.partition("/")
        if where == ".":
            folders: Iterable[str | os.PathLike[str]] = projects
        elif where.startswith("$"):
            named = env.get(where[1:], "")
            if named and not mark:
                return True
            folders = [named]
        else:
            folders, below = [env.get("HOME", "")], place
        if any(folder and os.path.exists(f"{folder}/{below}") for folder in folders):  # noqa: PTH110 - quick
            return True
    return False


def model_title(model: str) -> str:
    """A model's name for people: 'claude-opus-4-5-20251101' is 'Opus 4.5'."""
    plain = re.sub(r"[-@](\d{8}|\d{4}-\d{2}-\d{2}|latest)$", "", model.rpartition("/")[2])
    name = re.fullmatch(r"claude-(?:(\d[\d-]*)-)?([a-z]+)(?:-(\d[\d-]*))?(\[\w+\])?", plain)
    if name is None:
        return plain
    version = (name.group(3) or name.group(1) or "").replace("-", ".")
    return f"{name.group(2).capitalize()} {version}".strip()


def all_programs() -> list[Agent]:
    """The agents with a program of their own, not part of Segue. Those that cannot be loaded are left out."""
    found = []
    for name in names():
        with contextlib.suppress(AgentError):
            found.append(get(name))
    return [agent for agent in found if agent.program]


def seems_installed(name: str, env: Mapping[str, str]) -> bool:
    """Whether an agent is worth loading. Segue's own agents are named like their programs."""
    import shutil  # lazy: totals don't need it

    return name not in NAMES or shutil.which(name, path=env.get("PATH", "")) is not None
