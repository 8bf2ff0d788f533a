"""Prohibitions held against what changed: which were broken, by whom, and what shows it. Pure.

The agent is named only where its own transcript shows the act. All else is only said to have changed since the handoff.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from segue.assertions import lock_files, manifests
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
    hit = [path for path in matching(one, since, record.folder) if since.changed[path] in COUNTS[one.ban]]
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


def matching(one: Prohibition, since: Since, folder: str = "") -> list[str]:
    """The changed files that a prohibition is about; none where its path can be of several files. A path is looked up
    in the folder of the conversation, in the root, and then in any one folder."""
    own = _below(folder, since.roots)
    here, top = (posixpath.normpath(posixpath.join(at, one.target)) for at in (own, ""))
    if one.ban is Ban.CREATE:
        return [path for path in since.changed if path == here]
    end = "(?:/.*)?" if "*" not in top or one.target.endswith("/") else ""
    if "*" in top and "/" not in top:
        found = [_translated(posixpath.join(own, "**", top))]
    elif not (found := [at for at in {_translated(here), _translated(top)} if _any(at + end, since.names)]):
        within = re.compile(f"(.+?)/{_translated(top)}{end}")
        bases = {base[1] for name in since.names if (base := within.fullmatch(name))}
        found = [f"{re.escape(base)}/{_translated(top)}" for base in bases]
    return _any(found[0] + end, since.changed) if len(found) == 1 else []


def _below(folder: str, roots: Iterable[str]) -> str:
    """A folder as seen from the root of the worktree; empty where it is the root, or outside."""
    known = (root.rstrip("/") + "/" for root in roots if root)
    return next((folder.removeprefix(root) for root in known if folder.startswith(root)), "")


def _translated(target: str) -> str:
    """A path or glob as a pattern: only `**` crosses folders."""
    pattern = re.escape(target).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*")
    return re.sub(r"\\\*", "[^/]*", pattern)


def _any(pattern: str, paths: Iterable[str]) -> list[str]:
    return [path for path in paths if re.fullmatch(pattern, path)]


def _is_touched(path: str, since: Since, record: Record) -> bool:
    """Whether the transcript shows a change of exactly this file. A transcript that names no folder is of the root."""
    wanted = {posixpath.join(root, path) for root in since.roots}
    folder = record.folder or since.roots[0]
    return any(posixpath.normpath(posixpath.join(folder, one.path)) in wanted for one in record.touched)


# Dependencies, commits and pushes


def _by_manifest(one: Prohibition, since: Since, record: Record, agent: str) -> Iterator[Violation]:
    for path, names in _new_dependencies(since):
        shown = _installed(record) | _edited_in(path, since, record)
        own = [name for name in names if manifests.plain(name) in shown]
        more = f"{_listed(own or names)} in {path}"
        evidence = (
            f"{agent} added {more}: its transcript shows it" if own else f"{more}, new since the handoff"
        )
        yield Violation(
            prohibition=one, subjects=tuple(own or names), is_by_agent=bool(own), evidence=evidence
        )


def _new_dependencies(since: Since) -> list[tuple[str, list[str]]]:
    """By the manifests; a lock file counts only where they list nothing new, and it is not catching up with them."""
    # A new file may list what was in use before, and so may one that a name was moved to.
    both = {path: one for path, one in since.manifests.items() if one[0]}
    listed_before = {name for path, (before, _) in both.items() for name in manifests.names(path, before)}
    locked_before = {name for path, (before, _) in both.items() for name in lock_files.names(path, before)}
    listed = [
        (
            path,
            [name for name in manifests.new_names(path, *one) if name not in listed_before | locked_before],
        )
        for path, one in both.items()
        if manifests.is_manifest(path)
    ]
    if any(names for _, names in listed):
        return [(path, names) for path, names in listed if names]
    locked = [
        (path, lock_files.new_names(path, *one))
        for path, one in both.items()
        if lock_files.is_lock_file(path)
    ]
    return [
        (path, names)
        for path, names in locked
        if names and not listed_before & {manifests.plain(one) for one in names}
    ]


def _installed(record: Record) -> set[str]:
    """The names in the commands of the transcript that install something."""
    installs = (run for run in record.runs if run.is_done and run.purpose == "install")
    words = (word for run in installs for part, _ in shell.programs(run.command) for word in part[1:])
    return {manifests.plain(VERSION.sub("", word)) for word in words}


def _edited_in(path: str, since: Since, record: Record) -> set[str]:
    """The names that a manifest lists with the edits of the transcript, and did not list before."""
    before = since.manifests[path][0]
    text = before.decode(errors="replace")
    for one in record.touched:
        if one.changes and _is_touched(path, since, msgspec.structs.replace(record, touched=(one,))):
            for change in one.changes:
                times = -1 if change.is_everywhere else 1
                text = text.replace(change.old, change.new, times) if change.old else text
    return set(manifests.new_names(path, before, text.encode(errors="replace")))


def _by_git(one: Prohibition, since: Since | None, record: Record, agent: str) -> Iterator[Violation]:
    word = "commit" if one.ban is Ban.COMMIT else "push"
    shown = [run.command for run in record.runs if run.is_done and _does(run.command, word)]
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


def _does(command: str, word: str) -> bool:
    """Whether a command certainly commits to, or pushes, this repository."""
    programs = [words for words, _ in shell.programs(command)]
    if "||" in command or any(
        words[0] in ("cd", "pushd") or words[:2] == ["git", "init"] for words in programs
    ):
        return False  # it may not have run, or have been about another repository
    return any(_subcommand(words) == word and not _is_trial(words, word) for words in programs)


def _is_trial(words: Sequence[str], word: str) -> bool:
    return bool({"--dry-run", "--help", "-h"} & set(words)) or (word == "push" and "-n" in words)


def _subcommand(words: Sequence[str]) -> str:
    """What git is to do; empty where it is another program, or another repository is named."""
    if shell.program_name(words[0]) != "git":
        return ""
    rest = iter(words[1:])
    for one in rest:
        if one == "-c":
            next(rest, "")
        elif one == "-C" or one.startswith(("--git-dir", "--work-tree")):
            return ""
        elif not one.startswith("-"):
            return one
    return ""


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(names[:FEW]) + more


def in_words(violation: Violation) -> str:
    """A violation in a line: the user's words, and what shows that they were not followed."""
    return f'The user said "{one_line(violation.prohibition.sentence, 200)}": {one_line(violation.evidence, 240)}'
