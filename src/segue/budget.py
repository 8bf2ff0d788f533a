"""How near a limit is, and what follows: go on, hand over soon, hand over now. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from segue.model import Trigger, TriggerType, Urgency, Usage


class Thresholds(Struct, frozen=True):
    """Shares of a limit in per cent; a model may have a share of its own for the recommendation."""

    recommend: int = 75
    urgent: int = 90
    models: Mapping[str, int] = {}

    def recommend_for(self, model: str) -> int:
        return self.models.get(model, self.recommend)


def trigger_for(usage: Usage, thresholds: Thresholds, model: str = "") -> Trigger | None:
    """Why a handoff is due, or None while there is room."""
    if usage.tokens_limit <= 0:
        return None
    share = 100 * usage.tokens_used / usage.tokens_limit
    figures = f"{usage.tokens_used:,} of {usage.tokens_limit:,} tokens used ({share:.0f}%)"
    if share >= thresholds.urgent:
        reasoning = f"{figures}, past the urgent threshold of {thresholds.urgent}%"
        urgency = Urgency.HIGH
    elif share >= thresholds.recommend_for(model):
        reasoning = f"{figures}, past the threshold of {thresholds.recommend_for(model)}%"
        urgency = Urgency.MEDIUM
    else:
        return None
    confidence = round(min(1.0, share / 100), 2)
    return Trigger(type=TriggerType.USAGE_LIMIT, confidence=confidence, reasoning=reasoning, urgency=urgency)
