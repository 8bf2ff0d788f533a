"""Judge assertions against the world: supported, unsupported or unknown, each with its evidence.

An assertion is unsupported only if the world contradicts it, or if it must have left a trace and did not.
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
OUTSIDE = "it is outside this worktree"
NO_COMMIT = "no commit was made after the work was handed over"


def judge(assertions: Iterable[Assertion], world: World) -> tuple[Checked, ...]:
    """Each assertion with its verdict and evidence."""
    found = ((assertion, *JUDGES[assertion.kind](assertion, world)) for assertion in assertions)
    return tuple(Checked(assertion=one, verdict=verdict, evidence=why) for one, verdict, why in found)


# Files


def _touched(path: str, world: World) -> list[Touched]:
    """The changes of a file that the transcript shows, under any of its names."""
    return [one for one in world.record.touched if is_same(one.path, path, world.record.folder)]


def is_same(path: str, other: str, folder: str = "") -> bool:
    """Whether two paths may name the same file: one may be relative to a folder further up."""
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
            return OPEN, "it exists, but nothing shows when it was changed"
        if seen.is_changed:
            return YES, "it was changed after the work was handed over"
        return (
            NO,
            f"it is unchanged: neither the repository nor the transcript shows a change{_last(world)}",
        )
    if touched and touched[-1].is_deleted:
        return OPEN, "the transcript shows that it was written and later deleted"
    if touched:
        return OPEN, "the transcript shows that it was written, but it does not exist now"
    if seen.is_outside:
        return OPEN, OUTSIDE
    if seen.is_gone:
        return OPEN, "it was deleted after the work was handed over"
    return NO, f"there is no such file, and the transcript does not show that it was written{_last(world)}"


def _last(world: World) -> str:
    last = next((one.path for one in reversed(world.record.touched) if not one.is_deleted), "")
    return f"; the last change that it shows is to {last}" if last else ""


def _deleted(assertion: Assertion, world: World) -> Found:
    touched, seen = _touched(assertion.subject, world), world.file(assertion.subject)
    is_shown = any(one.is_deleted for one in touched)
    if seen.names:
        if is_shown and ("/" not in assertion.subject or len(seen.names) > 1):
            return YES, "the transcript shows that a file of that name was deleted"
        return NO, f"it still exists ({seen.names[0]})"
    if is_shown or seen.is_gone:
        return YES, "it no longer exists"
    return OPEN, "there is no such file, and nothing shows that there was one"


def _path(assertion: Assertion, world: World) -> Found:
    seen = world.file(assertion.subject)
    if seen.names:
        return YES, f"it exists ({seen.names[0]})"
    if seen.is_outside:
        return OPEN, OUTSIDE
    if seen.is_gone or _touched(assertion.subject, world):
        return OPEN, "it existed before"
    if world.record.shows(assertion.subject):
        return OPEN, "it is not in this worktree, but the transcript shows that name"
    if not assertion.is_exact:
        return OPEN, "there is no such file in this worktree, but a program may create it"
    return NO, "there is no such file in this worktree"


# Denials. Later changes do not contradict them


def _untouched(assertion: Assertion, world: World) -> Found:
    seen = world.file(assertion.subject)
    own = [one for one in _touched(assertion.subject, world) if one.n <= assertion.n]
    if own and len(seen.names) <= 1 and seen.is_changed is not False:
        return (
            NO,
            f"the transcript shows that {own[-1].path} was {'deleted' if own[-1].is_deleted else 'written'}",
        )
    if seen.names and seen.is_changed is False:
        return YES, "it is unchanged"
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
        return NO, f"the transcript shows {check_runs.quote_command(made[-1].command)}"
    if world.commit("") is False:
        return YES, NO_COMMIT
    return OPEN, "nothing shows whether a commit was made, or by whom"


# Symbols


def _symbol(assertion: Assertion, world: World) -> Found:
    name, place = assertion.subject, assertion.place
    if place and assertion.is_exact and (names := world.file(place).names):
        inside = world.holding(name, names)
        if inside is None:
            return OPEN, "the files could not be searched"
        if inside:
            return YES, f"{inside[0]} contains it"
        others = world.holding(name) or ()
        where = f"; it is in {', '.join(others[:FEW])}" if others else ", nor does any other file"
        return NO, f"{place} does not contain '{name}'{where}"
    found = world.holding(name)
    if found is None:
        return OPEN, "the files could not be searched"
    if found:
        return YES, f"{found[0]} contains it"
    if assertion.kind is Kind.SYMBOL and world.record.shows(name):
        return OPEN, "no file in this worktree contains it, but the transcript shows that name"
    return NO, f"no file in this worktree contains '{name}'"


# The rest


def _commit(assertion: Assertion, world: World) -> Found:
    sha, record = assertion.subject, world.record
    is_there = world.commit(sha)
    if is_there:
        return YES, "the repository has it" if sha else "a commit was made after the work was handed over"
    told = [one for one, _ in record.commits if not sha or one.startswith(sha) or sha.startswith(one)]
    if told or (
        not sha
        and any(run.is_done and "git" in run.command and "commit" in run.command for run in record.runs)
    ):
        return YES, "the transcript shows the commit"
    if is_there is None or record.has_delegated:
        return OPEN, "the repository could not be searched for it"
    return NO, "the repository has no such commit" if sha else NO_COMMIT


def _output(assertion: Assertion, world: World) -> Found:
    lines = [
        line
        for line in assertion.subject.split("\n")
        if any(map(str.isalnum, line)) and line.strip(" .…") != ""
    ]
    lines = [line for line in lines if not line.strip().startswith(("...", "…", "["))] or lines
    lines = [line for line in lines if not line.strip().startswith(("$ ", "> ", "% "))]
    if not lines:
        return OPEN, "it quotes a command without its output"
    shown = sum(world.record.shows(line.strip().rstrip(".…")) for line in lines)
    if lines and shown == len(lines):
        return YES, "the transcript shows this output"
    if not assertion.is_exact:
        return OPEN, "it may describe what a program would print"
    if world.record.has_delegated:
        return OPEN, "a subagent may have seen it"
    if len(lines) > 1:
        verdict = OPEN if shown >= len(lines) * 0.7 else NO
        return verdict, f"the transcript shows {shown} of its {len(lines)} lines as output"
    said = begun(" ".join(assertion.subject.split()), 60)
    return NO, f"no output in the transcript contains '{said}'"


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
