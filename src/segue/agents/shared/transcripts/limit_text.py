"""Limits in error texts: when a limit ends, however an agent or provider words it, and which limit it is.

Every agent words it differently, and changes its wording: a time of day, a weekday, a date, a duration, or
seconds since 1970. What the text leaves open (day, year, time zone) is resolved as a user would: the next
such time in local time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo

from segue.base import clock
from segue.base.clock import Moment
from segue.base.lazy_regex import lazy_pattern
from segue.model import Limit, Scope

LONGEST = 4096
"""How much of a message is read: one or two sentences, possibly with some JSON."""

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_UNITS = {"w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}

_SHORT_ZONES = {
    **dict.fromkeys(("pt", "pst", "pdt", "pacific time"), "America/Los_Angeles"),
    **dict.fromkeys(("et", "est", "edt", "eastern time"), "America/New_York"),
    **dict.fromkeys(("utc", "gmt", "z"), "UTC"),
}

_CUE = lazy_pattern(
    r"limit reached\||resets?\b|resets?_?at\b|try(?:ing)? again|retry(?:ing)?(?:[ _-]?(?:after|delay))?\b"
    r"|available(?: again)?|automatically|until\b",
    re.IGNORECASE,
)
_FILL = lazy_pattern(
    r"(?:[\s\"'=:∙·,_~≈-]|\b(?:at|on|in|after|about|approximately|will|be)\b)*", re.IGNORECASE
)

_LENGTH_PART = (
    r"(\d{1,9}(?:\.\d{1,9})?)\s*(ms|milliseconds?|w|weeks?|d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)"
    r"(?![a-z])"
)
_LENGTH = lazy_pattern(rf"{_LENGTH_PART}(?:(?:\s|,|\band\b)*{_LENGTH_PART})*", re.IGNORECASE)
_ONE_LENGTH = lazy_pattern(_LENGTH_PART, re.IGNORECASE)
_SOON = lazy_pattern(r"less than (?:a|one|1) minute", re.IGNORECASE)

_EPOCH = lazy_pattern(r"(\d{10}(?:\d{3})?)(?![\d.:-])")
_ISO = lazy_pattern(
    r"20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?\d*)?\s?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE,
)

_CLOCK = (
    r"(?:(?P<word>midnight|noon)|(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::(?P<second>\d\d))?)?"
    r"\s*(?P<half>[ap]\.?m\b\.?)?)"
)
_ZONE = (
    r"(?:\s*\((?P<zone>[A-Za-z][\w+/ -]{0,60})\)"
    r"|\s+(?P<short>utc|gmt|z|p[sd]?t|e[sd]?t|pacific time|eastern time)\b)?"
)
_GAP = r"(?:,|\s|\bat\b)*"
_YEAR = r"(?:,?\s+(?P<year>20\d\d)\b)?"
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DATE = r"(?P<date>\d{1,2})(?:st|nd|rd|th)?(?![\d:])"
_TIMES = tuple(
    lazy_pattern(pattern + _ZONE, re.IGNORECASE)
    for pattern in (
        rf"{_MONTH}\s+{_DATE}{_YEAR}(?:{_GAP}{_CLOCK})?",
        rf"{_DATE}\s+{_MONTH}{_YEAR}(?:{_GAP}{_CLOCK})?",
        rf"(?P<day>mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?{_GAP}{_CLOCK}",
        rf"(?P<next>today|tomorrow){_GAP}{_CLOCK}",
        _CLOCK,
    )
)


def reset_in(text: str, at: Moment | None, zone: tzinfo | None = None) -> Moment | None:
    """When the limit in a message ends. `at` is the time of the message; `zone` applies if the message names
    none, and defaults to this machine's."""
    text = text[:LONGEST]
    said = clock.parse(at) if at else None
    for tail in _tails(text):
        for form in _FORMS:
            try:
                found = form(tail, said, zone)
            except (ValueError, OverflowError):  # the 31st of June, the year 10000
                continue
            if found is not None:
                return clock.moment(found)
    return None


def _tails(text: str) -> Iterator[str]:
    """The text after every word that announces a time."""
    for cue in _CUE.finditer(text):
        filled = _FILL.match(text, cue.end())
        yield text[filled.end() if filled else cue.end() :][:80]


def _epoch(tail: str, said: datetime | None, zone: tzinfo | None) -> datetime | None:
    found = _EPOCH.match(tail)
    if not found:
        return None
    number = int(found[1])
    return datetime.fromtimestamp(number / 1000 if len(found[1]) == 13 else number, UTC)


def _iso(tail: str, said: datetime | None, zone: tzinfo | None) -> datetime | None:
    found = _ISO.match(tail)
    if not found:
        return None
    written = re.sub(r"\s?(?:Z|UTC|GMT)$", "Z", found[0].upper().strip())
    when = datetime.fromisoformat(re.sub(r"\s(?=[+-])", "", written))
    return when.astimezone(UTC) if when.tzinfo else _placed(when, zone)


def _length(tail: str, said: datetime | None, zone: tzinfo | None) -> datetime | None:
    if said is None:
        return None
    if _SOON.match(tail):
        return said + timedelta(minutes=1)
    found = _LENGTH.match(tail)
    if not found:
        return None
    try:
        return said + timedelta(seconds=sum(_seconds(*part) for part in _ONE_LENGTH.findall(found[0])))
    except OverflowError:
        return None


def _seconds(number: str, unit: str) -> float:
    unit = unit.lower()
    return float(number) * _UNITS["ms" if unit.startswith(("ms", "mil")) else unit[0]]


def _time(tail: str, said: datetime | None, zone: tzinfo | None) -> datetime | None:
    """A time of day, with or without a date."""
    parts = next((found.groupdict() for form in _TIMES if (found := form.match(tail))), None)
    if parts is None:
        return None
    if parts["zone"] or parts["short"]:
        zone = _zone_of(parts["zone"] or parts["short"])
        if zone is None:
            return None
    hour, minute, second = _clock_of(parts)
    if parts.get("year"):
        return _placed(_date_of(parts, int(parts["year"]), hour, minute, second), zone)
    if said is None:
        return None
    # A time without seconds lasts until its minute is over.
    earliest = said - timedelta(seconds=59)
    for wall in _candidates(parts, said.astimezone(zone), hour, minute, second):
        when = _placed(wall, zone)
        if when > earliest:
            return when
    return None


def _clock_of(parts: dict[str, str]) -> tuple[int, int, int]:
    if parts["word"]:
        return (0 if parts["word"].lower() == "midnight" else 12), 0, 0
    if not parts["hour"]:
        return 0, 0, 0
    hour = int(parts["hour"])
    if half := parts["half"]:
        if not 1 <= hour <= 12:
            raise ValueError(hour)
        hour = hour % 12 + (12 if half[0] in "pP" else 0)
    elif parts["minute"] is None:
        raise ValueError("a number alone is not a time of day")
    return hour, int(parts["minute"] or 0), int(parts["second"] or 0)


def _candidates(
    parts: dict[str, str], today: datetime, hour: int, minute: int, second: int
) -> Iterator[datetime]:
    """The local times that may be meant, earliest first."""
    if parts.get("month"):
        for year in range(today.year, today.year + 9):  # the 29th of February can be eight years off
            if parts["date"] != "29" or _MONTHS[1] != parts["month"][:3].lower() or _is_leap(year):
                yield _date_of(parts, year, hour, minute, second)
        return
    wall = datetime(today.year, today.month, today.day, hour, minute, second)
    weekday = _DAYS.index(parts["day"][:3].lower()) if parts.get("day") else None
    first = 1 if (parts.get("next") or "").lower() == "tomorrow" else 0
    for days in range(first, first + 9):
        then = wall + timedelta(days=days)
        if weekday in (None, then.weekday()):
            yield then


def _date_of(parts: dict[str, str], year: int, hour: int, minute: int, second: int) -> datetime:
    month = _MONTHS.index(parts["month"][:3].lower()) + 1
    return datetime(year, month, int(parts["date"]), hour, minute, second)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _placed(wall: datetime, zone: tzinfo | None) -> datetime:
    """A local time as a moment. Without a zone, in this machine's zone."""
    return (wall.replace(tzinfo=zone) if zone else wall).astimezone(UTC)


def _zone_of(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo  # lazy: few readings meet a limit

    name = _SHORT_ZONES.get(name.strip().lower(), name.strip())
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        return None


_FORMS: tuple[Callable[[str, datetime | None, tzinfo | None], datetime | None], ...] = (
    _iso,
    _epoch,
    _length,
    _time,
)


# Which limit it is, by the providers' wording

_REACHED = lazy_pattern(
    r"insufficient[ _]quota|usage[ _]?limit|rate[ _-]?limit|too[ _]many[ _]requests|resource[ _]exhausted"
    r"|quota[ _](?:exceeded|exhausted)|(?:exceeded|exhausted) your (?:\w+ )?quota"
    r"|credit balance is too low|billing[ _](?:error|limit|hard)|spending (?:cap|limit)|payment required",
    re.IGNORECASE,
)
_MONEY = lazy_pattern(
    r"insufficient[ _](?:quota|balance|credit|funds)|credit balance|billing|spend|payment|out of credits",
    re.IGNORECASE,
)
_WINDOWS = (
    ("5h", lazy_pattern(r"\b5[ -]?h(?:ou)?rs?\b|five[ _-]?hour", re.IGNORECASE)),
    ("day", lazy_pattern(r"per[ _-]?day|\bdaily\b|free usage exceeded", re.IGNORECASE)),
    ("week", lazy_pattern(r"per[ _-]?week|\bweekly\b|seven[ _-]?day|\b7[ -]?days?\b", re.IGNORECASE)),
    ("month", lazy_pattern(r"per[ _-]?month|\bmonthly\b", re.IGNORECASE)),
    ("1m", lazy_pattern(r"per[ _-]?minute|\b[rt]pm\b", re.IGNORECASE)),
)
_ONE_MODEL = lazy_pattern(r"per[ _-]?model|(?:on|for|of) this model", re.IGNORECASE)
_PAUSE = lazy_pattern(r"retry in \d[\d.]*m?s\b|retryDelay\W{1,8}\d[\d.]*s\b", re.IGNORECASE)


def tells_of_limit(said: str) -> bool:
    """Whether a provider says that a limit was reached."""
    return bool(_REACHED.search(said))


def window_in(said: str) -> str:
    """The window that a provider names; empty if none."""
    return next((window for window, words in _WINDOWS if words.search(said)), "")


def is_about_money(said: str) -> bool:
    return bool(_MONEY.search(said))


def end_of(said: str, at: Moment | None, window: str) -> Moment | None:
    """When a limit ends. For a daily quota, Google also gives seconds to wait, but the quota is still used up
    after them."""
    return reset_in(_PAUSE.sub(" ", said[:LONGEST]) if window == "day" else said, at)


def after(at: Moment, seconds: float) -> Moment | None:
    """A moment some seconds later; None if the calendar has none."""
    try:
        return clock.later(at, seconds)
    except (ValueError, OverflowError):
        return None


def limit_reached(said: str, at: Moment | None, model: str, window: str, resets_at: Moment | None) -> Limit:
    """The limit that a provider says was reached: for the current model or for the whole account."""
    is_one_model = bool(model and _ONE_MODEL.search(said))
    return Limit(
        window=window,
        scope=Scope.MODEL if is_one_model else Scope.ACCOUNT,
        used_percent=100,
        resets_at=resets_at,
        model=model if is_one_model else "",
        at=at,
    )


def limit_in(said: str, at: Moment | None, model: str = "") -> Limit:
    """The limit in a text that is known to report one."""
    said = said[:LONGEST]
    window = window_in(said) or ("spend" if is_about_money(said) else "")
    return limit_reached(said, at, model, window, end_of(said, at, window))
