"""Formatting for screens. Text from outside is cleaned before it reaches a terminal."""

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
    """'2.3 MB'."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def when(moment: str) -> str:
    """'2026-11-16 09:30:00Z', in UTC as stored."""
    return clean(moment[:19].replace("T", " ")) + "Z"


def local(moment: str) -> str:
    """'2026-11-16 10:30', in local time."""
    return clock.parse(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def in_local_time(text: str) -> str:
    """Convert the UTC times in a sentence to local time."""

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
    """Progress bar; full only at 100%, empty only at 0%."""
    filled = min(width, max(0, int(percent / 100 * width)))
    if percent > 0 and filled == 0:
        filled = 1
    colour = "red" if percent >= 90 else "yellow" if percent >= 75 else "green"
    return click.style("█" * filled, fg=colour) + "░" * (width - filled)


def short(text: str, width: int, *, from_end: bool = False) -> str:
    """Truncate to a number of characters; with `from_end`, keep the end."""
    if len(text) <= width:
        return text
    return "…" + text[1 - width :] if from_end else text[: width - 1] + "…"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def rating(satisfaction: float) -> str:
    """Convert a satisfaction from 0..1 to a rating of 1 to 5."""
    return f"{1 + satisfaction * 4:.0f} of 5"


def cell_width(text: str) -> int:
    """Width of a text in terminal cells; wide East Asian characters take two."""
    if text.isascii():
        return len(text)
    import unicodedata  # lazy: most screens are ASCII

    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def table(rows: Iterable[Sequence[object]], *, indent: str = "", right: Container[int] = ()) -> str:
    """Align columns, those in `right` to the right; the last column is not padded."""
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
