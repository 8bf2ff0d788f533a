"""What the rest of a transcript uses of what the prefix showed, and how much of it a brief names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from bench._judge.prose import Prose
from bench._judge.records import CALL, Record
from bench._judge.words import references, strings

LONGEST = 20_000
CHOICES = {"status", "output_mode", "sandbox_permissions"}
"""Arguments by which a tool is told one of its own words."""


class Ahead(Struct):
    """The references of the rest: all of them, and the weight of those that the prefix had shown."""

    used: set[str]
    weights: dict[str, float]
    folder: str
    """Where the work is: a file there is the same with and without it."""
    chosen: set[str] = set()
    """The tools' own words ('in_progress'), by which they are told what to do: no names from the work, for nobody."""


class Forward(Struct):
    recall: float
    precision: float
    unused: list[str]
    missed: list[str]

    @property
    def f1(self) -> float:
        total = self.recall + self.precision
        return 2 * self.recall * self.precision / total if total else 0.0


def shown_by(record: Record, folder: str) -> set[str]:
    """What a record refers to."""
    if record.kind == CALL:
        return {one for text in strings(record.arguments) for one in references(text[:LONGEST], folder)}
    return set(references(record.text[:LONGEST], folder))


def ahead(before: list[Record], after: list[Record]) -> Ahead:
    """Rarity is counted over the records of the prefix: what stands everywhere weighs little."""
    folder = next((record.folder for record in reversed(before) if record.folder), "")
    frequency: Counter[str] = Counter()
    for record in before:
        frequency.update(shown_by(record, folder))
    chosen = {one for record in (*before, *after) for one in choices(record.arguments)}
    used = {one for record in after if record.kind == CALL for one in shown_by(record, folder)} - chosen
    weights = {one: math.log(1 + len(before) / frequency[one]) for one in used if frequency[one]}
    return Ahead(used, weights, folder, chosen)


def choices(value: object) -> Iterator[str]:
    """What is chosen among a tool's own words, wherever it stands in a call's arguments."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from references(part) if key in CHOICES and isinstance(part, str) else choices(part)
    elif isinstance(value, list):
        yield from (one for part in value for one in choices(part))


def forward(prose: Prose, rest: Ahead) -> Forward:
    named = {one for line in prose.lines for one in references(line.text, rest.folder)}
    return measure(named, rest)


def measure(named: set[str], rest: Ahead) -> Forward:
    named = named - rest.chosen
    whole = sum(rest.weights.values())
    hit = sum(weight for one, weight in rest.weights.items() if one in named)
    recall = hit / whole if whole else 0.0
    precision = len(named & rest.used) / len(named) if named else 0.0
    missed = sorted((one for one in rest.weights if one not in named), key=lambda one: -rest.weights[one])
    return Forward(recall, precision, sorted(named - rest.used), missed)
