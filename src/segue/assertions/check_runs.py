"""Whether what is said to pass was run, and passed: tests, checks and commands."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from segue.assertions.assertion import Assertion, Verdict, World
from segue.assertions.evidence import Record, Run
from segue.base.lazy_regex import lazy_pattern
from segue.base.text import begun
from segue.facts.open_errors import SELECTION
from segue.facts.output import command_output
from segue.shell import commands
from segue.shell.lexer import Simple, simple_commands

Found = tuple[Verdict, str]
YES, NO, OPEN = Verdict.SUPPORTED, Verdict.UNSUPPORTED, Verdict.UNKNOWN
FEW = 3
MOST_COUNTS = 12
UNSEEN = "a sub-agent may have run it"
MAYBE = {"lint": ("lint",), "types": ("lint", "build"), "build": ("build",)}
ELSEWHERE = lazy_pattern(r"\bGIT_(?:DIR|WORK_TREE)\b|\bchdir\b|\benv\s+-C\b")
CALLED = {"lint": "linter", "types": "type checker", "build": "build"}


def tests(assertion: Assertion, world: World) -> Found:
    """All tests, or some that are not named."""
    if world.tests is not None and world.tests.status is not None:
        return _by_own_run(world)
    record = world.record
    runs = [run for run in record.runs if run.is_test]
    if not runs:
        return (OPEN, UNSEEN) if record.has_delegated else (NO, "no test was run")
    # What was run after it was said tells only where nothing was before.
    before = [run for run in runs if run.n <= assertion.n] or runs
    last = before[-1]
    failing = [name for name, n in record.failing if n <= max(assertion.n, last.n)]
    if not last.is_done:
        return NO, f"the last test run, {_said(last.command)}, {_failed(last)}"
    if failing and assertion.is_exact and SELECTION.search(last.command):
        # What took in all of them would have told.
        return NO, f"{_listed(failing)} failed when last run"
    if not _is_counted(assertion.count, before):
        return (
            NO,
            f"{assertion.count} are said to pass; the last run, {_said(last.command)}, told {_tally(last)}",
        )
    later = [one.path for one in record.touched if last.n < one.n <= assertion.n]
    if later and assertion.is_exact:
        return OPEN, f"{_said(last.command)} passed, and {later[-1]} was changed after it"
    return YES, f"{_said(last.command)} passed ({_tally(last)})"


def _by_own_run(world: World) -> Found:
    run = world.tests
    assert run is not None  # noqa: S101 - only called where there is one
    if run.status == 0:
        return YES, f"Segue ran {_said(run.command)}: {run.summary or 'it passed'}"
    failing = f", {_listed(list(run.failing))} among them" if run.failing else ""
    return (
        NO,
        f"Segue ran {_said(run.command)}: {run.summary or f'it ended with status {run.status}'}{failing}",
    )


def _is_counted(count: int | None, runs: Sequence[Run]) -> bool:
    """Whether a number of tests is one that the runs told: of one of them, or of several together."""
    if count is None or any(run.tally is None for run in runs):
        return True
    tallies = [run.tally for run in runs[-MOST_COUNTS:] if run.tally]
    told = [number for one in tallies for number in (one.passed, one.passed + one.failed)]
    sums = itertools.accumulate(one.passed for one in reversed(tallies))
    pairs = (a.passed + b.passed for a, b in itertools.combinations(tallies, 2))
    if count in {*told, *sums, *pairs}:
        return True
    return any(re.search(rf"(?<!\d){count}(?!\d)", run.output) for run in runs)


def test(assertion: Assertion, world: World) -> Found:
    """One test, or one file of tests."""
    name, record = assertion.subject, world.record
    if world.tests is not None and any(name in failing for failing in world.tests.failing):
        return NO, f"Segue ran {_said(world.tests.command)}: it fails"
    if any(name in failing or command_output.covers(name, failing) for failing, _ in record.failing):
        return NO, "it failed when it was last run"
    runs = [run for run in record.runs if run.is_test]
    bare = name.rpartition("::")[2].rpartition("/")[2]
    own = [run for run in runs if bare in run.command or bare in run.output]
    if own:
        return (
            (YES, f"{_said(own[-1].command)} passed")
            if own[-1].is_done
            else (OPEN, f"{_said(own[-1].command)} {_failed(own[-1])}")
        )
    if not runs:
        return (OPEN, UNSEEN) if record.has_delegated else (NO, "no test was run")
    if runs[-1].is_done:
        return OPEN, f"{_said(runs[-1].command)} passed and does not name it"
    return NO, f"the last test run, {_said(runs[-1].command)}, {_failed(runs[-1])}, and none names it"


def check(assertion: Assertion, world: World) -> Found:
    """A linter, a type checker or a build that is not named by its command."""
    record, wanted = world.record, MAYBE[assertion.subject]
    known = [run for run in record.runs if run.n <= assertion.n] or list(record.runs)
    runs = [run for run in known if run.purpose in wanted or _names(assertion.subject, run.command)]
    if runs:
        last = runs[-1]
        return (
            (YES, f"{_said(last.command)} passed")
            if last.is_done
            else (NO, f"{_said(last.command)} {_failed(last)}")
        )
    if record.has_delegated:
        return OPEN, UNSEEN
    other = next((run for run in reversed(known) if run.purpose not in ("look", "install", "")), None)
    if other is not None:
        return (
            OPEN,
            f"no {CALLED[assertion.subject]} was run by itself; {_said(other.command)} may take it in",
        )
    return NO, f"no {CALLED[assertion.subject]} was run"


def _names(subject: str, command: str) -> bool:
    words = {
        "lint": r"\b(?:lint|fmt|format|check)\b",
        "types": r"\b(?:types?|typecheck|tsc|mypy|pyright|check)\b",
        "build": r"\b(?:build|compile)\b",
    }
    return re.search(words[subject], command) is not None


def command(assertion: Assertion, world: World) -> Found:
    """A command that is said to have been run, and to have succeeded."""
    record = world.record
    runs = [run for run in record.runs if is_same(assertion.subject, run.command)]
    before = [run for run in runs if run.n <= assertion.n] or runs
    if before:
        last = before[-1]
        return (
            (YES, f"{_said(last.command)} succeeded")
            if last.is_done
            else (NO, f"it was run, and {_failed(last)}")
        )
    if record.has_delegated:
        return OPEN, UNSEEN
    if like := _like(assertion.subject, record):
        return OPEN, f"it was not run so; {_said(like.command)} was"
    return NO, "no such command was run"


def is_same(said: str, command: str) -> bool:
    """Whether a command is the one that is spoken of: all its words are there, in their order."""
    words = iter(_words(command))
    return all(any(word == other for other in words) for word in _words(said))


def runs_git(command: str, word: str, branch: str = "") -> bool:
    """Whether a command that succeeded certainly committed to, or pushed, this repository; with a branch, whether it
    names that too."""
    found = list(commands.programs(command))
    programs = [words for words, _ in found]
    if "||" in command or ELSEWHERE.search(command) or any(_goes(words) for words in programs):
        return False  # it may have been about another repository
    if any(_is_compound(one) for one in (*simple_commands(command), *(one for _, one in found))):
        return False  # it may not have run
    # How the others before the last ";" or "|" ended is not known.
    last = max((n for n, (_, simple) in enumerate(found) if simple.joint != "&&"), default=0)
    return any(
        _subcommand(words) == word
        and not _is_trial(words, word)
        and (
            not branch
            or branch
            in (one.rpartition(":")[2].removeprefix("+").removeprefix("refs/heads/") for one in words)
        )
        for words in programs[last:]
    )


def _goes(words: Sequence[str]) -> bool:
    return words[0] in ("cd", "pushd", "builtin") or words[:2] == ["git", "init"]


def _is_compound(simple: Simple) -> bool:
    """Whether a command is a part of a condition, a loop, a function or a subshell, or is negated."""
    first = simple.texts[:1]
    return simple.joint in ("(", ")") or any(
        one in commands.KEYWORDS or one in commands.COMPOUND for one in first
    )


def _is_trial(words: Sequence[str], word: str) -> bool:
    return bool({"--dry-run", "--help", "-h"} & set(words)) or (word == "push" and "-n" in words)


def _subcommand(words: Sequence[str]) -> str:
    """What git is to do; empty where it is another program, or another repository is named."""
    if commands.program_name(words[0]) != "git":
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


def _words(command: str) -> list[str]:
    """The words of a command; programs without the folder that they are in."""
    found = [word for word in re.split(r"[\s;&|()'\"]+", command) if word]
    return [word.rpartition("/")[2] if "/bin/" in word or word.startswith("./") else word for word in found]


def _like(said: str, record: Record) -> Run | None:
    """A command of the same program that does the same in another way."""
    words = _words(said)
    wanted = words[: 3 if words[1:2] and words[1] in ("run", "exec", "-m", "x") else 2]
    plain = [word for word in wanted if not word.startswith("-")]
    return next(
        (run for run in reversed(record.runs) if len(plain) > 1 and is_same(" ".join(plain), run.command)),
        None,
    )


def _failed(run: Run) -> str:
    return f"told {_tally(run)}" if run.tally and run.tally.failed else "failed"


def _tally(run: Run) -> str:
    return f"{run.tally.passed} passed, {run.tally.failed} failed" if run.tally else "no count"


def _said(command: str) -> str:
    return f"`{begun(' '.join(command.split()), 80)}`"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(names[:FEW]) + more
