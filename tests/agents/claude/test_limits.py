"""What Claude Code tells of limits, and what only looks like it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segue.agents.claude import limits
from segue.agents.claude import reader as claude
from segue.model import Ending, Entry, EntryKind, Limit, Origin, Scope
from tests.agents.claude.test_reader import (
    SESSION,
    assistant,
    call,
    chained,
    read,
    refused,
    result,
    scanned,
    user,
)


def limit_in(entries: list[Entry]) -> Limit:
    [entry] = [entry for entry in entries if entry.kind is EntryKind.LIMIT]
    return entry.limits[-1]


@pytest.mark.parametrize(
    ("text", "window", "model", "resets_at"),
    [
        ("Claude AI usage limit reached|1772456400", "5h", "", "2026-03-02T13:00:00"),
        ("Claude usage limit reached. Your limit will reset at 8pm (UTC).", "week", "", "2026-03-02T20:00:00"),
        ("5-hour limit reached ∙ resets 11am (UTC)", "5h", "", "2026-03-02T11:00:00"),
        ("Session limit reached ∙ resets 11am (UTC)", "5h", "", "2026-03-02T11:00:00"),
        ("Weekly limit reached ∙ resets Mar 9 at 3pm (UTC)", "week", "", "2026-03-09T15:00:00"),
        ("Opus weekly limit reached ∙ resets Mar 9, 3pm (UTC)", "week", "opus", "2026-03-09T15:00:00"),
        ("You've hit your limit · resets 10:22am (UTC)", "5h", "", "2026-03-02T10:22:00"),
        ("You've hit your 5-hour limit · resets 10:22am (UTC)", "5h", "", "2026-03-02T10:22:00"),
        ("You've hit your weekly limit · resets Mar 5 at 1am (UTC)", "week", "", "2026-03-05T01:00:00"),
        ("You've hit your Opus limit · resets Mar 5 at 1am (UTC)", "week", "opus", "2026-03-05T01:00:00"),
        ("You’ve hit your Sonnet limit", "week", "sonnet", None),
        ("Spending cap reached resets 10:22pm (UTC)", "spend", "", "2026-03-02T22:22:00"),
        ("You're out of extra usage · resets 3pm (UTC)", "spend", "", "2026-03-02T15:00:00"),
        ("Limit reached · resets 1pm (UTC) · /upgrade", "5h", "", "2026-03-02T13:00:00"),
        ("Credit balance is too low", "spend", "", None),
        ("API Error: Request rejected (429) · this may be a temporary capacity issue", "", "", None),
        ("API Error: Rate limit reached", "", "", None),
    ],
)  # fmt: skip
def test_every_wording_of_a_limit_is_one(
    tmp_path: Path, text: str, window: str, model: str, resets_at: str | None
) -> None:
    found = limit_in(read(tmp_path, refused(text)))
    assert (found.window, found.model) == (window, model)
    assert found.scope is (Scope.MODEL if model else Scope.ACCOUNT)
    assert found.resets_at == (resets_at and f"{resets_at}.000000Z")
    assert found.used_percent == 100
    assert found.at == "2026-03-02T09:00:00.250000Z"


def test_a_limit_is_taken_from_its_fields_where_there_are_some(tmp_path: Path) -> None:
    quota = {
        "resetsAt": 1772456400,
        "rateLimitType": "seven_day_opus",
        "unifiedWindows": {"five_hour": {"utilization": 0.4, "resetsAt": 1772450000}},
    }
    [entry] = read(
        tmp_path, refused("Stopped.", error="rate_limit", apiError="usage_limit_reached", quotaLimits=quota)
    )
    other, hit = entry.limits
    assert (hit.window, hit.scope, hit.model, hit.used_percent) == ("week", Scope.MODEL, "opus", 100)
    assert hit.resets_at == "2026-03-02T13:00:00.000000Z"
    assert (other.window, other.used_percent) == ("5h", 40)


@pytest.mark.parametrize(
    "text",
    [
        'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
        "API Error: 500 Internal server error",
        "Prompt is too long",
        "No response requested.",
    ],
)
def test_other_failures_are_no_limit(tmp_path: Path, text: str) -> None:
    [entry] = read(tmp_path, refused(text))
    assert (entry.kind, entry.limits) == (EntryKind.NOTE, ())


def test_words_about_a_limit_are_no_limit(tmp_path: Path) -> None:
    quote = "You've hit your 5-hour limit · resets 10:22pm (UTC)"
    entries = read(
        tmp_path,
        user(quote),
        assistant({"type": "text", "text": quote}),
        assistant(call(), id="r2"),
        user([result(quote, is_error=True)], "u2"),
    )
    assert EntryKind.LIMIT not in [entry.kind for entry in entries]
    assert not any(entry.limits for entry in entries)


def test_a_request_that_is_tried_again_is_a_note_with_its_limits(tmp_path: Path) -> None:
    headers = {
        "anthropic-ratelimit-unified-5h-utilization": "0.97",
        "anthropic-ratelimit-unified-5h-reset": "1772456400",
    }
    error = {
        "status": 429,
        "headers": headers,
        "error": {"error": {"type": "rate_limit_error", "message": "slow down"}},
    }
    record = chained("system", "s1", subtype="api_error", error=error, retryAttempt=1, maxRetries=10)
    [entry] = read(tmp_path, {**record, "retryInMs": 500})
    assert (entry.kind, entry.text) == (EntryKind.NOTE, "slow down")
    assert [(limit.window, limit.used_percent) for limit in entry.limits] == [("5h", 97)]
    assert read(tmp_path, record)[0].kind is EntryKind.LIMIT
    overloaded = chained("system", "s1", subtype="api_error", error={"status": 529})
    assert read(tmp_path, overloaded)[0].kind is EntryKind.NOTE


def test_the_status_line_tells_limits() -> None:
    status = {
        "model": {"id": "claude-opus-4-6"},
        "rate_limits": {
            "five_hour": {"used_percentage": 23.5, "resets_at": 1772456400},
            "seven_day": {"used_percentage": 81},
            "seven_day_opus": {"used_percentage": 99},
            "seven_day_oauth_apps": {"used_percentage": 1},
            "spend_limit": {"used_percentage": 5},
            "broken": None,
        },
        "context_window": {"context_window_size": 200000, "used_percentage": 42},
    }
    found = limits.limits_of_status(status, "2026-03-02T09:00:00.000000Z")
    assert [(limit.window, limit.scope.value, limit.model, limit.used_percent) for limit in found] == [
        ("5h", "account", "", 23.5),
        ("week", "account", "", 81),
        ("week", "model", "opus", 99),
        ("spend", "account", "", 5),
        ("context", "model", "claude-opus-4-6", 42),
    ]
    assert found[0].resets_at == "2026-03-02T13:00:00.000000Z"


@pytest.mark.parametrize(
    ("quota", "told"),
    [
        (
            {"unifiedWindows": {"five_hour": {"utilization": 1}, "seven_day": {"utilization": 0.4}}},
            [("week", 40), ("5h", 100)],
        ),
        ({"unifiedWindows": {"five_hour": {"utilization": None}}}, [("5h", 100)]),
        ({}, [("5h", 100)]),
        ({"utilization": 0.99}, [("5h", 99)]),
    ],
)
def test_a_refusal_tells_that_all_is_used(quota: dict[str, Any], told: list[tuple[str, float]]) -> None:
    info = {"status": "rejected", "resetsAt": 1772456400, "rateLimitType": "five_hour", **quota}
    found = limits.limits_of_event({"type": "rate_limit_event", "rate_limit_info": info}, None)
    assert [(limit.window, limit.used_percent) for limit in found] == told
    assert found[-1].resets_at == "2026-03-02T13:00:00.000000Z"


def test_the_programs_output_is_read_too(tmp_path: Path) -> None:
    info = {
        "status": "allowed_warning",
        "resetsAt": 1772456400,
        "rateLimitType": "five_hour",
        "utilization": 0.91,
    }
    result_ = {
        "type": "result",
        "subtype": "success",
        "is_error": True,
        "api_error_status": 429,
        "session_id": SESSION,
    }
    found = scanned(
        tmp_path,
        {"type": "system", "subtype": "init", "session_id": SESSION, "cwd": "/home/ada", "permissionMode": "default", "claude_code_version": "2.1.325"},
        {"type": "rate_limit_event", "rate_limit_info": info, "session_id": SESSION},
        {"type": "assistant", "message": {"id": "m", "model": "claude-x", "content": [{"type": "text", "text": "hi"}]}, "session_id": SESSION, "uuid": "r1"},
        {"type": "user", "message": {"content": "look it up"}, "parent_tool_use_id": "toolu_7", "session_id": SESSION},
        {**result_, "result": "You've hit your 5-hour limit · resets 10:22pm (UTC)", "modelUsage": {"claude-x": {"contextWindow": 200000}}},
        name="saved.jsonl",
    )  # fmt: skip
    about = found.transcript
    assert (about.id, about.version, about.context_window) == (SESSION, "2.1.325", 200000)
    assert (about.ending, about.turns, about.project) == (Ending.LIMIT, 0, "/home/ada")
    entries = list(claude.read(found.source))
    assert [(limit.window, limit.used_percent) for limit in entries[1].limits] == [("5h", 91)]
    assert (entries[3].subagent, entries[3].origin) == ("toolu_7", Origin.ASSISTANT)
