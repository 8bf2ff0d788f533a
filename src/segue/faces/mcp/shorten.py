"""Shorten results for a model: the JSON of the command line, with long lists and texts truncated. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from segue.base.text import begun

LARGEST = 40_000
"""Bytes of JSON; some agents refuse results much larger."""
WHOLE = 1 << 30
STEPS = ((WHOLE, WHOLE), (50, 4000), (20, 1000), (8, 400), (3, 160), (1, 60))
"""Maximum items of a list and characters of a text; the first pair that fits is used."""
BULK = frozenset({"contexts"})
"""Series of numbers that are of no use to a model."""
LEFT_OUT = "left_out"


def shorten(value: dict[str, Any], largest: int = LARGEST) -> dict[str, Any]:
    """Truncate a value until it fits; `left_out` counts the removed items by path."""
    small: dict[str, Any] = {}
    for items, characters in STEPS:
        left_out: dict[str, int] = {}
        small = {key: _cut(inner, items, characters, key, left_out) for key, inner in value.items()}
        if left_out:
            small[LEFT_OUT] = left_out
        if len(msgspec.json.encode(small)) <= largest:
            return small
    return {LEFT_OUT: {key: _size(inner) for key, inner in value.items()}}


def _size(value: Any) -> int:
    return len(value) if isinstance(value, list | dict | str) else 1


def _cut(value: Any, items: int, characters: int, where: str, left_out: dict[str, int]) -> Any:
    if isinstance(value, str):
        return begun(value, characters)
    if isinstance(value, dict):
        return {
            key: _cut(inner, items, characters, f"{where}.{key}", left_out)
            for key, inner in value.items()
            if key not in BULK
        }
    if isinstance(value, list):
        if len(value) > items:
            left_out[where] = left_out.get(where, 0) + len(value) - items
        return [_cut(inner, items, characters, where, left_out) for inner in value[:items]]
    return value


def texts_of(value: Any) -> Iterator[str]:
    """Every text in a value, in order; field names excluded."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts_of(inner)


def with_texts(value: Any, texts: Callable[[], str]) -> Any:
    """Replace every text of a value, in the same order."""
    if isinstance(value, str):
        return texts()
    if isinstance(value, dict):
        return {key: with_texts(inner, texts) for key, inner in value.items()}
    return [with_texts(inner, texts) for inner in value] if isinstance(value, list) else value
