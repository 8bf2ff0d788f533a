"""The fields of a payload that `not_passed` lists. Pure.

An entry can stand for a field of that name at any depth (`git_history`), for one place (`payload.files[].content`),
for the contents of a file or folder (`node_modules`) or of every file (`file_contents`), and for items of a list by
one of their values: `LOW_priority_improvements` are those whose `priority` is LOW, `orchestration_violations` those
in the list of violations that have the value orchestration. Anything else is a note for the reader. Names and paths
are compared in a normalised spelling.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from segue.tiers import fields, shapes
from segue.tiers.fields import Field, Pattern
from segue.tiers.shapes import folded

FILE_NAMES = {"file", "path", "filename", "filepath"}
"""Names of the field that says which file an object contains."""
ALL_CONTENTS = {"contents", "filecontent", "filecontents"}

Found = tuple[Field, str]


class _Entries(Struct, frozen=True):
    """The entries, by what they match."""

    names: dict[str, str]
    files: tuple[str, ...]
    """Files and folders, between slashes."""
    starts: dict[str, str]
    """By the first words of an entry."""
    rests: dict[str, list[tuple[frozenset[str], str]]]
    """By the same: the remaining words, and the entry."""
    contents: str = ""
    """The entry that excludes the contents of every file."""


def listed(payload: Mapping[str, Any], not_passed: Sequence[str]) -> Iterator[Found]:
    """Everything in a payload that `not_passed` lists."""
    places = {pattern: entry for entry in not_passed if (pattern := _place(entry))}
    for pattern, entry in places.items():
        yield from ((field, _says(entry)) for field, _value in fields.find(payload, pattern))
    others = [entry for entry in not_passed if not entry.startswith((f"{fields.ROOT}.", f"{fields.ROOT}["))]
    if others:
        yield from _inside((), payload, _entries(others))


def _place(entry: str) -> Pattern | None:
    """The one place that an entry names; a name alone means every field of that name."""
    pattern = fields.parse(entry)
    is_place = pattern is not None and (len(pattern) > 1 or entry != pattern[0])
    return pattern if is_place else None


def _entries(entries: Sequence[str]) -> _Entries:
    names = {name: entry for entry in entries if (name := folded(entry))}
    starts: dict[str, str] = dict(names)
    rests: dict[str, list[tuple[frozenset[str], str]]] = {}
    for entry in names.values():
        words = shapes.words(entry)
        for end in range(1, len(words)):
            start = "".join(words[:end])
            starts.setdefault(start, entry)
            rests.setdefault(start, []).append((frozenset(words[end:]), entry))
    return _Entries(
        names=names,
        files=tuple(map(_slashed, entries)),
        starts=starts,
        rests=rests,
        contents=next((entry for name, entry in names.items() if name in ALL_CONTENTS), ""),
    )


def _says(entry: str) -> str:
    return f"not_passed lists it ('{entry[:60]}')"


def _inside(field: Field, value: Any, entries: _Entries) -> Iterator[Found]:
    if len(field) > shapes.DEEPEST:
        return
    if isinstance(value, Mapping):
        excluded = _excluded_file(value, entries)
        for key, inner in value.items():
            at = (*field, key)
            entry = entries.names.get(folded(key)) if isinstance(key, str) else None
            if entry is not None:
                yield at, _says(entry)
            elif excluded and isinstance(key, str) and shapes.is_content(key, inner):
                yield at, excluded
            else:
                yield from _inside(at, inner, entries)
    elif isinstance(value, list | tuple):
        words = {word for step in field[-1:] if isinstance(step, str) for word in shapes.words(step)}
        for index, inner in enumerate(value):
            entry = _excluding_item(inner, words, entries) if isinstance(inner, Mapping) else None
            if entry is not None:
                yield (*field, index), _says(entry)
            else:
                yield from _inside((*field, index), inner, entries)


def _slashed(path: str) -> str:
    """A normalised path, between slashes."""
    path = posixpath.normpath(path.strip().replace("\\", "/"))
    return f"/{path.strip('/')}/"


def _excluded_file(value: Mapping[Any, Any], entries: _Entries) -> str | None:
    """Why the contents of a file are excluded: the file, a folder above it, or all files are listed."""
    for key, path in value.items():
        is_path = isinstance(key, str) and isinstance(path, str) and len(path) <= shapes.ONE_LINE
        if not is_path or folded(key) not in FILE_NAMES:
            continue
        if entries.contents:
            return _says(entries.contents)
        slashed = _slashed(path)
        if any(listed_file in slashed for listed_file in entries.files):
            return f"contents of {path}, which not_passed lists"
    return None


def _excluding_item(item: Mapping[Any, Any], list_words: set[str], entries: _Entries) -> str | None:
    """The entry that excludes an item of a list by one of its values."""
    for key, value in item.items():
        if not isinstance(key, str) or not isinstance(value, str) or len(value) > shapes.ONE_LINE:
            continue
        said = folded(value)
        if said in entries.rests:
            if by_field := entries.starts.get(said + folded(key)):
                return by_field
            for rest, entry in entries.rests[said]:
                if rest <= list_words:
                    return entry
    return None
