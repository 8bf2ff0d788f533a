"""Each real program works with the scripted model: tools run, the model is told, the answer is printed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.programs.model_server import Disconnect, Fault, Reply, Step, Turn
from tests.programs.program import Program

CONTENT = "first line\nzweite Zeile: äöü\n\nlast line\n"


def test_the_model_writes_a_file_and_runs_a_command(program: Program, workspace: Path) -> None:
    run = program.run(
        "Write the notes, please: canary-prompt-4711",
        workspace,
        [
            program.write_file(workspace / "notes.txt", CONTENT),
            program.shell("cp notes.txt copy.txt && expr 40 + 2 | sed s/^/canary-/"),
            Reply("The notes are written: canary-answer-0815"),
        ],
    )

    assert run.exit_code == 0, run.report
    assert (workspace / "notes.txt").read_bytes() == CONTENT.encode(), run.report
    assert (workspace / "copy.txt").read_bytes() == CONTENT.encode(), run.report
    assert "canary-answer-0815" in run.stdout, run.report
    assert run.strays == ()

    asked, told_of_file, told_of_command = run.requests
    assert "canary-prompt-4711" in asked.said("user")
    assert (len(asked.results), len(told_of_file.results), len(told_of_command.results)) == (0, 1, 2)
    assert "canary-42" in told_of_command.results[1].text
    assert "canary-42" not in told_of_file.text


def test_several_calls_in_one_turn_all_run(program: Program, workspace: Path) -> None:
    both = (program.shell("echo one > one.txt"), program.shell("echo two > two.txt"))
    run = program.run("Do both", workspace, [Reply("Doing both.", calls=both), Reply("Both done.")])

    assert run.exit_code == 0, run.report
    assert [(workspace / name).read_text() for name in ("one.txt", "two.txt")] == ["one\n", "two\n"]
    assert len(run.requests[1].results) == 2


def test_a_second_run_in_the_same_home_resumes_the_session(program: Program, workspace: Path) -> None:
    with program.sandbox() as sandbox:
        first = program.run("Remember canary-first", workspace, [Reply("I will.")], sandbox=sandbox)
        session = program.session_id(first.stdout)
        second = program.run("Go on", workspace, [Reply("Yes.")], sandbox=sandbox, resume=session)

    assert (first.exit_code, second.exit_code) == (0, 0), first.report + second.report
    assert "canary-first" in second.requests[0].said("user")
    assert "I will." in second.requests[0].said("assistant")


def test_a_program_can_be_killed_in_the_middle_of_a_tool_call(program: Program, workspace: Path) -> None:
    started = workspace / "started"
    script: list[Step] = [program.shell("touch started; sleep 600; touch ended"), Reply("Never said.")]
    with program.start("Take your time", workspace, script) as running:
        deadline = time.monotonic() + 60
        while not started.exists():
            assert time.monotonic() < deadline, running.process.stderr
            time.sleep(0.05)
        running.kill()
        run = running.wait()

    assert run.exit_code == -9, run.report
    assert any("sleep 600" in stray for stray in run.strays), run.strays
    assert not (workspace / "ended").exists()
    assert len(run.requests) == 1


@pytest.mark.parametrize(
    "trouble", [Fault(503, headers={"retry-after": "1"}), Disconnect()], ids=["overload", "disconnect"]
)
def test_trouble_that_passes_is_survived(program: Program, workspace: Path, trouble: Turn) -> None:
    run = program.run("Are you there?", workspace, [trouble, Reply("Back again: canary-back")])

    assert run.exit_code == 0, run.report
    assert "canary-back" in run.stdout
    assert len(run.requests) == 2
