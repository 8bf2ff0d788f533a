"""The real Claude Code is kept off a worktree that another agent holds, and told why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from segue.base import clock
from segue.hooks import guard
from segue.hooks.guard import Held
from segue.ops.common.desk import Desk, open_desk
from segue.ops.setup import install
from segue.ops.setup.install import State
from tests.programs.claude import Claude
from tests.programs.model_server import Reply, Step
from tests.programs.program import Run
from tests.programs.sandbox import Sandbox

OWN = {"model": "sonnet", "permissions": {"deny": ["Bash(curl:*)"]}}
LARGE = "a line of a large file\n" * 20_000


@pytest.fixture
def program(programs: dict[str, Path], tmp_path: Path) -> Claude:
    return Claude(tmp_path / "programs")


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    folder = tmp_path / "my wörk tree"
    (folder / ".git").mkdir(parents=True)
    return folder


def open_in(sandbox: Sandbox, folder: Path) -> Desk:
    env = {"HOME": str(sandbox.home), "SEGUE_HOME": str(sandbox.home / "segue's home")}
    return open_desk(env=env, cwd=folder)


def held(root: Path, seconds: float = 3600) -> Held:
    now = clock.now()
    return Held(
        root=str(root), handoff="h-1", holder="Other Agent", since=now, expires=clock.later(now, seconds)
    )


def refused(run: Run, at: int) -> bool:
    return "Other Agent holds the worktree" in run.requests[-1].results[at].text


@pytest.mark.program("claude")
def test_a_held_worktree_is_left_alone_until_it_is_given_back(program: Claude, worktree: Path) -> None:
    notes = worktree / "nötes.txt"
    work: list[Step] = [
        program.write_file(notes, LARGE),
        program.shell("ls -a | head -3"),
        program.shell("touch touched.txt"),
        Reply("Done."),
    ]
    with program.sandbox() as sandbox:
        desk = open_in(sandbox, worktree)
        settings = sandbox.home / ".claude" / "settings.json"
        settings.parent.mkdir(parents=True)
        settings.write_text(json.dumps(OWN))
        before = settings.read_bytes()
        (change,) = install.apply(desk, install.plan(desk, ["claude"]))
        assert change.state is State.DONE

        guard.put(desk.places.data, held(worktree), clock.now())
        run = program.run("Write the notes", worktree, work, sandbox=sandbox)
        assert [refused(run, at) for at in range(3)] == [True, False, True], run.report
        told = run.requests[1].results[0].text
        assert str(worktree) in told and "`segue back`" in told and "(h-1)" in told
        assert not notes.exists() and not (worktree / "touched.txt").exists()

        run = program.run(
            "Write the notes", worktree, work, sandbox=sandbox, environment={"SEGUE_HANDOFF": "h-1"}
        )
        assert notes.read_text() == LARGE, run.report
        assert (worktree / "touched.txt").exists()

        notes.unlink()
        guard.drop(desk.places.data, str(worktree), "h-1")
        run = program.run("Write the notes", worktree, work, sandbox=sandbox)
        assert notes.read_text() == LARGE, run.report
        assert "hook" not in run.stderr.lower() and guard.failures(desk.places.data) == []

        (change,) = install.undo(desk, ["claude"])
        assert change.state is State.UNDONE and settings.read_bytes() == before
        desk.close()


@pytest.mark.program("claude")
def test_a_lease_that_ran_out_and_a_guard_that_is_broken_let_the_work_go_on(
    program: Claude, worktree: Path
) -> None:
    one, two = worktree / "one.txt", worktree / "two.txt"
    with program.sandbox() as sandbox:
        desk = open_in(sandbox, worktree)
        (sandbox.home / ".claude").mkdir()
        (change,) = install.apply(desk, install.plan(desk, ["claude"]))
        assert change.state is State.DONE
        guard.put(desk.places.data, held(worktree, seconds=-1), clock.now())
        run = program.run("Write", worktree, [program.write_file(one, "1"), Reply("Done.")], sandbox=sandbox)
        assert one.read_text() == "1", run.report

        guard.note_of(desk.places.data, str(worktree)).write_text("no note")
        run = program.run("Write", worktree, [program.write_file(two, "2"), Reply("Done.")], sandbox=sandbox)
        assert two.read_text() == "2", run.report
        (failure,) = guard.failures(desk.places.data)
        assert "is unreadable" in failure.error
        desk.close()
