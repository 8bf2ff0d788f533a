"""What `segue`, `watch`, `check` and the Python interface say of limits: what agents told, and what follows."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest

import segue
from segue.ops.common.desk import open_desk
from segue.ops.work import run_records
from segue.routing import Run, RunState
from tests.conftest import CommandLine
from tests.world import Conversation


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def filled(cli: CommandLine, tokens: int, **more: Any) -> Conversation:
    talk = Conversation(cli.folder, cli.cwd, "aaaa-bbbb")
    talk.prompt("Mend the invoices")
    talk.reply("On it.", input_tokens=0, output_tokens=0, cache_read_input_tokens=tokens, **more)
    return talk


def tell_status(cli: CommandLine, five_hour: float, minutes: float, week: float = 10, **more: Any) -> None:
    """What a status line recorded so many minutes after nine."""
    spool = cli.home / "data" / "spool"
    spool.mkdir(parents=True, exist_ok=True)
    for folder in (cli.home, cli.home / "data", spool):
        folder.chmod(0o700)
    resets = 1_794_830_400  # 2026-11-16 12:00 UTC
    status = {
        "session_id": "aaaa-bbbb",
        "model": {"id": "claude-opus-4-5-20251101"},
        "rate_limits": {
            "five_hour": {"used_percentage": five_hour, "resets_at": resets},
            "seven_day": {"used_percentage": week, "resets_at": resets + 86_400},
        },
        **more,
    }
    line = {"at": f"2026-11-16T09:{minutes:02.0f}:00.000000Z", "status": status}
    with (spool / "statusline.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


@pytest.mark.parametrize(
    ("tokens", "due", "reason", "code"),
    [
        (0, "NO", "normal", 0),
        (149_999, "NO", "normal", 0),
        (150_000, "YES", "approaching_limit", 10),
        (179_999, "YES", "approaching_limit", 10),
        (180_000, "YES", "auto_switch_threshold_reached", 10),
    ],
)
def test_check_answers_in_four_words_and_by_its_exit_code(
    cli: CommandLine, tokens: int, due: str, reason: str, code: int
) -> None:
    filled(cli, tokens)
    result = cli("check")
    assert result.code == code
    assert f"Token Usage: {tokens:,} / 200,000 ({tokens / 2000:.1f}%)" in result.out
    assert f"Should Handoff: {due}\nReason: {reason}\n" in result.out
    assert "Session ID: s-" in result.out


def test_a_mere_warning_is_no_reason_yet(cli: CommandLine) -> None:
    filled(cli, 150_000)
    result = cli("check", "--warning-only")
    assert result.code == 0 and "Reason: warning_threshold_reached" in result.out


def test_thresholds_come_from_the_settings_of_a_model_too(cli: CommandLine) -> None:
    filled(cli, 130_000)
    assert cli("check").code == 0
    assert cli("handoff", "config", "--opus-limit", "60%").code == 0
    assert cli("check").code == 10
    assert cli("handoff", "config", "--opus-limit", "95%").code == 0
    assert cli("check").code == 0


def test_an_accounts_limit_decides_where_it_is_nearer(cli: CommandLine) -> None:
    filled(cli, 1000)
    tell_status(cli, 96, 10)
    result = cli("check")
    assert result.code == 10 and "auto_switch_threshold_reached" in result.out
    assert "96% of the 5h limit of the account" in result.out


def test_the_recommendation_stands_on_the_first_screen(cli: CommandLine) -> None:
    filled(cli, 170_000)
    shown = cli()
    assert "Opus 4.5 usage: ~85% - Handoff recommended" in shown.out
    assert cli("status").out == shown.out == cli("handoff", "status").out


def test_every_limit_is_a_bar_with_its_pace_and_its_reset(cli: CommandLine) -> None:
    filled(cli, 1000)
    for minutes, used in ((0, 40), (10, 50), (20, 60)):
        tell_status(cli, used, minutes)
    shown = cli().out
    (line,) = [line for line in shown.splitlines() if "5h" in line]
    assert "████████████░░░░░░░░" in line and "60%" in line
    assert "full in about 40 min at this pace" in line and "resets 2026-11-16 12:00 (in 2 h 30 min)" in line


def test_what_no_agent_reported_is_said_to_be_unknown(cli: CommandLine) -> None:
    program = cli.folder / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert "Codex  no limits reported yet" in cli().out


def test_a_window_that_has_ended_since_says_nothing_any_more(cli: CommandLine) -> None:
    filled(cli, 1000)
    tell_status(cli, 96, 10)
    cli.clock.time = "2026-11-16T12:00:01.000000Z"
    assert "5h" not in cli().out and cli("check").code == 0


def test_a_limit_that_was_hit_is_known_from_the_transcript(cli: CommandLine) -> None:
    talk = filled(cli, 1000)
    talk.limit("You've hit your 5-hour limit · resets 12pm (UTC)")
    found = json.loads(cli("--json").out)
    (agent,) = found["agents"]
    (limit,) = [each["limit"] for each in agent["limits"]]
    assert limit["window"] == "5h" and limit["used_percent"] == 100
    assert limit["resets_at"] == "2026-11-16T12:00:00.000000Z"
    assert found["standing"]["trigger"]["urgency"] == "high"
    assert "switching models won't help" in found["standing"]["trigger"]["reasoning"]


def test_the_second_hit_of_a_limit_counts_like_the_first(cli: CommandLine) -> None:
    talk = filled(cli, 1000)
    talk.limit("You've hit your 5-hour limit · resets 9am (UTC)")
    talk.minutes = 70
    talk.limit("You've hit your 5-hour limit · resets 2pm (UTC)")
    assert cli("check").code == 10
    assert "resets 2026-11-16 14:00" in cli().out


def test_a_limit_that_tells_no_end_is_over_when_its_length_has_passed(cli: CommandLine) -> None:
    talk = filled(cli, 1000)
    talk.minutes = 85
    talk.limit("API Error: Request rejected (429) · try later")
    assert cli("check").code == 10
    cli.clock.time = "2026-11-16T15:00:00.000000Z"
    assert cli("check").code == 0
    assert cli("check", "--json").code == 0


def test_a_context_that_nobody_told_the_size_of_is_an_estimate(cli: CommandLine) -> None:
    filled(cli, 100_000)
    assert "~50%" in cli().out
    tell_status(cli, 1, 1, context_window={"context_window_size": 1_000_000, "used_percentage": 10})
    line = next(line for line in cli().out.splitlines() if "context" in line)
    assert " 10%" in line and "~" not in line


def test_an_answer_after_a_limit_was_hit_refutes_it(cli: CommandLine) -> None:
    talk = filled(cli, 1000)
    talk.limit("You've hit your 5-hour limit · resets 12pm (UTC)")
    assert cli("check").code == 10
    talk.reply("On we go", input_tokens=1, output_tokens=1)
    assert cli("check").code == 0


def test_a_report_from_the_future_is_of_a_wrong_clock(cli: CommandLine) -> None:
    filled(cli, 1000)
    tell_status(cli, 12, 10)
    tell_status(cli, 97, 59)
    assert "12%" in cli().out and cli("check").code == 0


@pytest.mark.parametrize(
    "text",
    [
        'API Error: 400 {"error":{"message":"prompt mentions usage limit"}}',
        "API Error: 500 server error; usage limits of your plan unaffected",
        "Tool failed: grep 'usage limit' src/",
    ],
)
def test_an_error_that_speaks_of_limits_is_none(cli: CommandLine, text: str) -> None:
    talk = filled(cli, 1000)
    talk.put(
        "assistant",
        isApiErrorMessage=True,
        message={
            "model": "<synthetic>",
            "id": "s",
            "role": "assistant",
            "content": [{"type": "text", "text": text}],
        },
    )
    assert cli("check").code == 0
    assert "died at a limit" not in cli("transcripts").out


def test_a_guess_that_is_disproved_raises_no_alarm(cli: CommandLine) -> None:
    filled(cli, 292_000)
    assert "usage: not reported yet" in cli().out and cli("check").code == 0


def test_metrics_and_trigger_are_there_for_programs(cli: CommandLine) -> None:
    filled(cli, 170_000)
    standing = json.loads(cli("--json").out)["standing"]
    usage, trigger = standing["usage"], standing["trigger"]
    assert usage["tokens_used"] == 170_000 and usage["tokens_limit"] == 200_000
    assert usage["session_duration"] == 60 and 0 <= usage["complexity_score"] <= 1
    assert trigger["type"] == "usage_limit" and trigger["urgency"] == "medium"
    assert 0 < trigger["confidence"] <= 1 and "170,000 of about 200,000" in trigger["reasoning"]


def test_low_satisfaction_is_a_reason_of_its_own(cli: CommandLine) -> None:
    talk = filled(cli, 1000)
    for _ in range(3):
        talk.prompt("Next")
        talk.reply("Yes", input_tokens=1, output_tokens=1)
    assert json.loads(cli("--json").out)["standing"]["trigger"] is None
    assert cli("rate", "1").code == 0
    trigger = json.loads(cli("--json").out)["standing"]["trigger"]
    assert trigger["type"] == "complexity_mismatch"
    assert cli("rate", "9").code == 2


def test_watch_keeps_looking(cli: CommandLine) -> None:
    filled(cli, 170_000)
    shown = cli("watch", "--count", "2", "--every", "0.2").out
    assert shown.count("Opus 4.5 usage: ~85% - Handoff recommended") == 2
    looks = cli("watch", "--count", "2", "--every", "0.2", "--json").out.splitlines()
    assert len(looks) == 2 and all(json.loads(look)["standing"] for look in looks)


def test_names_of_models_stand_for_agents(cli: CommandLine) -> None:
    added = cli("handoff", "models", "--add", "opus", "--add", "sonnet", "--add", "gpt4o")
    assert added.code == 0, added.err
    assert [line.split()[:2] for line in added.out.splitlines()] == [
        ["opus", "claude:opus"],
        ["sonnet", "claude:sonnet"],
        ["gpt4o", "codex:gpt4o"],
    ]
    assert cli("handoff", "models", "--add", "fast=codex:gpt-5-mini").code == 0
    assert "fast    codex:gpt-5-mini" in cli("handoff", "models").out
    assert cli("handoff", "models", "--remove", "opus").out.startswith("sonnet")
    unknown = cli("handoff", "models", "--add", "mystery")
    assert unknown.code == 1 and "mystery=AGENT:MODEL" in unknown.err
    assert cli("handoff", "models", "--add", "x=nobody:y").code == 1
    assert cli("handoff", "models", "--remove", "opus").code == 1


def in_python(cli: CommandLine, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=cli.cwd,
        env={**cli.env, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_the_python_interface_gives_what_it_names(cli: CommandLine) -> None:
    filled(cli, 185_000)
    said = in_python(
        cli,
        "import segue\n"
        "print(segue.should_handoff(), segue.should_handoff(warning_only=True))\n"
        "assert segue.session() is not None\n"
        "id = segue.get_or_create_session(); assert id == segue.get_or_create_session() == segue.session().id\n"
        "@segue.auto_handoff\n"
        "def work(x, *, y): return x + y\n"
        "print(work(1, y=2), work.__name__)\n"
        "print(segue.current_usage().tokens_used, len(segue.all_transcripts()), segue.usage_report().total.answers)\n",
    )
    assert "(True, 'auto_switch_threshold_reached') (True, 'auto_switch_threshold_reached')" in said
    assert "3 work" in said and "185000 1 1" in said
    assert "⚠️  Token limit approaching (auto_switch_threshold_reached)" in said


def test_a_folder_without_a_session_gets_one_by_python(cli: CommandLine) -> None:
    said = in_python(cli, "import segue; print(segue.session(), segue.get_or_create_session())")
    assert said.startswith("None s-")


def test_everything_that_the_package_names_is_there() -> None:
    for name in segue.__all__:
        assert getattr(segue, name)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = segue.nonsense


# What is set up, and what is under way


def test_limits_that_nobody_told_yet_are_had_by_init_and_then_by_the_next_answer(cli: CommandLine) -> None:
    program = cli.folder / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert "Claude Code  no limits reported yet (run `segue init` to record them)\n" in cli().out
    assert cli("init", "claude", "--yes").code == 0
    assert "Claude Code  no limits reported yet (shown after its next answer)\n" in cli().out
    assert json.loads(cli("--json").out)["set_up"] == ["claude"]


def test_less_than_one_percent_is_said_to_be_so(cli: CommandLine) -> None:
    filled(cli, 1000)
    (line,) = [line for line in cli().out.splitlines() if line.startswith("  context")]
    assert "█░" in line and line.endswith("<1%")


def begun(cli: CommandLine, **more: Any) -> Run:
    """A run of this folder, as it is on record."""
    with contextlib.closing(open_desk(env=cli.env, cwd=cli.cwd, clock=cli.clock)) as desk:
        return run_records.save(
            desk,
            Run(
                id="r-1",
                task="Mend it",
                chain=("claude",),
                project=str(cli.cwd),
                created_at=cli.clock(),
                updated_at="",
                **more,
            ),
        )


def test_a_run_in_this_folder_is_told_of_and_nothing_is_to_be_handed_over_meanwhile(
    cli: CommandLine,
) -> None:
    filled(cli, 190_000)
    run = begun(cli)
    with (
        contextlib.closing(open_desk(env=cli.env, cwd=cli.cwd, clock=cli.clock)) as desk,
        run_records.attended(desk, run),
    ):
        shown = cli().out
        assert "  Run r-1: working (follow it: segue run attach r-1)\n" in shown
        assert "\nnext: segue run attach r-1 follows its output · segue run stop r-1 ends it ·" in shown
        assert "segue to AGENT" not in shown
        begun(cli, state=RunState.WAITING, until="2026-11-16T12:00:00.000000Z")
        assert "  Run r-1: waiting until 2026-11-16 12:00 (follow it: segue run attach" in cli().out
    left = cli().out
    assert "  Run r-1 was abandoned; resume it: segue run resume r-1\n" in left
    assert "\nnext: segue run resume r-1 continues it ·" in left and "segue to AGENT" not in left
    assert json.loads(cli("--json").out)["run"]["is_attended"] is False


def test_a_run_that_is_over_is_no_news(cli: CommandLine) -> None:
    filled(cli, 1000)
    begun(cli, state=RunState.DONE)
    assert "r-1" not in cli().out and json.loads(cli("--json").out)["run"] is None
