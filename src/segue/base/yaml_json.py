"""Documents in YAML and JSON as plain values, and back. Pure.

Documents come from strangers, so they are limited to what JSON can hold: no tags, no directives, no duplicate
keys, and bounds on size, depth and count. Only JSON's numbers, null, true and false are read as such. Everything
else is text as written, so an id such as 007, on or 12:30 is unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from segue.errors import BadInput

if TYPE_CHECKING:
    import yaml

LARGEST = 10_000_000
"""Bytes of one document, the same limit as for a session's state."""
DEEPEST = 64
MOST = 200_000
"""Values in one document, counted at each reference: a small text can expand to billions."""

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
WORDS |= {
    word: word.lower() == "true" for name in ("true", "false") for word in (name, name.title(), name.upper())
}
DIRECTIVE = re.compile(r"(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*+%")
LONGEST_NUMBER = 25
"""A number with more digits is an id: no program calculates exactly with it."""


class Notation(StrEnum):
    YAML = "yaml"
    JSON = "json"


class _Broken(Exception):
    """What is wrong with a document, as the rest of a sentence."""


def read(
    data: bytes | str, name: str, *, next: str, notation: Notation | None = None
) -> tuple[Any, Notation]:
    """Value and notation of a document. Errors call it `name` and suggest `next`."""
    try:
        text = _text(data)
        if notation is Notation.JSON or (notation is None and text.lstrip()[:1] in ("{", "[")):
            try:
                return _read_json(text), Notation.JSON
            except json.JSONDecodeError as error:
                # YAML can start like JSON.
                if notation is Notation.JSON or name.endswith(".json"):
                    raise _Broken(
                        f"is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})"
                    ) from None
        return _read_yaml(text), Notation.YAML
    except _Broken as error:
        raise BadInput(what=f"{name} {error}.", next=next) from None


def write(value: Any, notation: Notation) -> str:
    """Render a value as a document that every YAML or JSON parser reads as the same value."""
    if notation is Notation.JSON:
        return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    return _write_yaml(value)


def _text(data: bytes | str) -> str:
    if len(data) > LARGEST:
        raise _Broken(f"is larger than {LARGEST // 1_000_000} MB, the most that Segue reads")
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise _Broken(f"is not UTF-8 text (invalid byte at {error.start:,})") from None
    if "\0" in text:
        raise _Broken("is not text: it contains a NUL character")
    if not text.strip():
        raise _Broken("is empty")
    return text


# JSON


def _read_json(text: str) -> Any:
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_whole,
            parse_float=_fraction,
            parse_constant=_no_number,
        )
    except RecursionError:
        raise _too_deep() from None
    _measure(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _Broken(f"has the key '{_short(twice)}' twice in one object")
    return made


def _whole(text: str) -> int | str:
    return int(text) if len(text) < LONGEST_NUMBER and -(2**63) <= int(text) < 2**63 else text


def _fraction(text: str) -> float | str:
    number = float(text)
    return text if number in (float("inf"), float("-inf")) else number


def _no_number(text: str) -> Any:
    raise _Broken(f"contains {text}, which is not a JSON number")


def _measure(value: Any) -> None:
    """Refuse values that are too deep or too many, and text that cannot be encoded."""
    count, depth, level = 0, 0, [value]
    while level:
        inner: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                inner += one.values()
                _refuse_no_text(*one)
            elif isinstance(one, list):
                inner += one
            elif isinstance(one, str):
                _refuse_no_text(one)
        count += len(level)
        if count > MOST:
            raise _too_many()
        if depth == DEEPEST and any(isinstance(one, dict | list) for one in level):
            raise _too_deep()
        depth, level = depth + 1, inner


def _refuse_no_text(*texts: str) -> None:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _Broken(f"contains text that is not valid Unicode: {_short(text)!a}") from None


def _too_deep() -> _Broken:
    return _Broken(f"is nested more than {DEEPEST} deep")


def _too_many() -> _Broken:
    return _Broken(f"contains more than {MOST:,} values")


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


# YAML


def _read_yaml(text: str) -> Any:
    import yaml  # lazy: only documents need it, and loading it takes as long as starting Python twice

    if DIRECTIVE.match(text):
        raise _Broken("begins with a YAML directive (%), which Segue does not read")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder().build(yaml.parse(text, Loader=loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        raise _Broken(f"is not valid YAML: {error.problem or error.context}{where}") from None
    except yaml.YAMLError as error:
        raise _Broken(f"is not valid YAML: {' '.join(str(error).split())}") from None


class _Builder:
    """Builds a value from YAML events and stops at the first violation."""

    def __init__(self) -> None:
        self.count = 0
        self.documents = 0
        self.result: Any = None
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Any, int, int]] = {}
        """Value of each anchor, the number of values in it, and its depth."""

    def build(self, events: Iterator[yaml.Event]) -> Any:
        import yaml  # lazy: see _read_yaml

        for event in events:
            if isinstance(event, yaml.ScalarEvent):
                self._refuse_tag(event, event.tag)
                self._scalar(event)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._refuse_tag(event, event.tag)
                self._begin(event, {} if isinstance(event, yaml.MappingStartEvent) else [])
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end()
            elif isinstance(event, yaml.DocumentStartEvent):
                self.documents += 1
                if self.documents > 1:
                    raise _Broken(f"contains more than one YAML document ({_at(event)})")
        return self.result

    def _refuse_tag(self, event: yaml.Event, tag: str | None) -> None:
        if tag is not None:
            raise _Broken(f"contains the YAML tag {_short(tag)} ({_at(event)}), and Segue reads no tags")

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        is_key = bool(self.open) and self.open[-1].awaits_key
        if is_key and event.value == "<<" and event.implicit[0]:
            raise _Broken(f"contains a merge key << ({_at(event)}), and Segue reads none")
        value = event.value if is_key or not event.implicit[0] else resolve(event.value)
        self._count(0 if is_key else 1)
        if event.anchor and not is_key:
            self.anchors[event.anchor] = (value, 1, 0)
        self._put(value, event)

    def _alias(self, event: yaml.AliasEvent) -> None:
        if event.anchor not in self.anchors:
            raise _Broken(f"refers to *{_short(str(event.anchor))} ({_at(event)}), which is not defined yet")
        value, count, depth = self.anchors[event.anchor]
        self._count(count)
        if len(self.open) + depth > DEEPEST:
            raise _too_deep()
        for one in self.open:
            one.depth = max(one.depth, depth + 1)
        self._put(value, event)

    def _begin(self, event: yaml.CollectionStartEvent, value: Any) -> None:
        if self.open and self.open[-1].awaits_key:
            raise _Broken(f"has a key that is not text ({_at(event)})")
        if len(self.open) >= DEEPEST:
            raise _too_deep()
        self.open.append(_Open(value, event.anchor, self.count, event))
        self._count(1)

    def _end(self) -> None:
        done = self.open.pop()
        depth = done.depth + 1
        if done.anchor:
            self.anchors[done.anchor] = (done.value, self.count - done.before, depth)
        if self.open:
            self.open[-1].depth = max(self.open[-1].depth, depth)
        self._put(done.value, done.event)

    def _put(self, value: Any, event: yaml.Event) -> None:
        if not self.open:
            self.result = value
            return
        top = self.open[-1]
        if isinstance(top.value, list):
            top.value.append(value)
        elif top.key is None:
            if not isinstance(value, str):
                raise _Broken(f"has a key that is not text ({_at(event)})")
            if value in top.value:
                raise _Broken(f"has the key '{_short(value)}' twice in one object ({_at(event)})")
            top.key = value
        else:
            top.value[top.key] = value
            top.key = None

    def _count(self, more: int) -> None:
        self.count += more
        if self.count > MOST:
            raise _too_many()


class _Open(Struct):
    """A list or object that is not complete yet."""

    value: Any
    anchor: str | None
    before: int
    event: yaml.Event
    key: str | None = None
    depth: int = 0

    @property
    def awaits_key(self) -> bool:
        return self.key is None and isinstance(self.value, dict)


def _at(event: yaml.Event) -> str:
    mark = event.start_mark
    return f"line {mark.line + 1}" if mark else "somewhere"


def resolve(text: str) -> Any:
    """Value of a plain YAML scalar."""
    if text in WORDS:
        return WORDS[text]
    number = NUMBER.fullmatch(text) if len(text) < LONGEST_NUMBER else None
    if number is None:
        return text
    return _fraction(text) if number.group(1) or number.group(2) else _whole(text)


def _write_yaml(value: Any) -> str:
    import yaml  # lazy: see _read_yaml

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    Dumper.add_representer(str, _represented)
    made: str = yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1_000_000)
    return made


def _represented(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text and re.match(r"[^\s]", text) and "\r" not in text:
        style = "|"
    elif resolve(text) != text:
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)
