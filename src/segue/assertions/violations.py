"""Prohibitions held against what changed: which were broken, by whom, and what shows it. Pure.

The agent is named only where its own transcript shows the act. All else is only said to have changed since the handoff.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from segue.assertions import lock_files, manifests, ran
from segue.assertions.prohibitions import Ban, Prohibition
from segue.assertions.record import Record
from segue.facts import shell
from segue.fence import one_line
from segue.model import Value
from segue.patterns import lazy_pattern

FEW = 3
DID = {"A": "created", "M": "changed", "D": "deleted or moved"}
VERSION = lazy_pattern(r"(?<=.)(?:@|[=<>~!^\[;: ]).*", re.DOTALL)
"""What may follow a name on a command line that installs it."""
COUNTS = {Ban.TOUCH: "AMD", Ban.EDIT: "MD", Ban.DELETE: "D", Ban.CREATE: "A"}
"""Which changes of a file break a prohibition."""


class Violation(Value, frozen=True):
    """A prohibition that was broken."""

    prohibition: Prohibition
    subjects: tuple[str, ...]
    """The files, the dependencies or the commands."""
    is_by_agent: bool
    """Whether the agent's own transcript shows that it did it."""
    evidence: str
    """In one sentence."""


class Since(Value, frozen=True):
    """What happened since the handoff."""

    names: tuple[str, ...]
    """The files of the worktree at the handoff, relative to its root."""
    changed: Mapping[str, str]
    """The files that differ now: 'A' added, 'M' changed, 'D' deleted."""
    manifests: Mapping[str, tuple[bytes, bytes]] = {}
    """Manifests and lock files: their content then and now."""
    commits: int = 0
    """Number of commits made in this worktree since, and of pushes."""
    pushes: int = 0
    roots: tuple[str, ...] = ("",)
    """The paths of the worktree's root: as it is addressed, and with links resolved."""


def find(
    prohibitions: Iterable[Prohibition], since: Since | None, record: Record, agent: str
) -> tuple[Violation, ...]:
    """The prohibitions that were broken. Without a record of the worktree (`since`), only what the transcript shows to
    be committed or pushed is known."""
    found: list[Violation] = []
    for one in prohibitions:
        if one.ban is Ban.COMMIT or one.ban is Ban.PUSH:
            found += _by_git(one, since, record, agent)
        elif since is not None and one.ban is Ban.DEPENDENCY:
            found += _by_manifest(one, since, record, agent)
        elif since is not None:
            found += _by_file(one, since, record, agent)
    return tuple(found)


# Files


def _by_file(one: Prohibition, since: Since, record: Record, agent: str) -> Iterator[Violation]:
    hit = [path for path in matching(one, since) if since.changed[path] in COUNTS[one.ban]]
    if not hit:
        return
    own = [path for path in hit if _is_touched(path, since, record)]
    shown = own or hit
    states = {since.changed[path] for path in shown}
    did = DID[states.pop()] if len(states) == 1 else "changed or deleted"
    verb = "were" if len(shown) > 1 else "was"
    evidence = (
        f"{agent} {did} {_listed(shown)}: its transcript shows it"
        if own
        else f"{_listed(shown)} {verb} {did} since the handoff; the transcript does not show by whom"
    )
    yield Violation(prohibition=one, subjects=tuple(shown), is_by_agent=bool(own), evidence=evidence)


def matching(one: Prohibition, since: Since) -> list[str]:
    """The changed files that a prohibition is about; none where its path can be of several files."""
    target = posixpath.normpath(one.target.removeprefix("./"))
    changed = list(since.changed)
    if "*" in target:
        parts = [target, f"*/{target}"]
        return [path for path in changed if any(fnmatch.fnmatchcase(path, part) for part in parts)]
    if one.ban is Ban.CREATE:
        return [path for path in changed if path == target]
    if target in since.names:
        return [target] if target in since.changed else []
    if any(name.startswith(target + "/") for name in since.names):
        return [path for path in changed if path.startswith(target + "/")]
    files = [name for name in since.names if name.endswith("/" + target)]
    folders = {
        name[: name.index(f"/{target}/") + 1] + target for name in since.names if f"/{target}/" in name
    }
    if len(files) + len(folders) != 1:
        return []
    if files:
        return files if files[0] in since.changed else []
    [folder] = folders
    return [path for path in changed if path.startswith(folder + "/")]


def _is_touched(path: str, since: Since, record: Record) -> bool:
    """Whether the transcript shows a change of exactly this file. A transcript that names no folder is of the root."""
    wanted = {posixpath.join(root, path) for root in since.roots}
    folder = record.folder or since.roots[0]
    return any(posixpath.normpath(posixpath.join(folder, one.path)) in wanted for one in record.touched)


# Dependencies, commits and pushes


def _by_manifest(one: Prohibition, since: Since, record: Record, agent: str) -> Iterator[Violation]:
    for path, names in _new_dependencies(since):
        own = _is_touched(path, since, record) or _is_installed(names, record)
        more = f"{_listed(names)} in {path}"
        evidence = (
            f"{agent} added {more}: its transcript shows it" if own else f"{more}, new since the handoff"
        )
        yield Violation(prohibition=one, subjects=tuple(names), is_by_agent=own, evidence=evidence)


def _new_dependencies(since: Since) -> list[tuple[str, list[str]]]:
    """By the manifests; a lock file counts only where they list nothing new, and it is not catching up with them."""
    both = {
        path: one for path, one in since.manifests.items() if one[0]
    }  # a new file may list what was in use before
    if listed := [(path, names) for path, one in both.items() if (names := manifests.new_names(path, *one))]:
        return listed
    known = {name for path, (before, _) in both.items() for name in manifests.names(path, before) or ()}
    locked = [
        (path, lock_files.new_names(path, *one))
        for path, one in both.items()
        if lock_files.is_lock_file(path)
    ]
    return [
        (path, names)
        for path, names in locked
        if names and not known & {manifests.plain(one) for one in names}
    ]


def _is_installed(names: Iterable[str], record: Record) -> bool:
    """Whether a command of the transcript added one of these dependencies by name."""
    wanted = {manifests.plain(name) for name in names}
    installs = (run for run in record.runs if run.is_done and run.purpose == "install")
    words = (word for run in installs for part, _ in shell.programs(run.command) for word in part[1:])
    return any(manifests.plain(VERSION.sub("", word)) in wanted for word in words)


def _by_git(one: Prohibition, since: Since | None, record: Record, agent: str) -> Iterator[Violation]:
    word = "commit" if one.ban is Ban.COMMIT else "push"
    shown = [run.command for run in record.runs if run.is_done and ran.runs_git(run.command, word)]
    made = (since.commits if one.ban is Ban.COMMIT else since.pushes) if since else 0
    if shown:
        command = one_line(shown[-1], 120)
        yield Violation(
            prohibition=one, subjects=(command,), is_by_agent=True, evidence=f"{agent} ran `{command}`"
        )
    elif made:
        count = f"{made} {word}" if made == 1 else f"{made} {word}{'es' if word == 'push' else 's'}"
        yield Violation(
            prohibition=one,
            subjects=(count,),
            is_by_agent=False,
            evidence=f"{count} since the handoff; the transcript does not show by whom",
        )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(names[:FEW]) + more


def in_words(violation: Violation) -> str:
    """A violation in a line: the user's words, and what shows that they were not followed."""
    return f'The user said "{one_line(violation.prohibition.sentence, 200)}": {one_line(violation.evidence, 240)}'
