"""Paths of fields in a payload: `payload.agent_files[0].content`, with `[]` for every item of a list. Pure.

Errors, `not_passed` and `origins` name fields with these paths.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

ROOT = "payload"
EVERY = None
"""In a pattern: any item of a list."""

Field = tuple[str | int, ...]
"""The steps to one value, from the payload down."""
Pattern = tuple[str | int | None, ...]

PLAIN = re.compile(r"[\w-]+")
STEP = re.compile(r'\.([\w-]+)|\[([0-9]{0,9})\]|\["((?:[^"\\]|\\.)*+)"\]')


def show(field: Pattern) -> str:
    steps = []
    for step in field:
        if isinstance(step, str):
            steps.append(f".{step}" if PLAIN.fullmatch(step) else f"[{json.dumps(step)}]")
        else:
            steps.append("[]" if step is EVERY else f"[{step}]")
    return ROOT + "".join(steps)


def parse(text: str) -> Pattern | None:
    """The field that a path names, with or without `payload` before it; None if it is not a path."""
    if not text.startswith((f"{ROOT}.", f"{ROOT}[")):
        text = f".{text}" if PLAIN.match(text) else text
    else:
        text = text.removeprefix(ROOT)
    steps: list[str | int | None] = []
    end = 0
    while end < len(text):
        match = STEP.match(text, end)
        if match is None:
            return None
        name, index, quoted = match.groups()
        if index is not None:
            steps.append(int(index) if index else EVERY)
        else:
            key = _unquoted(quoted) if name is None else name
            if key is None:
                return None
            steps.append(key)
        end = match.end()
    return tuple(steps) if steps and isinstance(steps[0], str) else None


def _unquoted(quoted: str) -> str | None:
    try:
        return str(json.loads(f'"{quoted}"', strict=False))
    except ValueError:
        return None


def general(field: Field) -> Pattern:
    """The same field of every item of a list."""
    return tuple(EVERY if isinstance(step, int) else step for step in field)


def find(payload: Any, pattern: Pattern) -> Iterator[tuple[Field, Any]]:
    """Every value that a pattern matches."""
    found: list[tuple[Field, Any]] = [((), payload)]
    for step in pattern:
        found = [inner for field, value in found for inner in _inside(field, value, step)]
    yield from found


def _inside(field: Field, value: Any, step: str | int | None) -> Iterator[tuple[Field, Any]]:
    if isinstance(step, str):
        if isinstance(value, Mapping) and step in value:
            yield (*field, step), value[step]
    elif isinstance(value, list | tuple):
        for index in range(len(value)) if step is EVERY else (step,):
            if index < len(value):
                yield (*field, index), value[index]


def every(value: Any, field: Field = ()) -> Iterator[Field]:
    """The path of each value in a payload."""
    if field:
        yield field
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from every(inner, (*field, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from every(inner, (*field, index))


def without(payload: Mapping[str, Any], fields: Iterable[Field]) -> dict[str, Any]:
    """A payload without some of its values, and without the lists and objects that become empty."""
    return dict(_pruned(payload, _tree(fields))[0])


def blanked(payload: Mapping[str, Any], fields: Iterable[Field]) -> dict[str, Any]:
    """A payload with None in place of some of its values; everything else keeps its place."""
    return dict(_pruned(payload, _tree(fields), keeps_place=True)[0])


def _tree(fields: Iterable[Field]) -> dict[str | int, Any]:
    """A tree of fields by their steps. None marks a field to remove, with all fields inside it."""
    tree: dict[str | int, Any] = {}
    for field in fields:
        branch = tree
        for step in field[:-1]:
            branch = branch.setdefault(step, {})
            if branch is None:
                break
        else:
            branch[field[-1]] = None
    return tree


def _pruned(value: Any, tree: dict[str | int, Any], keeps_place: bool = False) -> tuple[Any, bool]:
    """The value that is left, and whether it is empty."""
    is_object = isinstance(value, Mapping)
    left: list[tuple[Any, Any]] = []
    for step, inner in value.items() if is_object else enumerate(value):
        kept, is_gone = inner, False
        if step in tree:
            kept, is_gone = (None, True) if tree[step] is None else _pruned(inner, tree[step], keeps_place)
        if keeps_place or not is_gone:
            left.append((step, kept))
    return dict(left) if is_object else [inner for _step, inner in left], not left
