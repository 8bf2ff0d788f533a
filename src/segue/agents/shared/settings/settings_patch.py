"""Edits that `segue init` makes in the settings of an agent.

A patch is one change to one file of one agent: its hooks, its status line, its MCP server. An agent offers
`pieces`, the patches that are always set up, and `tool_server`, the patch that is set up on request. A patch
is pure: it takes a file's text and returns the new text, with every other byte unchanged. `ops/setup` reads,
shows, backs up and writes the files.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

SCRIPT = "hook.sh"
OLD_SCRIPT = "guard.sh"
"""The script's name in settings from when there was only one hook."""


class Reach(Struct, frozen=True):
    """How an agent's settings call Segue."""

    data: str
    """The folder that contains the script."""
    program: tuple[str, ...]
    """The command that starts Segue, without arguments."""

    @property
    def script(self) -> str:
        """The path of the script, quoted for a shell."""
        return shlex.quote(f"{self.data}/{SCRIPT}")

    def hook(self, event: str, agent: str) -> str:
        """The command for an event. If the script is missing, it does nothing."""
        return f"[ ! -x {self.script} ] || {self.script} {event} {shlex.quote(agent)}"

    def is_ours(self, command: object) -> bool:
        """Whether a command runs the script, in any form and from any version."""
        old = shlex.quote(f"{self.data}/{OLD_SCRIPT}")
        return isinstance(command, str) and any(f" {name} " in f" {command} " for name in (self.script, old))


Settings = Mapping[str, str]


def no_trouble(text: str, reach: Reach, env: Settings) -> str:
    return ""


class Piece(Struct, frozen=True, kw_only=True):
    """One change to one file of one agent. Its functions raise ValueError with the reason for a text that
    they cannot parse; then nothing is written."""

    purpose: str
    """What it is for, in a few words for users."""
    file: Callable[[Settings], Path]
    """The settings file in the user's environment. It need not exist."""
    has: Callable[[str, Reach], bool]
    """Whether the text contains it, complete and in this version's form."""
    add: Callable[[str, Reach], str]
    """The text with it, in place of an earlier version's."""
    drop: Callable[[str, Reach], str]
    """The text without it, wherever it was moved to, from any version."""
    trouble: Callable[[str, Reach, Settings], str] = no_trouble
    """Why it has no effect although it is there; empty if it works."""
    empty: str = "{}\n"
    """The text of a file that does not exist yet."""
