"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

import click

from segue.base import clock
from segue.base.clock import Moment

F = TypeVar("F", bound=Callable[..., Any])

UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class MomentType(click.ParamType[Moment]):
    """A day, a time or an age: 2026-11-16, '2026-11-16 09:30', 12h, 3d, today, yesterday."""

    name = "when"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Moment:
        now = clock.parse(ctx.obj.clock()).astimezone() if ctx and ctx.obj else datetime.now().astimezone()
        text = str(value).strip().lower()
        try:
            return clock.moment(_moment_in(text, now))
        except (ValueError, OverflowError):
            self.fail(
                f"Invalid time '{value}': expected 2026-11-16, '2026-11-16 09:30', 12h, 3d, today or yesterday."
            )


def _moment_in(text: str, now: datetime) -> datetime:
    if text in ("today", "yesterday"):
        # Zone added last: on the day the clocks change, midnight has a different offset.
        day = datetime(now.year, now.month, now.day) - timedelta(days=text == "yesterday")
        return day.astimezone()
    if ago := re.fullmatch(r"(\d{1,5})\s*([mhdw])(?: ago)?", text):
        return now - timedelta(**{UNITS[ago.group(2)]: int(ago.group(1))})
    return datetime.fromisoformat(text.upper()).astimezone()


def moment_option(flag: str, help: str) -> Callable[[F], F]:
    return click.option(flag, type=MomentType(), help=help)
