"""Limits that Claude Code reports: which one was hit, and how much of each is used.

A hit is read only from the program's own messages in place of an answer, never from text of the model, a tool or the
user.
"""

from __future__ import annotations

import re
from typing import Any

from segue.agents.shared.transcripts.limit_text import reset_in
from segue.agents.shared.transcripts.reader import dict_of, moment_of, number_of, text_of
from segue.base import clock
from segue.base.clock import Moment
from segue.base.lazy_regex import lazy_pattern
from segue.model import Limit, Scope

_WINDOWS = {"five_hour": "5h", "seven_day": "week", "one_day": "day", "daily": "day", "weekly": "week",
            "monthly": "month", "thirty_day": "month"}  # fmt: skip
_FIVE_HOURS = 5 * 3600 + 60.0
_SPEND = ("spend_limit", "spend", "overage", "extra_usage", "credits")
_WINDOW_NAME = lazy_pattern(rf"({'|'.join(_WINDOWS)})(?:_([a-z]+))?$")
_NO_MODEL = ("oauth", "overage", "extra")

_HIT = lazy_pattern(
    r"limit reached|hit your\b.{0,60}?\b(?:limit|cap)\b|spending cap reached|out of (?:extra )?usage"
    r"|out of (?:usage )?credits|credit balance is too low|request rejected \(429\)|api error: 429\b"
    r"|rate_limit_error|exceed your (?:account|organization)'s rate limit",
    re.IGNORECASE,
)
_NOT_HIT = lazy_pattern(r"overloaded|\b529\b|api error: (?:4(?!29)\d\d|5\d\d)\b|^tool ", re.IGNORECASE)
"""Other errors, whose text may quote anything."""
_MODEL = lazy_pattern(
    r"\b(opus|sonnet|haiku)\b(?: \d[\d.]*)?(?: weekly| 5-hour)? (?:usage )?limit", re.IGNORECASE
)
_WORDS = (
    (lazy_pattern(r"5[- ]hour|session limit", re.IGNORECASE), "5h"),
    (lazy_pattern(r"weekly|7[- ]day", re.IGNORECASE), "week"),
    (lazy_pattern(r"spend|extra usage|credit", re.IGNORECASE), "spend"),
    (lazy_pattern(r"monthly", re.IGNORECASE), "month"),
    (lazy_pattern(r"daily", re.IGNORECASE), "day"),
    (_MODEL, "week"),
)


def limits_of_status(status: dict[str, Any], at: Moment | None) -> tuple[Limit, ...]:
    """The limits in the status line's input."""
    found = [_limit(name, told, at) for name, told in dict_of(status.get("rate_limits")).items()]
    context = dict_of(status.get("context_window"))
    used = _number(context.get("used_percentage"))
    if used is not None:
        model = text_of(dict_of(status.get("model")).get("id"))
        found.append(Limit(window="context", scope=Scope.MODEL, used_percent=used, model=model, at=at))
    return tuple(limit for limit in found if limit)


def limits_of_event(record: dict[str, Any], at: Moment | None) -> tuple[Limit, ...]:
    """The limits in a `rate_limit_event` of the program's output."""
    return limits_of_quota(dict_of(record.get("rate_limit_info")), at)


def limits_of_quota(quota: dict[str, Any], at: Moment | None) -> tuple[Limit, ...]:
    """Every named window. The one that the quota is about comes last: its numbers are more reliable."""
    windows = dict_of(quota.get("unifiedWindows"))
    found = {name: _limit(name, told, at) for name, told in windows.items()}
    name = text_of(quota.get("rateLimitType")) or text_of(quota.get("type"))
    # Only the window may have the share, and only the rejection may show that nothing is left.
    told = {**dict_of(windows.get(name)), **{key: value for key, value in quota.items() if value is not None}}
    if quota.get("status") == "rejected" and _share(told) is None:
        told["used_percentage"] = 100
    if about := _limit(name, told, at):
        found.pop(name, None)
        found[name] = about
    return tuple(limit for limit in found.values() if limit)


def limits_of_headers(headers: dict[str, Any], at: Moment | None) -> tuple[Limit, ...]:
    """The limits in the headers of a response."""
    start = "anthropic-ratelimit-unified-"
    found = []
    for short, name in (("5h", "five_hour"), ("7d", "seven_day"), ("7d_opus", "seven_day_opus")):
        told = {
            "utilization": _number(headers.get(f"{start}{short}-utilization")),
            "resetsAt": _number(headers.get(f"{start}{short}-reset")),
        }
        if any(value is not None for value in told.values()):
            found.append(_limit(name, told, at))
    return tuple(limit for limit in found if limit)


def limits_hit(record: dict[str, Any], text: str, at: Moment | None) -> tuple[Limit, ...]:
    """The limit at which the program stopped, from its own record. It comes last, after the other limits; none if the
    program did not stop at one."""
    error, api_error = text_of(record.get("error")), text_of(record.get("apiError"))
    is_named = error in ("rate_limit", "billing_error") or api_error == "usage_limit_reached"
    if not is_named and (not _HIT.search(text) or _NOT_HIT.search(text)):
        return ()
    quota = dict_of(record.get("quotaLimits"))
    told = limits_of_quota(quota, at)
    resets_at = moment_of(quota.get("resetsAt")) or reset_in(text, at)
    model = _MODEL.search(text)
    if told and (text_of(quota.get("rateLimitType")) or text_of(quota.get("type"))):
        about = told[-1]
        window, scope, family = about.window, about.scope, about.model
        is_estimate = False
    else:
        named = next((window for words, window in _WORDS if words.search(text)), "")
        window, is_estimate = (named, False) if named else _window_until(resets_at, at)
        scope, family = (Scope.MODEL, model[1].lower()) if model else (Scope.ACCOUNT, "")
    hit = Limit(
        window=window,
        scope=scope,
        used_percent=100.0,
        resets_at=resets_at,
        is_estimate=is_estimate,
        model=family,
        at=at,
    )
    others = (one for one in told if (one.window, one.model) != (window, family))
    return (*others, hit)


def _window_until(resets_at: Moment | None, at: Moment | None) -> tuple[str, bool]:
    """The window that a message without a name means, and whether that is an estimate; empty if unknown."""
    if resets_at is None or at is None:
        return "", False
    is_short = resets_at <= clock.later(at, _FIVE_HOURS)
    return ("5h", True) if is_short else ("week", False)


def _limit(name: str, told: Any, at: Moment | None) -> Limit | None:
    told = dict_of(told)
    used = _share(told)
    resets = told.get("resets_at", told.get("resetsAt"))
    resets_at = moment_of(resets)
    if used is None and resets_at is None:
        return None
    if name in _SPEND:
        return Limit(window="spend", scope=Scope.ACCOUNT, used_percent=used, resets_at=resets_at, at=at)
    found = _WINDOW_NAME.match(name)
    if found is None or found[2] in _NO_MODEL:
        return None
    return Limit(
        window=_WINDOWS[found[1]],
        scope=Scope.MODEL if found[2] else Scope.ACCOUNT,
        used_percent=used,
        resets_at=resets_at,
        model=found[2] or "",
        at=at,
    )


def _share(told: dict[str, Any]) -> float | None:
    """The used percentage."""
    used = _number(told.get("used_percentage"))
    if used is None and (share := _number(told.get("utilization"))) is not None:
        used = round(share * 100 if share <= 1.5 else share, 2)
    return used


def _number(value: Any) -> float | None:
    number = number_of(value)
    return round(number, 4) if number is not None and 0 <= number < 1e12 else None
