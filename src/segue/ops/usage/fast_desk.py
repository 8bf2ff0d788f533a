"""Fast desk: a minimal desk for usage totals when no setting exists, in a file or in the environment.

It skips the imports of settings, paths and stores, which take longer than adding up a year's totals. If any setting may
exist, there is no fast desk, and the caller uses `desk.open_desk`. It offers only what totals by time and model need.
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
if TYPE_CHECKING:  # `typing` is slow to import
    from typing import Any

POLICY = "/etc/segue/policy.toml"
PROJECT_FILE = ".segue.toml"
INDEX_FILE = "index.db"
ELSEWHERE = ("ANDROID_DATA", "ANDROID_ROOT", "PYDROID_PACKAGES")
"""If one of these is set, this is Android, which has other default folders."""


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
    """Open a fast desk; None if any setting may exist."""
    places = _places(env)
    if places is None or any(name.startswith("SEGUE_") and name != "SEGUE_HOME" for name in env):
        return None
    config, data = places
    project = _project(os.getcwd())  # noqa: PTH109 - quick
    if project is None or _may_be_there(config) or _may_be_there(POLICY):
        return None
    return BareDesk(env, data, project)


def _places(env: Mapping[str, str]) -> tuple[str, str] | None:
    """The user's settings file and the data folder, as `paths.find` returns them."""
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
    """The project folder; None if a folder above has a settings file."""
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
