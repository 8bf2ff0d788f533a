"""Tokens and limits in Copilot CLI's events.

Since about 1.0.100 there is a record for each call, and nothing else is counted. Before, every answer has its
output, and the end of a run has totals per model: what the answers already counted is subtracted, so that no
token counts twice.
"""

from __future__ import annotations

from typing import Any

import msgspec

from segue.agents.shared.transcripts import limit_text
from segue.agents.shared.transcripts.reader import count_of, dict_of, moment_of, text_of, tokens_within
from segue.base.clock import Moment
from segue.model import Limit, Scope, Spend, Tokens

FULL = 100.0
_WINDOWS = (("weekly", "week"), ("session", "5h"), ("daily", "day"), ("monthly", "month"))
_LIMITS = ("quota", "rate_limit")
_CONTEXT = ("context_limit", "model_max_prompt_tokens_exceeded")


def record(state: dict[str, Any], data: dict[str, Any], event: str, at: Moment | None) -> Spend | None:
    """The tokens of one call. From the first such record on, nothing else counts."""
    usage, state["is_recorded"] = dict_of(data.get("usage")), True
    tokens = _tokens(_figures(usage))
    told = dict_of(usage.get("accounting"))
    parts = (told.get("sourceSessionId"), told.get("sequence"), usage.get("apiCallId"))
    key = ":".join(str(part) for part in parts if isinstance(part, str | int))
    model = text_of(usage.get("model"))
    return Spend(key=key or event, model=model, tokens=tokens, at=at) if tokens.total else None


def answer(state: dict[str, Any], data: dict[str, Any], at: Moment | None) -> Spend | None:
    """The output of one answer. A split or refined answer is written again under the same id."""
    output = count_of(data.get("outputTokens"))
    key = text_of(data.get("apiCallId")) or text_of(data.get("messageId"))
    if not output or not key or state.get("is_recorded"):
        return None
    model = text_of(data.get("model")) or text_of(state.get("model"))
    told: dict[str, int] = state.setdefault("told", {})
    before, counted = state.get("answer", ("", 0))
    told[model] = told.get(model, 0) + output - (counted if before == key else 0)
    state["answer"] = [key, output]
    return Spend(key=key, model=model, tokens=Tokens(output=output), at=at)


def run(state: dict[str, Any], data: dict[str, Any], event: str, at: Moment | None) -> list[Spend]:
    """The tokens of a run beyond the output that its answers counted, per model."""
    told: dict[str, int] = state.pop("told", {})
    counted: dict[str, list[int]] = state.setdefault("counted", {})
    metrics = {model: _figures(dict_of(metric).get("usage")) for model, metric in _metrics(data).items()}
    if state.get("is_recorded"):
        return []
    if not _is_whole(data, metrics, told, counted):
        counted.clear()
    unnamed, found = told.pop("", 0), []
    for model, figures in metrics.items():
        known = [*counted.get(model, (0, 0, 0, 0))]
        known[3] += told.get(model, 0)
        rest = [max(0, now - then) for now, then in zip(figures, known, strict=True)]
        taken = min(rest[3], unnamed)
        unnamed, rest[3] = unnamed - taken, rest[3] - taken
        counted[model] = [max(pair) for pair in zip(figures, known, strict=True)]
        if any(rest):
            found.append(Spend(key=f"{event}:{model}", model=model, tokens=_tokens(rest), at=at))
    return found


def _metrics(data: dict[str, Any]) -> dict[str, Any]:
    return dict_of(data.get("modelMetrics")) or dict_of(
        dict_of(data.get("accountingSnapshot")).get("modelMetrics")
    )


def _is_whole(
    data: dict[str, Any], metrics: dict[str, list[int]], told: dict[str, int], counted: dict[str, list[int]]
) -> bool:
    """Whether the totals at the end of a run cover the whole session. At first they covered one run; totals
    with more output than this run and those before it together cannot be of one run."""
    if "accountingSnapshot" in data:
        return True
    has_grown = all(
        now >= then
        for model, known in counted.items()
        for now, then in zip(metrics.get(model, [-1] * 4), known, strict=True)
    )
    before = sum(figures[3] for figures in counted.values())
    return has_grown and sum(figures[3] for figures in metrics.values()) >= before + sum(told.values())


def filled(data: dict[str, Any]) -> int | None:
    """The size of the context at the end of a run."""
    snapshot = dict_of(data.get("accountingSnapshot"))
    return count_of(data.get("currentTokens")) or count_of(snapshot.get("currentTokens")) or None


def _figures(usage: Any) -> list[int]:
    names = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
    return [count_of(dict_of(usage).get(name)) for name in names]


def _tokens(figures: list[int]) -> Tokens:
    """Tokens from figures whose input includes the cached part."""
    return tokens_within(*figures)


# Limits


def hit(data: dict[str, Any], model: str, at: Moment | None) -> tuple[Limit, ...]:
    """The limit in an error; none for another kind of error."""
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
    """The limit that the user set for a session."""
    return (Limit(window="spend", scope=Scope.ACCOUNT, used_percent=FULL, at=at),)


def wait(data: dict[str, Any], at: Moment | None) -> tuple[Limit, ...]:
    """The end of a limit, recorded apart from the error."""
    seconds = data.get("retryAfterSeconds")
    if at is None or isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return ()
    found = hit({"errorType": "rate_limit", "errorCode": data.get("errorCode")}, "", at)[0]
    return (msgspec.structs.replace(found, resets_at=limit_text.after(at, seconds)),)


def quotas(data: dict[str, Any], at: Moment | None) -> tuple[Limit, ...]:
    """The monthly quota in the record of a failed call."""
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
