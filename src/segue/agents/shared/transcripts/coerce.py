"""Tolerant coercion of values in records. A value of the wrong type counts as missing."""

from __future__ import annotations

from datetime import UTC, datetime

from segue.base import clock

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` is slow to load
    from typing import Any

    from segue.base.clock import Moment

ABSURD = 1 << 48
"""No count of tokens is this large."""
FIRST, LAST = "1970", "2200"
"""Times before the first of these years, or from the last one on, count as missing."""
LAST_SECOND = 7_258_118_400
"""The start of the year `LAST`."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400


def moment_of(value: Any) -> Moment | None:
    """A time as agents write it: ISO text, or seconds or milliseconds since 1970."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            if _is_usual(value):
                return value[:-1] + "000Z" if FIRST <= value < LAST else None
            moment = clock.moment(found if found.tzinfo else found.replace(tzinfo=UTC))
            return moment if FIRST <= moment < LAST else None
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            moment = clock.moment(datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC))
            return moment if moment < LAST else None
    except (ValueError, OverflowError, OSError):
        pass
    return None


def _is_usual(time: str) -> bool:
    """Whether a time is in the most common form: UTC, with milliseconds."""
    return len(time) == 24 and time[4:20:3] == "--T::." and time[23] == "Z"


def second_of(value: Any) -> int:
    """The same in seconds since 1970, or 0. Avoids the text where only a number is needed."""
    moment = value if isinstance(value, str) else moment_of(value)
    try:
        found = datetime.fromisoformat(moment) if moment else EPOCH
    except ValueError:
        return 0
    since = (found if found.tzinfo else found.replace(tzinfo=UTC)) - EPOCH
    second = since.days * DAY + since.seconds
    return second if 0 <= second < LAST_SECOND else 0


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def dict_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def number_of(value: Any) -> float | None:
    """A number, also from text; None if it is not finite or too large to mean anything."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if -ABSURD < number < ABSURD else None


def count_of(value: Any) -> int:
    """A number of tokens: never negative, never absurd."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < ABSURD else 0
