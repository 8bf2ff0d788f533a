"""Repository state from a command and its output: branch, commits, pull requests."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from msgspec import Struct

from segue.base.lazy_regex import lazy_pattern
from segue.shell.commands import LONGEST_PATH, PURPOSES, program_name, programs, sub_at

MADE = lazy_pattern(
    r"^\[(\S{1,200}|detached HEAD)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.{0,500})", re.MULTILINE
)
SWITCHED = lazy_pattern(
    r"^(?:Switched to (?:a new )?branch|Already on|Reset branch) '([^'\n]{1,200})'", re.MULTILINE
)
STANDS = lazy_pattern(
    r"^(?:On branch|##(?: No commits yet on)?) (\S{1,200}?)(?:\.\.\.\S*+)?(?: \[.*)?$", re.MULTILINE
)
REFUSED = lazy_pattern(r"^(?:fatal|error):|^ ! \[", re.MULTILINE)
PULL_REQUEST = lazy_pattern(
    r"https?://[\w.-]{1,99}/[\w./-]{1,199}?/(?:pulls?|merge_requests|pull-requests)/\d{1,9}\b"
)
MAKING = ("commit", "cherry-pick", "revert", "merge", "rebase")
BACK = lazy_pattern(r"HEAD(?:~(\d{1,2})|(\^{1,9}))")
"""Number of commits that a reset removes."""
COMMITS = lazy_pattern(r"\bgit\b[^|;&]{0,80}? commit\b")
"""A command that should commit; `MADE` shows whether it did."""
QUIET = lazy_pattern(r"--quiet|-[a-z]{0,4}q[a-z]{0,4}")
HASH = lazy_pattern(r"^[0-9a-f]{7,40}$", re.MULTILINE)
BRANCH = lazy_pattern(r"(?!HEAD$)\w[\w./+@#-]{0,199}")


class Git(Struct, frozen=True):
    branch: str = ""
    """Current branch after the command; empty if unknown."""
    commits: tuple[tuple[str, str], ...] = ()
    """Commits that it made or named as current: hash and subject (empty if unknown)."""
    worktrees: tuple[tuple[str, str], ...] = ()
    """Worktrees that it added: path and new branch."""
    is_anew: bool = False
    """Whether its commits may rewrite older ones."""
    undone: int = 0
    """Number of last commits that it removed first."""
    pull_requests: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    """Pull requests that it merged, by number or address."""
    is_silent: bool = False
    """Whether it committed quietly, if it passed."""


class _Answer:
    """Git's output: each pattern is searched once, and only if a command needs it."""

    def __init__(self, output: str) -> None:
        self.output = output
        self.found: dict[re.Pattern[str], list[Any]] = {}

    def find(self, pattern: re.Pattern[str]) -> list[Any]:
        if pattern not in self.found:
            self.found[pattern] = pattern.findall(self.output)
        return self.found[pattern]

    def branch(self, sub: str, rest: list[str]) -> str:
        """Current branch after one git command."""
        told: list[str] = []
        if sub in ("checkout", "switch") and "--detach" not in rest:
            is_sure = not self.find(REFUSED) and (sub == "switch" or {"-b", "-B"}.intersection(rest))
            told = self.find(SWITCHED) or [word for word in rest if is_sure and not word.startswith("-")][:1]
        elif sub in MAKING:
            told = [name for name, _, _ in self.find(MADE)]
        elif sub == "status":
            told = self.find(STANDS)
        elif "--show-current" in rest or {"--abbrev-ref", "HEAD"} <= set(rest):
            told = self.output.split(None, 1) if len(self.output) < LONGEST_PATH else []
            told = told if len(told) == 1 else []
        return told[-1].strip() if told else ""


def git_of(command: str, output: str) -> Git:
    """Parse a command and its output for the state of the repository."""
    said = [words for words, _ in programs(command) if PURPOSES.get(program_name(words[0])) == "git"]
    if not said:
        return Git()
    answer, commits = _Answer(output), dict[str, str]()
    branch, is_asked, undone, is_anew, has_made = "", False, 0, False, False
    merged, worktrees, is_silent = list[str](), list[tuple[str, str]](), False
    for words in said:
        at = sub_at(words)
        sub, rest = (words[at], words[at + 1 :]) if at else ("", [])
        if sub in ("pr", "mr") and rest[:1] == ["create"]:
            is_asked = True
        elif sub in ("pr", "mr") and rest[:1] == ["merge"]:
            merged += [word for word in rest[1:] if not word.startswith("-")][:1]
        elif program_name(words[0]) != "git":
            continue
        elif sub in MAKING:
            commits |= {sha: subject.strip() for _, sha, subject in answer.find(MADE)}
            undone += "--amend" in rest and not has_made
            is_anew = is_anew or "--amend" in rest or sub in ("rebase", "cherry-pick")
            has_made = True
            is_quiet = any(QUIET.fullmatch(word) for word in rest) and "--dry-run" not in rest
            is_silent = is_silent or (sub == "commit" and is_quiet)
        elif sub == "worktree" and rest[:1] == ["add"]:
            worktrees += _worktree(rest[1:])
        elif sub == "reset":
            undone += _steps_back(rest)
        elif sub == "rev-parse" and rest[-1:] == ["HEAD"] and "--abbrev-ref" not in rest:
            commits |= dict.fromkeys(answer.find(HASH), "")
        if "-C" not in words[:at] and BRANCH.fullmatch(told := answer.branch(sub, rest)):
            branch = told
    pulls = dict.fromkeys(PULL_REQUEST.findall(output)) if is_asked else ()
    return Git(
        branch,
        tuple(commits.items()),
        tuple(worktrees),
        is_anew,
        undone,
        tuple(pulls),
        tuple(merged),
        is_silent,
    )


def left_of(parts: list[str], output: str) -> list[str]:
    """Remaining parts of a failed chain: those after its last commit."""
    if len(parts) < 2 or not MADE.search(output):
        return parts
    made = [at for at, part in enumerate(parts) if COMMITS.match(part)]
    return (parts[made[-1] + 1 :] or parts) if made else parts


def _worktree(words: list[str]) -> list[tuple[str, str]]:
    """Path and branch of `git worktree add -b BRANCH PATH`."""
    branch = next((name for option, name in pairwise(words) if option in ("-b", "-B")), "")
    paths = [word for word in words if not word.startswith("-") and word != branch]
    return [(paths[0], branch)] if branch and paths else []


def _steps_back(words: list[str]) -> int:
    """Number of commits that a reset removes; 0 for single files."""
    named = [word for word in words if not word.startswith("-") or word == "--"]
    found = BACK.fullmatch(named[0]) if len(named) == 1 else None
    return (int(found[1]) if found[1] else len(found[2])) if found else 0
