"""What it takes to hand work to an agent: the values that pass between the engine and each agent's own file.

An agent that can be handed work offers `command`. One that can be given a whole conversation offers `new_id`,
`write` and `discard` as well; `docs/add-an-agent.md` tells what each must do.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from segue.model import Agent, Source
from segue.model.conversation import Conversation
from segue.model.delivery import Mode

ONE_ARGUMENT = 100_000
"""How many bytes fit safely into one argument of a program: the system's own limit is 131,072."""


class Start(Struct, frozen=True, kw_only=True):
    """What an agent is to be started with."""

    program: str
    """The executable, as it was found."""
    project: Path
    """Where it works: the child's current folder."""
    mode: Mode
    prompt: str = ""
    """What is said to it first; empty where the person is to speak."""
    model: str = ""
    """The model it is to use; empty for its own choice."""
    resume: str = ""
    """The id of the transcript of its own that it goes on with; empty for a new one."""
    id: str = ""
    """The id that a new transcript is to get, where the agent lets itself be told."""
    is_question: bool = False
    """Whether it is only to answer: with as few tools as it can be started with, and nothing changed."""
    arguments: tuple[str, ...] = ()
    """What the person passed along for the program itself; never anything else that widens permissions."""


class Launch(Struct, frozen=True, kw_only=True):
    """How a program is started: an argv list, never a shell."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}
    """Variables on top of the person's own."""
    stdin: str | None = None
    """What it is given to read; None for nothing (headless) or the terminal (open)."""


class Written(Struct, frozen=True, kw_only=True):
    """A transcript that was written for an agent to go on with."""

    id: str
    path: Path
    admit: tuple[str, ...] = ()
    """What must be run once before the agent knows of it; empty where the file is enough."""


class Starter(Protocol):
    """What Segue needs of an agent to hand work to it."""

    AGENT: Agent

    def command(self, start: Start, env: Mapping[str, str]) -> Launch:
        """How it is started."""


class Writer(Starter, Protocol):
    """What Segue needs of an agent to give it a conversation as if it had been its own."""

    def new_id(self, seed: str) -> str:
        """An id for a transcript of this agent: the same for the same seed, so that a second try is the same try."""

    def write(
        self, conversation: Conversation, id: str, project: Path, program: str, env: Mapping[str, str]
    ) -> Written:
        """Put a transcript where the agent finds it; one that is there under this id and is the same, stays."""

    def discard(self, source: Source, program: str, env: Mapping[str, str]) -> Launch | None:
        """Take away a transcript that Segue had made: at once, or by a program that is to be run."""
