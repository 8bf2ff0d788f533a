"""Forecast of a limit: when it is reached at the pace so far. Pure.

Only samples of the current window count: those from before the last reset, which shows as a drop, and those older
than the window say nothing about it. The time from the last sample to now does not count: every answer brings a new
figure, so nothing was used in a silence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from segue.base import clock
from segue.base.clock import Moment
from segue.model import Limit, Value
from segue.usage.budget import is_over, window_minutes

SHORTEST_MINUTES = 5.0
"""Samples over a shorter time are no pace."""
RESET_DROP = 5.0
"""A share that falls by this many points was reset, or the context was compacted; less is noise."""


class Sample(Value, frozen=True):
    """The used share of a limit at a moment."""

    at: Moment
    used_percent: float


class Forecast(Value, frozen=True):
    """When a limit is reached at the current pace, and when it resets."""

    limit: Limit
    minutes_left: float | None = None
    """None if nothing is being used, or too little is known."""
    burn_per_hour: float | None = None
    """Points of the share per hour; None if unknown, 0 if nothing is being used."""
    resets_in_minutes: float | None = None
    runs_out_first: bool = False
    """Whether the limit is reached before its reset."""
    is_estimate: bool = False

    def tokens_per_hour(self, window: int) -> float | None:
        """The pace in tokens, for a limit that is a number of tokens, such as a context."""
        return None if self.burn_per_hour is None else self.burn_per_hour * window / 100


def context_samples(counts: Iterable[tuple[Moment, int]], window: int) -> tuple[Sample, ...]:
    """Token counts of a context as samples of its share."""
    if window <= 0:
        return ()
    return tuple(Sample(at=at, used_percent=100 * tokens / window) for at, tokens in counts)


def forecast(limit: Limit, samples: Sequence[Sample], now: Moment) -> Forecast:
    """The forecast of a limit. Its own figure counts as a sample if its moment is known."""
    if is_over(limit, now):
        return Forecast(limit=limit, resets_in_minutes=0.0, is_estimate=limit.is_estimate)
    resets_in = _minutes_between(now, limit.resets_at) if limit.resets_at else None
    known = _present([*samples, *_own_sample(limit)], limit, now)
    burn = _burn(known)
    left = _minutes_left(_used(limit, known), burn)
    return Forecast(
        limit=limit,
        minutes_left=left,
        burn_per_hour=burn,
        resets_in_minutes=resets_in,
        runs_out_first=left is not None and (resets_in is None or left < resets_in),
        is_estimate=limit.is_estimate,
    )


def _used(limit: Limit, known: Sequence[Sample]) -> float | None:
    """The newest figure: the last sample, unless the limit has one without a moment."""
    if known and (limit.at or limit.used_percent is None):
        return known[-1].used_percent
    return None if limit.used_percent is None else _share(limit.used_percent)


def _minutes_left(used: float | None, burn: float | None) -> float | None:
    if used is None:
        return None
    if used >= 100:
        return 0.0
    return (100 - used) / burn * 60 if burn else None


def _own_sample(limit: Limit) -> list[Sample]:
    if limit.at is None or limit.used_percent is None:
        return []
    return [Sample(at=limit.at, used_percent=limit.used_percent)]


def _share(percent: float) -> float | None:
    return max(0.0, percent) if math.isfinite(percent) else None


def _present(samples: Iterable[Sample], limit: Limit, now: Moment) -> list[Sample]:
    """The samples of the current window, oldest first."""
    length = window_minutes(limit.window)
    start = clock.later(limit.resets_at or now, -60 * length) if length else ""
    sound = [(sample.at, share) for sample in samples if (share := _share(sample.used_percent)) is not None]
    present: list[Sample] = []
    for at, share in sorted(sound):
        if not start <= at <= now:
            continue
        if present and share <= present[-1].used_percent - RESET_DROP:
            present = []
        present.append(Sample(at=at, used_percent=share))
    return present


def _burn(samples: Sequence[Sample]) -> float | None:
    """Points per hour from the first sample to the last; None if they are too few or too close."""
    if len(samples) < 2:
        return None
    minutes = _minutes_between(samples[0].at, samples[-1].at)
    if minutes < SHORTEST_MINUTES:
        return None
    return max(0.0, samples[-1].used_percent - samples[0].used_percent) * 60 / minutes


def _minutes_between(start: Moment, end: Moment) -> float:
    return (clock.parse(end) - clock.parse(start)).total_seconds() / 60
