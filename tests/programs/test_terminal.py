"""`segue to` and `segue back` where people use them: on a terminal, with the real programs open in it."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from . import matrix
from .household import KINDS, Household, saying
from .matrix import CONSTRAINTS, REPLIES, SECRET
from .model_server import Call, Hang, ModelServer, Reply, Script, Step
from .terminal import CTRL_C, CTRL_Z, ENTER, STOPPED, Terminal

ASKED = "Let this project's context go there?"
TAKEN = "canary-taken"
HAS_IT = "has the work"
LEAVING = {"claude": 2, "codex": 1, "gemini": 2, "opencode": 2}
"""How often Ctrl-C is pressed to leave a program that has nothing to do."""
BETWEEN_PRESSES_S = 0.4
SETTLED_S = 0.6
"""A program that has just drawn an answer may still draw; keys of that moment are lost."""

BLIND = """
import sys
from segue.errors import AgentError
from segue.faces.cli import main
from segue.ops.handoff import arrival

def refuse(*_):
    raise AgentError(agent="x", what="its records cannot be read just now")

arrival.state_of_files = refuse
sys.exit(main())
"""
"""Segue, unable to see what the agent writes while that is open."""


def lived_in(household: Household) -> Path:
    """A project of somebody who has used all the programs in it before: none has questions of its own to ask."""
    project = household.project("p")
    key = household.environment["ANTHROPIC_API_KEY"]
    known: dict[str, Any] = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [key[-20:]], "rejected": []},
        "projects": {str(project): {"hasTrustDialogAccepted": True}},
    }
    (household.home / ".claude.json").write_text(json.dumps(known))
    config = household.home / ".codex" / "config.toml"
    # Of a model that it knows, Codex would ask whether a newer one is wanted.
    own = config.read_text().replace(household.programs["codex"].model, "my-model")
    config.write_text(f'{own}\n[projects."{project}"]\ntrust_level = "trusted"\n')
    return project


def begun(household: Household, source: str = "claude") -> tuple[Path, str]:
    """A project in which an agent has worked, and the id of its transcript."""
    project = lived_in(household)
    program = household.programs[source]
    (project / "secret.env").write_text(f"GITHUB_TOKEN={SECRET}\n")
    script = [Reply(REPLIES[0], calls=(program.shell("cat secret.env"),)), Reply(REPLIES[1])]
    if source == "codex":  # which calls its tools by other names in a model that it does not know
        script = [Reply("\n\n".join(REPLIES))]
    return project, household.work(source, project, matrix.PROMPT, script)


@contextmanager
def typed(
    household: Household,
    project: Path,
    *arguments: str,
    script: Script | None = None,
    under: tuple[str, ...] = ("-m", "segue"),
) -> Iterator[tuple[Terminal, ModelServer]]:
    """A command of Segue, as a person types it into a terminal."""
    with (
        ModelServer(script or saying(TAKEN), household.sandbox.listener) as server,
        Terminal(
            household.sandbox,
            [sys.executable, *under, *arguments],
            cwd=project,
            environment=household.environment,
        ) as terminal,
    ):
        yield terminal, server


def leave(terminal: Terminal, target: str) -> None:
    """Leave a program as a person does, once it has answered."""
    time.sleep(SETTLED_S)
    for press in range(LEAVING[target]):
        time.sleep(BETWEEN_PRESSES_S if press else 0)
        terminal.type(CTRL_C)


def handoffs(household: Household, project: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = household.segue("handoff", "list", "--json", cwd=project).data
    return listed


def rollouts(household: Household) -> list[Path]:
    return sorted(household.home.glob(".codex/sessions/**/*.jsonl"))


def times_said(household: Household, mark: str) -> int:
    """How often Codex was told something, by its own records."""
    lines = [json.loads(line) for path in rollouts(household) for line in path.read_text().splitlines()]
    return sum(
        line["type"] == "response_item" and line["payload"].get("role") == "user" and mark in json.dumps(line)
        for line in lines
    )


# There


def test_who_says_no_keeps_everything_at_home(household: Household) -> None:
    project, _ = begun(household)
    with typed(household, project, "to", "codex") as (terminal, server):
        terminal.wait_for(ASKED)
        terminal.type("n" + ENTER)
        closed = terminal.end()
    assert closed.exit_code == 5 and closed.is_sane
    assert "vendor openai" in terminal.shown and "tokens" in terminal.shown and "1 secret" in terminal.shown
    assert server.requests == () and rollouts(household) == []
    assert [one["state"] for one in handoffs(household, project)] == ["prepared"]


@pytest.mark.parametrize("target", list(KINDS))
def test_who_says_yes_finds_the_work_in_the_next_agent(household: Household, target: str) -> None:
    project, _ = begun(household, "codex" if target == "claude" else "claude")
    # A program that was never used before is less particular about the conversations that it goes on with.
    household.work(target, household.project("before"), "Hello", [Reply("Hello.")])
    with typed(household, project, "to", target) as (terminal, server):
        terminal.wait_for(ASKED)
        assert server.requests == ()
        terminal.type("y" + ENTER)
        terminal.wait_for(TAKEN)
        leave(terminal, target)
        closed = terminal.end()
    (request,) = server.main_requests
    above, mark, brief = request.text.partition("# Handoff h-")
    assert mark and all(constraint in brief for constraint in CONSTRAINTS)
    assert matrix.PROMPT in above and all(reply in above for reply in REPLIES)
    assert SECRET not in request.text
    assert (closed.exit_code, closed.is_sane, closed.left) == (0, True, [])
    assert terminal.modes == set()
    assert HAS_IT in terminal.shown and "segue back" in terminal.shown
    (one,) = handoffs(household, project)
    assert (one["state"], one["delivery"]["way"], one["delivery"]["mode"]) == ("completed", "native", "open")


def test_a_folder_that_the_next_agent_asks_about_first_gets_the_work_and_leaving_early_is_told(
    household: Household,
) -> None:
    project, _ = begun(household)
    config = household.home / ".codex" / "config.toml"
    config.write_text(config.read_text().partition("\n[projects.")[0])
    script = Script([Hang("canary-thinking")])
    with typed(household, project, "to", "codex", "--yes", script=script) as (terminal, server):
        terminal.wait_for("Trust and continue")
        time.sleep(SETTLED_S)
        assert not server.main_requests
        terminal.type(ENTER)
        terminal.wait_for(lambda: server.main_requests)
        time.sleep(SETTLED_S)
        terminal.type("/quit")
        time.sleep(SETTLED_S)
        terminal.type(ENTER)
        assert terminal.end().exit_code == 0
    assert "# Handoff h-" in server.main_requests[0].text
    assert HAS_IT in terminal.shown and "during a turn" in terminal.shown


# And back


def test_back_on_a_terminal_the_same_conversation_goes_on(household: Household) -> None:
    project, id = begun(household)
    away = household.segue("to", "codex", "--headless", "--yes", cwd=project, script=saying("canary-done"))
    assert away.exit_code == 0, away.report
    with typed(household, project, "back") as (terminal, server):
        terminal.wait_for(TAKEN)
        time.sleep(SETTLED_S)
        terminal.type(CTRL_Z)
        terminal.wait_for(STOPPED)
        assert terminal.modes == set()
        terminal.type(ENTER)
        terminal.wait_for(lambda: terminal.modes)
        leave(terminal, "claude")
        closed = terminal.end()
    assert (closed.exit_code, closed.is_sane, closed.left) == (0, True, [])
    assert terminal.modes == set() and HAS_IT in terminal.shown
    told = server.main_requests[0].text
    assert "Back from Codex" in told and "canary-done" in told and REPLIES[0] in told
    assert [path.stem for path in household.home.glob(".claude/projects/*/*.jsonl")] == [id]


# What goes wrong


def test_a_closed_window_loses_nothing_and_nothing_is_said_twice(household: Household) -> None:
    project, _ = begun(household)
    with typed(household, project, "to", "codex", "--yes") as (terminal, _):
        terminal.wait_for(TAKEN)
        terminal.hang_up()
        closed = terminal.end()
    assert closed.left == [] and HAS_IT not in terminal.shown
    (before,) = handoffs(household, project)
    assert before["state"] in ("delivered", "acknowledged")

    with typed(household, project, "to", "codex") as (terminal, server):
        terminal.wait_for(TAKEN)
        assert ASKED not in terminal.shown
        leave(terminal, "codex")
        closed = terminal.end()
    assert (closed.exit_code, closed.is_sane) == (0, True)
    assert server.main_requests == (), "the conversation is opened, and nothing is said"
    (after,) = handoffs(household, project)
    assert (after["id"], after["state"]) == (before["id"], "completed")
    assert times_said(household, f"# Handoff {before['id']}") == 1
    assert len(rollouts(household)) == 1


def test_what_was_begun_on_a_terminal_can_be_finished_without_one(household: Household) -> None:
    project, _ = begun(household)
    with typed(household, project, "to", "codex", "--yes") as (terminal, _):
        terminal.wait_for(TAKEN)
        terminal.hang_up()
        terminal.end()
    ran = household.segue("to", "codex", "--headless", "--json", cwd=project, script=saying("Going on."))
    assert ran.exit_code == 0, ran.report
    assert ran.data["handoff"]["delivery"]["mode"] == "headless"
    assert times_said(household, f"# Handoff {ran.data['handoff']['id']}") == 1


def test_a_program_that_dies_leaves_a_terminal_that_can_be_used(household: Household) -> None:
    project, _ = begun(household, "codex")
    with typed(household, project, "to", "claude", "--yes") as (terminal, _):
        terminal.wait_for(TAKEN)
        time.sleep(SETTLED_S)
        assert "1049" in terminal.modes
        (run,) = (household.home / ".local" / "share" / "segue" / "runs").glob("h-*/pid")
        os.kill(int(run.read_text().split()[0]), signal.SIGKILL)
        closed = terminal.end()
    assert (closed.exit_code, closed.is_sane, closed.left) == (0, True, [])
    assert terminal.modes == set() and HAS_IT in terminal.shown


def test_keys_pressed_once_too_often_do_not_cut_off_the_end(household: Household) -> None:
    project, _ = begun(household, "codex")
    with typed(household, project, "to", "claude", "--yes") as (terminal, _):
        terminal.wait_for(TAKEN)
        leave(terminal, "claude")
        for _ in range(5000):
            if HAS_IT in terminal.shown:
                break
            terminal.type(CTRL_C)
            time.sleep(0.002)
        closed = terminal.end()
    assert closed.is_sane and HAS_IT in terminal.shown
    assert [one["state"] for one in handoffs(household, project)] == ["completed"]


def test_what_segue_cannot_see_while_it_waits_does_not_end_the_agent(household: Household) -> None:
    project, _ = begun(household, "codex")
    with typed(household, project, "to", "claude", "--yes", under=("-c", BLIND)) as (terminal, _):
        terminal.wait_for(TAKEN)
        leave(terminal, "claude")
        closed = terminal.end()
    assert (closed.exit_code, closed.is_sane) == (0, True)
    assert HAS_IT in terminal.shown
    assert [one["state"] for one in handoffs(household, project)] == ["completed"]


# Too long to be said


def test_a_brief_that_is_too_long_for_an_argument_is_read_from_a_private_file(household: Household) -> None:
    project = lived_in(household)
    codex = household.programs["codex"]
    id = None
    for number in range(2):
        lines = [
            f"- Never touch module m{number}_{n}, auditor {n * 7919 % 10_007} signed it off."
            for n in range(1000)
        ]
        run = codex.run(
            f"canary-{number}:\n" + "\n".join(lines),
            project,
            [Reply("Understood.")],
            sandbox=household.sandbox,
            environment=household.environment,
            resume=id,
        )
        id = id or codex.session_id(run.stdout)
    command = ("to", "claude", "--yes", "--preserve", "complete", "--way", "prompt")
    with typed(household, project, *command) as (terminal, server):
        terminal.wait_for(TAKEN)
        (file,) = (household.home / ".local" / "share" / "segue" / "runs").glob("*/handoff.md")
        text, mode = file.read_text(), stat.S_IMODE(file.stat().st_mode)
        leave(terminal, "claude")
        assert terminal.end().exit_code == 0
    assert str(file) in server.main_requests[0].said("user")
    assert mode == 0o600
    (one,) = handoffs(household, project)
    assert len(text) > 100_000 and text.startswith(f"# Handoff {one['id']}\n") and "m1_999" in text
    assert one["state"] == "completed"
    assert "the path of the brief" in terminal.shown and "word for word" not in terminal.shown
    shown = household.segue("handoff", "validate", one["id"], cwd=project)
    assert shown.exit_code == 1 and "may not have" in shown.stdout, shown.report


def test_after_clear_a_conversation_asks_about_the_one_before(household: Household) -> None:
    project, claude = lived_in(household), household.programs["claude"]
    assert household.segue("init", "claude", "--mcp", "--yes", cwd=project).exit_code == 0
    script: list[Step] = [Reply("canary-one"), Call("mcp__segue__brief", {}), Reply("canary-two")]
    with (
        ModelServer(script, household.sandbox.listener) as server,
        Terminal(
            household.sandbox,
            [str(claude.executable), "--allowedTools=mcp__segue__brief", "Keep canary-wish"],
            cwd=project,
            environment={**household.environment, "ENABLE_TOOL_SEARCH": "false"},  # offered, not searched for
        ) as terminal,
    ):
        terminal.wait_for("canary-one")
        for line in ("/clear", "Go on"):
            time.sleep(SETTLED_S)
            terminal.type(line)
            time.sleep(SETTLED_S)
            terminal.type(ENTER)
        terminal.wait_for("canary-two")
        leave(terminal, "claude")
        terminal.end()
    (result,) = server.main_requests[-1].results
    assert "canary-wish" in result.text and "Go on" not in result.text, result.text
    assert "canary-wish" not in server.main_requests[-1].text.replace(result.text, "")
