"""What `segue init` puts into the settings of an agent, piece by piece.

A piece is one change to one file of one agent: its hooks, its status line, its tool server. An agent offers `pieces`,
which gives those that are set up without being asked for, and `tool_server`, which gives the one that is not. A piece
is pure: it is given what a file says and gives back what it should say, with every other byte as it was. Files are
read, shown, kept and written in one place, by `ops/setup.py`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

SCRIPT = "hook.sh"
OLD_SCRIPT = "guard.sh"
"""What stood in the settings before there was more than one hook."""


class Reach(Struct, frozen=True):
    """How an agent's settings reach Segue."""

    data: str
    """The folder that the script is in."""
    program: tuple[str, ...]
    """What starts Segue, with its arguments to follow."""

    @property
    def script(self) -> str:
        """The script that agents run, for a shell."""
        return shlex.quote(f"{self.data}/{SCRIPT}")

    def hook(self, event: str, agent: str) -> str:
        """What an agent runs at an event. Without the script, the agent goes on undisturbed."""
        return f"[ ! -x {self.script} ] || {self.script} {event} {shlex.quote(agent)}"

    def is_ours(self, command: object) -> bool:
        """Whether a command runs the script: whatever else was made of it, or an earlier version called it."""
        old = shlex.quote(f"{self.data}/{OLD_SCRIPT}")
        return isinstance(command, str) and any(f" {name} " in f" {command} " for name in (self.script, old))


Settings = Mapping[str, str]


def no_trouble(text: str, reach: Reach, env: Settings) -> str:
    return ""


class Piece(Struct, frozen=True, kw_only=True):
    """One change to one file of one agent. Each of its functions raises a ValueError that says what is wrong with a
    text that it cannot understand; then nothing is written."""

    purpose: str
    """What it is for, in a few words, for people."""
    file: Callable[[Settings], Path]
    """The person's own file that it goes into, by their environment; it need not be there."""
    has: Callable[[str, Reach], bool]
    """Whether it is there, whole and as this version makes it."""
    add: Callable[[str, Reach], str]
    """The text with it, in place of one that an earlier version made; all else as it was."""
    drop: Callable[[str, Reach], str]
    """The text without it, wherever it was moved to, whichever version made it."""
    trouble: Callable[[str, Reach, Settings], str] = no_trouble
    """Why it would do nothing in this text although it is there; empty if it works."""
    empty: str = "{}\n"
    """What a file says that is not there yet."""
