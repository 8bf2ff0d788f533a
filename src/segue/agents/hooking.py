"""What Segue needs of an agent to keep it off a worktree that another one holds. An agent that can be asked before it
uses a tool offers `hooks`, which gives these functions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from segue.guard import Attempt


class Hooks(Protocol):
    def settings_file(self, env: Mapping[str, str]) -> Path:
        """The person's settings of the agent, which hooks are put into; it need not be there."""

    def has_hook(self, text: str, command: str) -> bool:
        """Whether a command is among the hooks; a ValueError where the settings cannot be read."""

    def add_hook(self, text: str, command: str) -> str:
        """The settings with a command that is asked before every change; all else as it was."""

    def drop_hook(self, text: str, command: str) -> str:
        """The settings without that command."""

    def trouble_with(self, text: str) -> str:
        """Why hooks do not run with these settings; empty if they do."""

    def attempt_of(self, record: dict[str, Any]) -> Attempt | None:
        """What the command is told that the agent is about to do; None if it changes nothing."""

    def refuse(self, reason: str) -> dict[str, Any]:
        """What the command answers to keep the agent from it."""
