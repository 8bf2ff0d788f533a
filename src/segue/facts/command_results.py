"""Effects of a command on the tracker: status, tests, errors, files, commits."""

from __future__ import annotations

import functools
import itertools
import posixpath
import re
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from segue.base.lazy_regex import lazy_pattern
from segue.base.text import begun
from segue.facts import decisions, file_states, open_errors
from segue.facts.mentions import references
from segue.facts.output import command_output, git_output, go_test_output
from segue.model import Entry
from segue.model.tool_action import Act, Deed
from segue.shell import commands

if TYPE_CHECKING:
    from segue.facts.tracker import Tracker

ABOUT_GIT = lazy_pattern(r"\b(?:git|gh|glab|hub|jj|hg|svn)\b")
MOVES_ALL = lazy_pattern(
    r"\bgit\b[^|;&]{0,80}\b(?:checkout|restore|reset|stash|pull|merge|rebase|switch|revert|apply)\b"
)
"""Commands that change files without naming them."""
ELSEWHERE = lazy_pattern(
    r"(?:^|[;&|(\n] *)(?:cd|pushd|git -C) +('[^'\n]{1,300}'|\"[^\"\n]{1,300}\"|[^\s;&|]{1,300})"
)
"""The first change of folder in a command."""
PIPED = lazy_pattern(r"\|(?!\|)|\|\|[ ]?(?:true|echo)")
PIPE = lazy_pattern(r"(?<!\|)\|(?!\|)")
TASK_FAILED = lazy_pattern(
    r"(?:\[[\w:.@/-]{1,60}\] )?(?:ERROR task failed|make(?:\[\d+\])?: \*\*\* |npm (?:ERR!|error) |.{0,60}\bELIFECYCLE\b"
    r"|error: (?:script |Recipe |Command failed)|[✖×] [1-9]\d* problems?\b(?! \(0 errors)|Found [1-9]\d* errors?\b"
    r"|[1-9]\d* issues(?::$| found\b)|.{0,20}\bERR_PNPM_)"
)
"""Failures reported by task runners, and by checks in their last lines."""
LAST_LINES = 40
REFUSAL = lazy_pattern(
    r"(?i)\W{0,4}+(?:(?:error|fatal): |unknown |unrecogni[sz]ed )|(?:/[\w/-]{1,40})?(?:ba|z|da)?sh: "
)
"""Beginnings of a complaint of a shell or of a program that does not name itself."""
FEW = 1000
"""Maximum length of a program's complaint about its arguments."""
STOPPED = (130, 137, 143)
"""Exit statuses of commands that were stopped."""
LONGEST_WITHIN = 160
LITTLE = 0.1
"""Weight of a command that is reported as a commit, or that only read and failed; an ordinary command has 1."""
STEP_IN = lazy_pattern(r"^(?:cd (?:'[^']*'|\"[^\"]*\"|[^\s;&|]+) ?(?:&&|;) ?)+")
CUT = lazy_pattern(r" ?(?:2>&1|\| ?(?:tail|head|cat)(?: -{1,2}[\w=]{1,12})?(?: \d{1,6})?)\Z")
INPUT = lazy_pattern(r"(<<-?\s*['\"]?\w+['\"]?)\n.*", re.DOTALL)
WORD = lazy_pattern(r"[\w./-]+")
JOINS = lazy_pattern(r"\bgit\b[^|;&]{0,80}\b(?:rebase|merge|cherry-pick|pull|revert|am|stash)\b")
OVER = lazy_pattern(r"^(?:Successfully rebased|Merge made by|Fast-forward)", re.MULTILINE)
GOES_ON = lazy_pattern(r"\bgit\b[^|;&]{0,80}--continue\b")
GIVEN_UP = lazy_pattern(r"\bgit\b[^|;&]{0,80}--(?:abort|quit)\b")
"""How a conflict ends: by itself, continued, or given up."""
TELLING = lazy_pattern(r"://|localhost|127\.0\.0\.1|port|==|@", re.IGNORECASE)
"""Required in a command that names an address, a port or a version."""
MOST_OPEN = 300
"""Number of failing tests checked when something passes."""
SEEN = 40_000
"""Characters of an output that are read, from its beginning and its end."""
EFFECTS = {
    "deleted": Deed.DELETE,
    "renamed": Deed.MOVE,
    "created": Deed.WRITE,
    "touched": Deed.EDIT,
    "restored": Deed.EDIT,
    "made": Deed.WRITE,
}


class Failing(Struct, frozen=True):
    """The command that reported a failing test."""

    command: str
    package: str = ""
    """The test's package, if known."""
    variants: list[str] = []


def add(tracker: Tracker, act: Act, call: Entry, result: Entry, is_done: bool) -> None:
    command = commands.plain(act.subject, tracker.folder)
    if not command:
        return
    output = _seen(result.text)
    purpose = commands.purpose(act.subject)
    run = open_errors.Run(act.subject, command, purpose, output)
    open_errors.forget(tracker)
    is_done = is_done and not _failed_unseen(act.subject, purpose, output)
    # A search without results exits with 1.
    is_done = is_done or (
        purpose == "look" and result.status == 1 and not open_errors.COMPLAINT.search(output)
    )
    _add_status(tracker, act, command, purpose, output, result, is_done)
    if purpose == "test" or not is_done:
        _add_tests(tracker, run, result, is_done)
        open_errors.tested(tracker)
    if is_done:
        _pass(tracker, run)
        if not result.subagent:
            decisions.allow(tracker, act)
    elif purpose != "look":
        open_errors.add(tracker, run, result)
        if JOINS.search(act.subject) and open_errors.CONFLICT.search(output):
            tracker.stopped = [*tracker.stopped[-MOST_OPEN:], command]
        tracker.failed.pop(command, None)
        parts = _parts(act.subject, command, tracker.folder)
        tracker.failed[command] = git_output.left_of(parts, output)
        for other in list(tracker.failed)[:-MOST_OPEN]:
            del tracker.failed[other]
    if is_done:
        _add_effects(tracker, act, call, result)
    _add_git(tracker, act, output, result, is_done=is_done, where=_elsewhere(tracker.folder, act, call))
    for found in references(begun(act.subject, 2000)) if TELLING.search(act.subject, 0, 2000) else ():
        if found.kind in ("url", "port", "version"):
            tracker.put(found.kind, found.text, "used", call)


def _failed_unseen(command: str, purpose: str, output: str) -> bool:
    """Whether a command failed despite its exit status: the end of a pipe hides the status of its beginning."""
    if purpose not in commands.CHECKS:
        return purpose != "look" and _is_refused(command, output)
    tally, is_piped = command_output.tally_in(output), PIPED.search(command) is not None
    if tally and tally.failed:
        return True
    if is_piped and any(map(TASK_FAILED.match, output.splitlines()[-LAST_LINES:])):
        return True
    if tally or not is_piped:
        return False
    return bool(command_output.errors_in(output, has_failed=False)) or (
        purpose == "test" and not all(command_output.tests_in(output).values())
    )


def _is_refused(command: str, output: str) -> bool:
    """Whether a piped command printed nothing but a complaint about its arguments."""
    said = output.strip()
    first = said.partition("\n")[0]
    if len(said) > FEW or PIPE.search(command) is None or not open_errors.SLIP.search(first):
        return False
    if len(commands.chained(command)) > 1:
        return False
    program, *behind = [words[0] for words, _ in commands.programs(command)] or [""]
    # The output of a filter may be about anything, and usage may have been requested.
    is_clipped = bool(behind) and all(commands.program_name(name) in commands.CLIPPERS for name in behind)
    names = (commands.program_name(program), program)
    return is_clipped and (REFUSAL.match(first) is not None or first.startswith(names))


def _add_effects(tracker: Tracker, act: Act, call: Entry, result: Entry) -> None:
    """Apply the effects on files that the command line shows."""
    if MOVES_ALL.search(act.subject):
        tracker.files.forget()
    where = act.folder or call.cwd or tracker.folder
    for effect in commands.effects(act.subject):
        path, to = (posixpath.join(where, one) if one else "" for one in (effect.path, effect.to))
        if effect.kind == "restored":
            tracker.files.restore(file_states.relative(path, tracker.folder), tracker.committed)
            continue
        if effect.kind == "made":
            tracker.files.make(file_states.relative(path, tracker.folder))
            continue
        done = Act(deed=EFFECTS[effect.kind], subject=path, to=to, content=effect.content)
        tracker.files.add(done, file_states.relative(path, tracker.folder), result, tracker.n, tracker.folder)


def as_run(command: str) -> str:
    """A command on one line, without leading `cd` and trailing truncation of its output."""
    command = commands.unwrapped(begun(command, 4000))
    line = STEP_IN.sub("", " ".join(INPUT.sub(r"\1 …", command, count=1).split()))
    while (cut := CUT.search(line, max(0, len(line) - 40))) and cut.start():
        line = line[: cut.start()]
    return line


def _seen(output: str) -> str:
    if len(output) <= SEEN:
        return output
    # Whole lines only: half a line could hide its content.
    head, _, _ = output[: SEEN // 4].rpartition("\n")
    _, _, tail = output[-SEEN * 3 // 4 :].partition("\n")
    return f"{head}\n{tail}"


def _add_status(
    tracker: Tracker, act: Act, command: str, purpose: str, output: str, result: Entry, is_done: bool
) -> None:
    if is_done:
        value = "passed"
    elif result.status:
        value = f"failed with status {result.status}"
        value += ", stopped" if result.status in STOPPED else ""
    else:
        value = "failed"
    tally = command_output.tally_in(output) if purpose == "test" else None
    told = f"{tally.passed} passed, {tally.failed} failed" if tally else ""
    made = git_output.MADE.findall(output) if not is_done and git_output.COMMITS.search(act.subject) else []
    told = told or (f"its commit {made[-1][1]} stands" if made else "")
    tracker.put("command", command, value, result, note=told)
    tracker.checks.discard(command)
    if purpose in commands.CHECKS:
        tracker.checks.add(command)
    fact = tracker.facts["command"][command]
    if purpose == "look":
        # What it read is not reported either.
        weight = 0.0 if is_done else LITTLE
    else:
        weight = LITTLE if is_done and git_output.COMMITS.search(act.subject) else 1.0
    tracker.facts["command"][command] = msgspec.structs.replace(fact, weight=weight, text=as_run(act.subject))


def _add_tests(tracker: Tracker, run: open_errors.Run, result: Entry, is_done: bool) -> None:
    told, homes, variants = (
        command_output.tests_in(run.output),
        command_output.homes_in(run.output),
        open_errors.variants(run),
    )
    for name, is_passing in told.items():
        _forget_other_name(tracker, name, told)
        tracker.put("test", name, "passing" if is_passing else "failing", result, note=run.command)
        tracker.failing.pop(name, None)
        if not is_passing:
            tracker.failing[name] = Failing(run.command, homes.get(name, ""), variants)
    tally, packages = command_output.tally_in(run.output), command_output.packages_in(run.output)
    is_whole = is_done and (tally is None or not tally.failed)
    suites = [suite for suite, is_passing in told.items() if is_passing] if len(told) <= MOST_OPEN else []
    for name, by in list(tracker.failing.items()):
        is_like = set(by.variants) <= set(variants) or by.command == run.command
        if any(command_output.covers(suite, name) for suite in suites) or (
            name not in told and is_like and _takes_in(run, by, name, packages, is_whole=is_whole)
        ):
            tracker.put("test", name, "passing", result, note=run.command)
            del tracker.failing[name]
    for name in list(tracker.failing)[:-MOST_OPEN]:
        del tracker.failing[name]


def _takes_in(
    run: open_errors.Run, by: Failing, name: str, packages: dict[str, bool], *, is_whole: bool
) -> bool:
    """Whether a passed run included a test that failed before: by its command or by its package."""
    if is_whole and (by.command == run.command or _covers(run.command, by.command, name)):
        return True
    if not packages or not go_test_output.runs(run.subject, name):
        return False
    return packages.get(by.package, False) or (
        is_whole and not by.package and go_test_output.stands_for(by.command, packages)
    )


def _forget_other_name(tracker: Tracker, test: str, told: Container[str]) -> None:
    """Forget the name that a test had when it was run in another folder: one name ends with the other."""
    file, mark, rest = test.partition("::")
    key = file.rpartition("/")[2] + mark + rest
    other = tracker.tests.get(key, test)
    if other not in told and (other.endswith("/" + test) or test.endswith("/" + other)):
        tracker.facts.get("test", {}).pop(other, None)
        tracker.failing.pop(other, None)
    tracker.tests[key] = test


def _covers(command: str, other: str, test: str) -> bool:
    """Whether a run includes a test of another run: it names the test or its file, or runs the same program
    without a selection."""
    if go_test_output.LEFT_OUT.search(command) or open_errors.only_shows(command):
        return False
    words = set(WORD.findall(command))
    file, mark, name = test.rpartition("::")
    file = file.split("::")[0] if mark else test.split(" ")[0]
    name = name.partition("[")[0] if mark else test.partition("/")[0]
    if file in words or ("/" not in name and "." not in name and name in words):
        return True
    return commands.runner(command) == commands.runner(other) and not open_errors.SELECTION.search(
        command.replace("./...", "")
    )


def _elsewhere(folder: str, act: Act, call: Entry) -> str:
    """The other repository or worktree where a command runs; empty for the folder of the work."""
    where, folder = act.folder or call.cwd or folder, folder.rstrip("/")
    gone = ELSEWHERE.search(act.subject)
    to = posixpath.normpath(posixpath.join(where, gone[1].strip("'\""))) if gone else where
    is_here = "worktree" not in to[len(folder) :] and f"{to}/".startswith(f"{folder}/")
    return "" if is_here else to


def _add_git(tracker: Tracker, act: Act, output: str, result: Entry, *, is_done: bool, where: str) -> None:
    if not ABOUT_GIT.search(act.subject):
        return
    git = git_output.git_of(act.subject, output)
    if git.branch:
        tracker.branch = tracker.branch if where else git.branch
        tracker.put("worktree" if where else "branch", where, git.branch, result)
    for path, branch in git.worktrees if is_done else ():
        at = posixpath.normpath(posixpath.join(act.folder or tracker.folder, path))
        tracker.put("worktree", at, branch, result)
    is_made = any(subject for _, subject in git.commits)
    if (is_made or (is_done and git.is_silent)) and not where:
        tracker.committed = tracker.n
    _add_commits(tracker, git, result, is_undone=is_done and not where)
    is_given_up = GIVEN_UP.search(act.subject) is not None
    is_over = is_given_up or GOES_ON.search(act.subject) or OVER.search(output)
    if is_done and (is_over or is_made):
        _settle(tracker, "given up since" if is_given_up else "settled by hand since")
    for address in git.pull_requests:
        tracker.put("pull request", address, "opened", result)
    for number in git.merged if is_done else ():
        for address in tracker.facts.get("pull request", {}):
            if address == number or address.endswith(f"/{number}"):
                tracker.put("pull request", address, "merged", result)
                break


def _add_commits(tracker: Tracker, git: git_output.Git, result: Entry, *, is_undone: bool) -> None:
    """Record each commit once, whether it is named by its full or its short hash."""
    known = tracker.facts.get("commit", {})
    made = [sha for sha, fact in known.items() if fact.value not in ("seen", "mentioned")]
    for sha in made[-git.undone :] if git.undone and is_undone else ():
        del known[sha]
    for sha, subject in git.commits:
        is_anew = git.is_anew and bool(subject)
        for same in [one for one in known if is_anew and known[one].value == subject and one != sha]:
            del known[same]
        told = next((one for one in known if one.startswith(sha) or sha.startswith(one)), sha)
        if subject or told not in known:
            known.pop(told, None)
            tracker.put("commit", min(told, sha, key=len), subject or "seen", result)


def _settle(tracker: Tracker, how: str) -> None:
    """Settle the conflicts of a finished rebase or merge."""
    open_errors.settle(tracker)
    _overcome(tracker, tracker.stopped, lambda _: how)
    tracker.stopped = []


def _pass(tracker: Tracker, run: open_errors.Run) -> None:
    """Close the earlier failures and errors that this command, or a part of it, shows to be over."""
    parts = _parts(run.subject, run.command, tracker.folder) if tracker.failed or tracker.blamed else []
    # Settings do not matter here: the command passed.
    passed = list(dict.fromkeys([*parts, *(open_errors.SETTINGS.sub("", part) for part in parts)]))
    for part in dict.fromkeys((run.command, *passed)) if tracker.blamed else ():
        purpose = run.purpose if part == run.command else commands.purpose(part)
        open_errors.passed(tracker, open_errors.Run(run.subject, part, purpose, run.output))
    _overcome(tracker, passed, functools.partial(_how_passed, run.command, parts))


def _how_passed(command: str, parts: Sequence[str], needed: Sequence[str]) -> str:
    """How a failed command passed later. One that passed after another may still fail alone."""
    bare = (open_errors.SETTINGS.sub("", part) for part in parts)
    before = itertools.takewhile(lambda part: part not in needed, bare)
    is_behind = any(commands.purpose(part) != "look" for part in before)
    return f"passed since within `{begun(command, LONGEST_WITHIN)}`" if is_behind else "passed since"


def _parts(command: str, said: str, folder: str) -> list[str]:
    return commands.passed_with(command, folder) if "&&" in command else [said]


def _overcome(tracker: Tracker, passed: Sequence[str], how: Callable[[Sequence[str]], str]) -> None:
    """Mark failed commands as passed once they, or all of their parts, have passed."""
    for command, needed in list(tracker.failed.items()) if passed else ():
        tracker.failed[command] = [part for part in needed if part not in passed]
        if command in passed or (needed and not tracker.failed[command]):
            del tracker.failed[command]
            fact = tracker.facts.get("command", {}).get(command)
            if fact is not None and fact.value.startswith("failed"):
                value = f"at first {fact.value}, {how([command, *needed])}"
                tracker.facts["command"][command] = msgspec.structs.replace(fact, value=value)
