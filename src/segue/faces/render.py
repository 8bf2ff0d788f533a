"""Screens: values as text for people. Nothing that came from outside reaches a terminal unchecked."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

import click

from segue.base import clock
from segue.base.text import printable

MARKS = {"ok": ("✓", "green"), "note": ("·", "yellow"), "problem": ("✗", "red")}


clean = printable


def bold(text: str) -> str:
    return click.style(text, bold=True)


def dim(text: str) -> str:
    return click.style(text, dim=True)


def mark(level: str) -> str:
    sign, colour = MARKS[level]
    return click.style(sign, fg=colour)


def size(count: int) -> str:
    """'2.3 MB', as people write it."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def when(moment: str) -> str:
    """'2026-11-16 09:30:00Z': UTC, like everything that is kept."""
    return clean(moment[:19].replace("T", " ")) + "Z"


def local(moment: str) -> str:
    """'2026-11-16 10:30' on this machine's clock: for times that a person waits for."""
    return clock.parse(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def in_local_time(text: str) -> str:
    """A sentence with a moment in UTC, as it is in a person's own time."""

    def here(match: re.Match[str]) -> str:
        return local(f"{match.group(1)}T{match.group(2)}:00.000000Z")

    return re.sub(r"(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC", here, text)


def minutes(count: float) -> str:
    """'45 min', '3 h 20 min', '2 d 4 h'."""
    whole = max(0, round(count))
    if whole < 60:
        return f"{whole} min"
    if whole < 1440:
        return f"{whole // 60} h {whole % 60:02d} min"
    return f"{whole // 1440} d {whole % 1440 // 60} h"


def bar(percent: float, width: int) -> str:
    """A share as a bar; it is full only at the limit, and empty only at nothing."""
    filled = min(width, max(0, int(percent / 100 * width)))
    if percent > 0 and filled == 0:
        filled = 1
    colour = "red" if percent >= 90 else "yellow" if percent >= 75 else "green"
    return click.style("█" * filled, fg=colour) + "░" * (width - filled)


def short(text: str, width: int, *, from_end: bool = False) -> str:
    """At most so many characters; with `from_end`, the last ones."""
    if len(text) <= width:
        return text
    return "…" + text[1 - width :] if from_end else text[: width - 1] + "…"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def rating(satisfaction: float) -> str:
    """A satisfaction from 0 to 1 as it was rated, from 1 to 5."""
    return f"{1 + satisfaction * 4:.0f} of 5"


def cell_width(text: str) -> int:
    """How many cells of a terminal a text takes: most signs of East Asia take two."""
    if text.isascii():
        return len(text)
    import unicodedata  # lazy: most screens are without it

    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def table(rows: Iterable[Sequence[object]], *, indent: str = "", right: Container[int] = ()) -> str:
    """Columns as wide as they need to be, those in `right` set to the right; the last one is not padded."""
    cells = [[clean(cell) for cell in row] for row in rows]
    if not cells:
        return ""
    widths = [max(cell_width(row[column]) for row in cells) for column in range(len(cells[0]) - 1)]
    lines = []
    for row in cells:
        padded = [
            " " * (width - cell_width(cell)) + cell
            if column in right
            else cell + " " * (width - cell_width(cell))
            for column, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append((indent + "  ".join([*padded, row[-1]])).rstrip())
    return "\n".join(lines)
