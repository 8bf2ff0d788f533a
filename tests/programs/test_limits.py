"""Limits reach the real programs as scripted: refusals end a run, and headers of good replies are heeded."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.programs import claude, codex
from tests.programs.model_server import Fault, Reply, Script
from tests.programs.program import Program


@pytest.fixture
def resets_at() -> int:
    return int(time.time()) + 7_200


def test_a_usage_limit_ends_the_run_with_an_error(program: Program, workspace: Path, resets_at: int) -> None:
    limit = program.usage_limit(resets_at)
    run = program.run("Write the notes", workspace, Script(then=limit), timeout=60)

    assert run.exit_code > 0, run.report
    served = [exchange.turn for exchange in run.server.exchanges if exchange.request.main]
    assert served
    assert all(turn == limit for turn in served)


@pytest.mark.parametrize("program", ["claude", "codex", "gemini"], indirect=True)
def test_a_plain_429_ends_the_run_within_its_retries(program: Program, workspace: Path) -> None:
    run = program.run("Write the notes", workspace, Script(then=Fault(429)), timeout=60)

    assert run.exit_code > 0, run.report
    assert 1 <= len(run.requests) <= 4
    assert "429" in run.stdout + run.stderr


@pytest.mark.parametrize("program", ["opencode"], indirect=True)
def test_opencode_waits_in_silence_for_a_far_reset(program: Program, workspace: Path) -> None:
    refusal = Fault(429, headers={"retry-after": "3600"})
    with program.start("Write the notes", workspace, Script(then=refusal)) as running:
        running.server.log.wait_for(lambda request: request.main, timeout=60)
        time.sleep(3)
        running.process.stop()
        run = running.wait()

    assert run.exit_code == -9, run.report  # it was still there to be killed
    assert run.stdout == ""
    assert len(run.requests) == 1


@pytest.mark.parametrize("program", ["claude"], indirect=True)
def test_claude_reports_the_limit_of_a_plan(program: Program, workspace: Path, resets_at: int) -> None:
    limit = program.usage_limit(resets_at)
    run = program.run("Go", workspace, Script(then=limit), environment=claude.SUBSCRIPTION)

    [event] = _events(run.stdout, "rate_limit_event")
    assert event["rate_limit_info"]["status"] == "rejected"
    assert event["rate_limit_info"]["resetsAt"] == resets_at
    assert run.exit_code == 1
    assert len(run.requests) == 1
    assert run.requests[0].headers["authorization"] == "Bearer ***"


@pytest.mark.parametrize("program", ["claude"], indirect=True)
def test_claude_passes_on_a_warning_of_a_good_reply(
    program: Program, workspace: Path, resets_at: int
) -> None:
    warned = Reply("Fine.", headers=claude.plan_limits("allowed_warning", 0.91, resets_at))
    run = program.run("Go", workspace, [warned], environment=claude.SUBSCRIPTION)

    statuses = [event["rate_limit_info"]["status"] for event in _events(run.stdout, "rate_limit_event")]
    assert "allowed_warning" in statuses, run.report
    assert run.exit_code == 0


@pytest.mark.parametrize("program", ["codex"], indirect=True)
def test_codex_keeps_the_limits_of_a_good_reply(program: Program, workspace: Path, resets_at: int) -> None:
    run = program.run("Go", workspace, [Reply("Fine.", headers=codex.plan_limits(83, resets_at))])

    [rollout] = run.home.glob(".codex/sessions/*/*/*/rollout-*.jsonl")
    payloads = [json.loads(line)["payload"] for line in rollout.read_text().splitlines()]
    limits = [found["rate_limits"] for found in payloads if found.get("type") == "token_count"]
    assert limits[-1]["primary"]["used_percent"] == 83
    assert limits[-1]["primary"]["resets_at"] == resets_at


def _events(stdout: str, kind: str) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in stdout.splitlines()]
    return [event for event in events if event["type"] == kind]
