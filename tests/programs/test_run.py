"""Supervised runs with the real programs: what stops one, and how the work goes on."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .claude import SUBSCRIPTION, plan_limits, refusal
from .household import PERMITTED, Household, Ran
from .model_server import Delay, Fault, Hang, Reply, Request, Script, Step, Tokens
from .program import Program

CLOCKWORK = Path(__file__).with_name("clockwork.py")
TASK = "Write poem.txt, four lines, one at a time: canary-task-77. Never touch README.md."
HOUR = 3600
PASSED = [part for name, option in PERMITTED.items() for part in ("--pass", f"{name}={option}")]


def passing(*names: str) -> list[str]:
    """What lets the agents of a chain work alone."""
    return [part for name in names if name in PERMITTED for part in ("--pass", f"{name}={PERMITTED[name]}")]


def append(program: Program, project: Path, line: str) -> Any:
    """A call that shows whether it was made twice."""
    return program.shell(f"echo {line} >> {project / 'poem.txt'}")


def run_of(household: Household, project: Path) -> dict[str, Any]:
    [shown] = household.segue("run", "status", "--json", cwd=project).data
    found: dict[str, Any] = shown["run"]
    return found


def wait_for(is_so: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.05)


def test_at_a_limit_the_next_agent_goes_on_and_the_first_gets_the_last_word_after_the_reset(
    household: Household, tmp_path: Path
) -> None:
    project = household.project("p")
    claude, codex = household.programs["claude"], household.programs["codex"]
    ahead = tmp_path / "ahead"
    script = Script(
        [
            append(claude, project, "one"),
            append(claude, project, "two"),
            refusal(int(time.time()) + HOUR),
            append(codex, project, "three"),
            codex.shell(f"echo four >> {project / 'poem.txt'}; echo It has four lines. >> README.md"),
            Reply("canary-done: I appended lines three and four to `poem.txt`, and created `index.txt`."),
            Reply("Checked: four lines."),
        ]
    )
    process, server = household.start(
        *("run", TASK, "--chain", "claude,codex", "--return", "--yes", "--json", *passing("claude")),
        cwd=project,
        script=script,
        environment=SUBSCRIPTION,
        under=(str(CLOCKWORK), str(ahead)),
    )
    with server:
        wait_for(lambda: "Waiting until" in process.stderr or "The run is" in process.stderr)
        assert "Waiting until" in process.stderr, process.stderr
        assert len(list(server.main_requests)) == 6, "waiting asks nobody"
        ahead.write_text(str(HOUR + 60))
        code = process.wait()
    ran = Ran(code, process.stdout, process.stderr, server)
    assert code == 12 and "The run is done, 1 prohibition broken, 1 claim not confirmed." in ran.stderr, (
        ran.report
    )
    run = ran.data["run"]
    assert [leg["broken"] for leg in run["legs"]] == [0, 1, 0], ran.report
    assert "Codex changed README.md: its transcript shows it" in ran.stderr, ran.report
    assert (project / "poem.txt").read_text().split() == ["one", "two", "three", "four"], ran.report
    assert [leg["target"] for leg in run["legs"]] == ["claude", "codex", "claude"]
    assert run["legs"][0]["stop"]["why"] == "limit"
    assert run["legs"][0]["stop"]["limit"]["window"] == "5h"
    assert run["legs"][0]["transcript"] == run["legs"][2]["transcript"], "its own conversation goes on"
    asked = server.main_requests
    assert "canary-task-77" in asked[3].text and "Never touch README.md" in asked[3].text
    back = asked[6].messages[-1].text
    assert "Back from Codex" in back and "canary-done" in back
    unsupported = next(line for line in back.splitlines() if "no such file" in line)
    assert "index.txt" in unsupported and "file edited: poem.txt" not in back, (
        "only what is not so is accused"
    )
    assert (Path(ran.data["log"])).read_text().count("Waiting until") == 1


def test_back_from_several_agents_the_first_is_told_what_each_of_them_did(
    household: Household, tmp_path: Path
) -> None:
    project = household.project("p")
    claude, codex, opencode = (household.programs[name] for name in ("claude", "codex", "opencode"))
    ahead = tmp_path / "ahead"
    soon = int(time.time()) + HOUR

    def model(request: Request) -> Step:
        done = (project / "poem.txt").read_text().split() if (project / "poem.txt").exists() else []
        if request.protocol == "anthropic":
            if "Back from" in request.messages[-1].text:
                return Reply("Checked.")
            return refusal(soon) if done else append(claude, project, "one")
        if request.protocol == "responses":
            is_there = (project / "two.txt").exists()
            return (
                codex.usage_limit(soon + HOUR) if is_there else codex.write_file(project / "two.txt", "two\n")
            )
        return Reply("canary-last: done.") if "three" in done else append(opencode, project, "three")

    process, server = household.start(
        *("run", TASK, "--chain", "claude,codex,opencode", "--return", "--yes", "--json", *passing("claude")),
        cwd=project,
        script=Script(then=model),
        environment=SUBSCRIPTION,
        under=(str(CLOCKWORK), str(ahead)),
    )
    with server:
        wait_for(lambda: "Waiting until" in process.stderr or "The run is" in process.stderr)
        ahead.write_text(str(HOUR + 60))
        code = process.wait()
    ran = Ran(code, process.stdout, process.stderr, server)
    assert code == 0, ran.report
    legs = ran.data["run"]["legs"]
    assert [leg["target"] for leg in legs] == ["claude", "codex", "opencode", "claude"], ran.report
    told = server.main_requests[-1].messages[-1].text
    assert "Back from Codex, then OpenCode: " in told and "canary-last" in told
    assert "two.txt" in told and "echo three" in told, "what both did"
    assert household.segue("back", "--headless", cwd=project).exit_code == 5, (
        "there is nowhere left to come back from"
    )


# Killed


@pytest.mark.parametrize("whom", ["agent", "segue", "both"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_in_the_middle_the_work_goes_on_and_nothing_is_done_twice(
    household: Household, tmp_path: Path, whom: str, when: str
) -> None:
    """Before the switch, while the first agent is at work; and after it, while the second is."""
    project = household.project("p")
    claude, codex = household.programs["claude"], household.programs["codex"]
    mark = tmp_path / "mark"

    def held(step: Step) -> Step:
        """A model that answers when the killing is done."""

        def answer(_request: Request) -> Step:
            mark.touch()
            wait_for(mark.with_suffix(".killed").exists)
            return step

        return answer

    limit = refusal(int(time.time()) + HOUR)
    third = append(codex, project, "three")
    turns: dict[str, list[Step]] = {
        "anthropic": [append(claude, project, "one"), append(claude, project, "two"), limit],
        "responses": [third, append(codex, project, "four"), Reply("canary-done: all four lines.")],
    }
    first = turns["anthropic" if when == "before" else "responses"]
    first[1] = held(first[1])

    def model(request: Request) -> Step:
        """What was cut off by the killing is asked for again."""
        own = turns[request.protocol]
        done = (project / "poem.txt").read_text().split() if (project / "poem.txt").exists() else []
        if request.protocol == "anthropic":
            return own[min(len(done), 2)]
        return own[max(0, len(done) - 2)]

    ran = household.segue(
        *(whom, str(mark)),
        *("run", TASK, "--chain", "claude,codex", "--yes", "--json", *passing("claude")),
        cwd=project,
        script=Script(then=model),
        environment=SUBSCRIPTION,
        under=(str(Path(__file__).with_name("supervised.py")),),
    )
    assert ran.exit_code == 0, ran.report
    assert (project / "poem.txt").read_text().split() == ["one", "two", "three", "four"], ran.report
    run = run_of(household, project)
    assert run["state"] == "done"
    assert [leg["target"] for leg in run["legs"]] == ["claude", "codex"]
    assert len({leg["transcript"] for leg in run["legs"]}) == 2
    assert household.segue("log", "verify", cwd=project).exit_code == 0


# Whatever else stops one


def test_a_program_that_hangs_is_given_up_and_the_next_goes_on(household: Household) -> None:
    project = household.project("p")
    claude, codex = household.programs["claude"], household.programs["codex"]
    ran = household.segue(
        *("run", TASK, "--chain", "claude,codex", "--patience", "3s", "--yes", "--json", *passing("claude")),
        cwd=project,
        script=Script(
            [append(claude, project, "one"), Hang(), append(codex, project, "two"), Reply("Done.")]
        ),
    )
    assert ran.exit_code == 0, ran.report
    assert [leg["stop"] and leg["stop"]["why"] for leg in ran.data["run"]["legs"]] == ["hung", None]
    assert (project / "poem.txt").read_text().split() == ["one", "two"]


def test_an_agent_without_login_is_passed_over_and_alone_it_is_told_what_to_do(household: Household) -> None:
    project = household.project("p")
    codex = household.programs["codex"]
    no_login = Fault(
        401, {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}
    )

    def model(request: Request) -> Step:
        if request.protocol == "anthropic":
            return no_login
        has_it = (project / "poem.txt").exists()
        return Reply("Done.") if has_it else append(codex, project, "one")

    alone = household.segue(
        *("run", TASK, "--chain", "claude", "--json"), cwd=project, script=Script(then=model)
    )
    assert alone.exit_code == 6, alone.report
    assert alone.data["run"]["state"] == "failed" and "key" in alone.data["run"]["why"].lower()
    both = household.segue(
        *("run", TASK, "--chain", "claude,codex", "--yes", "--json"), cwd=project, script=Script(then=model)
    )
    assert both.exit_code == 0, both.report
    assert [leg["target"] for leg in both.data["run"]["legs"]] == ["claude", "codex"]


def test_a_full_context_moves_the_work_on(household: Household) -> None:
    project = household.project("p")
    claude, codex = household.programs["claude"], household.programs["codex"]
    full = Fault(
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "prompt is too long: 208310 tokens > 200000 maximum",
            },
        },
    )

    def model(request: Request) -> Step:
        done = (project / "poem.txt").read_text().split() if (project / "poem.txt").exists() else []
        if request.protocol == "anthropic":
            return full if done else append(claude, project, "one")
        return append(codex, project, "two") if len(done) < 2 else Reply("Done.")

    ran = household.segue(
        *("run", TASK, "--chain", "claude,codex", "--yes", "--json", *passing("claude")),
        cwd=project,
        script=Script(then=model),
    )
    assert ran.exit_code == 0, ran.report
    assert [leg["stop"] and leg["stop"]["why"] for leg in ran.data["run"]["legs"]] == ["context", None]


def test_a_limit_without_a_reset_time_ends_the_run_with_the_work_kept_and_it_can_be_resumed(
    household: Household,
) -> None:
    project = household.project("p")
    gemini = household.programs["gemini"]
    quota = gemini.usage_limit(0)
    ran = household.segue(
        *("run", TASK, "--chain", "gemini", "--json", *passing("gemini")),
        cwd=project,
        script=Script([append(gemini, project, "one")], then=quota),
    )
    assert ran.exit_code == 6, ran.report
    run = ran.data["run"]
    assert run["state"] == "failed" and "limit" in run["why"], run
    assert (project / "poem.txt").read_text().split() == ["one"]
    again = household.segue(
        "run",
        "resume",
        "--json",
        cwd=project,
        script=Script([append(gemini, project, "two"), Reply("Done.")]),
    )
    assert again.exit_code == 0, again.report
    assert (project / "poem.txt").read_text().split() == ["one", "two"]


# Caps


def test_a_run_stops_at_its_cap_of_tokens_and_goes_on_with_another(household: Household) -> None:
    project = household.project("p")
    claude = household.programs["claude"]
    much = Tokens(input=40_000, output=500)

    def model(_request: Request) -> Step:
        done = (project / "poem.txt").read_text().split() if (project / "poem.txt").exists() else []
        if len(done) >= 12:
            return Reply("Done.")
        return Delay(1.0, Reply(calls=(append(claude, project, "line"),), tokens=much))

    command = ("--chain", "claude", "--json", *passing("claude"))
    ran = household.segue(
        "run", TASK, *command, "--max-tokens", "100000", cwd=project, script=Script(then=model)
    )
    assert ran.exit_code == 5, ran.report
    assert ran.data["run"]["state"] == "capped" and ran.data["run"]["spent"]["tokens"] >= 100_000
    count = len((project / "poem.txt").read_text().split())
    assert 2 <= count < 12
    again = household.segue(
        *("run", "resume", "--max-tokens", "10000000", "--json"), cwd=project, script=Script(then=model)
    )
    assert again.exit_code == 0, again.report
    assert len((project / "poem.txt").read_text().split()) == 12


def test_an_agent_is_left_alone_from_a_share_of_its_week_on(household: Household) -> None:
    project = household.project("p")
    claude, codex = household.programs["claude"], household.programs["codex"]
    told = plan_limits("allowed_warning", 0.63, int(time.time()) + 3 * 86_400, "seven_day")

    def model(request: Request) -> Step:
        done = (project / "poem.txt").read_text().split() if (project / "poem.txt").exists() else []
        if request.protocol == "anthropic":
            return Delay(1.0, Reply(calls=(append(claude, project, "week"),), headers=told))
        return append(codex, project, "other") if "other" not in done else Reply("Done.")

    ran = household.segue(
        *("run", TASK, "--chain", "claude,codex", "--yes", "--json", *passing("claude")),
        cwd=project,
        script=Script(then=model),
        environment=SUBSCRIPTION,
    )
    assert ran.exit_code == 0, ran.report
    [first, second] = ran.data["run"]["legs"]
    assert "63% of its week" in first["stop"]["said"] and second["stop"] is None


# What it may do


def test_an_agent_that_may_not_write_is_told_of_with_what_would_let_it(household: Household) -> None:
    project = household.project("p")
    claude = household.programs["claude"]
    ran = household.segue(
        *("run", TASK, "--chain", "claude"),
        cwd=project,
        script=Script([claude.write_file(project / "poem.txt", "one\n"), Reply("I was refused.")]),
    )
    assert ran.exit_code == 11 and not (project / "poem.txt").exists(), ran.report
    assert "was denied 1 call (Write)" in ran.stderr, ran.report
    assert "done, 1 call refused" in ran.stdout and "The run is done, 1 call refused." in ran.stderr
    assert "--pass claude=--permission-mode=acceptEdits" in ran.stderr
    allowed = household.segue(
        *("run", TASK, "--chain", "claude", "--pass", "claude=--permission-mode=acceptEdits"),
        cwd=project,
        script=Script([claude.write_file(project / "poem.txt", "one\n"), Reply("Written.")]),
    )
    assert allowed.exit_code == 0 and (project / "poem.txt").exists(), allowed.report
    assert "was denied" not in allowed.stderr


# Watching and stopping


def test_in_the_background_it_can_be_watched_and_stopped_and_resumed(household: Household) -> None:
    project = household.project("p")
    claude = household.programs["claude"]

    def model(_request: Request) -> Step:
        done = (project / "poem.txt").read_text().split() if (project / "poem.txt").exists() else []
        return Delay(0.5, append(claude, project, "line")) if len(done) < 4 else Hang()

    script = "\n".join(
        [
            f"segue run {TASK!r} --chain claude --background --json {' '.join(passing('claude'))} > began",
            "while [ $(wc -l < poem.txt 2>/dev/null || echo 0) -lt 4 ]; do sleep 0.1; done",
            "segue run status --json > status",
            "segue run stop --json > stopped",
        ]
    )
    (household.bin / "segue").write_text(f'#!/bin/sh\nexec {sys.executable} -m segue "$@"\n')
    (household.bin / "segue").chmod(0o755)
    ran = household.segue(
        script,
        cwd=project,
        script=Script(then=model),
        under=(
            "-c",
            "import subprocess, sys; sys.exit(subprocess.run(['sh', '-ec', sys.argv[1]]).returncode)",
        ),
    )
    assert ran.exit_code == 0, ran.report
    [status] = json.loads((project / "status").read_text())
    assert status["is_attended"] and status["is_agent_at_work"] and status["run"]["state"] == "working"
    stopped = json.loads((project / "stopped").read_text())
    assert stopped["run"]["state"] == "stopped" and not stopped["is_agent_at_work"]
    again = household.segue("run", "resume", "--json", cwd=project, script=Script([Reply("All is done.")]))
    assert again.exit_code == 0, again.report
    assert len((project / "poem.txt").read_text().split()) == 4
    assert "Continue the work where you left off" in again.requests[0].text


def test_the_next_agent_has_the_context_before_the_switch(household: Household) -> None:
    project = household.project("p")
    claude, codex = household.programs["claude"], household.programs["codex"]
    near = plan_limits("allowed_warning", 0.93, int(time.time()) + HOUR)
    refused = refusal(int(time.time()) + HOUR)
    asked: list[str] = []

    def model(request: Request) -> Step:
        done = (project / "poem.txt").read_text().split() if (project / "poem.txt").exists() else []
        asked.append(request.protocol)
        if request.protocol == "responses":
            if "do nothing yet" in request.messages[-1].text:
                return Reply("ready")
            return append(codex, project, "last") if "last" not in done else Reply("Done.")
        if "responses" in asked:
            return Delay(2.0, refused)
        return Delay(1.0, Reply(calls=(append(claude, project, "line"),), headers=near))

    ran = household.segue(
        *("run", TASK, "--chain", "claude,codex", "--prewarm", "--yes", "--json", *passing("claude")),
        cwd=project,
        script=Script(then=model, is_main=lambda request: True),
        environment=SUBSCRIPTION,
    )
    assert ran.exit_code == 0, ran.report
    assert (project / "poem.txt").read_text().split()[-1] == "last"
    listed = household.segue("handoff", "list", "--json", cwd=project)
    assert listed.exit_code == 0, listed.report
    assert [one["delivery"]["way"] for one in listed.data] == ["resume"]
    first = next(request for request in ran.server.requests if request.protocol == "responses")
    last = next(
        request
        for request in ran.server.requests
        if request.protocol == "responses" and "do nothing yet" not in request.messages[-1].text
    )
    assert "canary-task-77" in first.text and first.messages[-1].text in last.text, "the same conversation"
