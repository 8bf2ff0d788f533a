"""Where Segue keeps its things: the platform's own folders, or all of them under SEGUE_HOME."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from segue.base import files

PROJECT_FILE = ".segue.toml"
LONGEST_POINTER = 4096


class Places(Struct, frozen=True):
    config: Path
    """The person's settings file."""
    policy: Path
    """The organisation's policy file. No environment variable moves it: it is not the user's to move."""
    data: Path
    """The stores, the blobs and the backups."""
    log: Path
    """The log file: what went wrong, with tracebacks."""


def find(env: Mapping[str, str]) -> Places:
    home = env.get("SEGUE_HOME")
    if home:
        base = _expanded(Path(home)).absolute()
        return Places(base / "settings.toml", policy_file(), base / "data", base / "segue.log")
    import platformdirs  # lazy: a SEGUE_HOME does without it

    dirs = platformdirs.PlatformDirs("segue", appauthor=False)
    return Places(
        dirs.user_config_path / "settings.toml",
        policy_file(),
        dirs.user_data_path,
        dirs.user_log_path / "segue.log",
    )


def policy_file() -> Path:
    if sys.platform == "darwin":
        return Path("/Library/Application Support/segue/policy.toml")
    return Path("/etc/segue/policy.toml")


def find_project_file(start: Path, home: Path) -> Path | None:
    """The settings file of the project that a folder is in: the nearest one upwards, up to the
    repository's root; never the home folder's own or anything above it."""
    return next(filter(is_there, project_files(start, home)), None)


def project_files(start: Path, home: Path) -> Iterator[Path]:
    """Every place where that settings file could be, the nearest first."""
    for folder in (start, *start.parents):
        if folder == home or folder == folder.parent:
            return
        yield folder / PROJECT_FILE
        if is_there(folder / ".git"):
            return


def as_text(path: Path) -> str:
    """A path as text that can be kept and printed: bytes that are no UTF-8 become �."""
    return os.fsencode(path).decode(errors="replace")


def find_project(start: Path) -> Path:
    """The folder that work is counted under: the repository's root, or the folder itself."""
    for folder in (start, *start.parents):
        if is_there(folder / ".git"):
            return folder
    return start


def find_work(folder: Path) -> Path:
    """The folder that all worktrees of a repository count as: the one with the repository itself. A folder that
    is gone counts as what is left of the repository around it, if it was inside one."""
    project = find_project(folder)
    pointer = project / ".git"
    kept = Path(_line(pointer).removeprefix("gitdir:").strip())
    kept = kept if kept.is_absolute() else project / kept
    # 'repository/.git/worktrees/name' is a worktree; a submodule's is '.git/modules/name'.
    is_worktree = kept.parent.name == "worktrees" and kept.parent.parent.name == ".git"
    if is_worktree and _leads_back(kept, pointer):
        return Path(os.path.normpath(kept.parent.parent.parent))
    return project


def _leads_back(kept: Path, pointer: Path) -> bool:
    """Whether the repository knows a worktree itself: anyone can write a file that points at another's repository."""
    told = _line(kept / "gitdir")
    return bool(told) and os.path.realpath(kept / told) == os.path.realpath(pointer)


def _line(path: Path) -> str:
    """What a small file of git's says; nothing where there is none."""
    try:
        text = files.read_file(path, LONGEST_POINTER).decode(errors="surrogateescape").strip()
    except (OSError, ValueError):
        return ""
    return "" if "\0" in text else text


def is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        # A folder above that may not be searched tells nothing.
        return False


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:
        # There is no such user: then it is a name like any other.
        return path
