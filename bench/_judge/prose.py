"""A brief as lines, each with what it stands under: any honest form, Markdown, plain text or JSON.

A value counts for a thing where a reader would take it to: on the same line, in the items below it, or in
a heading or list item that it stands under.
"""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from bench._judge.words import slashed, words

HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(.*)$")
TAG = re.compile(r"^\s*<([\w-]+)[^>]*>\s*$")
PSEUDO = re.compile(r"^(?:\d+\.\s+)?(?:\*\*[^*]{2,80}\*\*:?|[^\s\-*•|>`][^:`]{1,78}:)\s*$")
ITEM = re.compile(r"^(\s*)(?:[-*•+]|\d+[.)])\s+")
RULE = re.compile(r"^\s*\|?[\s:|-]+\|[\s:|-]*$")
MARKS = re.compile(r"[\s`*\"'\\]+")
RESULT = re.compile(
    r"^\s*(?:[-*•]\s*)?(?:→|=>|->|⎿|\[|\(|exit|status|result|output|error|ok|fail|pass|✓|✔|✅|✗|✘|❌|stdout|stderr)",
    re.IGNORECASE,
)
JSON_BLOCK = re.compile(r"^```json\s*\n(.*?)^```\s*$", re.DOTALL | re.MULTILINE)
NEAR = 160
"""Characters: what stands farther away on the same line says nothing of it."""
MOST_CHILDREN, UNDER_A_HEADING = 4, 6


Pattern = re.Pattern[str]


class Line(Struct):
    text: str
    above: str = ""
    """The headings and items that it stands under."""
    below: str = ""
    """The items under it."""
    is_heading: bool = False


class Place(Struct, frozen=True):
    """Where something stands: characters of the flat text, and lines."""

    start: int
    end: int
    first: int
    last: int


def flat(text: str) -> str:
    """Lower-case; white space, quotes and marks of emphasis all count as one space."""
    return MARKS.sub(" ", slashed(text).lower().replace("2>&1", " ")).strip()


class Prose:
    """A brief that can be searched."""

    def __init__(self, text: str) -> None:
        self.lines = _outlined(_rows(_plain(text)))
        self.starts: list[int] = []
        pieces, length = [], 0
        for line in self.lines:
            piece = flat(line.text)
            self.starts.append(length)
            pieces.append(piece)
            length += len(piece) + 1
        self.flat = " ".join(pieces)
        self.words = words("\n".join(line.text for line in self.lines))
        self.spoken = " " + " ".join(self.words) + " "
        self._grams: dict[int, set[tuple[str, ...]]] = {}
        self.line_words = [words(line.text) for line in self.lines]

    def grams(self, size: int) -> set[tuple[str, ...]]:
        if size not in self._grams:
            sequence = self.words
            self._grams[size] = {tuple(sequence[n : n + size]) for n in range(len(sequence) - size + 1)}
        return self._grams[size]

    def holds(self, needle: str, whole: str = "") -> bool:
        return next(self.places(needle, whole), None) is not None

    def places(self, needle: str, whole: str = "", most: int = 40) -> Iterator[Place]:
        """Where a text stands; whole words only. `whole` is what it is the beginning of: as much of it as is there counts."""
        needle, whole = flat(needle), flat(whole)
        is_cut = len(whole) > len(needle)
        position = self.flat.find(needle) if needle else -1
        while position >= 0 and most:
            end = position + len(needle)
            longer = _joins(self.flat, position - 1, needle[0])
            longer |= not is_cut and _joins(self.flat, end, needle[-1])
            if not longer:
                while (
                    is_cut
                    and end - position < len(whole)
                    and self.flat[end : end + 1] == whole[end - position]
                ):
                    end += 1
                first = bisect.bisect_right(self.starts, position) - 1
                last = bisect.bisect_right(self.starts, end - 1) - 1
                most -= 1
                yield Place(position, end, first, last)
            position = self.flat.find(needle, position + 1)

    def near(self, place: Place) -> str:
        """What is said of what stands there, on its line and below it, without the words themselves."""
        start = max(self.starts[place.first], place.start - NEAR)
        stop = min(self._stop(place.last), place.end + NEAR)
        own = self.flat[start : place.start] + " \n " + self.flat[place.end : stop]
        parts = [own, self.lines[place.last].below]
        if place.last + 1 < len(self.lines) and RESULT.match(self.lines[place.last + 1].text):
            parts.append(self.lines[place.last + 1].text[:NEAR])
        return "\n".join(parts)

    def above(self, number: int) -> list[str]:
        """The items and headings that a line stands under, the nearest first."""
        return self.lines[number].above.split("\n")[::-1]

    def tells(self, place: Place, value: Pattern, others: Pattern) -> bool:
        """Whether something is given this value: on its line, or else by the nearest thing above that gives one.

        A heading that names this value and others too, as a legend does, gives none.
        """
        near = self.near(place)
        if value.search(near) or others.search(near):
            return bool(value.search(near))
        return says(self.above(place.first), value, others)

    def _stop(self, number: int) -> int:
        return self.starts[number + 1] if number + 1 < len(self.starts) else len(self.flat)


def says(above: list[str], value: Pattern, others: Pattern) -> bool:
    """Whether the nearest line above that gives a value gives this one."""
    for line in above:
        fits, differs = bool(value.search(line)), bool(others.search(line))
        if fits != differs:
            return fits
    return False


def _joins(text: str, position: int, edge: str) -> bool:
    """Whether what stands there would make the word at the edge a longer one."""
    if not 0 <= position < len(text) or not (edge.isalnum() or edge == "_"):
        return False
    return text[position].isalnum() or text[position] == "_"


def _plain(text: str) -> str:
    """JSON as an outline; everything else as it is."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return JSON_BLOCK.sub(_block, text)
    return "\n".join(_outline(whole, 1)) if isinstance(whole, dict | list) else text


def _block(match: re.Match[str]) -> str:
    try:
        return "\n".join(_outline(json.loads(match.group(1)), 3))
    except (ValueError, RecursionError):
        return match.group(0)


def _outline(value: Any, level: int, name: str = "") -> Iterator[str]:
    """Keys as headings, an object of plain values as one line."""
    if isinstance(value, dict):
        plain = {key: one for key, one in value.items() if not isinstance(one, dict | list)}
        if plain:
            yield "- " + " · ".join(f"{_spaced(key)}: {one}" for key, one in plain.items())
        for key, one in value.items():
            if key not in plain:
                yield "#" * min(level, 6) + " " + _spaced(key)
                yield from _outline(one, level + 1, key)
    elif isinstance(value, list):
        for one in value:
            yield from _outline(one, level + 1, name) if isinstance(one, dict | list) else [f"- {one}"]
    else:
        yield f"- {value}"


def _spaced(key: object) -> str:
    """A key of JSON is a word of the format, not a name from the work."""
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", str(key)).replace("_", " ").replace("-", " ").lower()


def _rows(text: str) -> Iterator[str]:
    """Lines; those of a table with their columns' names."""
    names: list[str] = []
    before = ""
    for line in text.split("\n"):
        if "|" in line and RULE.match(line):
            names = [cell.strip() for cell in before.strip().strip("|").split("|")]
        elif names and line.strip().startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            pairs = zip(names + [""] * len(cells), cells, strict=False)
            yield "- " + " · ".join(f"{name}: {cell}" if name else cell for name, cell in pairs)
        else:
            names = []
            yield line
        before = line


def _outlined(rows: Iterator[str]) -> list[Line]:
    lines: list[Line] = []
    headings: list[tuple[int, str]] = []
    items: list[tuple[int, str]] = []
    for text in rows:
        if not text.strip():
            continue
        level = _level(text)
        if level:
            headings = [one for one in headings if one[0] < level]
            lines.append(Line(text, above="\n".join(one[1] for one in headings), is_heading=True))
            headings.append((level, text))
            items = []
            continue
        indent = len(text) - len(text.lstrip())
        items = [one for one in items if one[0] < indent]
        above = [one[1] for one in headings] + [one[1] for one in items]
        lines.append(Line(text, above="\n".join(above)))
        items.append((indent, text[:300]))
    for number, line in enumerate(lines):
        line.below = "\n".join(_children(lines, number))
    return lines


def _level(text: str) -> int:
    match = HEADING.match(text)
    if match:
        return len(match.group(1))
    return 7 if PSEUDO.match(text) or TAG.match(text) else 0


def _children(lines: list[Line], number: int) -> Iterator[str]:
    """The items below a line, or the lines below a heading."""
    line = lines[number]
    indent = len(line.text) - len(line.text.lstrip())
    most = UNDER_A_HEADING if line.is_heading else MOST_CHILDREN
    for later in lines[number + 1 : number + 1 + most]:
        deeper = len(later.text) - len(later.text.lstrip()) > indent
        if later.is_heading or not (line.is_heading or deeper):
            return
        yield later.text[:300]
