"""What the real programs, old and new, leave behind at a limit is read for what it is: which window, whose
limit, and when it ends."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from segue import agents
from segue.agents.gemini import limits as gemini_limits
from segue.base import clock
from segue.base.clock import Moment
from segue.model import Entry, EntryKind, Limit, Scope
from tests.programs import claude, codex
from tests.programs.conftest import PROGRAMS
from tests.programs.model_server import Fault, Reply, Script
from tests.programs.program import Program, Run

OLDER: dict[str, type[Program]] = {
    kind.name: kind for kind in (claude.Claude10, claude.Claude20, codex.Codex050)
}
CLAUDE_10, CLAUDE_20, CODEX_050 = (pytest.param(name, marks=pytest.mark.program(name)) for name in OLDER)
CLAUDE = [CLAUDE_10, CLAUDE_20, "claude"]
CODEX = [CODEX_050, "codex"]
GOOGLE = "type.googleapis.com/google.rpc."


@pytest.fixture
def program(request: pytest.FixtureRequest, programs: dict[str, Path], tmp_path: Path) -> Program:
    """As everywhere, and the older versions too."""
    return {**PROGRAMS, **OLDER}[request.param](tmp_path / "programs")


@pytest.fixture(autouse=True)
def on_the_wall_of_the_programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Some messages name a time and no zone: it is the one where the program ran."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def resets_at() -> int:
    """In two hours and some minutes, to the minute, and never on the hour."""
    minute = int(time.time()) // 60 + 123
    return (minute + (minute % 60 == 0)) * 60


def entries_left_by(run: Run, agent: str, workspace: Path) -> list[Entry]:
    """All that Segue reads of what a program wrote down."""
    reader = agents.reader(agent)
    sources = sorted(reader.find({"HOME": str(run.home)}, [workspace]), key=lambda source: source.stamp)
    assert sources, run.report
    return [entry for source in sources for entry in reader.read(source)]


def limit_hit_in(run: Run, agent: str, workspace: Path) -> Limit:
    """The limit at which a run ended."""
    hits = [e for e in entries_left_by(run, agent, workspace) if e.kind is EntryKind.LIMIT]
    assert len(hits) == 1, (hits, run.report)
    [limit] = hits[0].limits
    assert limit.used_percent == 100
    assert limit.at and abs(clock.parse(limit.at).timestamp() - time.time()) < 120
    return limit


def minute(when: Moment | int | None) -> str:
    assert when is not None
    return (when if isinstance(when, str) else clock.moment(datetime.fromtimestamp(when, UTC)))[:16]


def events(run: Run, kind: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    return [event for event in found if event["type"] == kind]


# Claude Code


@pytest.mark.parametrize("program", CLAUDE, indirect=True)
def test_the_limit_of_five_hours_is_read(program: Program, workspace: Path, resets_at: int) -> None:
    refused = Script(then=claude.refusal(resets_at))
    run = program.run("Go", workspace, refused, environment=claude.SUBSCRIPTION)

    limit = limit_hit_in(run, "claude", workspace)
    assert (limit.window, limit.scope, limit.model) == ("5h", Scope.ACCOUNT, "")
    assert minute(limit.resets_at) == minute(resets_at)


@pytest.mark.parametrize("program", CLAUDE, indirect=True)
def test_the_limit_of_a_week_is_read_that_ends_on_the_hour_of_another_day(
    program: Program, workspace: Path, resets_at: int
) -> None:
    in_days = resets_at // 3600 * 3600 + 3 * 86_400
    refused = Script(then=claude.refusal(in_days, "seven_day"))
    run = program.run("Go", workspace, refused, environment=claude.SUBSCRIPTION)

    limit = limit_hit_in(run, "claude", workspace)
    assert (limit.window, limit.scope, limit.model) == ("week", Scope.ACCOUNT, "")
    assert minute(limit.resets_at) == minute(in_days)


@pytest.mark.parametrize("program", [CLAUDE_20, "claude"], indirect=True)
def test_the_limit_of_one_model_is_no_limit_of_the_account(
    program: Program, workspace: Path, resets_at: int
) -> None:
    in_days = resets_at + 3 * 86_400
    refused = Script(then=claude.refusal(in_days, "seven_day_opus"))
    run = program.run("Go", workspace, refused, environment=claude.SUBSCRIPTION)

    limit = limit_hit_in(run, "claude", workspace)
    assert limit.scope is Scope.MODEL
    assert "opus" in limit.model.lower()
    assert minute(limit.resets_at) == minute(in_days)


@pytest.mark.parametrize("program", [CLAUDE_10], indirect=True)
def test_an_old_version_gives_the_end_in_seconds_since_1970_and_does_not_say_of_what(
    program: Program, workspace: Path, resets_at: int
) -> None:
    refused = Script(then=claude.refusal(resets_at + 17, "seven_day_opus"))
    run = program.run("Go", workspace, refused, environment=claude.SUBSCRIPTION)

    assert f"Claude AI usage limit reached|{resets_at + 17}" in run.stdout
    limit = limit_hit_in(run, "claude", workspace)
    assert limit.scope is Scope.ACCOUNT
    assert limit.resets_at == clock.moment(datetime.fromtimestamp(resets_at + 17, UTC))


@pytest.mark.parametrize("program", CLAUDE, indirect=True)
def test_a_limit_of_a_plan_after_work_was_done_ends_the_transcript(
    program: Program, workspace: Path, resets_at: int
) -> None:
    script = Script([program.shell("echo one > one.txt")], then=claude.refusal(resets_at))
    run = program.run("Write one", workspace, script, environment=claude.SUBSCRIPTION)

    assert (workspace / "one.txt").exists(), run.report
    entries = [e for e in entries_left_by(run, "claude", workspace) if e.kind is not EntryKind.NOTE]
    kinds = [entry.kind for entry in entries]
    assert kinds.index(EntryKind.CALL) < kinds.index(EntryKind.RESULT) < kinds.index(EntryKind.LIMIT)
    assert not any(
        entry.kind is EntryKind.REPLY and entry.text for entry in entries[kinds.index(EntryKind.LIMIT) :]
    )


@pytest.mark.parametrize("program", CLAUDE, indirect=True)
def test_a_key_without_credit_is_at_a_limit_that_no_time_ends(program: Program, workspace: Path) -> None:
    message = "Your credit balance is too low to access the Anthropic API."
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    run = program.run("Go", workspace, Script(then=Fault(400, error)))

    limit = limit_hit_in(run, "claude", workspace)
    assert (limit.window, limit.scope, limit.resets_at) == ("spend", Scope.ACCOUNT, None)


@pytest.mark.parametrize("program", CLAUDE, indirect=True)
@pytest.mark.parametrize("status", [500, 529])
def test_a_server_in_trouble_is_no_limit_of_claude(program: Program, workspace: Path, status: int) -> None:
    run = program.run("Go", workspace, Script(then=Fault(status)))

    assert run.exit_code > 0, run.report
    assert not any(entry.kind is EntryKind.LIMIT for entry in entries_left_by(run, "claude", workspace))


@pytest.mark.parametrize("program", ["claude"], indirect=True)
def test_the_stream_of_claude_tells_the_limit_that_was_hit(
    program: Program, workspace: Path, resets_at: int
) -> None:
    from segue.agents.claude.limits import limits_of_event

    refused = Script(then=claude.refusal(resets_at))
    run = program.run("Go", workspace, refused, environment=claude.SUBSCRIPTION)

    [event] = events(run, "rate_limit_event")
    limits = {limit.window: limit for limit in limits_of_event(event, clock.now())}
    assert limits["5h"].used_percent == 100
    assert limits["5h"].scope is Scope.ACCOUNT
    assert minute(limits["5h"].resets_at) == minute(resets_at)
    assert limits["week"].used_percent == 40


@pytest.mark.parametrize("program", ["claude"], indirect=True)
def test_the_stream_of_claude_warns_before_a_limit(program: Program, workspace: Path, resets_at: int) -> None:
    from segue.agents.claude.limits import limits_of_event

    warned = Reply("Fine.", headers=claude.plan_limits("allowed_warning", 0.91, resets_at))
    run = program.run("Go", workspace, [warned], environment=claude.SUBSCRIPTION)

    told = [
        limit for event in events(run, "rate_limit_event") for limit in limits_of_event(event, clock.now())
    ]
    last = [limit for limit in told if limit.window == "5h"][-1]
    assert last.used_percent == pytest.approx(91)
    assert minute(last.resets_at) == minute(resets_at)


# Codex


@pytest.mark.parametrize("program", CODEX, indirect=True)
def test_the_limit_of_codex_is_read(program: Program, workspace: Path, resets_at: int) -> None:
    """The old one writes nothing of the refusal down but that all is used."""
    run = program.run("Go", workspace, Script(then=program.usage_limit(resets_at)))

    assert "usage limit" in run.stdout, run.report
    limit = limit_hit_in(run, "codex", workspace)
    assert (limit.window, limit.scope, limit.model) == ("5h", Scope.ACCOUNT, "")
    assert minute(limit.resets_at) == minute(resets_at)


@pytest.mark.parametrize("program", CODEX, indirect=True)
def test_an_overloaded_server_is_no_limit_of_codex(program: Program, workspace: Path) -> None:
    run = program.run("Go", workspace, Script(then=Fault(503)))

    assert run.exit_code > 0, run.report
    assert not any(entry.kind is EntryKind.LIMIT for entry in entries_left_by(run, "codex", workspace))


@pytest.mark.parametrize("program", CODEX, indirect=True)
def test_codex_tells_the_state_of_its_limits_with_every_answer(
    program: Program, workspace: Path, resets_at: int
) -> None:
    run = program.run("Go", workspace, [Reply("Fine.", headers=codex.plan_limits(83, resets_at))])

    entries = entries_left_by(run, "codex", workspace)
    assert not any(entry.kind is EntryKind.LIMIT for entry in entries)
    told = {limit.window: limit for entry in entries for limit in entry.limits}
    assert {window: limit.used_percent for window, limit in told.items()} == {"5h": 83, "week": 40}
    assert minute(told["5h"].resets_at) == minute(resets_at)
    assert minute(told["week"].resets_at) == minute(resets_at + 86_400)


# OpenCode


@pytest.mark.parametrize("program", ["opencode"], indirect=True)
def test_a_refused_payment_ends_opencode_at_a_limit(program: Program, workspace: Path) -> None:
    run = program.run("Go", workspace, Script(then=program.usage_limit(0)), timeout=60)

    limit = limit_hit_in(run, "opencode", workspace)
    assert (limit.window, limit.scope, limit.model) == ("spend", Scope.ACCOUNT, "")
    assert limit.resets_at is None


# Gemini: its transcript says nothing, its output does


def quota(message: str, quota_id: str, wait: str) -> Fault:
    """A refusal of Google's, with the details that it has."""
    violation = {"quotaId": quota_id, "quotaDimensions": {"location": "global", "model": "gemini-2.5-pro"}}
    details: list[dict[str, Any]] = [
        {"@type": GOOGLE + "QuotaFailure", "violations": [violation]},
        {"@type": GOOGLE + "RetryInfo", "retryDelay": wait},
    ]
    return Fault(429, {"error": _refusal(message, details)})


def _refusal(message: str, details: list[dict[str, Any]]) -> dict[str, Any]:
    return {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", "details": details}


EXCEEDED = (
    "You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: "
    "generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 50, model: gemini-2.5-pro\n"
    "Please retry in 1.5s."
)


@pytest.mark.parametrize("program", ["gemini"], indirect=True)
def test_a_daily_quota_is_told_only_by_the_output(program: Program, workspace: Path) -> None:
    at = clock.now()
    spent = quota(EXCEEDED, "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "1.5s")
    run = program.run("Go", workspace, Script(then=spent), timeout=60)

    expected = Limit(window="day", scope=Scope.MODEL, used_percent=100, model="gemini-2.5-pro", at=at)
    assert gemini_limits.limit_of_error(run.stdout, at, "gemini-2.5-pro") == expected
    assert gemini_limits.limit_of_error(run.stderr, at, "gemini-2.5-pro") == expected
    kinds = {entry.kind for entry in entries_left_by(run, "gemini", workspace)}
    assert EntryKind.LIMIT not in kinds


@pytest.mark.parametrize("program", ["gemini"], indirect=True)
def test_a_quota_that_is_told_without_its_length_has_none(program: Program, workspace: Path) -> None:
    at = clock.now()
    spent = quota(EXCEEDED, "GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "1.5s")
    run = program.run("Go", workspace, Script(then=spent), timeout=60)

    for said in (run.stdout, run.stderr):
        limit = gemini_limits.limit_of_error(said, at, "gemini-2.5-pro")
        assert limit is not None, run.report
        assert (limit.window, limit.scope, limit.model) == ("", Scope.MODEL, "gemini-2.5-pro")
        assert limit.resets_at == clock.later(at, 1.5)


@pytest.mark.parametrize("program", ["gemini"], indirect=True)
def test_the_quota_of_a_login_is_told_while_gemini_waits_for_its_end(
    program: Program, workspace: Path
) -> None:
    message = "You have exhausted your capacity on this model. Your quota will reset after 2h5m0s."
    reason = {
        "@type": GOOGLE + "ErrorInfo",
        "reason": "QUOTA_EXHAUSTED",
        "domain": "cloudcode-pa.googleapis.com",
    }
    wait = {"@type": GOOGLE + "RetryInfo", "retryDelay": "7500s"}
    spent = Fault(429, {"error": _refusal(message, [reason, wait])})
    at = clock.now()
    with program.start("Go", workspace, Script(then=spent)) as running:
        deadline = time.monotonic() + 60
        while "quota will reset" not in running.process.stderr and time.monotonic() < deadline:
            time.sleep(0.1)
        said = running.process.stderr

    limit = gemini_limits.limit_of_error(said, at, "gemini-2.5-pro")
    assert limit is not None, said
    assert (limit.scope, limit.model) == (Scope.MODEL, "gemini-2.5-pro")
    assert limit.resets_at == clock.later(at, 7500)


@pytest.mark.parametrize("program", ["gemini"], indirect=True)
def test_a_server_without_room_is_no_limit(program: Program, workspace: Path) -> None:
    message = "No capacity available for model gemini-2.5-pro on the server"
    reason = {
        "@type": GOOGLE + "ErrorInfo",
        "reason": "MODEL_CAPACITY_EXHAUSTED",
        "domain": "cloudcode-pa.googleapis.com",
    }
    run = program.run("Go", workspace, Script(then=Fault(429, {"error": _refusal(message, [reason])})))

    assert "No capacity available" in run.stderr
    assert gemini_limits.limit_of_error(run.stderr, clock.now()) is None
    assert gemini_limits.limit_of_error(run.stdout, clock.now()) is None


@pytest.mark.parametrize(
    ("said", "window", "scope", "model", "wait"),
    [
        (
            "Usage limit reached for gemini-2.5-pro.\nAccess resets at 3:04 PM UTC.",
            "",
            Scope.MODEL,
            "gemini-2.5-pro",
            11_040,
        ),
        (
            '{"code": 429, "quotaId": "RequestsPerMinutePerProject", "quota_limit": "x"}',
            "1m",
            Scope.ACCOUNT,
            "",
            None,
        ),
        ("Resource has been exhausted (e.g. check quota).", "", Scope.ACCOUNT, "", None),
        ('_ApiError: {"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}', "", Scope.ACCOUNT, "", None),
    ],
)
def test_other_sentences_of_gemini_are_known(
    said: str, window: str, scope: Scope, model: str, wait: int | None
) -> None:
    noon = "2026-11-16T12:00:00.000000Z"
    limit = gemini_limits.limit_of_error(said, noon)
    assert limit is not None
    assert (limit.window, limit.scope, limit.model) == (window, scope, model)
    assert limit.resets_at == (clock.later(noon, wait) if wait else None)


@pytest.mark.parametrize(
    "said", ["", "All 429 tests pass", "error 500", "The model: gemini is used", "x" * 10_000_000]
)
def test_what_tells_of_no_limit_is_none(said: str) -> None:
    assert gemini_limits.limit_of_error(said, None) is None
