"""What Copilot CLI tells of tokens and limits.

Every answer tells its output, the end of a run everything for each model. What the answers of the run told
already is taken off that, so that no token is counted twice.
"""

from __future__ import annotations

from typing import Any

from segue import clock
from segue.agents import limit_text
from segue.agents.reading import count_of, dict_of, moment_of, text_of
from segue.clock import Moment
from segue.model import Limit, Scope, Spend, Tokens

FULL = 100.0
_WINDOWS = (("weekly", "week"), ("session", "5h"), ("daily", "day"), ("monthly", "month"))
_LIMITS = ("quota", "rate_limit")
_CONTEXT = ("context_limit", "model_max_prompt_tokens_exceeded")


def answer(state: dict[str, Any], data: dict[str, Any], at: Moment | None) -> Spend | None:
    """What one answer gave out. One that was split or refined is written again under the same id."""
    output = count_of(data.get("outputTokens"))
    key = text_of(data.get("apiCallId")) or text_of(data.get("messageId"))
    if not output or not key:
        return None
    model = text_of(data.get("model")) or text_of(state.get("model"))
    told: dict[str, int] = state.setdefault("told", {})
    before, counted = state.get("answer", ("", 0))
    told[model] = told.get(model, 0) + output - (counted if before == key else 0)
    state["answer"] = [key, output]
    return Spend(key=key, model=model, tokens=Tokens(output=output), at=at)


def run(state: dict[str, Any], data: dict[str, Any], event: str, at: Moment | None) -> list[Spend]:
    """What a run used beyond the output that its answers told, for each model."""
    told: dict[str, int] = state.pop("told", {})
    unnamed = told.pop("", 0)
    found = []
    for model, metric in dict_of(data.get("modelMetrics")).items():
        usage = dict_of(dict_of(metric).get("usage"))
        rest = max(0, count_of(usage.get("outputTokens")) - told.get(model, 0))
        taken = min(rest, unnamed)
        unnamed -= taken
        tokens = _tokens(usage, rest - taken)
        if tokens.total:
            found.append(Spend(key=f"{event}:{model}", model=model, tokens=tokens, at=at))
    return found


def _tokens(usage: dict[str, Any], output: int) -> Tokens:
    """Input includes what was cached."""
    total = count_of(usage.get("inputTokens"))
    read = min(count_of(usage.get("cacheReadTokens")), total)
    written = min(count_of(usage.get("cacheWriteTokens")), total - read)
    return Tokens(input=total - read - written, output=output, cache_read=read, cache_write=written)


# Limits


def hit(data: dict[str, Any], model: str, at: Moment | None) -> tuple[Limit, ...]:
    """The limit that an error tells of; none if it is another kind of error."""
    kind, code = text_of(data.get("errorType")), text_of(data.get("errorCode"))
    message = text_of(data.get("message"))
    if kind in _CONTEXT or code in _CONTEXT:
        return (Limit(window="context", scope=Scope.MODEL, model=model, used_percent=FULL, at=at),)
    if kind not in _LIMITS and data.get("statusCode") != 429:
        return ()
    window = next((word for name, word in _WINDOWS if name in code), "")
    is_estimate = not window
    window = window or ("month" if kind == "quota" else "1m")
    is_of_model = "model_rate" in code and bool(model)
    return (
        Limit(
            window=window,
            scope=Scope.MODEL if is_of_model else Scope.ACCOUNT,
            model=model if is_of_model else "",
            used_percent=FULL,
            resets_at=limit_text.reset_in(message, at),
            is_estimate=is_estimate,
            at=at,
        ),
    )


def credits_spent(at: Moment | None) -> tuple[Limit, ...]:
    """The limit that the person set for a session themselves."""
    return (Limit(window="spend", scope=Scope.ACCOUNT, used_percent=FULL, at=at),)


def wait(data: dict[str, Any], at: Moment | None) -> tuple[Limit, ...]:
    """When a limit ends, told apart from the error that it was hit."""
    seconds = data.get("retryAfterSeconds")
    if at is None or isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return ()
    found = hit({"errorType": "rate_limit", "errorCode": data.get("errorCode")}, "", at)[0]
    try:
        reset = clock.later(at, seconds)
    except (ValueError, OverflowError):  # the calendar ends
        reset = None
    return (
        Limit(
            window=found.window,
            scope=found.scope,
            used_percent=FULL,
            resets_at=reset,
            is_estimate=found.is_estimate,
            at=at,
        ),
    )


def quotas(data: dict[str, Any], at: Moment | None) -> tuple[Limit, ...]:
    """What the record of a failed call tells of the month's quota."""
    found = []
    for quota in map(dict_of, dict_of(data.get("quotaSnapshots")).values()):
        left = quota.get("remainingPercentage")
        if isinstance(left, bool) or not isinstance(left, int | float) or not 0 <= left <= FULL:
            continue
        if quota.get("isUnlimitedEntitlement") is not True:
            reset = moment_of(quota.get("resetDate"))
            found.append(
                Limit(window="month", scope=Scope.ACCOUNT, used_percent=FULL - left, resets_at=reset, at=at)
            )
    return tuple(sorted(found, key=lambda limit: limit.used_percent or 0)[-1:])
