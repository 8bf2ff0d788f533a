"""Open errors: the command that reported each one, and the evidence that closes it.

An error is closed when its command, or a run that includes it, passes; when its failing tests pass; or when a
complete run of the same check no longer shows it. In doubt it stays open. A slip, such as an unknown option, is
closed by the next accepted call and is soon forgotten.
"""

from __future__ import annotations

import functools
import itertools
import re
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from segue.base.lazy_regex import lazy_pattern
from segue.base.text import begun
from segue.facts.output import command_output, git_output
from segue.facts.output.command_output import Problem
from segue.model import Entry
from segue.shell import commands

if TYPE_CHECKING:
    from segue.facts.tracker import Tracker

MOST_OPEN = 300
"""Number of errors checked when something passes."""
FORGOTTEN = 50
"""Number of further calls after which a slip is forgotten."""
LAST = 4000
ECHOED = 2000
"""Characters at the start of an output in which a script shows its commands."""
SELECTION = lazy_pattern(
    r"::|/| -(?:k|t|run|m|-grep|-filter|-testNamePattern|-tests)[ =]|(?:\.|_)(?:test|spec)\.\w+|\btest_\w+\.\w+"
)
"""Signs that a run covers only some tests."""
FILTERED = lazy_pattern(r" -(?:k|t|run|skip|short|m|-grep|-filter|-testNamePattern|-tests)(?:[ =]|$)")
VARIANT = lazy_pattern(
    r"(?<![\w-])--?(?:tags|features|all-features|all-targets|tests)\b(?:[= ][\w,-]{1,99})?"
)
"""Options that build other files."""
ENDS_EARLY = lazy_pattern(r" (?:-x|--exitfirst|--maxfail\S*|-?-failfast|--fail-fast|--bail\S*)(?: |$)")
HIDES = lazy_pattern(
    r"(?i)syntax ?error|parse error|error TS1\d{3}\b|could not compile|\[(?:build|setup) failed\]|\(typecheck\)"
    r"|during collection|no tests ran|^panic: |internal error|timed? ?out|invalid syntax|prevented further"
    r"|too many errors|parsing error|stopping after|interrupted:",
    re.MULTILINE,
)
"""Messages of checks that stopped early."""
TEST_FILE = lazy_pattern(r"(?:^|/)(?:test_[^/]{1,200}|[^/]{1,200}[._](?:test|spec)\.\w{1,5})$")
PER_UNIT = lazy_pattern(
    r"(?:^|[\s/])(?:go|cargo|rustc|swiftc?|gcc|g\+\+|clang(?:\+\+)?|cc|c\+\+|javac|kotlinc|scalac|dotnet|msbuild|xcodebuild"
    r"|mvnw?|gradlew?|bazel|cmake|ninja|meson|scons|zig|mix|stack|cabal)(?= |$)"
)
"""Compilers that build unit by unit, and none whose dependency fails."""
TYPES = lazy_pattern(r"(?:^|[\s/])(?:vue-)?tsc(?= |$)")
STEP_IN = lazy_pattern(r"(?:cd [^\s;&|]++ (?:&&|;) )++")
CHECKS_ALL = lazy_pattern(r"\b(?:run |-)?(?:check|verify|validate|ci)(?:$|:all\b)")
"""A script that includes a project's other checks."""
SLIP = lazy_pattern(
    r"(?i)\b(?:unexpected|unrecogni[sz]ed|unknown|invalid|no such|illegal|unsupported) (?:\w+ )?"
    r"(?:arguments?|options?|flags?|(?:sub-?)?commands?|switch)\b|\b(?:option|argument)s? \S{1,60} (?:is )?not "
    r"(?:recogni[sz]ed|known|found)|requires? (?:an|at least) \S{1,20} ?(?:argument|value)|\bmissing script\b"
    r"|^usage:|: command not found$|does not (?:accept|take) |\bcd: .{1,200}: No such file|\bindex\.lock\b"
    r"|could not find `Cargo\.toml`|no configuration file provided|already exists and is not an empty"
)
"""Complaints about arguments, or about the folder where a program was started."""
NO_COMMAND = lazy_pattern(r"(?i)\b(?:sub-?)?commands?\b|missing script")
INLINE = lazy_pattern(
    r"(?:^|[ /])(?:(?:python|pypy)[\d.]*|py|node|bun|deno|ruby|perl|php)"
    r"(?: -[\w=-]{1,40}){0,6}? (?:-[a-z]?[cep]\b|eval\b|-(?: |$)|<<)"
)
"""An inline script that tries something."""
COMPLAINT = lazy_pattern(
    r"\b(?:error|fail(?:ed|ure)?|fatal|panic|exception|not found|no such|denied|cannot|can't|could not|unable|refused"
    r"|invalid|missing|conflict|timed? ?out)\b",
    re.IGNORECASE,
)
CONFLICT = lazy_pattern(r"conflict|could not apply|unmerged", re.IGNORECASE)
COUNT = lazy_pattern(r"\W*\d+ (?:failed|passed|failures?|errors?|warnings?)\b")
LONGEST_WHOLE = 25_000
SHORTENED = lazy_pattern(
    r"(?i)\btruncated\b|\b(?:lines|chars|characters|tokens|bytes) (?:omitted|elided|hidden|cut)|^Total output lines:",
    re.MULTILINE,
)
MARKED = lazy_pattern(r"(?:❌|⛔|🚫)\W{0,4}+(.+)")
CUTTER = lazy_pattern(r"\| ?(?:head|tail)(?: -n| --lines)?[ =]?-?(\d{1,6})?\s*$")


SETTINGS = lazy_pattern(r"^(?:[A-Za-z_]\w*=\S* )+")
MANNER = lazy_pattern(
    r"(?<!\S)(?:-{1,2}(?:timeout|n|j|jobs|workers|parallel|count)[ =]\d++\w?|-[\w-]*+(?:=[\d.]++\w?)?)(?!\S)"
)
"""Options that change only speed or number of runs of a check."""
PATIENCE = lazy_pattern(
    r"(?<!\S)(?:--?(?:wait-)?timeout[ =]\d++\w?|-v{1,3}|-q|--verbose|--quiet|--debug)(?!\S)"
)
"""Options that change only waiting time and verbosity of any command."""
WORDS = lazy_pattern(r"'[^']*+'|\"[^\"]*+\"")
ONLY_SHOWS = lazy_pattern(
    r"(?<!\S)(?:--?help|(?:-h|--version)(?= -|$| [|&;])|--dry-run(?:=\S++)?|--just-print|--recon|--collect-only|--co"
    r"|--?list|--list-?[tT]ests|--no-run|--exit-zero)(?!\S)"
    r"|\b(?:git (?:push|add|rm|mv|clean)|g?make|rsync)\b[^|;&]{0,200}? -n(?!\S)"
)
"""Options with which a command only shows what it would do, or passes whatever it finds."""


class Blame(Struct):
    """The command that reported an open error, and how the error can end."""

    command: str
    needs: list[str]
    """Commands that must pass; of a chain, those that can have reported it."""
    tests: list[str] = []
    """Tests that failed with it, if they are all there is to it."""
    variants: list[str] = []
    has_run: bool = False
    """Whether tests were run and counted."""
    is_slip: bool = False
    calls: int = 0


class Run(Struct, frozen=True):
    """A command that was run, with its output."""

    subject: str
    """As given."""
    command: str
    """Normalized."""
    purpose: str
    output: str


# Failed commands


def add(tracker: Tracker, run: Run, result: Entry) -> None:
    """Record the errors of a failed command. Earlier errors of the same check that a complete output no longer
    shows are closed."""
    told = command_output.tests_in(run.output)
    problems = command_output.errors_in(run.output, most=MOST_OPEN)
    failing = [name for name, is_passing in told.items() if not is_passing]
    found = {
        command_output.subject_of(problem): problem
        for problem in problems
        if not _is_named(problem.text, failing)
    }
    if not found and (line := _complaint(run.output, told)):
        found = {line: Problem(line)}
    tally = command_output.tally_in(run.output) if run.purpose == "test" else None
    _end_unseen(tracker, run, found, has_run=tally is not None)
    needs = git_output.left_of(commands.chained(run.subject, tracker.folder), run.output)
    # If all failing tests are named, nothing remains when they pass.
    is_all = tally is not None and tally.failed <= len(failing) <= MOST_OPEN and len(needs) == 1
    all_failing = failing if is_all and not HIDES.search(run.output) else []
    checks = [part for part in needs if commands.purpose(part) in commands.CHECKS]
    for subject, problem in list(found.items())[: command_output.MOST_PROBLEMS]:
        is_slip = SLIP.search(problem.text) or INLINE.search(run.command)
        tracker.put("error", subject, "open", result, note=problem.text)
        tracker.blamed.pop(subject, None)
        tracker.blamed[subject] = Blame(
            run.command,
            checks if checks and _is_a_checks(problem) else needs,
            # Errors of compilers and linters come from no test.
            [problem.test] if problem.test else all_failing if problem.by != "tool" else [],
            variants(run),
            tally is not None,
            bool(is_slip) and run.purpose not in commands.CHECKS,
            tracker.calls,
        )
    for subject in list(tracker.blamed)[:-MOST_OPEN]:
        del tracker.blamed[subject]


def _is_a_checks(problem: Problem) -> bool:
    """Whether a check reported the problem. Exceptions and frames outside of tests can come from any program."""
    if problem.by == "tool":
        return bool(problem.path)
    return bool(problem.by or problem.test or TEST_FILE.search(problem.path))


def _end_unseen(tracker: Tracker, run: Run, found: dict[str, Problem], *, has_run: bool) -> None:
    if not found or not _looks_at_all(run, has_run=has_run):
        return
    if ENDS_EARLY.search(run.command) or HIDES.search(run.output) or not _is_whole(run):
        return
    for subject, blame in list(tracker.blamed.items()):
        if blame.command == run.command and blame.has_run == has_run and subject not in found:
            _close(tracker, subject)


def _looks_at_all(run: Run, *, has_run: bool) -> bool:
    """Whether a check continues after a finding: chains, scripts and most compilers do not. If tests were counted,
    everything was compiled."""
    command = STEP_IN.sub("", run.command, count=1)
    if run.purpose not in commands.CHECKS or only_shows(command) or "&&" in command:
        return False
    if has_run:
        return True
    if commands.program_name(_program(command)) in commands.SCRIPTED or PER_UNIT.search(command):
        return False
    return run.purpose != "build" or TYPES.search(command) is not None


def _is_whole(run: Run) -> bool:
    """Whether the output is complete. Agents shorten long outputs, and usually say so."""
    if len(run.output) > LONGEST_WHOLE or SHORTENED.search(run.output):
        return False
    if (cut := CUTTER.search(run.subject, max(0, len(run.subject) - 40))) is not None:
        rest = run.subject[: cut.start()]
        return "|" not in rest and run.output.count("\n") + 1 < int(cut[1] or 10)
    return "|" not in run.subject


def variants(run: Run) -> list[str]:
    """Variants of a build in a run."""
    return sorted({item.lstrip("-") for item in VARIANT.findall(f"{run.command}\n{run.output[:ECHOED]}")})


def _complaint(output: str, tests: dict[str, bool]) -> str:
    """The line that explains a failure in none of the known formats. Lines that only name a test are reported as
    tests."""
    end = output if len(output) <= LAST else output[-LAST:].partition("\n")[2]
    lines = [begun(line.strip(), 200) for line in end.splitlines() if len(line.strip()) > 8]
    said = [line for line in lines if COMPLAINT.search(line) and not COUNT.match(line)]
    is_told = functools.partial(_is_verdict, tests)
    return next(itertools.filterfalse(is_told, said), "")


def _is_named(text: str, tests: list[str]) -> bool:
    """Whether a marked line is only the name of a test."""
    match = MARKED.match(text) if tests else None
    return match is not None and any(test.endswith(match[1]) for test in tests)


def _is_verdict(tests: dict[str, bool], line: str) -> bool:
    """Whether a line names a test or package without a reason for its failure."""
    named = command_output.tests_in(line) if tests else {}
    return bool(command_output.packages_in(line)) or any(
        " - " not in line.partition(name)[2] for name in named
    )


def _program(command: str) -> str:
    return command.partition(" ")[0]


# Passed commands


def passed(tracker: Tracker, run: Run) -> None:
    """Close the errors of a command that passed, or that a passed run includes."""
    told: list[str] | None = None
    for subject, blame in list(tracker.blamed.items()):
        slip = subject if blame.is_slip else ""
        left = [part for part in blame.needs if not _takes_in(run, part, slip)]
        if len(left) == len(blame.needs) and blame.command != run.command:
            continue
        told = variants(run) if told is None else told
        if not set(blame.variants) <= set(told) and blame.command != run.command:
            continue
        blame.needs = left
        if not left or blame.command == run.command:
            _close(tracker, subject)


def _takes_in(run: Run, needed: str, slip: str) -> bool:
    command, is_check = run.command, run.purpose in commands.CHECKS
    needed = SETTINGS.sub("", needed) if slip else needed
    if needed == command:
        return True
    if _program(needed) != _program(command) or only_shows(command):
        return False
    if needed.startswith(command + " ") and (is_check or run.purpose in ("install", "git")):
        return True
    if slip:
        # The unknown word was the sub-command, or one of its arguments.
        return bool(NO_COMMAND.search(slip)) or commands.runner(needed) == commands.runner(command)
    manner = MANNER if is_check else PATIENCE
    if _named(needed, manner) == _named(command, manner) and not FILTERED.search(command):
        return True
    whole = not SELECTION.search(command.replace("./...", ""))
    takes_all = whole and (is_check or run.purpose == "install")
    if (
        takes_all
        and run.purpose == "lint"
        and CHECKS_ALL.search(command)
        and commands.purpose(needed) == "lint"
    ):
        return True
    return (takes_all or run.purpose == "git") and commands.runner(needed) == commands.runner(command)


def _named(command: str, manner: re.Pattern[str]) -> list[str]:
    return manner.sub("", command).split()


def only_shows(command: str) -> bool:
    """Whether a command, though it passed, did nothing that shows an error to be over."""
    return ONLY_SHOWS.search(WORDS.sub("''", command)) is not None


def tested(tracker: Tracker) -> None:
    """Close errors whose tests pass."""
    told, known = tracker.facts.get("test", {}), dict[str, bool]()
    wanted = {test for blame in tracker.blamed.values() for test in blame.tests}
    for name, fact in told.items() if wanted - told.keys() else ():
        for joint in command_output.JOINT.finditer(name):
            # A test passes if all of its parts do.
            whole = name[: joint.start()]
            known[whole] = known.get(whole, True) and fact.value == "passing"
    known |= {name: told[name].value == "passing" for name in wanted if name in told}
    for subject, blame in list(tracker.blamed.items()):
        if blame.tests and all(known.get(test, False) for test in blame.tests):
            _close(tracker, subject)


def settle(tracker: Tracker) -> None:
    """Close the conflicts of a finished rebase or merge."""
    for subject, blame in list(tracker.blamed.items()):
        if CONFLICT.search(subject) and any(_program(part) == "git" for part in blame.needs):
            _close(tracker, subject)


def forget(tracker: Tracker) -> None:
    """Forget old slips."""
    for subject, blame in list(tracker.blamed.items()):
        if blame.is_slip and tracker.calls - blame.calls > FORGOTTEN:
            del tracker.blamed[subject]
            tracker.facts["error"].pop(subject, None)


def _close(tracker: Tracker, subject: str) -> None:
    fact = tracker.facts["error"].get(subject)
    if fact is not None:
        tracker.facts["error"][subject] = msgspec.structs.replace(fact, value="resolved", n=tracker.n)
    del tracker.blamed[subject]
