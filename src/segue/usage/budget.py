"""How near a limit is, how the work goes, and what follows: continue, hand over soon, hand over now. Pure.

Every number that decides something is a constant with its reason beside it, and every trigger names its figures. What
no agent reported stays unknown: an unknown share never recommends anything.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from segue.base import clock
from segue.base.clock import Moment
from segue.model import Limit, Scope, Transcript, Trigger, TriggerType, Urgency, Usage, Value

ESTIMATE_WEIGHT = 0.7
"""A trigger based on an estimate has this much confidence."""
HIGH_COMPLEXITY = 0.6
"""From here on, work is hard for a small model. About fifteen of a hundred real transcripts reach it."""
LOW_COMPLEXITY = 0.25
"""Below this, work does not need a large model. About half of real transcripts stay below it."""
LOW_SATISFACTION = 0.4
"""Below this, the user corrects the agent so often that another may do better."""
SPENT_MUCH_USD = 5.0
"""From this cost on, a cheaper model is worth a thought."""
SETTLED_SECONDS = 600
"""A shorter session has not shown yet how simple it is."""
FEWEST_TURNS = 3
"""Fewer turns say nothing about the user's satisfaction."""
TROUBLE_WEIGHT = 1.5
"""Two corrections or interruptions in three turns leave no satisfaction; two in five are the threshold."""

LONGEST_MINUTES = 366 * 1440
"""No window is longer: a longer length is not usable."""
UNIT_MINUTES = {"m": 1, "h": 60, "d": 1440, "w": 10_080}
NAMED_MINUTES = {"day": 1440, "week": 10_080, "month": 44_640}
"""A month has 31 days here: one old sample too many shows as a drop."""
UNTOLD_MINUTES = {"": 60, "spend": 1440}
"""How long a report of a limit without length and end is valid: the user would have seen a change by then."""

HALVES = {
    "calls": (0.30, 60),
    "errors": (0.20, 5),
    "turns": (0.20, 8),
    "context": (0.15, 100_000),
    "minutes": (0.15, 60),
}
"""What makes work complex: the weight of each, and the number of it that counts half of that."""


class Thresholds(Struct, frozen=True):
    """Shares of a limit in per cent. A model or family may have its own share for the recommendation."""

    recommend: int = 75
    urgent: int = 90
    models: Mapping[str, int] = {}

    def recommend_for(self, model: str) -> int:
        own = self._own(model)
        return self.recommend if own is None else own

    def urgent_for(self, model: str) -> int:
        """Never below the share that was set for the model itself."""
        return max(self.urgent, self._own(model) or 0)

    def urgency(self, percent: float, model: str = "") -> Urgency | None:
        """The urgency of a share; None while there is room."""
        if percent >= self.urgent_for(model):
            return Urgency.HIGH
        return Urgency.MEDIUM if percent >= self.recommend_for(model) else None

    def _own(self, model: str) -> int | None:
        """The share for the model's own name, else for the longest name of a family that it belongs to."""
        if model in self.models:
            return self.models[model]
        names = [name for name in self.models if is_of_family(model, name)]
        return self.models[max(names, key=lambda name: (len(_squeezed(name)), name))] if names else None


def is_of_family(model: str, name: str) -> bool:
    """Whether a name is one or several whole parts of a model's id, however the parts are joined."""
    parts, wanted = re.findall(r"[a-z0-9]+", model.lower()), _squeezed(name)
    runs = (parts[start:end] for start in range(len(parts)) for end in range(start + 1, len(parts) + 1))
    return bool(wanted) and any("".join(run) == wanted for run in runs)


def _squeezed(name: str) -> str:
    return "".join(re.findall(r"[a-z0-9]+", name.lower()))


class Share(Value, frozen=True):
    """The used share of one limit, and its wording."""

    percent: float
    figures: str
    """The usage in words, with a place for the share."""
    model: str = ""
    """The model whose threshold applies."""
    scope: Scope = Scope.MODEL
    is_estimate: bool = False
    way_out: str = ""
    window: str = "context"
    """The limit that it is a share of, with its end if known."""


def should_handoff(
    tokens: int, limit: int, thresholds: Thresholds, warning_only: bool = False, model: str = ""
) -> tuple[bool, str]:
    """Whether to hand over, and the reason as one of four fixed words."""
    match thresholds.urgency(_percent(tokens, limit), model) if limit > 0 else None:
        case Urgency.HIGH:
            return True, "auto_switch_threshold_reached"
        case Urgency.MEDIUM if warning_only:
            return False, "warning_threshold_reached"
        case Urgency.MEDIUM:
            return True, "approaching_limit"
    return False, "normal"


def trigger_for(
    usage: Usage, thresholds: Thresholds, model: str = "", request: str = "", *, is_small: bool | None = None
) -> Trigger | None:
    """Why a handoff is due; None without a reason.

    The user's request comes first, then limits, then work that is too hard for its model or goes badly, then work
    that is too simple for it. `is_small` is True for a small model and False for a large one.
    """
    limited = _limit_trigger(usage, thresholds, model)
    if request.strip():
        return _request_trigger(request, limited)
    return limited or _mismatch_trigger(usage, is_small) or _thrift_trigger(usage, is_small)


def sentence(name: str, usage: Usage | None, thresholds: Thresholds, model: str = "") -> str:
    """The line for the user: 'Opus usage: 85% - Handoff recommended'. `name` is the model's common name."""
    share = worst_share(usage, thresholds, model) if usage else None
    if share is None:
        return f"{name} usage: not reported yet"
    advice = {Urgency.HIGH: "Handoff urgent", Urgency.MEDIUM: "Handoff recommended"}
    urgency = thresholds.urgency(share.percent, share.model)
    about = "~" if share.is_estimate else ""
    return f"{name} usage: {about}{_shown(share, thresholds)} - {advice[urgency] if urgency else 'Continue'}"


def worst_share(usage: Usage, thresholds: Thresholds, model: str = "") -> Share | None:
    """The share that decides: the most urgent, then the largest, then one that holds for the whole account."""

    def weight(share: Share) -> tuple[int, float, bool]:
        rank = [None, Urgency.MEDIUM, Urgency.HIGH].index(thresholds.urgency(share.percent, share.model))
        return rank, share.percent, share.scope is Scope.ACCOUNT

    return max(_shares(usage, model), key=weight, default=None)


def _shares(usage: Usage, model: str) -> Iterator[Share]:
    if usage.tokens_limit > 0:
        about = "about " if usage.is_estimate else ""
        figures = f"{usage.tokens_used:,} of {about}{usage.tokens_limit:,} tokens used ({{shown}})"
        percent = _percent(usage.tokens_used, usage.tokens_limit)
        yield Share(percent=percent, figures=figures, model=model, is_estimate=usage.is_estimate)
    for limit in usage.limits:
        is_known = limit.used_percent is not None and math.isfinite(limit.used_percent)
        if not is_known or is_over(limit, usage.at) or not holds_for(limit, model):
            continue
        yield Share(
            percent=max(0.0, limit.used_percent or 0),
            figures=_figures(limit),
            model=model or limit.model,
            scope=limit.scope,
            is_estimate=limit.is_estimate,
            way_out=_way_out(limit),
            window=f"{limit.window} {limit.model} {(limit.resets_at or '')[:13]}",
        )


def in_words(share: Share, thresholds: Thresholds) -> str:
    """The usage of a limit in words."""
    return share.figures.replace("{shown}", _shown(share, thresholds))


def window_minutes(window: str) -> int | None:
    """The length of a window: 'week', '5h', '90m'; None for what does not end with time."""
    if window in NAMED_MINUTES:
        return NAMED_MINUTES[window]
    length = re.fullmatch(r"(\d{1,6})([mhdw])", window)
    minutes = int(length.group(1)) * UNIT_MINUTES[length.group(2)] if length else 0
    return minutes if 0 < minutes <= LONGEST_MINUTES else None


def is_over(limit: Limit, at: Moment) -> bool:
    """Whether the reported window has ended since. Without an end, it has ended when its length has passed since the
    report."""
    if limit.resets_at is not None:
        return limit.resets_at <= at
    minutes = window_minutes(limit.window) or UNTOLD_MINUTES.get(limit.window)
    return limit.at is not None and minutes is not None and clock.later(limit.at, 60 * minutes) <= at


def holds_for(limit: Limit, model: str) -> bool:
    """Whether a limit applies to a model: that of another model does not."""
    named = limit.scope is Scope.MODEL and limit.model and model
    return not named or is_of_family(model, limit.model) or is_of_family(limit.model, model)


def _figures(limit: Limit) -> str:
    of = limit.model if limit.scope is Scope.MODEL and limit.model else f"the {limit.scope.value}"
    about = "about " if limit.is_estimate else ""
    reset = f" until {limit.resets_at[:16].replace('T', ' ')} UTC" if limit.resets_at else ""
    window = f"{limit.window} limit" if limit.window else "limit"
    return f"{about}{{shown}} of the {window} of {of} used{reset}"


def _way_out(limit: Limit) -> str:
    if limit.window == "context":
        return ""
    if limit.scope is Scope.ACCOUNT:
        return "; switching models won't help: the limit covers the whole account"
    return "; another model is not affected"


def _percent(used: int, limit: int) -> float:
    # An absurd figure must not overflow.
    return 100 * max(0, min(used, 1000 * limit)) / limit


def _shown(share: Share, thresholds: Thresholds) -> str:
    """The share in whole per cent, never rounded up to a threshold that it has not reached, nor to the limit."""
    rounded = round(share.percent)
    reaches = thresholds.urgency(rounded, share.model) is not thresholds.urgency(share.percent, share.model)
    if reaches or rounded == 100:
        rounded = math.floor(share.percent)
    return f"{rounded}%"


def _limit_trigger(usage: Usage, thresholds: Thresholds, model: str) -> Trigger | None:
    share = worst_share(usage, thresholds, model)
    urgency = thresholds.urgency(share.percent, share.model) if share else None
    if share is None or urgency is None:
        return None
    if urgency is Urgency.HIGH:
        past = f"past the urgent threshold of {thresholds.urgent_for(share.model)}%"
    else:
        past = f"past the threshold of {thresholds.recommend_for(share.model)}%"
    figures = in_words(share, thresholds)
    confidence = min(1.0, share.percent / 100) * (ESTIMATE_WEIGHT if share.is_estimate else 1)
    return _trigger(TriggerType.USAGE_LIMIT, confidence, f"{figures}, {past}{share.way_out}", urgency)


def _request_trigger(request: str, limited: Trigger | None) -> Trigger:
    words = " ".join(request.split())
    shown = words if len(words) <= 200 else words[:199] + "…"
    urgency = limited.urgency if limited else Urgency.MEDIUM
    return _trigger(TriggerType.USER_REQUEST, 1.0, f"the user asked for it: {shown}", urgency)


def _mismatch_trigger(usage: Usage, is_small: bool | None) -> Trigger | None:
    """Too hard for a small model, or often corrected by the user."""
    reasons, confidence = [], 0.0
    score, content = usage.complexity_score, usage.user_satisfaction
    if is_small and score is not None and score >= HIGH_COMPLEXITY:
        reasons.append(f"a complexity of {score:.2f} is high for a small model (from {HIGH_COMPLEXITY:.2f})")
        confidence = score
    if content is not None and content < LOW_SATISFACTION:
        reasons.append(f"a satisfaction of {content:.2f} is low (below {LOW_SATISFACTION:.2f})")
        confidence = max(confidence, 1 - content)
    if not reasons:
        return None
    urgency = Urgency.HIGH if len(reasons) > 1 else Urgency.MEDIUM
    return _trigger(TriggerType.COMPLEXITY_MISMATCH, confidence, " and ".join(reasons), urgency)


def _thrift_trigger(usage: Usage, is_small: bool | None) -> Trigger | None:
    """Too simple for a large model that has cost much."""
    score, spent = usage.complexity_score, usage.cost_usd
    if is_small is not False or score is None or spent is None:
        return None
    if score >= LOW_COMPLEXITY or spent < SPENT_MUCH_USD or usage.session_duration < SETTLED_SECONDS:
        return None
    reasoning = (
        f"a complexity of {score:.2f} after {usage.session_duration / 60:.0f} minutes is low "
        f"(below {LOW_COMPLEXITY:.2f}) for a large model that has cost ${spent:,.2f}: a smaller one may do"
    )
    return _trigger(TriggerType.OPTIMIZATION, 1 - score / LOW_COMPLEXITY / 2, reasoning, Urgency.LOW)


def _trigger(kind: TriggerType, confidence: float, reasoning: str, urgency: Urgency) -> Trigger:
    bounded = max(0.01, min(1.0, round(confidence, 2)))
    return Trigger(type=kind, confidence=bounded, reasoning=reasoning, urgency=urgency)


def complexity(transcript: Transcript) -> float:
    """The difficulty of the work of a transcript, from 0 to 1; it never falls as anything grows.

    Each of calls, errors, turns, filled context and time counts with its weight as n / (n + half): quickly at first,
    and never more than its weight, so that a session left open for a week does not look like hard work.
    """
    counts = {
        "calls": transcript.calls,
        "errors": transcript.errors,
        "turns": transcript.turns,
        "context": transcript.context_tokens or 0,
        "minutes": _minutes(transcript),
    }
    # Written so that rounding keeps the order.
    score = sum(
        weight * (1 - half / (max(0, counts[name]) + half)) for name, (weight, half) in HALVES.items()
    )
    return min(1.0, score)


def _minutes(transcript: Transcript) -> float:
    if not transcript.started_at or not transcript.updated_at:
        return 0.0
    lasted = clock.parse(transcript.updated_at) - clock.parse(transcript.started_at)
    return lasted.total_seconds() / 60


def satisfaction(transcript: Transcript, rated: float | None = None) -> float | None:
    """The user's satisfaction, from 0 to 1: as rated, else by how rarely they intervened; None if unknown."""
    if rated is not None:
        return max(0.0, min(1.0, rated))
    if transcript.turns < FEWEST_TURNS:
        return None
    trouble = TROUBLE_WEIGHT * (transcript.corrections + transcript.interruptions)
    return max(0.0, min(1.0, (transcript.turns - trouble) / transcript.turns))
