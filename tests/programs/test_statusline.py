"""The real Claude Code shows Segue's status line, and so tells its limits while it is in use."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from segue.agents.claude.limits import limits_of_status
from segue.hooks import spool
from segue.hooks.spool import Report
from segue.ops.common.desk import open_desk
from segue.ops.setup import install
from tests.programs import claude
from tests.programs.model_server import Reply
from tests.programs.program import Running, write_new

IN_A_TERMINAL = """
import pty, sys
sys.exit(pty.spawn(["sh", "-c", 'stty rows 50 cols 160; exec "$@"', "sh", *sys.argv[1:]]))
"""
WITHIN_S = 60.0


class InteractiveClaude(claude.Claude):
    """Claude Code as a person has it: in a terminal, set up before, with a status line."""

    workspace: Path
    status_line: str

    def configure(self, home: Path, url: str) -> None:
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "projects": {str(self.workspace): {"hasTrustDialogAccepted": True}},
        }
        settings = {"statusLine": {"type": "command", "command": self.status_line}}
        write_new(home / ".claude.json", json.dumps(known))
        write_new(home / ".claude" / "settings.json", json.dumps(settings))

    def command(self, prompt: str, *, resume: str | None = None) -> list[str]:
        return [sys.executable, "-c", IN_A_TERMINAL, str(self.executable), "--model", self.model, prompt]


@pytest.fixture
def program(programs: dict[str, Path], workspace: Path, tmp_path: Path) -> InteractiveClaude:
    program = InteractiveClaude(tmp_path / "programs")
    program.workspace = workspace
    return program


def wait_for(running: Running, is_there: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not is_there():
        assert time.monotonic() < deadline, screen(running)[-4000:]
        time.sleep(0.1)


def screen(running: Running) -> str:
    """All that the program has shown, as words."""
    text = re.sub(r"\x1b\[(\d*)C", lambda found: " " * int(found[1] or 1), running.process.stdout)
    return re.sub(
        r"\x1b(?:\[[0-9;?<>=]*[a-zA-Z]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78])", "", text
    )


def reports(running: Running) -> list[Report]:
    return [
        report
        for report in spool.read_status(running.home / ".local" / "share" / "segue")
        if "rate_limits" in report.status
    ]


@pytest.mark.program("claude")
def test_the_limits_of_a_plan_arrive_while_claude_is_in_use(
    program: InteractiveClaude, workspace: Path
) -> None:
    own = [sys.executable, "-c", "import json, sys; print('mine', json.load(sys.stdin)['session_id'])"]
    program.status_line = shlex.join([sys.executable, "-m", "segue", "statusline", "--", *own])
    resets_at = int(time.time()) + 7_200
    answer = Reply("Fine: canary-answer.", headers=claude.plan_limits("allowed", 0.78, resets_at))

    with program.start("Go", workspace, [answer], environment=claude.SUBSCRIPTION) as running:
        wait_for(running, lambda: bool(reports(running)))
        wait_for(running, lambda: "hand over soon: segue" in screen(running))
        report = reports(running)[-1]
        shown = screen(running)

    assert report.status["rate_limits"]["five_hour"] == {"used_percentage": 78, "resets_at": resets_at}
    limits = {limit.window: limit.used_percent for limit in limits_of_status(report.status, report.at)}
    assert (limits["5h"], limits["week"]) == (78, 40)
    assert f"mine {report.status['session_id']}" in shown
    assert re.search(r"context \d+% · 5h 78% resets \d\d:\d\d · week 40%", shown), shown[-4000:]
    assert Path(report.status["transcript_path"]).is_file()
    assert report.status["version"] == program.version


@pytest.mark.program("claude")
def test_a_quiet_status_line_leaves_only_the_persons_own(program: InteractiveClaude, workspace: Path) -> None:
    program.status_line = shlex.join(
        [sys.executable, "-m", "segue", "statusline", "--quiet", "--", "echo", "only mine"]
    )
    answer = Reply("Fine.", headers=claude.plan_limits("allowed", 0.95, int(time.time()) + 7_200))

    with program.start("Go", workspace, [answer], environment=claude.SUBSCRIPTION) as running:
        wait_for(running, lambda: bool(reports(running)) and "only mine" in screen(running))
        shown = screen(running)

    assert "hand over" not in shown


@pytest.mark.program("claude")
def test_set_up_by_init_the_persons_own_line_stays_and_ours_stands_beneath(
    program: InteractiveClaude, workspace: Path
) -> None:
    program.status_line = "printf 'only '; echo \"mine\" | head -1"
    answer = Reply("Fine.", headers=claude.plan_limits("allowed", 0.78, int(time.time()) + 7_200))
    with program.sandbox() as sandbox:
        program.configure(sandbox.home, sandbox.url)
        settings = sandbox.home / ".claude" / "settings.json"
        before = settings.read_bytes()
        env = {"HOME": str(sandbox.home), "SEGUE_HOME": str(sandbox.home / "segue's home")}
        desk = open_desk(env=env, cwd=workspace)
        install.apply(desk, install.plan(desk, ["claude"]))
        with program.start(
            "Go", workspace, [answer], sandbox=sandbox, environment=claude.SUBSCRIPTION
        ) as running:
            wait_for(running, lambda: "hand over soon: segue" in screen(running))
            assert "only mine" in screen(running)
        assert spool.read_status(desk.places.data) and spool.read_failures(desk.places.data) == []
        install.undo(desk, ["claude"])
        assert settings.read_bytes() == before
        desk.close()
