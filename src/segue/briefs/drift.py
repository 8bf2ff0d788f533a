"""Differences between a worktree and what a transcript says of it: branch, commits, files. Pure.

Between the last entry of a transcript and the handoff, people commit, switch branches and edit. The brief reports
each difference on a line. Nothing is guessed: a file is called unchanged only if the transcript shows its content.

A line may contain a path or the subject of a commit, so it is data and inside the fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

import msgspec

from segue.base import clock
from segue.base.clock import Moment
from segue.base.fence import one_line
from segue.model import Fact, Hash, Value

MOST = 20
"""At most this many lines in a brief; the last one counts the rest."""
MOST_PATHS = 300
"""At most this many files are checked: the last ones that were touched."""
NAMED = 5
"""At most this many commits or files are named on a line."""
LONGEST_NAME = 120
LONGEST_SUBJECT = 80
SHORT = 10
"""This many digits identify a commit."""
SETTLED_SECONDS = 5
"""What an agent started may still write for this long after the last entry."""

_COMMIT = re.compile(r"[0-9a-f]{7,64}")
DETACHED = "HEAD"
"""Some agents use this as the branch if none is checked out."""


class Standing(StrEnum):
    """The position of a commit relative to the one that is checked out."""

    NOT_ASKED = "not asked"
    SAME = "same"
    BEHIND = "behind"
    """In the history of what is checked out, with later commits."""
    APART = "apart"
    """In the repository, but not in that history."""
    ABSENT = "absent"


class Commit(Value, frozen=True):
    id: str
    subject: str


class Changed(Value, frozen=True):
    """A file with uncommitted changes."""

    path: str
    """Relative to the root of the repository."""
    is_tracked: bool = True
    changed_at: Moment | None = None
    """None for a deleted file."""


class Seen(Value, frozen=True):
    """A file that the facts name, as found in the worktree."""

    name: str = ""
    """Its path, relative to the root of the repository."""
    is_there: bool = True
    is_folder: bool = False
    hashes: tuple[Hash, ...] = ()
    """Of its content, in every way that a transcript may record it; empty if it was not read."""
    changed_at: Moment | None = None


class Wanted(Value, frozen=True):
    """What to inspect in a worktree, according to the facts."""

    folder: str = ""
    """The folder that paths are relative to."""
    commit: str = ""
    paths: tuple[str, ...] = ()
    hashed: frozenset[str] = frozenset()
    """The paths whose content the facts record."""


class State(Value, frozen=True):
    is_repository: bool = False
    branch: str = ""
    """Empty if none is checked out."""
    head: str = ""
    standing: Standing = Standing.NOT_ASKED
    """Of the commit in the facts."""
    commits: tuple[Commit, ...] = ()
    """The commits since then, or that it lacks, newest first."""
    changed: tuple[Changed, ...] = ()
    files: dict[str, Seen] = msgspec.field(default_factory=dict)
    """By path as in the facts; without files outside the project."""
    problem: str = ""
    """Why branch, commits and changes could not be inspected."""


class Difference(Value, frozen=True):
    kind: str
    """The kind of the outdated fact: 'branch', 'commit' or 'file'; 'worktree' if there is no such fact."""
    subject: str
    text: str

    def __str__(self) -> str:
        return self.text


def wanted(facts: Sequence[Fact]) -> Wanted:
    """What to inspect so that these facts can be compared."""
    files = sorted((fact for fact in facts if fact.kind == "file"), key=lambda fact: fact.n, reverse=True)
    last = _last_commit(facts)
    return Wanted(
        folder=next((fact.value for fact in reversed(facts) if fact.kind == "folder"), ""),
        commit=last.subject if last else "",
        paths=tuple(dict.fromkeys(fact.subject for fact in files))[:MOST_PATHS],
        hashed=frozenset(fact.subject for fact in files if fact.hash),
    )


def compare(facts: Sequence[Fact], now: State, since: Moment | None = None) -> tuple[Difference, ...]:
    """The differences from the facts, most important first. With `since`, the end of the transcript, files count as
    changed even if the facts do not record their content."""
    ended = clock.later(since, SETTLED_SECONDS) if since else None
    found = [
        *_repository(facts, now),
        *_files(facts, now, ended),
        *_unnamed(now, ended),
    ]
    if len(found) <= MOST:
        return tuple(found)
    left = len(found) - MOST + 1
    return (*found[: MOST - 1], Difference(kind="worktree", subject="", text=f"and {left} more differences"))


# Branch and commits


def _repository(facts: Sequence[Fact], now: State) -> Iterator[Difference]:
    branch = next((fact.value for fact in reversed(facts) if fact.kind == "branch"), "")
    commit = _last_commit(facts)
    told = [f"branch was {_name(branch)}"] if branch else []
    told += [f"the last commit was {commit.subject[:SHORT]}"] if commit else []
    if told and now.problem:
        yield Difference(kind="worktree", subject="", text=one_line(now.problem, 2 * LONGEST_NAME))
    elif told and not now.is_repository:
        yield Difference(
            kind="branch", subject=branch, text=f"this is not a git repository; {', '.join(told)}"
        )
    elif told:
        yield from _branch(branch, now)
        yield from _commits(commit, now) if commit else ()


def _branch(was: str, now: State) -> Iterator[Difference]:
    told = "" if was == DETACHED else was
    if not was or told == now.branch:
        return
    before = _name(told) if told else "none"
    is_now = f"branch is now {_name(now.branch)}"
    if not now.branch:
        is_now = f"no branch is checked out now (detached at {now.head[:SHORT]})"
    yield Difference(kind="branch", subject=was, text=f"{is_now}, was {before}")


def _last_commit(facts: Sequence[Fact]) -> Fact | None:
    """The last commit that was made or asked for. One that was merely mentioned may be any."""
    found = [
        fact
        for fact in facts
        if fact.kind == "commit" and fact.value != "mentioned" and _COMMIT.fullmatch(fact.subject)
    ]
    return max(found, key=lambda fact: fact.n, default=None)


def _commits(commit: Fact, now: State) -> Iterator[Difference]:
    id = commit.subject[:SHORT]
    here = _name(now.branch) if now.branch else "what is checked out"
    listed = _listed(
        [
            f"{one_line(one.id[:SHORT], SHORT)} {one_line(one.subject, LONGEST_SUBJECT)}"
            for one in now.commits
        ],
        "; ",
    )
    count = f"{len(now.commits)} commit{'s' * (len(now.commits) != 1)}"
    match now.standing:
        case Standing.BEHIND:
            text = f"{count} since {id}: {listed}"
        case Standing.APART if now.commits:
            text = f"commit {id} is not part of {here}, which has {count} that it lacks: {listed}"
        case Standing.APART:
            text = f"commit {id} is not part of {here}, which is behind it"
        case Standing.ABSENT:
            text = f"commit {id} is not in this repository"
        case _:
            return
    yield Difference(kind="commit", subject=commit.subject, text=text)


# Files


def _files(facts: Sequence[Fact], now: State, ended: Moment | None) -> list[Difference]:
    """Missing files, then changed files, then files that exist again; each by last touch, newest first."""
    found: list[tuple[int, int, Difference]] = []
    for fact in facts:
        seen = now.files.get(fact.subject) if fact.kind == "file" else None
        if seen is None:
            continue
        rank, what = _told(fact, seen, ended)
        if what:
            text = (
                f"{_name(seen.name if fact.subject.startswith('/') and seen.name else fact.subject)} {what}"
            )
            found.append((rank, -fact.n, Difference(kind="file", subject=fact.subject, text=text)))
    return [difference for _, _, difference in sorted(found, key=lambda item: item[:2])]


def _told(fact: Fact, seen: Seen, ended: Moment | None) -> tuple[int, str]:
    """How a file differs, with its rank; empty if it does not, or if that is unknown."""
    if fact.value == "deleted":
        return (2, "exists again: it had been deleted") if seen.is_there and not seen.is_folder else (0, "")
    if not seen.is_there:
        return 0, "is gone"
    if fact.hash and seen.hashes:
        is_other = fact.hash not in seen.hashes
        return 1, "has changed since: its content differs from the recorded one" if is_other else ""
    if ended and seen.changed_at and seen.changed_at > ended and not seen.is_folder:
        return 1, "has changed since: it was written after the last entry"
    return 0, ""


def _unnamed(now: State, ended: Moment | None) -> Iterator[Difference]:
    """Uncommitted changes that no fact mentions. Without the end of the transcript, new files are skipped: some are
    old."""
    named = {seen.name for seen in now.files.values()}
    others = []
    for one in now.changed:
        is_late = ended is None or one.changed_at is None or one.changed_at > ended
        is_named = one.path in named or (
            one.path.endswith("/") and any(name.startswith(one.path) for name in named)
        )
        if not is_named and is_late and (one.is_tracked or ended is not None):
            others.append(one.path)
    if others:
        told = _listed([_name(path) for path in others], ", ")
        yield Difference(kind="worktree", subject="", text=f"also changed, not committed: {told}")


def _listed(items: list[str], between: str) -> str:
    more = f" and {len(items) - NAMED} more" if len(items) > NAMED else ""
    return between.join(items[:NAMED]) + more


def _name(text: str) -> str:
    return one_line(text, LONGEST_NAME)
