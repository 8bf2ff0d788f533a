"""The state of a worktree: git's status, and the content of files that facts name.

A repository may be a stranger's, and git runs programs that a repository's settings name: hooks, file system monitors,
filters, fetch helpers. Here none of them runs, nothing is written, nothing is fetched, and nothing outside of the
project is opened. Whatever takes longer than a few seconds is reported as unknown.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from segue.base import clock, files, paths
from segue.base.clock import Moment
from segue.base.lazy_regex import lazy_pattern
from segue.briefs import drift
from segue.briefs.drift import Changed, Commit, Seen, Standing, State, Wanted
from segue.model import Fact, Hash

SECONDS = 5.0
"""Time limit for all git commands together."""
LARGEST_ANSWER = 4 << 20
LARGEST_FILE = 16 << 20
"""No content in facts is larger, so a larger file differs without being read."""
TOO_LARGE = "too large"
"""Stands for the hash of a larger file. It matches no fact."""
LARGEST_TOTAL = 64 << 20
MOST_COMMITS = 1000
MOST_CHANGED = 2000
BOM = b"\xef\xbb\xbf"

SETTINGS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "log.showSignature=false",
    "safe.bareRepository=explicit",
)
"""Settings of a repository that are overridden, because they name programs: monitors, hooks, signature checks."""
NO_PROGRAMS = ("--no-show-signature", "--no-ext-diff", "--no-textconv")
"""The same as options, for commands that show commits or diffs."""
KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
"""Git variables that are passed on: they only locate the user's own settings."""
OURS = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
}
REFLOG = lazy_pattern(r"(?P<name>.+)@\{(?P<at>\d+)\}")
FILTER = ("clean", "process", "required")
"""Settings of a filter: its two commands, and whether a missing filter is an error."""
MOST_HEADS = 50
NOT_INSTALLED = "git is not installed, so branch and commits were not compared"
NO_ANSWER = "git did not answer, so branch and commits were not compared"
NAMES_PROGRAMS = (
    "the repository's settings name programs for git to run, so branch and commits were not compared"
)


def look(folder: Path, facts: Sequence[Fact], env: Mapping[str, str] | None = None) -> State:
    """The state of a folder's worktree, for comparison with facts."""
    wanted = drift.wanted(facts)
    root = paths.find_project(folder)
    # Without a repository here, none above is used: a folder can pose as one.
    state = (
        _asked(root, wanted.commit, os.environ if env is None else env) if _is_repository(root) else State()
    )
    return msgspec.structs.replace(state, files=_seen(root, folder, wanted))


def git_at(root: Path, env: Mapping[str, str]) -> Git | None:
    """Git for a worktree. None if it is not a repository, git is missing, or it would run the repository's programs."""
    git = _open(root, env) if _is_repository(root) else None
    filters = git.filters() if git else None
    return _without(filters, git) if git and filters is not None else None


def tracked(root: Path, names: Sequence[str], env: Mapping[str, str]) -> set[str] | None:
    """Files that git tracks under these names, ignoring case; None if git does not answer. Only git's index is read, so
    no filter runs."""
    git = _open(root, env)
    named = (f":(literal,icase){name}" for name in names)
    told = git.ask("ls-files", "--cached", "-z", "--", *named) if git else None
    return None if told is None else set(_texts(told))


def made_between(root: Path, env: Mapping[str, str], start: Moment, end: Moment) -> Made:
    """List commits in a worktree and pushes from its repository, using the reflogs. Fetches, merges and checkouts do
    not count."""
    if not start:
        return Made()
    git = _open(root, env) if _is_repository(root) else None
    told = (
        git.ask(
            "log", *NO_PROGRAMS, "--walk-reflogs", "--all", "--date=unix", "--format=%gD%x00%h%x00%ct%x00%gs"
        )
        if git
        else None
    )
    first, last = int(clock.parse(start).timestamp()), clock.parse(end).timestamp()
    heads: list[tuple[int, str, int]] = []
    commits, pushes = [], []
    for line in filter(None, (told or b"").decode(errors="replace").split("\n")):
        name, commit, made_at, message = line.split("\0", 3)
        found = REFLOG.fullmatch(name)
        if found is None:
            continue
        at = int(found["at"])
        if found["name"] == "HEAD":
            heads.append((at, commit, int(made_at)))
        if not first <= at <= last:
            continue
        if found["name"] == "HEAD" and message.startswith("commit"):
            commits.append(at)
        if found["name"].startswith("refs/remotes/") and message == "update by push":
            pushes.append(at)
    begun = next((commit for at, commit, _ in heads if at < first), "")
    known = (commit for at, commit, made_at in heads if last >= at >= first > made_at and commit != begun)
    return Made(
        tuple(commits) if heads else None, tuple(pushes), tuple(islice(dict.fromkeys(known), MOST_HEADS))
    )


def git_for(root: Path, env: Mapping[str, str]) -> Git | None:
    """Git with a worktree's files; None if git is missing. The caller must name the repository (GIT_DIR): nothing here
    keeps the worktree's own repository from running its programs."""
    return _open(root, env)


class Made(Struct, frozen=True):
    """Times of commits and pushes in a period, in whole seconds, including the second in which it starts."""

    commits: tuple[int, ...] | None = None
    """None where the reference logs could not be read, or are not kept."""
    pushes: tuple[int, ...] = ()
    moved_to: tuple[str, ...] = ()
    """The commits that were checked out, the latest first: of those that had been made before, without the one that was
    checked out in the beginning."""


def _is_repository(root: Path) -> bool:
    return paths.is_there(root / ".git")


# Git commands


class Git(Struct, frozen=True):
    """Runs git commands in one repository, until a deadline."""

    program: str
    root: Path
    env: dict[str, str]
    deadline: float

    def ask(self, *arguments: str, given: bytes = b"") -> bytes | None:
        """The output of a git command; None if it fails, takes too long, or prints too much."""
        if not given:
            status, answer = self._run(arguments)
        else:
            with tempfile.TemporaryFile() as file:
                file.write(given)
                file.seek(0)
                status, answer = self._run(arguments, file)
        return answer if status == 0 else None

    def status(self, *arguments: str) -> int | None:
        """The exit code of a git command; None if it could not start or takes too long."""
        return self._run(arguments)[0]

    def _run(
        self, arguments: Sequence[str], given: IO[bytes] | int = subprocess.DEVNULL
    ) -> tuple[int | None, bytes]:
        settings = [part for setting in SETTINGS for part in ("-c", setting)]
        try:
            process = subprocess.Popen(
                [self.program, "--no-pager", *settings, *arguments],
                cwd=self.root,
                env=self.env,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            return None, b""
        watchdog = threading.Timer(max(0.0, self.deadline - time.monotonic()), _kill, [process])
        watchdog.daemon = True
        watchdog.start()
        with process:
            answer = process.stdout.read(LARGEST_ANSWER + 1) if process.stdout else b""
            is_whole = len(answer) <= LARGEST_ANSWER
            if not is_whole:
                _kill(process)
        watchdog.cancel()
        is_over = process.returncode is not None and process.returncode >= 0
        return (process.returncode if is_over and is_whole else None), answer

    def filters(self) -> set[tuple[str, str]] | None:
        """Settings that name filter programs, as (scope, name). None if git does not list them: any may be set."""
        told = self.ask("config", "--show-scope", "--name-only", "-z", "--list")
        if told is None:
            return None
        words = _texts(told)
        pairs = zip(words[::2], words[1::2], strict=False)
        return {
            (scope, name)
            for scope, name in pairs
            if name.startswith("filter.") and name.rpartition(".")[2].lower() in FILTER
        }


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children. A child that keeps the output open would block the reader."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _asked(root: Path, commit: str, env: Mapping[str, str]) -> State:
    git = _open(root, env)
    if git is None:
        return State(is_repository=True, problem=NOT_INSTALLED)
    filters = git.filters()
    if filters is None:
        return State(is_repository=True, problem=NO_ANSWER)
    git = _without(filters, git)
    if git is None:
        return State(is_repository=True, problem=NAMES_PROGRAMS)
    told = git.ask(
        "status",
        "--porcelain=v2",
        "--branch",
        "-z",
        "--untracked-files=normal",
        "--ignore-submodules=dirty",
        "--no-renames",
        "--no-ahead-behind",
    )
    if told is None:
        return State(is_repository=True, problem=NO_ANSWER)
    state = _status(root, told)
    standing, commits = _since(git, commit, state.head) if commit else (Standing.NOT_ASKED, ())
    return msgspec.structs.replace(state, standing=standing, commits=commits)


def _open(root: Path, env: Mapping[str, str]) -> Git | None:
    # Absolute folders only: a repository could contain a program named git.
    path = os.pathsep.join(part for part in env.get("PATH", "").split(os.pathsep) if part.startswith("/"))
    program = shutil.which("git", path=path)
    if program is None:
        return None
    own = {name: value for name, value in env.items() if not name.startswith("GIT_") or name in KEPT}
    # Restrict git to this folder, whatever the repository's settings are.
    bounds = {"GIT_WORK_TREE": os.fspath(root), "GIT_CEILING_DIRECTORIES": os.path.realpath(root.parent)}
    return Git(program, root, {**own, "PATH": path, **OURS, **bounds}, time.monotonic() + SECONDS)


def _without(known: set[tuple[str, str]], git: Git) -> Git | None:
    """Git with all filters switched off; None if this git cannot do that. The user's own filters too: the repository
    chooses which of them run, and they may read more of its settings."""
    filters = {name.rpartition(".")[0] for _, name in known}
    if not filters:
        return git
    names = [f"{filter}.{key}" for filter in sorted(filters) for key in FILTER]
    off = {"GIT_CONFIG_COUNT": str(len(names))}
    for n, name in enumerate(names):
        off |= {f"GIT_CONFIG_KEY_{n}": name, f"GIT_CONFIG_VALUE_{n}": ""}
    quiet = msgspec.structs.replace(git, env={**git.env, **off})
    is_off = {name for scope, name in quiet.filters() or () if scope == "command"} >= set(names)
    return quiet if is_off else None


def _status(root: Path, told: bytes) -> State:
    branch = head = ""
    changed: list[Changed] = []
    items = iter(told.split(b"\0"))
    for item in items:
        kind, _, rest = item.partition(b" ")
        if kind == b"#":
            name, _, value = rest.decode(errors="replace").partition(" ")
            branch = value if name == "branch.head" and value != "(detached)" else branch
            head = value if name == "branch.oid" and value != "(initial)" else head
        elif kind in (b"1", b"2", b"u", b"?") and len(changed) < MOST_CHANGED:
            before = {b"1": 7, b"2": 8, b"u": 9, b"?": 0}[kind]
            path = rest.split(b" ", before)[-1]
            at = _changed_at(root / os.fsdecode(path))
            changed.append(
                Changed(path=path.decode(errors="replace"), is_tracked=kind != b"?", changed_at=at)
            )
        if kind == b"2":
            next(items, None)  # the old name
    return State(is_repository=True, branch=branch, head=head, changed=tuple(changed))


def _since(git: Git, commit: str, head: str) -> tuple[Standing, tuple[Commit, ...]]:
    """How a commit relates to HEAD, and the commits that only HEAD has."""
    if head.startswith(commit):
        return Standing.SAME, ()
    told = git.ask(
        "rev-list",
        "--left-right",
        f"--max-count={MOST_COMMITS}",
        "--format=%h %s",
        f"{commit}...{head or 'HEAD'}",
        "--",
    )
    if told is None:
        return (Standing.ABSENT if time.monotonic() < git.deadline else Standing.NOT_ASKED), ()
    lines = told.decode(errors="replace").split("\n")
    pairs = list(zip(lines[::2], lines[1::2], strict=False))
    newer = [line.partition(" ") for mark, line in pairs if mark.startswith("commit >")]
    commits = tuple(Commit(id=id, subject=subject) for id, _, subject in newer)
    is_apart = any(mark.startswith("commit <") for mark, _ in pairs)
    return Standing.APART if is_apart else Standing.BEHIND, commits


def _texts(answer: bytes) -> list[str]:
    return [part.decode(errors="surrogateescape") for part in answer.split(b"\0")]


# Content of files


def _seen(root: Path, folder: Path, wanted: Wanted) -> dict[str, Seen]:
    real = os.path.realpath(root)
    base = _base(real, folder, wanted.folder)
    parents: dict[str, str] = {}
    found: dict[str, Seen] = {}
    left = LARGEST_TOTAL
    for path in wanted.paths:
        full = os.path.normpath(f"{base}/{path}" if not path.startswith("/") else path)
        if "\0" in full or not _is_inside(full, real):
            continue
        parent, _, name = full.rpartition("/")
        place = parents.get(parent) or parents.setdefault(parent, os.path.realpath(parent))
        seen, size = _look_at(f"{place}/{name}", real, left if path in wanted.hashed else -1)
        left -= size
        if seen is not None:
            found[path] = msgspec.structs.replace(seen, name=full[len(real.rstrip("/")) + 1 :])
    return found


def _base(real: str, folder: Path, told: str) -> str:
    """The base of the facts' relative paths: the transcript's first folder, if that is in this worktree."""
    began = os.path.realpath(told) if told and "\0" not in told else ""
    return began if began == real or _is_inside(began, real) else os.path.realpath(folder)


def _is_inside(path: str, root: str) -> bool:
    return path.startswith(root.rstrip("/") + "/")


def _look_at(path: str, root: str, most: int) -> tuple[Seen | None, int]:
    """A file's state, and how many bytes were read, at most `most`. None if the path leads out of the project."""
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            path = os.path.realpath(path)
            found = os.lstat(path) if _is_inside(path, root) else found
        if not _is_inside(path, root):
            return None, 0
    except (FileNotFoundError, NotADirectoryError):
        return (Seen(is_there=False) if _is_inside(path, root) else None), 0
    except (OSError, ValueError):  # not accessible, or not a valid file name
        return None, 0
    at = _moment(found.st_mtime)
    is_folder = stat.S_ISDIR(found.st_mode)
    is_to_be_read = stat.S_ISREG(found.st_mode) and most >= 0
    if is_to_be_read and found.st_size > LARGEST_FILE:
        return Seen(hashes=(TOO_LARGE,), changed_at=at), 0
    if not is_to_be_read or found.st_size > most:
        return Seen(is_folder=is_folder, changed_at=at), 0
    try:
        content = files.read_file(Path(path), LARGEST_FILE)
    except OSError:
        return Seen(changed_at=at), 0
    return Seen(hashes=_hashes(content), changed_at=at), len(content)


def _hashes(content: bytes) -> tuple[Hash, ...]:
    """The hashes that a transcript may have of a text: some agents drop the last newline, CRLF or the BOM. Empty for
    binary content, which no transcript records."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return ()
    plain = content.removeprefix(BOM).replace(b"\r\n", b"\n")
    found = [hashlib.sha256(content).hexdigest()]
    digest = hashlib.sha256(plain.removesuffix(b"\n"))
    found.append(digest.hexdigest())
    digest.update(b"\n")
    return (*found, digest.hexdigest())


def _changed_at(path: Path) -> Moment | None:
    try:
        return _moment(path.lstat().st_mtime)
    except (OSError, ValueError):
        return None


def _moment(seconds: float) -> Moment | None:
    try:
        return clock.moment(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return None
