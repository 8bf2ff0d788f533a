"""Tokens and limits in Codex's records.

Codex writes running totals, and repeats them whenever something else changes. So the usage of an answer is the
difference to the total before it. A lower total means that the count was restarted (a resumed session of an old
version). The first total of a file may include another session's usage (a fork), so there the last answer's own counts
are used. New versions also write a record for each answer: in a turn with such records, only they count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from segue.agents.shared.transcripts import limit_text
from segue.agents.shared.transcripts.reader import count_of, dict_of, moment_of, text_of, tokens_within
from segue.base.clock import Moment
from segue.model import Limit, Scope, Tokens

FULL = 100.0
_WINDOWS = ((300, "5h"), (1440, "day"), (10080, "week"), (43200, "month"), (43800, "month"), (44640, "month"))
_FIVE_HOURS_S = 5 * 3600 + 60.0
_SHARED = ("", "codex")
"""The ids of the limit that covers the whole account, regardless of the model."""

_FIGURES = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens")
_QUOTA_WORDS = ("quota exceeded", "exceeded your current quota", "insufficient_quota", "out of credits")
_USAGE_WORDS = ("hit your usage limit", "usage limit reached", "usage limit has been reached")
_RATE_WORDS = (
    "status: 429",
    "429 too many requests",
    "rate limit reached",
    "rate limit exceeded",
    "rate_limit_exceeded",
)


def figures(usage: Any) -> list[int]:
    """The token counts of a usage block, as Codex counts them: cached tokens are part of the input."""
    return [count_of(dict_of(usage).get(name)) for name in _FIGURES]


def tokens(counted: list[int]) -> Tokens:
    """The same, with each token in one field only. Output includes reasoning."""
    return tokens_within(*counted)


def answer(state: dict[str, Any], info: dict[str, Any]) -> list[int] | None:
    """The usage since the previous total; None if nothing was used."""
    total, before = figures(info.get("total_token_usage")), state.get("total")
    last = info.get("last_token_usage")
    state["total"] = total
    if total == before:
        return None
    if before is None or any(now < then for now, then in zip(total, before, strict=True)):
        state["epoch"] = state.get("epoch", 0) + (before is not None)
        used = figures(last) if isinstance(last, dict) else total
    else:
        used = [now - then for now, then in zip(total, before, strict=True)]
    return used if any(used) else None


def forget_total(state: dict[str, Any]) -> None:
    """Start a new count: a resumed run of an old version reports no total at first, and counts from zero."""
    if state.pop("total", None) is not None:
        state["epoch"] = state.get("epoch", 0) + 1


def key_of(state: dict[str, Any]) -> str:
    """A key for an answer that stays the same in a fork, which changes only the times."""
    base = state.get("turn") or f"{state.get('origin', '')}/{state.get('epoch', 0)}"
    return f"{base}:{'.'.join(map(str, state['total']))}"


# Limits


def limits_of(rates: dict[str, Any], at: Moment | None) -> tuple[Limit, ...]:
    """Every limit in a report."""
    return (*_windows(rates, at), *_spending(rates, at))


def _windows(rates: dict[str, Any], at: Moment | None) -> Iterator[Limit]:
    name = text_of(rates.get("limit_name"))
    is_shared = text_of(rates.get("limit_id")) in _SHARED or not name
    for place in ("primary", "secondary"):
        window = dict_of(rates.get(place))
        length = count_of(window.get("window_minutes"))
        if length:
            yield Limit(
                window=window_word(length),
                scope=Scope.ACCOUNT if is_shared else Scope.MODEL,
                model="" if is_shared else name,
                used_percent=share_of(window.get("used_percent")),
                resets_at=_reset(window, at),
                at=at,
            )


def _spending(rates: dict[str, Any], at: Moment | None) -> Iterator[Limit]:
    own = dict_of(rates.get("individual_limit"))
    left = share_of(own.get("remaining_percent"))
    used = FULL if rates.get("spend_control_reached") is True else None if left is None else FULL - left
    if used is not None:
        yield Limit(window="spend", scope=Scope.ACCOUNT, used_percent=used, resets_at=_reset(own, at), at=at)


def window_word(minutes: int) -> str:
    """The name of a window by its length. Codex has also reported 299 minutes for five hours."""
    return next((word for length, word in _WINDOWS if abs(minutes - length) <= 1), f"{minutes}m")


def share_of(value: Any) -> float | None:
    is_share = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 10_000
    return float(value) if is_share else None


def _reset(window: dict[str, Any], at: Moment | None) -> Moment | None:
    told = moment_of(window.get("resets_at"))
    seconds = window.get("resets_in_seconds")
    if told or at is None or isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return told
    return limit_text.after(at, seconds)


def pay_goes_on(rates: dict[str, Any]) -> bool:
    """Whether credits pay for usage beyond the window."""
    credits = dict_of(rates.get("credits"))
    return credits.get("has_credits") is True or credits.get("unlimited") is True


def remember(state: dict[str, Any], limits: tuple[Limit, ...], rates: dict[str, Any]) -> None:
    """Remember which windows are full: a message about a hit limit does not name it."""
    full = [limit for limit in limits if (limit.used_percent or 0) >= FULL]
    state["full"] = [] if pay_goes_on(rates) else [_kept(limit) for limit in full]


def _kept(limit: Limit) -> list[str | None]:
    return [limit.window, limit.scope.value, limit.model, limit.resets_at]


def full_limits(state: dict[str, Any], at: Moment | None) -> tuple[Limit, ...]:
    return tuple(
        Limit(window=window, scope=Scope(scope), model=model, resets_at=reset, used_percent=FULL, at=at)
        for window, scope, model, reset in state.get("full", ())
    )


def hit(state: dict[str, Any], error: dict[str, Any], at: Moment | None) -> tuple[Limit, ...]:
    """The limits that an error reports as hit; none for any other error."""
    message, info = text_of(error.get("message")), error.get("codex_error_info")
    kind = text_of(info) or next(iter(dict_of(info)), "")
    words = message.lower()
    model = text_of(state.get("model"))
    if kind == "context_window_exceeded":
        return (Limit(window="context", scope=Scope.MODEL, model=model, used_percent=FULL, at=at),)
    if any(word in words for word in _QUOTA_WORDS) or kind == "session_budget_exceeded":
        return (Limit(window="spend", scope=Scope.ACCOUNT, used_percent=FULL, at=at),)
    is_429 = dict_of(dict_of(info).get(kind)).get("http_status_code") == 429
    is_usage = kind == "usage_limit_exceeded" or any(word in words for word in _USAGE_WORDS)
    if is_usage and (full := full_limits(state, at)):
        return full
    if is_usage or is_429 or any(word in words for word in _RATE_WORDS):
        return (_untold(limit_text.reset_in(message, at), at, is_usage=is_usage),)
    return ()


def _untold(reset: Moment | None, at: Moment | None, *, is_usage: bool) -> Limit:
    """A limit with an estimated window: a plan has two windows, and requests are counted by the minute."""
    is_long = bool(reset and at and reset > (limit_text.after(at, _FIVE_HOURS_S) or reset))
    window = ("week" if is_long else "5h") if is_usage else "1m"
    return Limit(
        window=window, scope=Scope.ACCOUNT, used_percent=FULL, resets_at=reset, is_estimate=True, at=at
    )
