"""Command results: a check's own summary outweighs the exit status of a pipe, and only what passed is reported as
passed."""

from __future__ import annotations

import pytest

from segue.facts.output import command_output
from segue.facts.output.command_output import Tally
from segue.model.tool_action import Act, Change, Deed
from tests.pure.facts.test_tracker import done, facts, ran, values

LINT = "ok  \tapp/cli\t0.1s\n[lint] $ golangci-lint run ./...\na.go:3:16: string `x` has 5 occurrences (goconst)\n2 issues:\n"


def status(command: str, output: str) -> str:
    (value,) = values(ran(command, output), "command").values()
    return value


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("go test ./a -v 2>&1 | tail -9", "--- PASS: TestA (0.1s)\nFAIL\nFAIL\texample.com/a\t5.4s\nFAIL\n"),
        ("go test ./a -v 2>&1 | grep -v INFO", "--- PASS: TestA (0.1s)\nFAIL\n"),
        ("mise run test && mise run lint 2>&1 | tail -20", LINT + "[lint] ERROR task failed\n"),
        ("make test && make lint | tail", LINT + "make: *** [Makefile:3: lint] Error 1\n"),
        (
            "npm test | tail -5",
            "Tests: 3 passed, 3 total\nnpm error Lifecycle script `test` failed with error:\n",
        ),
        (
            "rtk bun run test 2>&1 | head -80",
            "error: unrecognized subcommand 'bun'\n\nUsage: rtk [OPTIONS]\n",
        ),
        ("foo --bar | head", "bash: foo: command not found\n"),
        (
            "flutter analyze lib 2>&1 | tail -3",
            "   info • Unused import • lib/a.dart:1:8\n\n768 issues found. (ran in 9.1s)\n",
        ),
        (
            "pnpm --filter web typecheck | tail -3",
            '[ERR_PNPM_RECURSIVE_RUN_NO_SCRIPT] None of the packages has a "typecheck" script\n',
        ),
    ],
)
def test_what_a_command_says_itself_outweighs_the_end_of_its_pipe(command: str, output: str) -> None:
    assert status(command, output) == "failed"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (
            "go test ./a -v | tail -9",
            "    a_test.go:3: FAIL is expected\n--- PASS: TestA (0.1s)\nPASS\nok  \ta\t1s\n",
        ),
        ("npm test && npm run lint | tail", "error: told by a test that passes\nTests: 3 passed, 3 total\n"),
        (
            "mux help | head -80",
            "Usage: mux\n" + "x\n" * 30 + "error: unrecognized subcommand is what you get\n",
        ),
        ("git worktree add --help | head -9", "usage: git worktree add [-f] <path>\n"),
        ("make test | tail -5", "make: *** is what make says\n" + "x\n" * 60 + "Tests: 3 passed, 3 total\n"),
    ],
)
def test_what_merely_talks_of_failures_passed(command: str, output: str) -> None:
    assert status(command, output) == "passed"


def test_a_package_that_failed_counts_where_no_test_is_reported_to_fail() -> None:
    assert command_output.tally_in("--- PASS: TestA (0.1s)\nFAIL\nFAIL\ta/b\t5s\nFAIL\n") == Tally(1, 1)
    assert command_output.tally_in(
        "--- PASS: TestA (0.1s)\n--- FAIL: TestB (0.1s)\n--- FAIL: TestC (0.1s)\nFAIL\n"
    ) == Tally(1, 2)


STOPPED = "CONFLICT (content): Merge conflict in a.py\nAutomatic merge failed; fix conflicts and then commit the result."


@pytest.mark.parametrize(
    ("over", "output", "told"),
    [
        ("git commit --no-edit", "[main 1a2b3c4d] Merge main", "settled by hand since"),
        ("git merge --continue", "[main 1a2b3c4d] Merge main", "settled by hand since"),
        ("git merge --abort", "", "given up since"),
    ],
)
def test_a_merge_that_stopped_is_reported_with_its_end(over: str, output: str, told: str) -> None:
    entries = [*ran("git merge origin/main", STOPPED, 1), *ran(over, output)]
    assert values(entries, "command")["git merge origin/main"] == f"at first failed with status 1, {told}"


def test_what_passed_only_behind_something_else_is_reported_with_that() -> None:
    failed = ran("git fetch origin && git status", "fatal: repository not found", 128)
    mended = "git remote set-url origin https://x.org/a.git && git fetch origin && git status"
    entries = [*failed, *ran(mended)]
    assert values(entries, "command")["git fetch origin && git status"] == (
        f"at first failed with status 128, passed since within `{mended}`"
    )
    looked = [*failed, *ran("git remote -v && git fetch origin && git status")]
    assert values(looked, "command")["git fetch origin && git status"] == (
        "at first failed with status 128, passed since"
    )


def test_a_chain_that_committed_and_could_not_push_needs_only_the_push() -> None:
    chain = 'git add a.py && git commit -m "One" && git push'
    failed = ran(chain, "[main be937de] One\n ! [rejected]  main -> main (fetch first)\n", 1)
    (fact,) = [fact for fact in facts(*failed) if fact.kind == "command"]
    assert (fact.value, fact.note) == ("failed with status 1", "its commit be937de stands")
    later = [*failed, *ran("git push")]
    assert values(later, "command")[chain] == "at first failed with status 1, passed since"
    assert set(values(later, "error").values()) == {"resolved"}
    not_made = ran(chain, "error: pathspec 'a.py' did not match any files", 1)
    assert values([*not_made, *ran("git push")], "command")[chain] == "failed with status 1"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("npx eslint . 2>&1 | tail -5", "✖ 1 problem (0 errors, 1 warning)\n"),
        ("docker compose logs app | grep -i invalid", "app-1 | warn: invalid argument ignored\n"),
        ("docker compose logs app | tail -1", "app-1 | warn: invalid argument ignored\n"),
        ("mux log | grep error | head -1", "error: unknown option was ignored\n"),
    ],
)
def test_what_a_pipe_shows_of_something_else_is_no_failure(command: str, output: str) -> None:
    assert status(command, output) == "passed"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("npx eslint . 2>&1 | tail -5", "✖ 3 problems (2 errors, 1 warning)\n"),
        ("mux add --x 2>&1 | head -5", "error: unexpected argument '--x' found\n"),
        ("mux add --x 2>&1 | tail -5", "mux: unrecognized option '--x'\n"),
        ("./bin/mux ad 2>&1 | cat", "unknown command 'ad'\n"),
    ],
)
def test_what_a_pipe_hides_of_a_failure_is_one(command: str, output: str) -> None:
    assert status(command, output) == "failed"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("git commit --dry-run", "On branch main\nChanges to be committed:\n"),
        ("git commit -q --dry-run", ""),
        ("echo 'git commit -m x'", "git commit -m x"),
        ("git log --grep commit", ""),
        ("grep -rn 'git commit' docs", "docs/a.md:3: git commit"),
        ("git commit -m x | tail -1", "nothing to commit, working tree clean"),
    ],
)
def test_what_committed_nothing_is_no_commit(command: str, output: str) -> None:
    # A change since the last commit that was reverted never happened.
    back = ran("git checkout -- a.py")
    edited = done(Act(deed=Deed.EDIT, subject="/work/app/a.py", changes=(Change(old="1", new="2"),)))
    assert values([*edited, *ran(command, output), *back], "file") == {}
    made = ran("git commit -am x && git push", "[main 1a2b3c4] x\n ! [rejected] main", 1)
    assert values([*edited, *made, *back], "file") == {"a.py": "edited"}
