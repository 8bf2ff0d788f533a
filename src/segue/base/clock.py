"""Moments: UTC times as fixed-width text, which sorts, compares and hashes correctly.

Code above this file never asks the system for the time. It is given a clock (a function without arguments), and
tests pass one that stands still.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Moment = str
Clock = Callable[[], Moment]


def now() -> Moment:
    return moment(datetime.now(UTC))


def moment(when: datetime) -> Moment:
    # Not strftime: some systems write years before 1000 with fewer digits.
    return when.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def parse(text: Moment) -> datetime:
    return datetime.fromisoformat(text)


def later(start: Moment, seconds: float) -> Moment:
    return moment(parse(start) + timedelta(seconds=seconds))
