"""Limits in the errors that ended a message of OpenCode.

OpenCode passes on a provider's answer: a status, headers and a body. It supports many providers, so their
wording is searched. What none of them says is unknown: then a window has no name.
"""

from __future__ import annotations

import email.utils
import re
from datetime import UTC
from typing import Any

from segue.agents.shared.transcripts import limit_text
from segue.agents.shared.transcripts.reader import decode_any, dict_of, list_of, moment_of, number_of, text_of
from segue.base import clock
from segue.base.clock import Moment
from segue.model import Limit, Scope

PAYMENT_REQUIRED, TOO_MANY_REQUESTS = 402, 429
OVERFLOW = "ContextOverflowError"
LONGEST_WAIT_S = 366 * 86_400
LOOKED_AT = 8_000

DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


def limit_of(error: dict[str, Any], at: Moment | None, model: str) -> Limit | None:
    """The limit that an error says was reached; None for any other error."""
    data = dict_of(error.get("data"))
    if error.get("name") == OVERFLOW:
        return Limit(window="context", scope=Scope.MODEL, used_percent=100, model=model, at=at)
    said = f"{text_of(data.get('message'))}\n{text_of(data.get('responseBody'))}"[:LOOKED_AT]
    status = data.get("statusCode")
    is_refused = status in (PAYMENT_REQUIRED, TOO_MANY_REQUESTS)
    if not is_refused and (_is_fault(status) or not limit_text.tells_of_limit(said)):
        return None
    headers = {name.lower(): value for name, value in dict_of(data.get("responseHeaders")).items()}
    window = _window(status, said, headers)
    resets_at = _reset(headers, text_of(data.get("responseBody")), at, window)
    return limit_text.limit_reached(said, at, model, window, resets_at)


def _is_fault(status: Any) -> bool:
    """Whether the provider itself has a problem, whatever the text says about limits."""
    return isinstance(status, int) and status >= 500


def _window(status: Any, said: str, headers: dict[str, Any]) -> str:
    claim = text_of(headers.get("anthropic-ratelimit-unified-representative-claim"))
    if window := limit_text.window_in(f"{claim}\n{said}"):
        return window
    minutes = number_of(headers.get("x-codex-primary-window-minutes"))
    if minutes and minutes >= 1:
        return {300: "5h", 1440: "day", 10080: "week"}.get(int(minutes), f"{int(minutes)}m")
    return "spend" if status == PAYMENT_REQUIRED or limit_text.is_about_money(said) else ""


def _reset(headers: dict[str, Any], body: str, at: Moment | None, window: str) -> Moment | None:
    """When a limit ends: given as a time, or as how long to wait."""
    error = dict_of(dict_of(decode_any(body.encode(errors="replace")) if body else None).get("error"))
    unified = number_of(headers.get("anthropic-ratelimit-unified-reset"))
    told = moment_of(unified) or moment_of(error.get("resets_at")) or _date(headers.get("retry-after"))
    if told:
        return told
    wait = number_of(error.get("resets_in_seconds"))
    if wait is None and (milliseconds := number_of(headers.get("retry-after-ms"))) is not None:
        wait = milliseconds / 1000
    if wait is None:
        wait = number_of(headers.get("retry-after"))
    if wait is None and window != "day":  # a daily quota ends later
        wait = _delay(error)
    return clock.later(at, wait) if at and wait is not None and 0 <= wait <= LONGEST_WAIT_S else None


def _delay(error: dict[str, Any]) -> float | None:
    """Google's form: a detail with a duration such as '34.5s'."""
    for detail in map(dict_of, list_of(error.get("details"))):
        if match := DELAY.fullmatch(text_of(detail.get("retryDelay"))):
            return number_of(match.group(1))
    return None


def _date(value: Any) -> Moment | None:
    try:
        found = email.utils.parsedate_to_datetime(text_of(value))
        return clock.moment(found if found.tzinfo else found.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None
