"""Snapshots of a worktree: the hashes of all files, as one git tree.

A private repository in Segue's data folder takes the snapshots; the user's repository is only read. The private one has
its own settings, and attributes that switch off every conversion, so no filter and no hook runs. It keeps its index, so
the next snapshot of the same worktree reads only changed files. Committed content stays in the user's repository; only
uncommitted content is copied.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import posixpath
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from segue.base import files as base_files
from segue.base import paths as base_paths
from segue.ops.common import git as work_git
from segue.ops.common.git import Git

SECONDS = 30.0
"""Time limit of a snapshot; a worktree that takes longer is not checked."""
RAW = b"* -text -eol -crlf -filter -ident -working-tree-encoding\n"
"""Attributes of the private repository, which override the worktree's: no conversion of files."""
SETTINGS = (
    b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tautocrlf = false\n\tcompression = 1\n"
    b"\tignoreCase = false\n\tprecomposeUnicode = false\n\tquotePath = false\n\tfsync = none\n"
    b"[gc]\n\tauto = 0\n[advice]\n\taddEmbeddedRepo = false\n[safe]\n\tdirectory = *\n"
)
LARGEST_EXCLUDE = 1 << 20
REPOSITORY = "160000"
"""The mode of a submodule, or of another repository inside the worktree: its files are not in the tree."""
IGNORE = ".gitignore"
CACHES = {
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    "node_modules",
    ".gradle",
}
OUTPUT = {"build", "dist", "target", "out", "coverage", "htmlcov", ".next", ".nuxt"}
FOLDER = "trees"
KEEP_DAYS = 30
"""Minimum age before a snapshot and its copied content are removed."""
PRUNE_SECONDS = 86_400
"""How often a private repository is pruned."""


class Snapshot(Struct, frozen=True):
    """A worktree at one point in time."""

    tree: str
    """The tree of all files that git does not ignore."""
    head: str = ""
    """The checked-out commit; empty if there is none yet."""


class Change(Struct, frozen=True):
    """How one file differs between two snapshots."""

    path: str
    state: str
    """'A' added, 'M' changed, 'D' deleted. A renamed file is deleted and added."""


def snapshot(folder: Path, data: Path, env: Mapping[str, str]) -> Snapshot | None:
    """A snapshot of a folder's worktree. None if it is not a repository, git is missing, or it takes too long."""
    root = base_paths.find_project(folder)
    own = work_git.git_at(root, env)
    if own is None:
        return None
    own = msgspec.structs.replace(own, deadline=time.monotonic() + SECONDS)
    head = (own.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}") or b"").decode().strip()
    try:
        with base_files.locked(_folder(root, data) / "lock"):
            tree = _write(own, root, data, head)
    except OSError:
        return None
    return Snapshot(tree, head) if tree else None


def changes(folder: Path, data: Path, env: Mapping[str, str], old: str, new: str) -> list[Change] | None:
    """The changes between two trees; None if a tree was removed."""
    git = _private(base_paths.find_project(folder), data, env)
    told = git.ask("diff-tree", "-r", "--no-renames", "--raw", "--abbrev=4", "-z", old, new) if git else None
    if told is None:
        return None
    words = [word.decode(errors="surrogateescape") for word in told.split(b"\0")]
    pairs = zip(words[::2], words[1::2], strict=False)
    return [
        Change(path, "M" if how.endswith("T") else how[-1])
        for how, path in pairs
        if REPOSITORY not in how.split()[:2]
    ]


def without_tools(
    folder: Path,
    data: Path,
    env: Mapping[str, str],
    old: str,
    new: str,
    changed: Sequence[Change],
) -> list[Change]:
    """The changes without those that tools make on their own: caches, and build output that was not there before. Files
    that git ignored at either time are not new, only seen now."""
    found = [one for one in changed if not _is_of_tool(one)]
    added = [one.path for one in found if one.state == "A"]
    if not any(posixpath.basename(one.path) == IGNORE for one in changed):
        return found
    hidden = {path for tree in (old, new) for path in _ignored(folder, data, env, tree, added)}
    return [one for one in found if one.state != "A" or one.path not in hidden]


def _is_of_tool(change: Change) -> bool:
    folders = set(change.path.split("/")[:-1])
    is_cache = bool(CACHES & folders) or change.path.endswith((".pyc", "/.DS_Store"))
    return is_cache or (change.state == "A" and bool(OUTPUT & folders))


def _ignored(
    folder: Path, data: Path, env: Mapping[str, str], tree: str, paths: Sequence[str]
) -> Iterator[str]:
    """The files among these that git ignores by the rules that a tree holds."""
    root = base_paths.find_project(folder)
    own = work_git.git_at(root, env)
    names = listing(folder, data, env, tree) or []
    with tempfile.TemporaryDirectory() as top:
        for name in names:
            if posixpath.basename(name) == IGNORE:
                rules = Path(top, name)
                rules.parent.mkdir(parents=True, exist_ok=True)
                rules.write_bytes(content(folder, data, env, tree, name) or b"")
        git = _at(_folder(root, data), Path(top), env)
        if own is None or git is None or not paths:
            return
        given = b"\0".join(os.fsencode(path) for path in paths)
        told = git.ask(*_excludes(own), "check-ignore", "--no-index", "--stdin", "-z", given=given)
    yield from (os.fsdecode(path) for path in (told or b"").split(b"\0"))


def listing(folder: Path, data: Path, env: Mapping[str, str], tree: str) -> list[str] | None:
    """The files of a tree."""
    git = _private(base_paths.find_project(folder), data, env)
    told = git.ask("ls-tree", "-r", "--name-only", "-z", tree) if git else None
    return (
        None
        if told is None
        else [name.decode(errors="surrogateescape") for name in told.split(b"\0") if name]
    )


def content(folder: Path, data: Path, env: Mapping[str, str], tree: str, path: str) -> bytes | None:
    """The content of a file in a tree; None if there is no such file."""
    git = _private(base_paths.find_project(folder), data, env)
    return git.ask("cat-file", "blob", f"{tree}:{path}") if git else None


# Pruning


def prune(data: Path, env: Mapping[str, str], kept: Iterable[tuple[Path, str]]) -> None:
    """Remove old copied content, except what the given trees of folders need."""
    trees: dict[Path, list[str]] = {}
    for folder, tree in kept:
        trees.setdefault(_folder(base_paths.find_project(folder), data), []).append(tree)
    for config in (data / FOLDER).glob("*/config"):
        stamp = config.with_name("pruned")
        if stamp.exists() and stamp.stat().st_mtime > time.time() - PRUNE_SECONDS:
            continue
        with contextlib.suppress(OSError), base_files.locked(config.with_name("lock")):
            _prune(config.parent, env, trees.get(config.parent, []))


def _prune(repository: Path, env: Mapping[str, str], trees: Sequence[str]) -> None:
    used = (repository / "config").stat().st_mtime  # every snapshot writes it
    if not trees and used < time.time() - KEEP_DAYS * 86_400:
        for path in list(repository.iterdir()):
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != "lock":  # other processes may wait for it
                path.unlink()
        return
    git = _at(repository, repository, env)
    command = ("prune", f"--expire={KEEP_DAYS}.days.ago", "--")
    if git and git.status(*command, *trees) != 0:
        # The user's repository may have lost commits that a tree needs; such a tree is useless.
        whole = [one for one in trees if git.status("rev-list", "--objects", "--quiet", one) == 0]
        git.status(*command, *whole)
    base_files.write_file(repository / "pruned", b"", is_lasting=False)


def size(data: Path) -> int:
    """How many bytes all snapshots take."""
    return sum(path.lstat().st_size for path in (data / FOLDER).rglob("*") if path.is_file())


# The private repository


def _folder(root: Path, data: Path) -> Path:
    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:24]
    return data / FOLDER / name


def _private(root: Path, data: Path, env: Mapping[str, str]) -> Git | None:
    return _at(_folder(root, data), root, env)


def _at(repository: Path, root: Path, env: Mapping[str, str]) -> Git | None:
    """Git for a private repository, with only its own settings."""
    git = work_git.git_for(root, env)
    if git is None:
        return None
    own = {
        "GIT_DIR": os.fspath(repository),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    kept = {name: value for name, value in git.env.items() if not name.startswith("GIT_CONFIG")}
    return msgspec.structs.replace(git, env={**kept, **own}, deadline=time.monotonic() + SECONDS)


def _write(own: Git, root: Path, data: Path, head: str) -> str:
    """Add every file to the private index and return the tree's id; empty on failure."""
    private = _private(root, data, own.env)
    if private is None or not _prepare(own, root, _folder(root, data)):
        return ""
    if head and not (_folder(root, data) / "index").exists():
        # `git add` would skip files that are both committed and ignored.
        private.ask("read-tree", head)
    # A file that cannot be read stays as it was known; all others are added.
    if private.status(*_excludes(own), "add", "--all", "--ignore-errors", "--", ".") not in (0, 1):
        return ""
    return (private.ask("write-tree") or b"").decode().strip()


def _excludes(own: Git) -> tuple[str, ...]:
    """The setting that names what the user ignores everywhere."""
    excludes = (own.ask("config", "--type=path", "core.excludesFile") or b"").rstrip(b"\n")
    return ("-c", f"core.excludesFile={os.fsdecode(excludes)}") if excludes else ()


def _prepare(own: Git, root: Path, folder: Path) -> bool:
    """Write the private repository's files every time: the user's excludes and object folder may have changed."""
    told = own.ask("rev-parse", "--git-path", "objects", "--git-path", "info/exclude")
    if told is None:
        return False
    objects, exclude = (root / os.fsdecode(line) for line in told.splitlines()[:2])
    for name in ("objects/info", "refs", "info"):
        base_files.make_private_folder(folder / name)
    (folder / "index.lock").unlink(missing_ok=True)  # left by a killed process: this one holds our own lock
    patterns = b""
    with contextlib.suppress(OSError):
        patterns = base_files.read_file(exclude, LARGEST_EXCLUDE)
    files = {
        "HEAD": b"ref: refs/heads/none\n",
        "config": SETTINGS,
        "info/attributes": RAW,
        "info/exclude": patterns,
        "objects/info/alternates": os.fsencode(os.path.realpath(objects)) + b"\n",
    }
    for name, data in files.items():
        base_files.write_file(folder / name, data, is_lasting=False)
    return True
