"""Resolved failures: a chain that passes, a rebase that ends, commits that are removed."""

from __future__ import annotations

import pytest

from segue.model import Entry
from segue.model.tool_action import Act, Change, Deed
from segue.shell import commands
from tests.pure.facts.test_tracker import done, facts, values


def ran(command: str, output: str = "", status: int = 0) -> list[Entry]:
    return done(Act(deed=Deed.RUN, subject=command), output=output, status=status)


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("make", ["make"]),
        ("npm run check && npm test", ["npm run check", "npm test"]),
        ("npm run check && npm test | tail -3", ["npm run check"]),
        ("cd /work/app && CI=1 npm test", ["npm test"]),
        ("make clean; make && make test", ["make clean; make && make test"]),
        ("make || true", ["make"]),
        ("cd packages/b && npm test", ["cd packages/b && npm test"]),
        ("git stash && npm test", ["git stash && npm test"]),
        ("ls x || npm test && echo ok", ["ls x || npm test"]),
        ("npm test && npm run lint &", ["npm test && npm run lint"]),
    ],
)
def test_what_passed_with_a_command(command: str, parts: list[str]) -> None:
    assert commands.passed_with(command, "/work/app") == parts


def test_what_passes_in_a_chain_is_overcome_with_its_errors() -> None:
    wrong = "src/a.ts(3,1): error TS2345: no"
    first = ran("npm run check && npm test", wrong, 2)
    assert values(first, "error") and values(first, "command") == {
        "npm run check && npm test": "failed with status 2"
    }
    later = [*first, *ran("LOG=1 npm run check && npm test && git push", "ok")]
    assert set(values(later, "error").values()) == {"resolved"}
    assert (
        values(later, "command")["npm run check && npm test"] == "at first failed with status 2, passed since"
    )


def test_a_chain_is_not_overcome_by_a_part_of_it() -> None:
    entries = [*ran("npm run check && npm test", "boom: failed", 2), *ran("npm run check")]
    assert values(entries, "command")["npm run check && npm test"] == "failed with status 2"
    entries += ran("npm test")
    assert values(entries, "command")["npm run check && npm test"].endswith("passed since")


@pytest.mark.parametrize(
    ("over", "output"),
    [
        ("git add a.py && GIT_EDITOR=true git rebase --continue", "Successfully rebased and updated refs/heads/x."),
        ("git rebase --abort", ""),
        ("git commit -m 'Merge main'", "[main 1a2b3c4d] Merge main"),
    ],
)  # fmt: skip
def test_a_rebase_that_came_to_its_end_leaves_no_conflict_behind(over: str, output: str) -> None:
    stopped = ran(
        "git rebase origin/main",
        "CONFLICT (content): Merge conflict in a.py\nerror: could not apply 669232e1",
        1,
    )
    assert set(values(stopped, "error").values()) == {"open"}
    entries = [*stopped, *ran(over, output)]
    assert set(values(entries, "error").values()) == {"resolved"}
    assert values(entries, "command")["git rebase origin/main"].startswith("at first failed")


def test_what_finds_nothing_did_not_fail_and_what_was_stopped_is_said_to_be() -> None:
    assert values(ran("rg '<<<<<<<' src", "", 1), "command") == {"rg '<<<<<<<' src": "passed"}
    assert values(ran("ls src/x", "ls: cannot access 'src/x': No such file", 1), "command") == {
        "ls src/x": "failed with status 1"
    }
    assert values(ran("npm run dev", "ready", 143), "command") == {
        "npm run dev": "failed with status 143, stopped"
    }


def test_a_check_is_the_same_whatever_is_picked_out_of_its_output() -> None:
    entries = [
        *ran("npm run build", "ok"),
        *ran("npm run build 2>&1 | grep -A5 error", "src/a.ts(1,2): error TS1: x"),
    ]
    assert values(entries, "command") == {"npm run build": "failed"}
    output = "FAIL src/a.spec.ts\n  ● Totals › rounds\n"
    assert values(ran("pnpm test | grep -E 'FAIL|●'", output), "command") == {"pnpm test": "failed"}


def test_commits_that_were_taken_back_or_remade_are_not_reported() -> None:
    first = [*ran("git commit -m One", "[main 1111111] One"), *ran("git commit -m Two", "[main 2222222] Two")]
    assert list(values(first, "commit")) == ["1111111", "2222222"]
    assert list(values([*first, *ran("git reset --soft HEAD~1")], "commit")) == ["1111111"]
    assert list(values([*first, *ran("git reset HEAD^^")], "commit")) == []
    amended = ran("git commit --amend -m Both", "[main 3333333] Both")
    assert list(values([*first, *amended], "commit")) == ["1111111", "3333333"]
    rebased = ran("git rebase --continue", "[detached HEAD 4444444] Two")
    assert list(values([*first, *rebased], "commit")) == ["1111111", "4444444"]


def test_the_branch_of_another_place_is_not_the_one_here() -> None:
    asked = ran("git rev-parse --abbrev-ref --symbolic-full-name @{u}", "origin/feature")
    assert values(asked, "branch") == {}
    assert values(ran("git rev-parse --abbrev-ref HEAD", "feature"), "branch") == {"": "feature"}


def test_a_pull_request_that_was_merged_is_reported_as_merged() -> None:
    address = "https://github.com/ada/shop/pull/175"
    entries = [*ran("gh pr create --fill", address), *ran("gh pr merge 175 --squash")]
    assert values(entries, "pull request") == {address: "merged"}


def test_a_check_tells_what_was_changed_after_it() -> None:
    edit = Act(deed=Deed.EDIT, subject="/work/app/a.py", changes=(Change(old="1", new="2"),))
    entries = [*ran("npm test", "ok"), *ran("ls"), *done(edit)]
    notes = {fact.subject: fact.note for fact in facts(*entries) if fact.kind == "command"}
    assert notes == {"npm test": "1 file changed since", "ls": ""}
    assert [fact.note for fact in facts(*entries, *ran("npm test", "ok")) if fact.subject == "npm test"] == [
        ""
    ]


def test_a_file_that_was_put_back_was_not_changed() -> None:
    edit = Act(deed=Deed.EDIT, subject="/work/app/a.py", changes=(Change(old="1", new="2"),))
    for command in ("git checkout -- a.py", "git restore a.py", "git checkout HEAD -- a.py b.py"):
        assert values([*done(edit), *ran(command)], "file") == {}
    committed = [*done(edit), *ran("git commit -am One", "[main 1111111] One"), *done(edit)]
    assert values([*committed, *ran("git checkout -- a.py")], "file") == {"a.py": "edited"}
    for command in (
        "git checkout other -- a.py",
        "git restore --source=other a.py",
        "git restore --staged a.py",
    ):
        assert values([*done(edit), *ran(command)], "file") == {"a.py": "edited"}
    assert values(ran("make > /dev/null"), "file") == {}


def test_another_worktree_is_reported_with_its_branch_where_work_was_done_in_it() -> None:
    made = ran("git worktree add -b fix/totals ../app-fix origin/main", "Preparing worktree")
    assert values(made, "worktree") == {}, "nothing was done there"
    edit = Act(deed=Deed.EDIT, subject="/work/app-fix/a.py", changes=(Change(old="1", new="2"),))
    assert values([*made, *done(edit)], "worktree") == {"/work/app-fix": "fix/totals"}
    asked = ran("cd /work/app-fix && git status", "On branch fix/tax")
    entries = [*ran("git status", "On branch main"), *made, *done(edit), *asked]
    assert values(entries, "worktree") == {"/work/app-fix": "fix/tax"}
    assert values(entries, "branch") == {"": "main"}


def test_a_check_of_all_takes_in_what_its_parts_complained_of() -> None:
    wrong = ran("npm run format", "src/a.ts(3,1): error TS2345: no", 1)
    assert set(values([*wrong, *ran("npm run lint")], "error").values()) == {"open"}
    assert set(values([*wrong, *ran("npm run check")], "error").values()) == {"resolved"}


def test_what_ran_elsewhere_or_with_other_settings_overcomes_nothing() -> None:
    for command in ("cd packages/b && npm test", "git stash && npm test"):
        entries = [*ran("npm test", "Error: boom", 1), *ran(command)]
        assert values(entries, "command")["npm test"] == "failed with status 1"
        assert set(values(entries, "error").values()) == {"open"}
    entries = [*ran("DB=postgres npm test", "Error: boom", 1), *ran("npm test")]
    assert values(entries, "command")["DB=postgres npm test"] == "failed with status 1"


def test_a_commit_settles_nothing_but_conflicts() -> None:
    entries = [
        *ran("git pull", "fatal: Authentication failed", 128),
        *ran("git commit -m x", "[main 1111111] x y"),
    ]
    assert values(entries, "command")["git pull"] == "failed with status 128"


def test_commits_stay_that_were_not_taken_back() -> None:
    first = [*ran("git commit -m wip", "[main 1111111] wip"), *ran("git commit -m wip", "[main 2222222] wip")]
    assert list(values(first, "commit")) == ["1111111", "2222222"]
    for command in (
        "git reset HEAD~1 -- src/a.py",
        "git reset HEAD~1 src/a.py",
        "cd /other && git reset HEAD~1",
    ):
        assert list(values([*first, *ran(command)], "commit")) == ["1111111", "2222222"], command
    both = ran("git commit -m B && git commit --amend --no-edit", "[main 3333333] B\n[main 4444444] B")
    assert list(values([*first, *both], "commit"))[:2] == ["1111111", "2222222"]


def test_a_file_that_was_committed_in_silence_was_changed() -> None:
    edit = Act(deed=Deed.EDIT, subject="/work/app/a.py", changes=(Change(old="1", new="2"),))
    entries = [*done(edit), *ran("git commit -qam x"), *ran("git checkout -- a.py")]
    assert values(entries, "file") == {"a.py": "edited"}


def test_a_worktree_inside_of_the_project_is_reported_too() -> None:
    made = ran("git worktree add -b feat .worktrees/feat", "Preparing worktree")
    edit = Act(deed=Deed.EDIT, subject="/work/app/.worktrees/feat/a.py", changes=(Change(old="1", new="2"),))
    assert values([*made, *done(edit)], "worktree") == {"/work/app/.worktrees/feat": "feat"}
