"""Each real program's model calls Segue's tools, through the program's own MCP client, and reads what they say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segue import agents
from tests.programs.household import KINDS, Household
from tests.programs.model_server import Call, Reply, Step
from tests.programs.program import Program, Run

NAMES = {"claude": "mcp__segue__{}", "gemini": "mcp_segue_{}", "opencode": "segue_{}"}
MORE: dict[str, Any] = {
    # The tools are in the request itself, not to be searched for first.
    "claude": {"environment": {"ENABLE_TOOL_SEARCH": "false"}},
    # Its first request waits until the server is up.
    "codex": {"arguments": ["-c", "mcp_servers.segue.required=true"]},
}
WISH = "Round the totals of all invoices down. Never touch legacy.py: canary-wish-4711"


@pytest.fixture
def house(programs: dict[str, Path], tmp_path: Path) -> Iterator[Household]:
    with Household(tmp_path) as house:
        yield house


def call(name: str, tool: str, **arguments: Any) -> Call:
    """How a program's model calls one of Segue's tools."""
    if name == "codex":
        code = f"text(JSON.stringify(await tools.mcp__segue__{tool}({json.dumps(arguments)})))"
        return Call("exec", code)
    return Call(NAMES[name].format(tool), arguments)


def register(house: Household, name: str, project: Path) -> None:
    """As a person does."""
    ran = house.segue("init", name, "--mcp", "--yes", cwd=project)
    assert ran.exit_code == 0, ran.report


def sessions_in(house: Household, project: Path) -> list[str]:
    return [work["session"]["id"] for work in house.segue("session", "list", "--json", cwd=project).data]


def asked(house: Household, name: str, project: Path, *steps: Step) -> Run:
    """The program at work with a model that calls Segue's tools."""
    more = MORE.get(name, {})
    run = house.programs[name].run(
        "Ask Segue how things stand",
        project,
        [*steps, Reply("I know now.")],
        sandbox=house.sandbox,
        environment={**house.environment, **more.get("environment", {})},
        arguments=more.get("arguments", ()),
    )
    assert run.exit_code == 0, run.report
    return run


@pytest.mark.parametrize("program", list(KINDS), indirect=True)
def test_a_model_reads_the_status_and_the_brief_of_earlier_work(house: Household, program: Program) -> None:
    project, name = house.project("invoices"), program.name
    house.work(name, project, WISH, [Reply("I will.")])
    (before,) = sessions_in(house, project)
    register(house, name, project)

    run = asked(house, name, project, call(name, "status"), call(name, "brief", of=before, budget=2000))

    told = [result.text for result in run.requests[-1].results]
    assert str(project) in told[0], run.report
    assert "withheld" not in told[0]
    assert "canary-wish-4711" in told[1], run.report


@pytest.mark.parametrize("program", list(KINDS), indirect=True)
def test_without_an_id_a_model_reads_of_the_work_before_its_own_conversation(
    house: Household, program: Program
) -> None:
    project, name = house.project("invoices"), program.name
    register(house, name, project)
    # The folder's only conversation has none to ask about.
    run = asked(house, name, project, call(name, "brief"))
    assert "no session other than the calling one" in run.requests[-1].results[0].text, run.report

    before = set(sessions_in(house, project))
    house.work(name, project, WISH, [Reply("I will.")])
    (work,) = set(sessions_in(house, project)) - before
    run = asked(house, name, project, call(name, "status"), call(name, "brief"), call(name, "session"))
    status, brief, session = (result.text for result in run.requests[-1].results)
    assert "canary-wish-4711" in brief and "Ask Segue how" not in brief, run.report
    assert work in status and work in session, run.report


@pytest.mark.parametrize("program", list(KINDS), indirect=True)
def test_the_words_of_another_vendors_work_are_held_back_until_the_person_lets_them_go(
    house: Household, program: Program
) -> None:
    project, name = house.project("invoices"), program.name
    other = "claude" if name != "claude" else "codex"
    house.work(other, project, WISH, [Reply("I will.")])
    (before,) = sessions_in(house, project)
    register(house, name, project)
    steps = (
        call(name, "session", id=before),
        call(name, "brief", of=before),
        call(name, "prepare_handoff", to=other),
    )

    run = asked(house, name, project, *steps)
    told = [result.text for result in run.requests[-1].results]
    assert before in told[0] and "withheld" in told[0], run.report
    assert f"segue to {name}" in told[1], run.report
    assert "canary-wish" not in run.requests[-1].text
    assert "prepared" not in told[2] and not house.segue("handoff", "list", "--json", cwd=project).data

    vendor = agents.get(name).vendor
    house.segue("config", "set", "vendors.allowed", vendor, cwd=project)
    told = [result.text for result in asked(house, name, project, *steps[:2]).requests[-1].results]
    assert all("canary-wish-4711" in text for text in told)


@pytest.mark.parametrize("program", list(KINDS), indirect=True)
def test_a_model_that_may_prepares_a_handoff_and_starts_nothing(house: Household, program: Program) -> None:
    project, name = house.project("invoices"), program.name
    other = "gemini" if name != "gemini" else "codex"
    register(house, name, project)
    house.segue("config", "set", "mcp.allow", "prepare", cwd=project)

    prepare = call(name, "prepare_handoff", to=other, reason="my limit is near: canary-reason")
    run = asked(house, name, project, prepare)

    known = house.segue("handoff", "list", "--json", cwd=project).data
    assert len(known) == 1, run.report
    (handoff,) = known
    assert handoff["id"] in run.requests[-1].results[0].text, run.report
    assert (handoff["target"], handoff["state"]) == (other, "prepared")
    assert "canary-reason" in handoff["reason"]
    # An agent's words are never passed on as the person's.
    assert handoff["delivery"]["reason"] == ""
    assert {request.protocol for request in run.server.requests} == {run.requests[0].protocol}
