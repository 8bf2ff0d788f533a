"""Assertions held against the world: supported, unsupported, or not to be told, each with its evidence.

Only what the world contradicts is unsupported, and what must have left a trace and did not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from segue.assertions import check_runs
from segue.assertions.assertion import Assertion, Checked, Kind, Verdict, World
from segue.assertions.evidence import Touched
from segue.base.text import begun

Found = tuple[Verdict, str]
YES, NO, OPEN = Verdict.SUPPORTED, Verdict.UNSUPPORTED, Verdict.UNKNOWN
FEW = 3


def judge(assertions: Iterable[Assertion], world: World) -> tuple[Checked, ...]:
    """Each assertion with what the world says to it."""
    found = []
    for assertion in assertions:
        verdict, evidence = JUDGES[assertion.kind](assertion, world)
        found.append(Checked(assertion=assertion, verdict=verdict, evidence=evidence))
    return tuple(found)


# Files


def _touched(path: str, world: World) -> list[Touched]:
    """What the transcript shows was done to a file, by any of the names that it may have there."""
    return [one for one in world.record.touched if is_same(one.path, path, world.record.folder)]


def is_same(path: str, other: str, folder: str = "") -> bool:
    """Whether two names can be of one file: one may be told from further up than the other."""
    a, b = (name.removeprefix(folder.rstrip("/") + "/") if folder else name for name in (path, other))
    a, b = a.strip("/"), b.strip("/")
    return a == b or a.endswith("/" + b) or b.endswith("/" + a)


def _changed(assertion: Assertion, world: World) -> Found:
    path = assertion.subject
    touched, seen = _touched(path, world), world.file(path)
    if seen.names:
        if touched:
            return YES, "the transcript shows that it was written"
        if seen.is_changed is None:
            return OPEN, "it is there, and nothing tells when it was changed"
        if seen.is_changed:
            return YES, "it was changed since the work was handed over"
        return (
            NO,
            f"it is as it was: neither the repository nor the transcript shows a change of it{_last(world)}",
        )
    if touched and touched[-1].is_deleted:
        return OPEN, "the transcript shows that it was written, and that it is gone since"
    if touched:
        return OPEN, "the transcript shows that it was written; it is not there now"
    if seen.is_outside:
        return OPEN, "it lies outside of this worktree"
    if seen.is_gone:
        return OPEN, "it was deleted since the work was handed over"
    return NO, f"there is no such file, and the transcript shows no write of it{_last(world)}"


def _last(world: World) -> str:
    last = next((one.path for one in reversed(world.record.touched) if not one.is_deleted), "")
    return f"; the last that it shows is of {last}" if last else ""


def _deleted(assertion: Assertion, world: World) -> Found:
    touched, seen = _touched(assertion.subject, world), world.file(assertion.subject)
    is_shown = any(one.is_deleted for one in touched)
    if seen.names:
        if is_shown and ("/" not in assertion.subject or len(seen.names) > 1):
            return YES, "the transcript shows that one of that name was deleted"
        return NO, f"it is still there ({seen.names[0]})"
    if is_shown or seen.is_gone:
        return YES, "it is gone"
    return OPEN, "there is no such file, and nothing shows that there was one"


def _path(assertion: Assertion, world: World) -> Found:
    seen = world.file(assertion.subject)
    if seen.names:
        return YES, f"it is there ({seen.names[0]})"
    if seen.is_outside:
        return OPEN, "it lies outside of this worktree"
    if seen.is_gone or _touched(assertion.subject, world):
        return OPEN, "it was there"
    if world.record.shows(assertion.subject):
        return OPEN, "it is not in this worktree, but the transcript shows that name"
    if not assertion.is_exact:
        return OPEN, "there is none here, and it may be one that a program makes"
    return NO, "there is no such file in this worktree"


# Denials. What was done after it was said does not contradict it


def _untouched(assertion: Assertion, world: World) -> Found:
    seen = world.file(assertion.subject)
    own = [one for one in _touched(assertion.subject, world) if one.n <= assertion.n]
    if own and len(seen.names) <= 1 and seen.is_changed is not False:
        return (
            NO,
            f"the transcript shows that {own[-1].path} was {'deleted' if own[-1].is_deleted else 'written'}",
        )
    if seen.names and seen.is_changed is False:
        return YES, "it is as it was"
    return OPEN, "nothing shows whether it was changed, or by whom"


def _nothing_changed(assertion: Assertion, world: World) -> Found:
    own = [
        one.path
        for one in world.record.touched
        if one.n <= assertion.n and not one.path.startswith(("/", ".."))
    ]
    if own and world.file(own[-1]).is_changed:
        return NO, f"the transcript shows that {own[-1]} was written"
    return OPEN, "nothing shows whether a file was changed, or by whom"


def _no_commit(assertion: Assertion, world: World) -> Found:
    made = [
        run
        for run in world.record.runs
        if run.n <= assertion.n and run.is_done and check_runs.runs_git(run.command, "commit")
    ]
    if made:
        return NO, f"the transcript shows `{begun(' '.join(made[-1].command.split()), 80)}`"
    return (
        (YES, "no commit was made since the work was handed over")
        if world.commit("") is False
        else (
            OPEN,
            "nothing shows whether a commit was made, or by whom",
        )
    )


# Symbols


def _symbol(assertion: Assertion, world: World) -> Found:
    name, place = assertion.subject, assertion.place
    if place and assertion.is_exact and (names := world.file(place).names):
        inside = world.holding(name, names)
        if inside is None:
            return OPEN, "the files could not be searched"
        if inside:
            return YES, f"{inside[0]} has it"
        others = world.holding(name) or ()
        where = f"; it stands in {', '.join(others[:FEW])}" if others else ", nor is it in any other file"
        return NO, f"{place} has no '{name}' in it{where}"
    found = world.holding(name)
    if found is None:
        return OPEN, "the files could not be searched"
    if found:
        return YES, f"{found[0]} has it"
    if assertion.kind is Kind.SYMBOL and world.record.shows(name):
        return OPEN, "no file of this worktree has it, but the transcript shows that name"
    return NO, f"no file of this worktree has '{name}' in it"


# The rest


def _commit(assertion: Assertion, world: World) -> Found:
    sha, record = assertion.subject, world.record
    is_there = world.commit(sha)
    if is_there:
        return YES, "the repository has it" if sha else "a commit was made since the work was handed over"
    told = [one for one, _ in record.commits if not sha or one.startswith(sha) or sha.startswith(one)]
    if told or (
        not sha
        and any(run.is_done and "git" in run.command and "commit" in run.command for run in record.runs)
    ):
        return YES, "the transcript shows it being made"
    if is_there is None or record.has_delegated:
        return OPEN, "the repository could not be asked for it"
    return (
        NO,
        "the repository has no such commit" if sha else "no commit was made since the work was handed over",
    )


def _output(assertion: Assertion, world: World) -> Found:
    lines = [
        line
        for line in assertion.subject.split("\n")
        if any(map(str.isalnum, line)) and line.strip(" .…") != ""
    ]
    lines = [line for line in lines if not line.strip().startswith(("...", "…", "["))] or lines
    lines = [line for line in lines if not line.strip().startswith(("$ ", "> ", "% "))]
    if not lines:
        return OPEN, "it quotes a command and nothing that came of it"
    shown = sum(world.record.shows(line.strip().rstrip(".…")) for line in lines)
    if lines and shown == len(lines):
        return YES, "the transcript has it as a result"
    if not assertion.is_exact:
        return OPEN, "it may tell what a program would say"
    if world.record.has_delegated:
        return OPEN, "a sub-agent may have seen it"
    if shown >= len(lines) * 0.7:
        return OPEN, f"of its {len(lines)} lines the transcript has {shown} as results"
    said = begun(" ".join(assertion.subject.split()), 60)
    if len(lines) > 1:
        return NO, f"of its {len(lines)} lines the transcript has {shown} as results"
    return NO, f"no result in the transcript has '{said}' in it"


JUDGES: dict[Kind, Callable[[Assertion, World], Found]] = {
    Kind.CREATED: _changed,
    Kind.CHANGED: _changed,
    Kind.DELETED: _deleted,
    Kind.PATH: _path,
    Kind.ADDED: _symbol,
    Kind.SYMBOL: _symbol,
    Kind.TESTS: check_runs.tests,
    Kind.TEST: check_runs.test,
    Kind.COMMAND: check_runs.command,
    Kind.CHECK: check_runs.check,
    Kind.COMMIT: _commit,
    Kind.OUTPUT: _output,
    Kind.UNTOUCHED: _untouched,
    Kind.NOTHING_CHANGED: _nothing_changed,
    Kind.NO_COMMIT: _no_commit,
}
