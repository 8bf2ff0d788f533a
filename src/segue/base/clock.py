"""Moments: UTC times as text of one fixed width, so that they sort, compare and hash as they stand.

Nothing below this file asks the system for the time: whoever needs it is given a clock, which is a
function without arguments, and a test gives one that stands still.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Moment = str
Clock = Callable[[], Moment]


def now() -> Moment:
    return moment(datetime.now(UTC))


def moment(when: datetime) -> Moment:
    # Not strftime: it writes a year before 1000 with fewer digits on some systems.
    return when.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def parse(text: Moment) -> datetime:
    return datetime.fromisoformat(text)


def later(start: Moment, seconds: float) -> Moment:
    return moment(parse(start) + timedelta(seconds=seconds))
