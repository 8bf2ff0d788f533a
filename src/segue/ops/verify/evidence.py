"""Evidence for checking assertions: the files of a worktree and their state in git.

No code of the project runs, nothing is written, and nothing outside the worktree is opened. What takes too long or is
too large stays unknown.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from segue.assertions import Record, Seen, TestRun
from segue.base import clock, paths
from segue.base.clock import Moment
from segue.ops.common import git

LARGEST_FILE = 4 << 20
LARGEST_TOTAL = 256 << 20
MOST_FILES = 60_000
SECONDS = 20.0
"""Time limit for reading and searching files in one verification."""
SKIPPED = frozenset(
    [
        ".git",
        "node_modules",
        ".venv",
        "venv",
        "__pycache__",
        ".tox",
        ".mypy_cache",
        "dist",
        "build",
        "target",
        ".next",
    ]
)
SHA = re.compile(r"[0-9a-f]{7,40}")


class _Log(Struct, frozen=True):
    """Changes by commits since a time. Commit times are whole seconds, so the order of commits in the first second is
    unknown."""

    changed: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    at_once: frozenset[str] = frozenset()
    """Files changed by commits of the first second."""
    is_made: bool | None = None
    """Whether there was a commit; None if unknown."""


class RealWorld:
    """Worktree as it is now, and the record of an agent's actions in it."""

    def __init__(
        self,
        folder: Path,
        record: Record,
        since: Moment | None,
        tests: TestRun | None,
        env: Mapping[str, str],
    ) -> None:
        self.root = paths.find_project(folder)
        self.folder = folder
        self.record = record
        self.tests = tests
        self.since = clock.parse(since).timestamp() if since else None
        self.deadline = time.monotonic() + SECONDS
        self._git = git.git_at(self.root, env)
        self._contents: dict[str, bytes | None] = {}
        self._held = 0
        """Bytes in `_contents`."""

    # Files

    def file(self, path: str) -> Seen:
        inside = self._inside(path)
        if inside is None:
            return Seen(is_outside=True)
        names = self._names(inside)
        if not names:
            return Seen(is_gone=any(_ends(one, inside) for one in self._deleted))
        states = [self._is_changed(name) for name in names]
        is_changed = True if True in states else None if None in states else False
        return Seen(names=tuple(names), is_changed=is_changed)

    def _inside(self, path: str) -> str | None:
        """Path relative to the root or to some folder below it; None if it is outside."""
        if path.startswith("~") or "\0" in path:
            return None
        if path.startswith("/"):
            for base in (self.record.folder, str(self.root), os.path.realpath(self.root)):
                if base and path.startswith(base.rstrip("/") + "/"):
                    return path[len(base.rstrip("/")) + 1 :]
            # Agents write '/docs/x.md' for a path below the project's root.
            return path[1:] if self._names(path[1:]) else None
        plain = os.path.normpath(path)
        return None if plain.startswith("..") else plain

    @lru_cache(maxsize=1024)  # noqa: B019 - a world lives as long as one verification
    def _names(self, path: str) -> tuple[str, ...]:
        exact = []
        for base in dict.fromkeys((self.root, self.folder)):
            name = os.path.relpath(base / path, self.root)
            if not name.startswith("..") and os.path.lexists(self.root / name):
                exact.append(name)
        if exact:
            return tuple(dict.fromkeys(exact))
        listed = tuple(name for name in self._listed if _ends(name, path))
        return listed or tuple(sorted({_folder_in(name, path) for name in self._listed} - {""}))

    @cached_property
    def _listed(self) -> tuple[str, ...]:
        """Files of the worktree: tracked and untracked files that git does not ignore, or all files without git."""
        told = self._ask("ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "-z")
        if told is None:
            return tuple(_walked(self.root))
        names = (name.decode(errors="surrogateescape") for name in told.split(b"\0") if name)
        return tuple(name for name in names if os.path.lexists(self.root / name))

    def _is_changed(self, name: str) -> bool | None:
        if self.since is None:
            return None
        try:
            is_new = os.lstat(self.root / name).st_mtime >= self.since
        except OSError:
            return None
        if self._git is None:
            return is_new
        if self._dirty is None or self._tracked is None:
            return is_new or None
        if self._log is not None and name in self._log.changed:
            return True
        if self._log is not None and name in self._log.at_once:
            return is_new
        # Git reports nothing about ignored files; a tracked file that is not dirty equals the last commit.
        if name not in self._tracked or name in self._dirty:
            return is_new
        return None if self._log is None else False

    # State in git

    def _ask(self, *arguments: str) -> bytes | None:
        if self._git is None:
            return None
        return msgspec.structs.replace(self._git, deadline=time.monotonic() + git.SECONDS).ask(*arguments)

    @cached_property
    def _status(self) -> list[tuple[str, str]] | None:
        told = self._ask(
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=dirty",
        )
        if told is None:
            return None
        rows = (row.decode(errors="surrogateescape") for row in told.split(b"\0") if row)
        return [(row[:2], row[3:]) for row in rows]

    @cached_property
    def _dirty(self) -> frozenset[str] | None:
        return None if self._status is None else frozenset(name for _, name in self._status)

    @cached_property
    def _tracked(self) -> frozenset[str] | None:
        told = self._ask("ls-files", "--cached", "-z")
        if told is None:
            return None
        return frozenset(name.decode(errors="surrogateescape") for name in told.split(b"\0"))

    @cached_property
    def _log(self) -> _Log | None:
        """Changes by commits since the work was handed over; None if git does not answer."""
        if self.since is None:
            return _Log()
        since = int(self.since)
        shown = ("--no-renames", "--name-status", "--format=%x01%ct", "-z", *git.NO_PROGRAMS)
        told = self._ask("log", f"--since=@{since}", *shown, "HEAD", "--")
        if told is None:
            return None
        changed, deleted, at_once = set[str](), set[str](), set[str]()
        is_later: list[bool] = []
        rows = iter(told.decode(errors="surrogateescape").split("\0"))
        for row in rows:
            # A commit's time, or a state followed by a file name, which can be any text.
            head = row.strip("\n")
            if head.startswith("\x01"):
                is_later.append(int(head[1:]) > since)
            elif head:
                (deleted if head[0] == "D" else changed if is_later[-1] else at_once).add(next(rows, ""))
        is_made = True if any(is_later) else None if is_later else False
        return _Log(frozenset(changed), frozenset(deleted), frozenset(at_once), is_made)

    @cached_property
    def _deleted(self) -> frozenset[str]:
        committed = self._log.deleted if self._log is not None else frozenset[str]()
        return committed | {name for state, name in self._status or () if "D" in state}

    def commit(self, sha: str) -> bool | None:
        if self._git is None or self._status is None:
            return None
        if not sha:
            return self._log.is_made if self._log is not None else None
        if not SHA.fullmatch(sha):
            return None
        begun = time.monotonic()
        if self._ask("rev-parse", "--verify", "--quiet", f"{sha}^{{commit}}") is not None:
            return True
        is_over = time.monotonic() - begun >= git.SECONDS
        return None if is_over else False

    # Symbols

    def holding(self, symbol: str, names: tuple[str, ...] = ()) -> tuple[str, ...] | None:
        word = re.compile(rf"(?<![\w$]){re.escape(symbol)}(?![\w$])".encode())
        plain = symbol.encode()
        found = []
        is_whole = len(self._listed) < MOST_FILES or bool(names)
        for name in self._expanded(names) if names else self._listed:
            if time.monotonic() > self.deadline:
                is_whole = False
                break
            content = self._content(name)
            if content is None:
                is_whole = False
            elif plain in content and word.search(content):
                found.append(name)
        return tuple(found) if found or is_whole else None

    def _expanded(self, names: tuple[str, ...]) -> Iterator[str]:
        """Files, with folders replaced by the files below them."""
        for name in names:
            if (self.root / name).is_dir():
                yield from (one for one in self._listed if one.startswith(name.rstrip("/") + "/"))
            else:
                yield name

    def _content(self, name: str) -> bytes | None:
        """Content of a file; None if it is too large or a limit on bytes or time is reached."""
        if name not in self._contents:
            is_enough = self._held >= LARGEST_TOTAL or time.monotonic() > self.deadline
            content = None if is_enough else _read(self.root / name, os.path.realpath(self.root))
            self._contents[name] = content
            self._held += len(content or b"")
        return self._contents[name]


def _read(path: Path, root: str) -> bytes | None:
    """Content of a file; empty if it is outside the worktree, not a file or unreadable; None if too large."""
    try:
        real = os.path.realpath(path)
        if not real.startswith(root.rstrip("/") + "/") or not os.path.isfile(real):  # noqa: PTH113 - it is text
            return b""
        if os.stat(real).st_size > LARGEST_FILE:  # noqa: PTH116 - as above
            return None
        with open(real, "rb") as file:  # noqa: PTH123 - as above
            return file.read(LARGEST_FILE)
    except (OSError, ValueError):
        return b""


def _ends(name: str, path: str) -> bool:
    return name == path or name.endswith("/" + path)


def _folder_in(name: str, path: str) -> str:
    """Folder named by `path` that contains a file, relative to the root; empty if none does."""
    if name.startswith(path + "/"):
        return path
    at = name.find(f"/{path}/")
    return name[: at + 1] + path if at >= 0 else ""


def _walked(root: Path) -> Iterator[str]:
    count = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(one for one in folders if one not in SKIPPED)
        for file in sorted(files):
            if count == MOST_FILES:
                return
            count += 1
            yield os.path.relpath(os.path.join(folder, file), root)  # noqa: PTH118 - as walk gives it
