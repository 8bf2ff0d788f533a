"""Where Segue keeps its files: the platform's folders, or all of them under SEGUE_HOME."""

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
    """The user's settings file."""
    policy: Path
    """The organisation's policy file. No environment variable moves it, so users cannot."""
    data: Path
    """Stores, blobs and backups."""
    log: Path
    """Log file with errors and tracebacks."""


def find(env: Mapping[str, str]) -> Places:
    home = env.get("SEGUE_HOME")
    if home:
        base = _expanded(Path(home)).absolute()
        return Places(base / "settings.toml", policy_file(), base / "data", base / "segue.log")
    import platformdirs  # lazy: not needed with SEGUE_HOME

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
    """Settings file of a folder's project: the nearest one upwards, up to the repository's root. The home folder
    and everything above it are skipped."""
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
    """A path as text for storage and output: bytes that are not UTF-8 become �."""
    return os.fsencode(path).decode(errors="replace")


def find_project(start: Path) -> Path:
    """The project of a folder: its repository's root, or the folder itself."""
    for folder in (start, *start.parents):
        if is_there(folder / ".git"):
            return folder
    return start


def find_work(folder: Path) -> Path:
    """The folder that represents all worktrees of a repository: the one that contains the repository. For a
    deleted folder, what is left of the repository around it counts."""
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
    """Whether the repository lists the worktree: anyone can write a `.git` file that points at another repository."""
    told = _line(kept / "gitdir")
    return bool(told) and os.path.realpath(kept / told) == os.path.realpath(pointer)


def _line(path: Path) -> str:
    """Content of a small git file; empty if it cannot be read."""
    try:
        text = files.read_file(path, LONGEST_POINTER).decode(errors="surrogateescape").strip()
    except (OSError, ValueError):
        return ""
    return "" if "\0" in text else text


def is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        # A parent folder without search permission.
        return False


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:
        # There is no such user, so '~' is an ordinary name.
        return path
