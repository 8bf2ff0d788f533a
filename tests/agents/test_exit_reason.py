"""How a run stopped is told by what the program itself printed as an error, and by nothing that a model said."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue import agents
from segue.agents.claude import exit_reason as claude_exit
from segue.agents.shared import exit_reason
from segue.model import Limit, Scope
from segue.model.exit_reason import LONGEST_SAID, Output, Stop, Why

NOW = "2026-11-16T16:31:39.000000Z"
AGENTS = ("claude", "codex", "gemini", "opencode", "ollama", "llm")
KILLED = -9


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Some sentences name a time and no zone."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def lines(*records: dict[str, Any]) -> str:
    """As the programs print: nothing but what JSON must is written in another way."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def ended(code: int | None, stdout: str = "", stderr: str = "") -> Output:
    return Output(exit_code=code, stdout=stdout, stderr=stderr)


def stop(agent: str, output: Output) -> Stop | None:
    stop_of = agents.load(agent).stop_of
    return stop_of(output, NOW) if stop_of else None


def of_account(window: str, resets_at: str | None = None, **more: Any) -> Limit:
    return Limit(window=window, scope=Scope.ACCOUNT, used_percent=100, resets_at=resets_at, at=NOW, **more)


def of_model(window: str, model: str, resets_at: str | None = None) -> Limit:
    return Limit(window=window, scope=Scope.MODEL, used_percent=100, resets_at=resets_at, model=model, at=NOW)


# Claude Code: what it printed, without what is the same in every run

SHORT_RESET, LONG_RESET = 1794854077, 1795113277
FIVE_HOURS = {
    "type": "rate_limit_event",
    "rate_limit_info": {
        "status": "rejected",
        "resetsAt": SHORT_RESET,
        "rateLimitType": "five_hour",
        "isUsingOverage": False,
        "unifiedWindows": {
            "five_hour": {"utilization": 1, "resetsAt": SHORT_RESET, "status": "rejected"},
            "seven_day": {"utilization": 0.4, "resetsAt": SHORT_RESET + 86400, "status": "allowed"},
        },
    },
}
OPUS = {
    "type": "rate_limit_event",
    "rate_limit_info": {
        "status": "rejected",
        "resetsAt": LONG_RESET,
        "rateLimitType": "seven_day_opus",
        "isUsingOverage": False,
        "unifiedWindows": {
            "five_hour": {"utilization": 0.3, "resetsAt": LONG_RESET, "status": "allowed"},
            "seven_day": {"utilization": 0.4, "resetsAt": LONG_RESET + 86400, "status": "allowed"},
        },
    },
}
INIT = {
    "type": "system",
    "subtype": "init",
    "session_id": "s",
    "tools": ["Bash"],
    "model": "claude-sonnet-4-5",
}
RETRY = {
    "type": "system",
    "subtype": "api_retry",
    "attempt": 1,
    "max_retries": 10,
    "retry_delay_ms": 567,
    "error_status": 529,
    "error": "overloaded",
}


def claude_says(text: str, **more: Any) -> dict[str, Any]:
    message = {"model": "claude-sonnet-4-5", "role": "assistant", "content": [{"type": "text", "text": text}]}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None, **more}


def claude_ends(text: str, **more: Any) -> dict[str, Any]:
    about = {
        "subtype": "success",
        "is_error": False,
        "terminal_reason": "completed",
        "api_error_status": None,
    }
    return {"type": "result", **about, "result": text, **more}


def claude_fails(said: str, kind: str, status: int | None = None, **more: Any) -> str:
    """The message in place of an answer, and the result that repeats it."""
    api_error = {name: more[name] for name in ("api_error",) if name in more}
    error = {"error": kind, "is_api_error_message": True, "api_error_status": status, **api_error}
    message = {"model": "<synthetic>", "role": "assistant", "content": [{"type": "text", "text": said}]}
    spoken = {"type": "assistant", "message": message, "parent_tool_use_id": None, **error}
    failed = {"is_error": True, "terminal_reason": "api_error", "api_error_status": status, **more}
    return lines(spoken, claude_ends(said, **failed))


HIT = {"api_error": "usage_limit_reached"}
CLAUDE: dict[str, tuple[str, Why, Limit | None]] = {
    "a limit of the account": (
        lines(FIVE_HOURS)
        + claude_fails("You've hit your 5-hour limit · resets 6:34pm (UTC)", "rate_limit", 429, **HIT),
        Why.LIMIT,
        of_account("5h", "2026-11-16T18:34:37.000000Z"),
    ),
    "a limit of a model": (
        lines(OPUS)
        + claude_fails("You've hit your Opus limit · resets Nov 19, 6:34pm (UTC)", "rate_limit", 429, **HIT),
        Why.LIMIT,
        of_model("week", "opus", "2026-11-19T18:34:37.000000Z"),
    ),
    "an organization's own limit": (
        claude_fails(
            "API Error: 400 You have reached your specified API usage limits. "
            "You will regain access on 2026-12-01 at 00:00 UTC.",
            "unknown",
            400,
        ),
        Why.LIMIT,
        of_account("", "2026-12-01T00:00:00.000000Z"),
    ),
    "too many requests": (
        claude_fails("API Error: Request rejected (429) · scripted error 429", "rate_limit", 429),
        Why.OVERLOADED,
        None,
    ),
    "overloaded": (
        claude_fails("API Error: 529 Overloaded. This is a server-side issue", "server_error", 529),
        Why.OVERLOADED,
        None,
    ),
    "no server": (
        claude_fails(
            "API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)",
            "server_error",
            api_error="connection_failed",
        ),
        Why.OVERLOADED,
        None,
    ),
    "no login": (
        claude_fails("Not logged in · Please run /login", "authentication_failed"),
        Why.REFUSED,
        None,
    ),
    "a wrong key": (
        claude_fails("Invalid API key · Fix external API key", "authentication_failed", 401),
        Why.REFUSED,
        None,
    ),
    "no credit": (
        claude_fails("Credit balance is too low", "billing_error", 400),
        Why.REFUSED,
        of_account("spend"),
    ),
    "no such model": (
        claude_fails(
            "There's an issue with the selected model (x). It may not exist", "model_not_found", 404
        ),
        Why.REFUSED,
        None,
    ),
    "too long": (
        claude_fails(
            "Prompt is too long · the request is ~213462 tokens (limit 200000)",
            "invalid_request",
            400,
            terminal_reason="prompt_too_long",
        ),
        Why.CONTEXT,
        None,
    ),
    "its own cap": (
        lines(
            INIT,
            {
                "type": "result",
                "subtype": "error_max_turns",
                "is_error": True,
                "errors": ["Reached maximum number of turns (1)"],
            },
        ),
        Why.ASKED,
        None,
    ),
    "an old version at its limit": (
        lines(INIT, claude_ends(f"Claude AI usage limit reached|{SHORT_RESET}", is_error=True)),
        Why.LIMIT,
        of_account("5h", "2026-11-16T18:34:37.000000Z", is_estimate=True),
    ),
}


@pytest.mark.parametrize("case", CLAUDE)
def test_what_stops_claude_is_told(case: str) -> None:
    stdout, why, limit = CLAUDE[case]
    found = stop("claude", ended(1, stdout))
    assert found is not None
    assert (found.why, found.limit) == (why, limit)
    assert found.said


def test_a_retry_that_helped_is_no_stop() -> None:
    good = lines(INIT, RETRY, claude_says("Fine."), claude_ends("Fine."))
    assert stop("claude", ended(0, good)) is None
    assert stop("claude", ended(KILLED, lines(INIT, RETRY, claude_says("Fine.")))) is None


def test_a_program_that_was_ended_while_it_tried_again_tells_why_it_did() -> None:
    assert stop("claude", ended(None, lines(INIT, RETRY))) is None
    found = stop("claude", ended(KILLED, lines(INIT, RETRY)))
    assert found is not None and found.why is Why.OVERLOADED


def test_the_limit_of_a_subagent_ends_no_run() -> None:
    [spoken, _] = claude_fails("You've hit your 5-hour limit", "rate_limit", 429).splitlines()
    within = lines({**json.loads(spoken), "parent_tool_use_id": "toolu_1"})
    assert stop("claude", ended(KILLED, lines(INIT) + within)) is None


def test_the_last_that_the_stream_tells_of_each_limit_counts() -> None:
    def event(week: float) -> dict[str, Any]:
        windows = {
            "five_hour": {"utilization": 0.3, "resetsAt": SHORT_RESET},
            "seven_day": {"utilization": week, "resetsAt": LONG_RESET, "status": "allowed_warning"},
        }
        info = {
            "status": "allowed",
            "resetsAt": LONG_RESET,
            "rateLimitType": "seven_day",
            "unifiedWindows": windows,
        }
        return {"type": "rate_limit_event", "rate_limit_info": info}

    told = claude_exit.reports_of(lines(INIT, event(0.83), claude_says("Fine."), event(0.91)), NOW)
    assert {limit.window: limit.used_percent for limit in told} == {"5h": 30, "week": 91}
    assert claude_exit.reports_of(lines(INIT, claude_says("Fine.")), NOW) == ()


# Codex

BEGUN = ({"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"})


def codex_fails(said: str) -> str:
    return lines(
        *BEGUN, {"type": "error", "message": said}, {"type": "turn.failed", "error": {"message": said}}
    )


def codex_says(text: str) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": text}}


def codex_retries(said: str, count: int = 1) -> str:
    return lines(*BEGUN, *[{"type": "error", "message": f"Reconnecting... {said}"}] * count)


CODEX: dict[str, tuple[str, Why, Limit | None]] = {
    "a limit of the account": (
        "You\u2019ve hit your usage limit. Upgrade to Pro (https://example.org/pro), or try again at 6:34 PM.",
        Why.LIMIT,
        of_account("5h", "2026-11-16T18:34:00.000000Z", is_estimate=True),
    ),
    "no money": ("Quota exceeded. Check your plan and billing details.", Why.REFUSED, of_account("spend")),
    "too many requests": (
        "exceeded retry limit, last status: 429 Too Many Requests",
        Why.OVERLOADED,
        None,
    ),
    "overloaded": (
        "unexpected status 503 Service Unavailable: scripted error 503, url: http://127.0.0.1:8899/v1/responses",
        Why.OVERLOADED,
        None,
    ),
    "cut off": (
        "stream disconnected before completion: Transport error: network error: error decoding response body",
        Why.OVERLOADED,
        None,
    ),
    "a wrong key": (
        "unexpected status 401 Unauthorized: Incorrect API key provided: dummy., url: http://127.0.0.1/v1/responses",
        Why.REFUSED,
        None,
    ),
    "no key": ("Missing environment variable: `LOCAL_KEY`.", Why.REFUSED, None),
    "no such model": (
        "The model `nope` does not exist or you do not have access to it.",
        Why.REFUSED,
        None,
    ),
    "too long": (
        '{"error": {"message": "Your input exceeds the context window of this model.", '
        '"type": "invalid_request_error", "param": null, "code": "context_length_exceeded"}}',
        Why.CONTEXT,
        None,
    ),
    "a request that nobody can answer": (
        '{"error": {"message": "Unsupported value: \'x\'", "type": "invalid_request_error"}}',
        Why.REFUSED,
        None,
    ),
    "something new": ("The frobnicator is cold.", Why.CRASHED, None),
}


@pytest.mark.parametrize("case", CODEX)
@pytest.mark.parametrize("agent", ["codex", "ollama"])
def test_what_stops_codex_is_told_of_whoever_it_works_for(agent: str, case: str) -> None:
    said, why, limit = CODEX[case]
    found = stop(agent, ended(1, codex_fails(said)))
    assert found is not None
    assert (found.why, found.limit) == (why, limit)
    assert found.said.startswith(exit_reason.message_in(said)[:40])


def test_a_try_again_of_codex_stands_only_if_nothing_comes_after_it() -> None:
    tried = codex_retries("1/5 (unexpected status 503 Service Unavailable)")
    assert stop("codex", ended(0, tried + lines(codex_says("Fine."), {"type": "turn.completed"}))) is None
    assert stop("codex", ended(None, tried)) is None
    found = stop("codex", ended(KILLED, tried))
    assert found is not None and found.why is Why.OVERLOADED


def test_codex_without_a_network_is_not_waited_for_without_end() -> None:
    waits = "waiting for network (Connection failed: error sending request)"
    assert stop("codex", ended(None, codex_retries(waits, 4))) is None
    found = stop("codex", ended(None, codex_retries(waits, 12)))
    assert found is not None and found.why is Why.OVERLOADED


def test_a_warning_of_codex_is_no_stop() -> None:
    warning = {"type": "item.completed", "item": {"id": "i", "type": "error", "message": "quota exceeded"}}
    done = (codex_says("Done."), {"type": "turn.completed"})
    assert stop("codex", ended(0, lines(*BEGUN, warning, *done))) is None
    assert stop("codex", ended(KILLED, lines(*BEGUN, warning))) is None
    tried = codex_retries("1/5 (unexpected status 503 Service Unavailable)")
    found = stop("codex", ended(KILLED, tried + lines(warning)))
    assert found is not None and found.why is Why.OVERLOADED


def test_what_codex_says_before_it_begins_is_told() -> None:
    found = stop("codex", ended(1, "", "Error: Not logged in\n\nCaused by:\n    nothing\n"))
    assert found == Stop(why=Why.REFUSED, said="Error: Not logged in")


# Gemini CLI

GEMINI_BEGUN = (
    {"type": "init", "session_id": "s", "model": "gemini-2.5-pro"},
    {"type": "message", "role": "user", "content": "Go on."},
)
ADVICE = (
    "\nPlease wait and try again later. To increase your limits, request a quota increase through AI Studio"
)
WAITS = (
    "Ripgrep is not available. Falling back to GrepTool.\nAttempt 1 failed: You have exhausted your capacity on this "
    "model. Your quota will reset after 2h5m0s.. Retrying after 8502675ms...\n"
)


def gemini_says(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": text, "delta": True}


def gemini_fails(said: str) -> str:
    error = {"type": "unknown", "message": f"[API Error: {said}]{ADVICE if 'quota' in said else ''}"}
    return lines(
        *GEMINI_BEGUN, {"type": "result", "status": "error", "error": error, "stats": {"total_tokens": 0}}
    )


def google(code: int, message: str, status: str) -> str:
    return json.dumps({"error": {"code": code, "message": message, "status": status, "details": []}})


GEMINI: dict[str, tuple[int, str, Why, Limit | None]] = {
    "a quota of a day": (
        173,
        "You have exhausted your daily quota on this model.",
        Why.LIMIT,
        of_model("day", "gemini-2.5-pro"),
    ),
    "too many requests": (173, "scripted error 429", Why.OVERLOADED, None),
    "what only the code tells": (247, "Something went wrong.", Why.OVERLOADED, None),
    "a minute's quota": (
        173,
        "You exceeded your current quota, limit: 5, model: gemini-2.5-pro\nPlease retry in 37.5s.",
        Why.OVERLOADED,
        of_model("", "gemini-2.5-pro", "2026-11-16T16:32:16.500000Z"),
    ),
    "overloaded": (247, "The model is overloaded. Please try again later.", Why.OVERLOADED, None),
    "no server": (1, "exception TypeError: fetch failed sending request", Why.OVERLOADED, None),
    "cut off": (1, "terminated", Why.OVERLOADED, None),
    "a wrong key": (144, google(400, "API key not valid.", "INVALID_ARGUMENT"), Why.REFUSED, None),
    "no permission": (147, google(403, "Permission denied.", "PERMISSION_DENIED"), Why.REFUSED, None),
    "no such model": (1, "models/nope is not found for API version v1beta", Why.REFUSED, None),
    "too long": (
        144,
        google(
            400,
            "The input token count (1048600) exceeds the maximum number of tokens allowed (1048576).",
            "INVALID_ARGUMENT",
        ),
        Why.CONTEXT,
        None,
    ),
}


@pytest.mark.parametrize("case", GEMINI)
def test_what_stops_gemini_is_told(case: str) -> None:
    code, said, why, limit = GEMINI[case]
    found = stop(
        "gemini", ended(code, gemini_fails(said), "Attempt 1 failed with status 429. Quota exceeded\n")
    )
    assert found is not None
    assert (found.why, found.limit) == (why, limit)
    assert "[API Error" not in found.said and '"error"' not in found.said


def test_gemini_without_a_login_says_so_in_plain_words() -> None:
    said = "When using Gemini API, you must specify the GEMINI_API_KEY environment variable."
    found = stop("gemini", ended(41, "", f"{said}\nUpdate your environment and try again!\n"))
    assert found == Stop(why=Why.REFUSED, said=said)


@pytest.mark.parametrize("code", [None, KILLED])
def test_gemini_is_not_waited_for_until_its_quota_comes_back(code: int | None) -> None:
    found = stop("gemini", ended(code, lines(*GEMINI_BEGUN), WAITS))
    assert found is not None
    assert found.said == "You have exhausted your capacity on this model. Your quota will reset after 2h5m0s."
    assert (found.why, found.limit) == (
        Why.LIMIT,
        of_model("", "gemini-2.5-pro", "2026-11-16T18:36:39.000000Z"),
    )


def test_what_gemini_recovered_from_is_no_stop() -> None:
    tried = 'Attempt 1 failed with status 503. Retrying with backoff... _ApiError: {"error":{"code":503}}\n'
    done = lines(*GEMINI_BEGUN, gemini_says("Fine."), {"type": "result", "status": "success", "stats": {}})
    assert stop("gemini", ended(0, done, tried + WAITS)) is None
    assert stop("gemini", ended(KILLED, lines(*GEMINI_BEGUN), tried)) is None


# OpenCode


def opencode_says(text: str, at: int = 1794847221346) -> dict[str, Any]:
    return {"type": "text", "timestamp": at, "part": {"type": "text", "text": text}}


def opencode_fails(name: str, message: str, status: int | None = None, **more: Any) -> dict[str, Any]:
    data = {"message": message, **({"statusCode": status} if status else {}), **more}
    return {"type": "error", "timestamp": 1794847221346, "error": {"name": name, "data": data}}


def logged(said: str, at: str = "2026-11-16T16:31:20.292Z", small: str = "false") -> str:
    quoted = said.replace('"', '\\"')
    return (
        f'timestamp={at} level=ERROR run=a24ba875 message="stream error" providerID=local modelID=m1 '
        f'session.id=ses_1 small={small} agent=build mode=primary error.error="AI_APICallError: {quoted}"\n'
    )


OPENCODE: dict[str, tuple[dict[str, Any], Why, Limit | None]] = {
    "no money": (opencode_fails("APIError", "scripted error 402", 402), Why.REFUSED, of_account("spend")),
    "a limit with its end in words": (
        opencode_fails("APIError", "Weekly limit reached. Resets in 2 days.", 402),
        Why.LIMIT,
        of_account("week", "2026-11-18T16:31:39.000000Z"),
    ),
    "a limit of a model": (
        opencode_fails(
            "APIError", "Quota exceeded for this model", 429, responseHeaders={"retry-after": "7200"}
        ),
        Why.LIMIT,
        of_model("", "", "2026-11-16T18:31:39.000000Z"),
    ),
    "a wrong key": (
        opencode_fails("APIError", "Incorrect API key provided: dummy.", 401),
        Why.REFUSED,
        None,
    ),
    "no key": (opencode_fails("ProviderAuthError", "no credentials", providerID="x"), Why.REFUSED, None),
    "no such model": (opencode_fails("APIError", "The model `nope` does not exist", 404), Why.REFUSED, None),
    "a broken server": (opencode_fails("APIError", "Bad Gateway", 502), Why.OVERLOADED, None),
    "too long": (
        opencode_fails("ContextOverflowError", "This model's maximum context length is 128000 tokens."),
        Why.CONTEXT,
        of_model("context", ""),
    ),
    "aborted": (opencode_fails("MessageAbortedError", "Aborted"), Why.ASKED, None),
}


@pytest.mark.parametrize("case", OPENCODE)
@pytest.mark.parametrize("agent", ["opencode", "ollama"])
def test_what_stops_opencode_is_told_of_whoever_it_works_for(agent: str, case: str) -> None:
    record, why, limit = OPENCODE[case]
    found = stop(agent, ended(1, lines(record)))
    assert found is not None
    assert (found.why, found.limit) == (why, limit)
    assert found.said == record["error"]["data"]["message"]


def test_what_opencode_did_not_foresee_is_told_by_its_log() -> None:
    failed = lines(opencode_fails("UnknownError", "Unexpected server error. Check server logs for details."))
    log = (
        'timestamp=2026-11-16T16:39:40.232Z level=ERROR run=9 message=failed ref=err_1 error="{}" cause="x"\n'
    )
    found = stop(
        "opencode", ended(1, failed, log.format("ProviderModelNotFoundError: Model not found: local/nope."))
    )
    assert found is not None and found.why is Why.REFUSED
    alone = stop("opencode", ended(1, failed))
    assert alone is not None and alone.why is Why.CRASHED


def test_what_opencode_waits_for_in_silence_is_told_by_its_log() -> None:
    found = stop("opencode", ended(KILLED, "", logged("scripted error 429")))
    assert found == Stop(why=Why.OVERLOADED, said="scripted error 429")


def test_opencode_is_not_waited_for_until_its_limit_ends() -> None:
    said = "Usage limit reached for 5 hour. Your limit will reset at 2026-11-18 03:04:05"
    expected = Stop(why=Why.LIMIT, said=said, limit=of_account("5h", "2026-11-18T03:04:05.000000Z"))
    assert stop("opencode", ended(None, "", logged(said))) == expected
    assert stop("opencode", ended(KILLED, "", logged(said))) == expected


def test_opencode_is_left_to_try_again_for_a_while() -> None:
    once = logged("Cannot connect to API: Unable to connect. Is the computer able to access the url?")
    assert stop("opencode", ended(None, "", once * 2)) is None
    found = stop("opencode", ended(None, "", once * 6))
    assert found is not None and found.why is Why.OVERLOADED


def test_what_opencode_recovered_from_is_no_stop() -> None:
    log = logged("scripted error 429", "2026-11-16T16:40:20.292Z")
    after = lines(opencode_says("Fine.", 1794847221346))  # a second later
    assert stop("opencode", ended(0, after, log)) is None
    assert stop("opencode", ended(KILLED, after, log)) is None
    assert stop("opencode", ended(None, after, log * 9)) is None


def test_a_title_that_nobody_wrote_is_no_stop() -> None:
    assert stop("opencode", ended(KILLED, "", logged("Cannot connect to API", small="true"))) is None


def test_opencode_that_compacts_in_vain_is_stopped() -> None:
    overflow = opencode_fails("ContextOverflowError", "maximum context length is 128000 tokens")
    compacted = (opencode_says("A summary"), {"type": "step_finish", "timestamp": 1794847221346, "part": {}})
    worked = {"type": "tool_use", "timestamp": 1794847221346, "part": {"tool": "bash"}}
    assert stop("opencode", ended(None, lines(overflow))) is None
    assert stop("opencode", ended(None, lines(*[overflow, *compacted] * 2))) is None
    assert stop("opencode", ended(0, lines(*[overflow, *compacted] * 3))) is None
    assert stop("opencode", ended(None, lines(*[overflow, *compacted, worked] * 5))) is None
    for code in (None, KILLED):
        found = stop("opencode", ended(code, lines(*[overflow, *compacted] * 3)))
        assert found is not None and found.why is Why.CONTEXT


def test_what_opencode_compacted_once_is_not_what_stops_it_later() -> None:
    overflow = opencode_fails("ContextOverflowError", "maximum context length is 128000 tokens")
    worked = {"type": "tool_use", "timestamp": 1794847221346, "part": {"tool": "bash"}}
    unpaid = opencode_fails("APIError", "scripted error 402", 402)
    for code in (None, 1):
        found = stop("opencode", ended(code, lines(overflow, opencode_says("A summary"), worked, unpaid)))
        assert found is not None and found.why is Why.REFUSED


# llm


def test_what_a_plugin_of_llm_says_is_told() -> None:
    for said, why in (
        (
            "gpt-x: Error code: 429 - {'error': {'message': 'Rate limit reached for requests'}}.",
            Why.OVERLOADED,
        ),
        ("gpt-x: Error code: 401 - {'error': {'message': 'Incorrect API key provided'}}.", Why.REFUSED),
        ("gpt-x: No key found - add one using 'llm keys set openai'.", Why.REFUSED),
        ("gpt-x: Connection error.", Why.OVERLOADED),
        ("gpt-x: Error code: 400 - {'code': 'context_length_exceeded'}.", Why.CONTEXT),
        ("gpt-x: You exceeded your current quota per day.", Why.LIMIT),
        ("gpt-x: it answered with nothing.", Why.CRASHED),
    ):
        found = stop("llm", ended(1, "Rate limit reached", f"{said} Next: segue doctor\n"))
        assert found is not None and (found.why, found.said) == (why, said)


# All of them

FAILED: list[tuple[str, Output]] = [
    *(("claude", ended(1, lines(INIT) + stdout)) for stdout, _, _ in CLAUDE.values()),
    *(("codex", ended(1, codex_fails(said))) for said, _, _ in CODEX.values()),
    *(("gemini", ended(code, gemini_fails(said))) for code, said, _, _ in GEMINI.values()),
    *(("opencode", ended(1, lines(record))) for record, _, _ in OPENCODE.values()),
]
SAID = [
    "Rate limit reached. API Error: 429",
    "You've hit your 5-hour limit · resets 6:34pm (UTC)",
    "[API Error: You have exhausted your daily quota on this model.]",
    "unexpected status 503 Service Unavailable",
    "Prompt is too long",
    "Error: Not logged in · Please run /login",
    *(output.stdout for _, output in FAILED),
]
SPEAKERS: dict[
    str, tuple[Callable[[str], dict[str, Any]], tuple[dict[str, Any], ...], dict[str, Any] | None]
] = {
    "claude": (claude_says, (INIT,), claude_ends("Rate limit reached. API Error: 429")),
    "codex": (codex_says, BEGUN, {"type": "turn.completed", "usage": {}}),
    "gemini": (gemini_says, GEMINI_BEGUN, {"type": "result", "status": "success", "stats": {}}),
    "opencode": (opencode_says, (), None),
}
words = st.one_of(st.sampled_from(SAID), st.text(max_size=200))


@given(said=st.lists(words, min_size=1, max_size=4), agent=st.sampled_from(sorted(SPEAKERS)))
def test_a_models_words_never_count(said: list[str], agent: str) -> None:
    speaks, before, last = SPEAKERS[agent]
    spoken = [*before, *map(speaks, said)]
    for who in {agent, "ollama"} - ({"ollama"} if agent == "gemini" else set()):
        assert stop(who, ended(0, lines(*spoken, *([last] if last else [])))) is None
        for code in (None, KILLED, 1):
            assert stop(who, ended(code, lines(*spoken))) is None


def test_what_looks_like_the_end_of_a_line_in_a_models_words_is_none() -> None:
    failed = lines({"type": "error", "message": "unexpected status 503 Service Unavailable"})
    said = codex_says("one\u2028two\u0085three\x1cfour")
    assert stop("codex", ended(KILLED, lines(*BEGUN) + failed + lines(said))) is None


@given(said=words, code=st.sampled_from([0, None, KILLED]))
def test_what_a_model_of_llm_says_never_counts(said: str, code: int | None) -> None:
    assert stop("llm", ended(code, said)) is None
    assert stop("llm", ended(1, said)) is None


@given(failed=st.sampled_from(FAILED), at=st.integers(0, 10_000), before=words)
def test_where_an_output_was_cut_off_before_its_last_lines_changes_nothing(
    failed: tuple[str, Output], at: int, before: str
) -> None:
    agent, output = failed
    speaks = SPEAKERS[agent][0]
    long = lines(speaks(before), speaks("x")) + output.stdout
    cut = long[min(at, len(long) - len(output.stdout)) :]
    assert stop(agent, ended(output.exit_code, cut)) == stop(agent, output)


pieces = st.one_of(
    st.text(max_size=80),
    st.binary(max_size=80).map(lambda junk: junk.decode(errors="surrogateescape")),
    st.sampled_from([output.stdout for _, output in FAILED]),
    st.sampled_from([WAITS, logged("x" * 50), "\x1b[31mError: \ud800\0", "{" * 500, '{"type":' * 300]),
)
loose = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = (
    *("subtype", "status", "error", "message", "result", "errors", "item", "model", "stats", "timestamp"),
    *(
        "is_error",
        "rate_limit_info",
        "api_error_status",
        "is_api_error_message",
        "parent_tool_use_id",
        "part",
    ),
)
TYPES = (
    *("result", "assistant", "user", "system", "rate_limit_event", "error", "turn.failed", "item.completed"),
    *("init", "message", "text", "tool_use"),
)
odd = st.builds(
    lambda kind, fields: json.dumps({"type": kind, **fields}) + "\n",
    st.sampled_from(TYPES),
    st.dictionaries(st.sampled_from(FIELDS), loose, max_size=6),
)


@given(
    out=st.lists(st.one_of(pieces, odd), max_size=5),
    err=st.lists(pieces, max_size=3),
    code=st.one_of(st.none(), st.integers(-64, 300)),
    cut=st.integers(0, 60),
)
def test_no_output_is_too_odd(out: list[str], err: list[str], code: int | None, cut: int) -> None:
    output = ended(code, "".join(out)[cut:], "".join(err)[cut:])
    for agent in AGENTS:
        found = stop(agent, output)
        if found is not None:
            assert len(found.said) <= LONGEST_SAID
            assert found.said.isprintable()
            assert found.why is not Why.LIMIT or found.limit is not None
    for limit in claude_exit.reports_of(output.stdout, NOW):
        assert isinstance(limit, Limit)


def test_megabytes_are_soon_gone_through() -> None:
    began = time.perf_counter()
    for junk in (
        "x" * (4 << 20),
        "{" * (1 << 20),
        "\n" * (1 << 20),
        'timestamp=1 level=ERROR a="' * (1 << 16),
    ):
        for agent in AGENTS:
            stop(agent, ended(1, junk, junk))
            stop(agent, ended(1, codex_fails(junk[: 1 << 19]), junk))
    assert time.perf_counter() - began < 30


# Words


@pytest.mark.parametrize(
    ("said", "status", "why"),
    [
        ("Request too large: prompt is too long", 400, Why.CONTEXT),
        ("Payload", 413, Why.CONTEXT),
        ("tokens per minute: the context window is not the matter", 429, Why.OVERLOADED),
        ("context window", 401, Why.REFUSED),
        ("", 529, Why.OVERLOADED),
        ("", 408, Why.OVERLOADED),
        ("any", 422, Why.REFUSED),
        ("503 tests failed", None, None),
        ("status 503", None, Why.OVERLOADED),
        ("error_code: 401", None, Why.REFUSED),
        ("all is well", None, None),
    ],
)
def test_a_status_comes_before_words(said: str, status: int | None, why: Why | None) -> None:
    assert exit_reason.why_of(said, status) is why
