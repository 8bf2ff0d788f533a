"""Values that pass between Segue and an agent's own files when an agent is started.

An agent that can be started offers `command`. One that accepts a whole conversation also offers `new_id`,
`write` and `discard`. `docs/add-an-agent.md` says what each must do.
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
"""Bytes that safely fit into one argument of a program. The system's limit is 131,072."""


class Start(Struct, frozen=True, kw_only=True):
    """What an agent is started with."""

    program: str
    """The path of the executable."""
    project: Path
    """The child's current folder."""
    mode: Mode
    prompt: str = ""
    """The first message; empty if the user speaks first."""
    model: str = ""
    """The model to use; empty for the agent's own choice."""
    resume: str = ""
    """The id of the agent's transcript to resume; empty for a new one."""
    id: str = ""
    """The id for a new transcript, if the agent accepts one."""
    is_question: bool = False
    """Whether it is only to answer: with as few tools as possible, and without changing anything."""
    arguments: tuple[str, ...] = ()
    """Arguments that the user passed for the program itself. Nothing else may widen permissions."""


class Launch(Struct, frozen=True, kw_only=True):
    """How a program is started: an argv list, never a shell."""

    argv: tuple[str, ...]
    env: dict[str, str] = {}
    """Variables added to the user's own."""
    stdin: str | None = None
    """Text for standard input; None for nothing (headless) or the terminal (open)."""


class Written(Struct, frozen=True, kw_only=True):
    """A transcript that was written for an agent to resume."""

    id: str
    path: Path
    admit: tuple[str, ...] = ()
    """A command that makes the agent import it; empty if the file is enough."""


class Starter(Protocol):
    """An agent that can be started."""

    AGENT: Agent

    def command(self, start: Start, env: Mapping[str, str]) -> Launch:
        """The command line that starts it."""


class Writer(Starter, Protocol):
    """An agent that accepts a conversation as if it had been its own."""

    def new_id(self, seed: str) -> str:
        """An id for a transcript of this agent. The same seed gives the same id, so that a retry writes the
        same transcript."""

    def write(
        self, conversation: Conversation, id: str, project: Path, program: str, env: Mapping[str, str]
    ) -> Written:
        """Write a transcript where the agent finds it. An identical one with this id stays as it is."""

    def discard(self, source: Source, program: str, env: Mapping[str, str]) -> Launch | None:
        """Remove a transcript that Segue made: at once, or by running the returned program."""
