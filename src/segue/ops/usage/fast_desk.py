"""A desk for the plainest case: nothing is set, neither in a file nor in the environment.

Then there is nothing to read, and what would read it (settings, paths, the stores) is not loaded: that takes longer
than adding up a year's totals. Where anything at all is set, or it is not certain that nothing is, there is no such
desk, and `desk.open_desk` makes a proper one. It has what totals by time and by model need, and no more.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cached_property
from types import SimpleNamespace

from segue.base import clock
from segue.store.index.usage_index import Counting

TYPE_CHECKING = False
if TYPE_CHECKING:  # not asked of typing: that takes long to load
    from typing import Any

POLICY = "/etc/segue/policy.toml"
PROJECT_FILE = ".segue.toml"
INDEX_FILE = "index.db"
ELSEWHERE = ("ANDROID_DATA", "ANDROID_ROOT", "PYDROID_PACKAGES")
"""Where one of these is set, this is a telephone: it keeps its things in other places."""


class BareDesk:
    def __init__(self, env: Mapping[str, str], data: str, project: str) -> None:
        self.env = env
        self.project = project
        self.clock = clock.now
        self.places = SimpleNamespace(data=data)
        self._file = f"{data}/{INDEX_FILE}"

    @property
    def has_index(self) -> bool:
        return "index" in self.__dict__ or os.path.exists(self._file)  # noqa: PTH110 - quick

    def do_without_index(self) -> None:
        self.index = Counting(None)

    @cached_property
    def index(self) -> Counting:
        return Counting(self._file)

    def close(self) -> None:
        if "index" in self.__dict__:
            self.__dict__.pop("index").close()


def open_bare(env: Mapping[str, str]) -> Any:
    """A desk where nothing is set; None where something may be."""
    places = _places(env)
    if places is None or any(name.startswith("SEGUE_") and name != "SEGUE_HOME" for name in env):
        return None
    config, data = places
    project = _project(os.getcwd())  # noqa: PTH109 - quick
    if project is None or _may_be_there(config) or _may_be_there(POLICY):
        return None
    return BareDesk(env, data, project)


def _places(env: Mapping[str, str]) -> tuple[str, str] | None:
    """The person's settings file, and the folder of the index: what `places.find` finds."""
    if not sys.platform.startswith("linux") or any(name in env for name in ELSEWHERE):
        return None
    home = env.get("SEGUE_HOME")
    if home:
        return (f"{home}/settings.toml", f"{home}/data") if home.startswith("/") else None
    below = env.get("HOME", "")
    config = env.get("XDG_CONFIG_HOME", "").strip() or f"{below}/.config"
    data = env.get("XDG_DATA_HOME", "").strip() or f"{below}/.local/share"
    if not (below.startswith("/") and config.startswith("/") and data.startswith("/")):
        return None
    return f"{config}/segue/settings.toml", f"{data}/segue"


def _project(start: str) -> str | None:
    """The folder that work is counted under; None where one above it has settings of its own."""
    found, folder = "", start
    while not _may_be_there(f"{folder}/{PROJECT_FILE}"):
        if not found and os.path.exists(f"{folder}/.git"):  # noqa: PTH110 - quick
            found = folder
        above = os.path.dirname(folder)  # noqa: PTH120 - quick
        if above == folder:
            return found or start
        folder = above
    return None


def _may_be_there(path: str) -> bool:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        return True
    return True
