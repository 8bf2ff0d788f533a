"""Why a headless run of Claude Code stopped, read from its stream of JSON lines.

The exit code and the result's `subtype` don't help: a refused run ends as "success" with `is_error`. The program's own
message is in an assistant record marked as an error, and again in the result. A `rate_limit_event` before it names the
limit.
"""

from __future__ import annotations

import re
from typing import Any

from segue.agents.claude import limits
from segue.agents.shared import exit_reason
from segue.agents.shared.transcripts.reader import dict_of, list_of, text_of
from segue.base.clock import Moment
from segue.model import Limit
from segue.model.exit_reason import Output, Stop, Why

CAPS = ("error_max_turns", "error_max_budget_usd")
"""Results of a run that reached a cap set by the user."""

_KINDS = {
    "authentication_failed": Why.REFUSED,
    "oauth_org_not_allowed": Why.REFUSED,
    "model_not_found": Why.REFUSED,
    "server_error": Why.OVERLOADED,
    "overloaded": Why.OVERLOADED,
    "connection_failed": Why.OVERLOADED,
    "prompt_too_long": Why.CONTEXT,
}
"""The program's names for its errors."""
_REGAINED = re.compile(r"regain access on (20\d\d-\d\d-\d\d) at (\d\d:\d\d)", re.IGNORECASE)

Record = dict[str, Any]


def stop_of(output: Output, now: Moment) -> Stop | None:
    errors: list[Record] = []
    quota: Record = {}
    retry: Record = {}
    is_begun = False
    for record in exit_reason.records(output.stdout):
        is_begun = True
        match record.get("type"):
            case "rate_limit_event":
                quota = dict_of(record.get("rate_limit_info"))
            case "system" if record.get("subtype") == "api_retry":
                retry = record
            case "result" if record.get("is_error") is True:
                errors, retry = [*errors, record], {}
            case "assistant" if _is_error(record):
                errors, retry = [record], {}
            case "assistant" | "result" | "user":
                errors, retry = errors if record.get("parent_tool_use_id") else [], {}
    if errors:
        return _stop(errors, quota, now)
    if retry and output.exit_code is not None:  # it ended while retrying
        kind = text_of(retry.get("error"))
        status = exit_reason.status_of(retry.get("error_status"))
        return Stop(why=exit_reason.why_of(kind, status) or Why.OVERLOADED, said=exit_reason.one_line(kind))
    return None if is_begun else exit_reason.stop_without_records(output)


def _is_error(record: Record) -> bool:
    """Whether a message is an error of the program. A subagent's error does not end the run."""
    is_own = dict_of(record.get("message")).get("model") == "<synthetic>"
    return is_own and record.get("is_api_error_message") is True and not record.get("parent_tool_use_id")


def _stop(errors: list[Record], quota: Record, now: Moment) -> Stop:
    last = errors[-1]
    if text_of(last.get("subtype")) in CAPS:
        return Stop(why=Why.ASKED, said=exit_reason.one_line(_said(last)))
    said = next(filter(None, map(_said, reversed(errors))), "")[: exit_reason.WORDS_LOOKED_AT]
    kinds = [text_of(one.get(name)) for one in errors for name in ("error", "api_error", "terminal_reason")]
    about = {
        "error": next((kind for kind in kinds if kind in ("rate_limit", "billing_error")), ""),
        "apiError": "usage_limit_reached" if "usage_limit_reached" in kinds else "",
        "quotaLimits": quota if quota.get("status") == "rejected" else {},
    }
    status = next(filter(None, (exit_reason.status_of(one.get("api_error_status")) for one in errors)), None)
    if hit := limits.limits_hit(about, said, now) or _of_an_organization(said, now):
        return exit_reason.stop_at_limit(hit[-1], said)
    why = next((_KINDS[kind] for kind in reversed(kinds) if kind in _KINDS), None)
    return Stop(why=why, said=exit_reason.one_line(said)) if why else exit_reason.stop_at_error(said, status)


def _of_an_organization(said: str, now: Moment) -> tuple[Limit, ...]:
    """The limit that an organization set for its API key. It is reported as a bad request."""
    if not _REGAINED.search(said):
        return ()
    stop = exit_reason.stop_of_provider(_REGAINED.sub(r"resets \1 \2", said), now)
    return (stop.limit,) if stop.limit else ()


def _said(record: Record) -> str:
    """The program's message, in a result or in an error message."""
    if text := text_of(record.get("result")):
        return text
    if errors := [text for one in list_of(record.get("errors")) if (text := text_of(one))]:
        return errors[-1]
    blocks = map(dict_of, list_of(dict_of(record.get("message")).get("content")))
    return next(
        filter(None, (text_of(block.get("text")) for block in blocks)), text_of(record.get("subtype"))
    )


def reports_of(stdout: str, now: Moment) -> tuple[Limit, ...]:
    """The last report of each limit in the stream."""
    told: dict[tuple[str, str], Limit] = {}
    for record in exit_reason.records(stdout):
        if record.get("type") == "rate_limit_event":
            for limit in limits.limits_of_event(record, now):
                told.pop((limit.window, limit.model), None)
                told[limit.window, limit.model] = limit
    return tuple(told.values())


def denied_in(stdout: str) -> tuple[str, ...]:
    """The tools that were denied because nobody could be asked, once for each call."""
    denied: tuple[str, ...] = ()
    for record in exit_reason.records(stdout):
        if record.get("type") == "result":
            calls = [dict_of(call) for call in list_of(record.get("permission_denials"))]
            denied = tuple(text_of(call.get("tool_name")) for call in calls if text_of(call.get("tool_name")))
    return denied
