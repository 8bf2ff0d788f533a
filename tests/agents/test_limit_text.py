"""When a limit ends, in every wording that agents were seen to use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.agents.shared.transcripts.limit_text import reset_in
from segue.base import clock

AT = "2026-11-16T04:40:00.000000Z"  # a Monday

moments = st.datetimes(datetime(2024, 1, 1), datetime(2037, 12, 31)).map(
    lambda when: clock.moment(when.replace(tzinfo=UTC))
)


def ends(text: str, at: str | None = AT) -> str | None:
    found = reset_in(text, at, UTC)
    return found and found.removesuffix(".000000Z")


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("You've hit your limit · resets 10:22pm (UTC)", "2026-11-16T22:22:00"),
        ("5-hour limit reached ∙ resets 3am", "2026-11-17T03:00:00"),
        ("5-hour limit reached · resets 3am (Europe/Berlin) · /upgrade to Max", "2026-11-17T02:00:00"),
        ("Your limit will reset at 3pm (America/New_York).", "2026-11-16T20:00:00"),
        ("Spending cap reached resets 10:22pm", "2026-11-16T22:22:00"),
        ("Weekly limit reached ∙ resets Oct 9 at 3pm", "2027-10-09T15:00:00"),
        ("Opus weekly limit reached ∙ resets Nov 17, 9am", "2026-11-17T09:00:00"),
        ("Opus weekly limit reached ∙ resets Dec 24", "2026-12-24T00:00:00"),
        ("resets Mon 12:00 AM", "2026-11-23T00:00:00"),
        ("resets Thursday, 9:00 AM", "2026-11-19T09:00:00"),
        ("resets tomorrow at 9am", "2026-11-17T09:00:00"),
        ("Your quota resets at midnight PT", "2026-11-16T08:00:00"),
        ("Claude AI usage limit reached|1749924000", "2025-06-14T18:00:00"),
        ("You've hit your usage limit. Please try again at 10:28 PM.", "2026-11-16T22:28:00"),
        ("Try again at Nov 20th, 2026 10:28 PM", "2026-11-20T22:28:00"),
        ("try again in 2 hours 5 minutes", "2026-11-16T06:45:00"),
        ("try again in 3 days 4 hours 12 minutes.", "2026-11-19T08:52:00"),
        ("Please try again in 45s", "2026-11-16T04:40:45"),
        ("try again in less than a minute", "2026-11-16T04:41:00"),
        ("Your quota will reset after 7h12m33s.", "2026-11-16T11:52:33"),
        ("Session limit reached – resets in 2 hours", "2026-11-16T06:40:00"),
        ("Usage limit reached · continuing automatically at 10:22pm · esc to cancel", "2026-11-16T22:22:00"),
        ("try again at 2026-11-20T10:00:00+02:00", "2026-11-20T08:00:00"),
        ("available again at 2026-11-20 10:00 UTC", "2026-11-20T10:00:00"),
        ('{"resets_at":1795219200}', "2026-11-21T00:00:00"),
        ("resets 22:15", "2026-11-16T22:15:00"),
        ("resets 4:40am", "2026-11-16T04:40:00"),
        ("resets 4:39am", "2026-11-17T04:39:00"),
        ("resets 12am", "2026-11-17T00:00:00"),
        ("resets 12pm", "2026-11-16T12:00:00"),
        ("resets Feb 29 at 1am", "2028-02-29T01:00:00"),
        ("resets 10:22 PM", "2026-11-16T22:22:00"),
    ],
)
def test_every_wording_gives_its_time(text: str, when: str) -> None:
    assert ends(text) == when


@pytest.mark.parametrize(
    "text",
    [
        "",
        "You've hit your limit",
        "Credit balance is too low",
        "resets 3",
        "resets 25:00",
        "resets 13pm",
        "resets June 31 at 3pm",
        "resets 3pm (Nowhere/Land)",
        "at 3pm the ferry leaves",
        "try again later, in 2026 perhaps",
        "resets_at: null",
    ],
)
def test_what_tells_no_time_gives_none(text: str) -> None:
    assert reset_in(text, AT, UTC) is None


def test_without_knowing_when_it_was_said_only_a_full_date_is_a_time() -> None:
    assert reset_in("resets 3pm", None, UTC) is None
    assert reset_in("resets Oct 9 at 3pm", None, UTC) is None
    assert reset_in("try again in 5 minutes", None, UTC) is None
    assert reset_in("usage limit reached|1749924000", None, UTC) == "2025-06-14T18:00:00.000000Z"
    assert reset_in("Try again at Nov 20th, 2026 10:28 PM", None, UTC) == "2026-11-20T22:28:00.000000Z"


def test_a_named_zone_wins_over_the_machines() -> None:
    elsewhere = timezone(timedelta(hours=9))
    assert reset_in("resets 10pm (UTC)", AT, elsewhere) == "2026-11-16T22:00:00.000000Z"
    assert reset_in("resets 10pm", AT, elsewhere) == "2026-11-16T13:00:00.000000Z"


def test_without_a_zone_the_machines_own_is_meant() -> None:
    found = reset_in("resets 10pm", AT)
    assert found is not None
    assert clock.parse(found).astimezone().hour == 22


def test_a_time_of_day_is_read_by_the_clock_of_that_day() -> None:
    berlin = "resets 9am (Europe/Berlin)"
    assert (
        reset_in(berlin, "2026-03-28T12:00:00.000000Z") == "2026-03-29T07:00:00.000000Z"
    )  # summer time by then
    assert reset_in(berlin, "2026-03-27T12:00:00.000000Z") == "2026-03-28T08:00:00.000000Z"


@given(
    at=moments,
    ahead=st.integers(1, 24 * 60 - 1),
    zone=st.sampled_from(["UTC", "Asia/Kathmandu", "Asia/Tokyo", "Africa/Nairobi"]),
)
def test_a_time_within_a_day_is_found_again(at: str, ahead: int, zone: str) -> None:
    then = (clock.parse(at) + timedelta(minutes=ahead)).replace(second=0, microsecond=0)
    local = then.astimezone(ZoneInfo(zone))
    half = f"{local.hour % 12 or 12}:{local.minute:02}{'am' if local.hour < 12 else 'pm'}"
    assert reset_in(f"You've hit your limit · resets {half} ({zone})", at) == clock.moment(then)


@given(at=moments, ahead=st.integers(1, 360))
def test_a_date_within_a_year_is_found_again(at: str, ahead: int) -> None:
    then = (clock.parse(at) + timedelta(days=ahead)).replace(minute=0, second=0, microsecond=0)
    text = f"resets {then:%b} {then.day} at {then.hour % 12 or 12}{'am' if then.hour < 12 else 'pm'}"
    assert reset_in(text, at, UTC) == clock.moment(then)


@given(at=moments, days=st.integers(0, 40), hours=st.integers(0, 23), minutes=st.integers(1, 59))
def test_a_length_is_added_to_when_it_was_said(at: str, days: int, hours: int, minutes: int) -> None:
    seconds = days * 86400 + hours * 3600 + minutes * 60
    assert reset_in(f"try again in {days} days {hours} hours {minutes} minutes", at, UTC) == clock.later(
        at, seconds
    )
    assert reset_in(f"reset after {days * 24 + hours}h{minutes}m0s", at, UTC) == clock.later(at, seconds)


@given(at=moments, when=moments)
def test_seconds_since_1970_and_iso_times_are_found_again(at: str, when: str) -> None:
    then = clock.parse(when).replace(microsecond=0)
    assert reset_in(f"usage limit reached|{int(then.timestamp())}", at) == clock.moment(then)
    assert reset_in(f"resets at {then.isoformat()}", at) == clock.moment(then)


@given(text=st.text(), at=st.none() | moments)
def test_any_text_is_survived(text: str, at: str | None) -> None:
    reset_in(text, at, UTC)
    reset_in(f"resets {text}", at, UTC)


@given(
    text=st.from_regex(
        r"(resets|try again) (at|in|on)? ?(Jan|Feb|Mon|Sun)? ?[0-9]{1,12}(:[0-9]{2})?( ?(am|pm|h|d))?( \([A-Za-z/]{1,9}\))?",
        fullmatch=True,
    ),
    at=moments,
)
def test_what_almost_is_a_time_is_survived_and_never_long_past(text: str, at: str) -> None:
    found = reset_in(text, at, UTC)
    if found is not None and not any(len(part) >= 10 for part in text.split()):
        assert found > clock.later(at, -60)
