"""Prohibitions held against what changed: which were broken, by whom, and what shows it. Pure.

The agent is named only where its own transcript shows the act. All else is only said to have changed since the handoff.
Commits and pushes that no transcript shows break no prohibition: they are mostly the user's own.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from segue.assertions import check_runs
from segue.assertions.evidence import Record, Touched
from segue.base.fence import one_line
from segue.base.lazy_regex import lazy_pattern
from segue.model import Value
from segue.prohibitions import lock_files, manifests
from segue.prohibitions.parse import Ban, Prohibition
from segue.shell import commands

FEW = 3
UNSEEN = "the transcript does not show by whom"
WRITTEN = "W"
"""The state of a file that no tree holds: the transcript shows that it was written, not whether it was there before."""
DID = {"A": "created", "M": "changed", "D": "deleted or moved", WRITTEN: "wrote"}
VERSION = lazy_pattern(r"(?<=.)(?:@|[=<>~!^\[;: ]).*", re.DOTALL)
"""What may follow a name on a command line that installs it."""
COUNTS = {Ban.TOUCH: "AMD", Ban.EDIT: "MD", Ban.DELETE: "D", Ban.CREATE: "A"}
"""Which changes of a file break a prohibition."""
WORDS = {Ban.COMMIT: "commit", Ban.PUSH: "push"}
"""What git is told to do."""


class Violation(Value, frozen=True):
    """A prohibition that was broken."""

    prohibition: Prohibition
    subjects: tuple[str, ...]
    """The files, the dependencies or the commands."""
    is_by_agent: bool
    """Whether the agent's own transcript shows that it did it."""
    evidence: str
    """In one sentence."""


class Said(Value, frozen=True):
    """When the user said something."""

    entry: int = 0
    """Its place in the transcript; 0 if it was said before the agent got the work."""
    at: float = 0.0


class Since(Value, frozen=True):
    """What happened since an agent got the work. Ignored files are not in it, and without git no file is."""

    event: str = "the handoff"
    """How it got the work."""
    names: tuple[str, ...] = ()
    """The files of the worktree then, relative to its root."""
    changed: Mapping[str, str] = {}
    """The files that differ now: 'A' added, 'M' changed, 'D' deleted."""
    manifests: Mapping[str, tuple[bytes, bytes]] = {}
    """Manifests and lock files: their content then and now."""
    commits: tuple[int, ...] | None = None
    """When commits were made in this worktree since, in whole seconds; None where git's reference logs tell nothing."""
    pushes: tuple[int, ...] = ()
    said: tuple[Said, ...] = ()
    """The user's messages; those that are missing are from before."""
    roots: tuple[str, ...] = ("",)
    """The paths of the worktree's root: as it is addressed, and with links resolved."""

    def beginning(self, one: Prohibition) -> Said:
        """When a prohibition began to hold."""
        return self.said[one.since] if one.since < len(self.said) else Said()


def find(
    prohibitions: Iterable[Prohibition], since: Since, record: Record, agent: str
) -> tuple[Violation, ...]:
    """The prohibitions that were broken."""
    found: list[Violation] = []
    for one in prohibitions:
        if one.ban in WORDS:
            found += _by_git(one, since, record, agent)
        elif one.ban is Ban.DEPENDENCY:
            found += _by_manifest(one, since, record, agent)
        else:
            found += _by_file(one, since, record, agent)
    return tuple(found)


def unattributed(prohibitions: Iterable[Prohibition], since: Since, record: Record) -> tuple[str, ...]:
    """Commits and pushes that the user forbade and that only git's reference logs show."""
    found = []
    for one in prohibitions:
        word, times = WORDS.get(one.ban, ""), since.commits if one.ban is Ban.COMMIT else since.pushes
        count = sum(at >= since.beginning(one).at for at in times or ())
        if word and count and not one.target and not _commands(one, since, record):
            noun = word if count == 1 else f"{word}{'es' if one.ban is Ban.PUSH else 's'}"
            found.append(f"made since {since.event}: {count} {noun} ({UNSEEN})")
    return tuple(found)


# Files


def _by_file(one: Prohibition, since: Since, record: Record, agent: str) -> Iterator[Violation]:
    entry = since.beginning(one).entry
    touched = _touched(since, record.after(entry))
    # What no tree holds, such as an ignored file, is known by the transcript alone.
    unlisted = {path: state for path, state in touched.items() if path not in since.names}
    changed = {**unlisted, **since.changed}
    if entry:
        changed = _changed_late(changed, touched, _touched(since, record.before(entry)), since)
    hit = [path for path in matching(one, since, changed, record.folder) if _counts(one, path, changed[path])]
    if not hit:
        return
    own = [path for path in hit if path in touched]
    shown = own or hit
    states = {changed[path] for path in shown}
    did = DID[states.pop()] if len(states) == 1 else "changed or deleted"
    verb = "were" if len(shown) > 1 else "was"
    evidence = (
        f"{agent} {did} {_listed(shown)}: its transcript shows it"
        if own
        else f"{_listed(shown)} {verb} {did} since {since.event}; {UNSEEN}"
    )
    yield Violation(prohibition=one, subjects=tuple(shown), is_by_agent=bool(own), evidence=evidence)


def _changed_late(
    changed: Mapping[str, str], touched: Mapping[str, str], before: Mapping[str, str], since: Since
) -> dict[str, str]:
    """The changed files that the transcript shows to be touched since an entry, each with its state. Of one that was
    touched before too, the snapshots do not tell what was done when."""
    late = {path: state for path, state in changed.items() if path in touched}
    for path in late.keys() & before.keys():
        late[path] = "M" if touched[path] == WRITTEN and path in since.names else touched[path]
    return late


def _counts(one: Prohibition, path: str, state: str) -> bool:
    """Whether a change of a file breaks a prohibition."""
    if state == WRITTEN:  # in a folder or by a glob it may be a new file
        return one.ban is Ban.TOUCH or (one.ban is Ban.EDIT and path == posixpath.normpath(one.target))
    return state in COUNTS[one.ban]


def matching(one: Prohibition, since: Since, changed: Iterable[str], folder: str = "") -> list[str]:
    """The changed files that a prohibition is about; none where its path can be of several files. A path is looked up
    in the folder of the conversation, in the root, and then in any one folder."""
    own = _below(folder, since.roots)
    here, top = (posixpath.normpath(posixpath.join(at, one.target)) for at in (own, ""))
    if one.ban is Ban.CREATE:
        return [path for path in changed if path == here]
    end = "(?:/.*)?" if "*" not in top or one.target.endswith("/") else ""
    if "*" in top and "/" not in top:
        found = [_translated(posixpath.join(own, "**", top))]
    elif not (found := [at for at in {_translated(here), _translated(top)} if _any(at + end, since.names)]):
        within = re.compile(f"(.+?)/{_translated(top)}{end}")
        bases = {base[1] for name in since.names if (base := within.fullmatch(name))}
        found = [f"{re.escape(base)}/{_translated(top)}" for base in bases] or [_translated(here)]
    return _any(found[0] + end, changed) if len(found) == 1 else []


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


def _touched(since: Since, record: Record) -> dict[str, str]:
    """The files of the worktree that the transcript shows to be changed, relative to its root, each with its state.
    A transcript that names no folder is of the root."""
    return {
        inside: "D" if one.is_deleted else WRITTEN
        for one in record.touched
        for inside in _inside(one, since, record)
    }


def _inside(one: Touched, since: Since, record: Record) -> list[str]:
    """The path of a file that was touched, relative to the root; none outside of it."""
    path = posixpath.normpath(posixpath.join(record.folder or since.roots[0], one.path))
    inside = (path.removeprefix(root + "/") if root else path for root in since.roots)
    return [one for one in inside if not one.startswith(("/", "../"))]


# Dependencies, commits and pushes


def _by_manifest(one: Prohibition, since: Since, record: Record, agent: str) -> Iterator[Violation]:
    entry = since.beginning(one).entry
    for path, names in _new_dependencies(since):
        own = [name for name in names if manifests.plain(name) in _added_in(path, since, record, entry)]
        if entry and not own:
            continue  # it may have been added before that was said
        more = f"{_listed(own or names)} in {path}"
        verb = "were" if len(own or names) > 1 else "was"
        evidence = (
            f"{agent} added {more}: its transcript shows it"
            if own
            else f"{more} {verb} added since {since.event}; {UNSEEN}"
        )
        yield Violation(
            prohibition=one, subjects=tuple(own or names), is_by_agent=bool(own), evidence=evidence
        )


def _new_dependencies(since: Since) -> list[tuple[str, list[str]]]:
    """By the manifests; a lock file counts only where they list nothing new, and it is not catching up with them."""
    # A new file may list what was in use before, and so may one that a name was moved to.
    both = {path: one for path, one in since.manifests.items() if one[0]}
    listed_before = {
        name for path, (before, _) in both.items() for name in manifests.names(path, before) or ()
    }
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


def _added_in(path: str, since: Since, record: Record, entry: int) -> set[str]:
    """The names that the transcript shows to be added to a manifest since an entry, and not before."""
    shown, before = (_installed(one) | _edited_in(path, since, one) for one in (record, record.before(entry)))
    return shown - before


def _installed(record: Record) -> set[str]:
    """The names in the commands of the transcript that install something."""
    installs = (run for run in record.runs if run.is_done and run.purpose == "install")
    words = (word for run in installs for part, _ in commands.programs(run.command) for word in part[1:])
    return {manifests.plain(VERSION.sub("", word)) for word in words}


def _edited_in(path: str, since: Since, record: Record) -> set[str]:
    """The names that a manifest lists with the edits of the transcript, and did not list before."""
    before = since.manifests[path][0]
    text = before.decode(errors="replace")
    for one in record.touched:
        if path in _inside(one, since, record):
            for change in one.changes:
                times = -1 if change.is_everywhere else 1
                text = text.replace(change.old, change.new, times) if change.old else text
    return set(manifests.new_names(path, before, text.encode(errors="replace")))


def _by_git(one: Prohibition, since: Since, record: Record, agent: str) -> Iterator[Violation]:
    if shown := _commands(one, since, record):
        command = shown[-1]
        yield Violation(
            prohibition=one, subjects=(command,), is_by_agent=True, evidence=f"{agent} ran `{command}`"
        )


def _commands(one: Prohibition, since: Since, record: Record) -> list[str]:
    """The commands that do with git what a prohibition forbids, unless git's reference logs show no commit since."""
    said = since.beginning(one)
    if (
        one.ban is Ban.COMMIT
        and since.commits is not None
        and not any(at >= int(said.at) for at in since.commits)
    ):
        return []
    return [
        run.command
        for run in record.after(said.entry).runs
        if run.is_done
        and _is_here(run.folder, since.roots)
        and check_runs.runs_git(run.command, WORDS[one.ban], one.target)
    ]


def _is_here(folder: str, roots: Iterable[str]) -> bool:
    """Whether a command ran in the worktree; where the transcript tells no folder, it did."""
    path = posixpath.normpath(folder) + "/"
    return not folder or any(path.startswith(root.rstrip("/") + "/") for root in roots)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(names[:FEW]) + more


def in_words(violation: Violation) -> str:
    """A violation in a line: the user's words, and what shows that they were not followed."""
    return f'The user said "{one_line(violation.prohibition.sentence, 200)}": {one_line(violation.evidence, 240)}'
