"""In-place edits of another program's JSON file: one value changes, every other byte stays.

Decoding and writing the whole file again would lose its layout. So the text itself is edited, in its own
style: a new item looks like its neighbours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

BLANK = re.compile(r"[ \t\r\n]*+")
TEXT = r'"(?:[^"\\]|\\.)*+"'
COMMENT = re.compile(rf"{TEXT}|(//[^\r\n]*+|/\*(?s:.*?)\*/)")
LAST_COMMA = re.compile(rf"{TEXT}|(,)(?=[ \t\r\n]*+[}}\]])")
USUAL_INDENT = "  "
MARK = "\ufeff"
"""The byte order mark that some editors write at the start of a file."""

Path = Sequence[str | int]


class Part(NamedTuple):
    """The position of a member of an object or an item of a list, and of its value."""

    key: str | int
    start: int
    value: int
    end: int


def parse(text: str) -> Any:
    """The value of a JSON text. Raises ValueError with the position of an error."""
    try:
        return json.loads(text.removeprefix(MARK))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_with_comments(text: str) -> Any:
    """The same for programs that allow comments and trailing commas."""
    return parse(_bare(text))


def append(text: str, path: Sequence[str], item: Any) -> str:
    """The text with one more item in the list at a path. Creates what is missing on the path."""
    bare = _bare(text)
    at, depth = _way(bare, path)
    if depth < len(path):
        return _made(text, bare, at, path[:depth], path[depth:], [item])
    _expect(bare, at, "[", path)
    return _with(text, bare, at, depth, _said(bare, depth + 1, item))


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path, in place of the current one. Creates what is missing on the path."""
    bare = _bare(text)
    at, depth = _way(bare, path)
    if depth < len(path):
        return _made(text, bare, at, path[:depth], path[depth:], value)
    return text[:at] + _said(bare, depth, value) + text[_close(bare, at) + 1 :]


def remove(text: str, path: Path) -> str:
    """The text without the value at a path, and without the containers that this leaves empty."""
    *above, key = path
    bare = _bare(text)
    at = _root(bare)
    for step in above:
        part = _part(bare, at, step)
        if part is None:
            return text
        at = part.value
    parts = _parts(bare, at)
    index = max((n for n, part in enumerate(parts) if part.key == key), default=None)
    if index is None:
        return text
    part, close = parts[index], _close(bare, at)
    if len(parts) == 1:
        before, after = text[at + 1 : part.start], _remarks(text, part.end, close)
        if before.strip() or after:
            return text[: part.start] + after + text[close:]  # keep a comment next to it
        return remove(text, above) if above else text[: at + 1] + text[close:]
    if index:
        end = parts[index - 1].end
        return text[:end] + _remarks(text, end, part.start) + text[part.end :]
    return text[: part.start] + _remarks(text, part.end, parts[1].start) + text[parts[1].start :]


def _remarks(text: str, start: int, end: int) -> str:
    """The text between two parts, without the comma, if it contains a comment; otherwise nothing."""
    plain = COMMENT.sub(_blanked, text)
    if text[start:end] == plain[start:end]:
        return ""
    comma = plain.find(",", start, end)
    return text[start:end] if comma < 0 else text[start:comma] + text[comma + 1 : end]


def _bare(text: str) -> str:
    """The text with blanks in place of comments and trailing commas: valid JSON, every character at its place."""
    return LAST_COMMA.sub(_blanked, COMMENT.sub(_blanked, text))


def _blanked(found: re.Match[str]) -> str:
    return re.sub(r"[^\r\n]", " ", found[0]) if found[1] else found[0]


def _way(bare: str, path: Sequence[str]) -> tuple[int, int]:
    """How far a path exists: where the last value on it starts, and after how many steps."""
    at, depth = _root(bare), 0
    for key in path:
        part = _part(bare, at, key)
        if part is None:
            break
        at, depth = part.value, depth + 1
    return at, depth


def _made(text: str, bare: str, at: int, there: Sequence[str], missing: Sequence[str], value: Any) -> str:
    """The text with the missing part of a path, and a value at its end."""
    _expect(bare, at, "{", there)
    for key in reversed(missing[1:]):
        value = {key: value}
    depth = len(there)
    return _with(text, bare, at, depth, f"{json.dumps(missing[0])}: {_said(bare, depth + 1, value)}")


def _said(bare: str, depth: int, value: Any) -> str:
    """A value as JSON in the style of this text, at a depth."""
    indent = _indent(bare)
    said = json.dumps(value, indent=indent, ensure_ascii=False)
    return said.replace("\n", _newline(bare) + indent * depth) if indent else said


def _with(text: str, bare: str, at: int, depth: int, said: str) -> str:
    """The text with one more item at the end of the object or list that starts at `at`."""
    parts = _parts(bare, at)
    if parts:
        last = parts[-1]
        before = text[: last.start]
        blank = before[len(before.rstrip()) :]
        return text[: last.end] + "," + blank + said + text[last.end :]
    indent, newline, close = _indent(bare), _newline(text), _close(bare, at)
    inside = text[at + 1 : close]
    if inside.strip():
        return text[: at + 1] + said + inside + text[close:]  # a comment
    if indent:
        said = newline + indent * (depth + 1) + said + newline + indent * depth
    return text[: at + 1] + said + text[close:]


def _parts(text: str, at: int) -> list[Part]:
    """The parts of the object or list that starts at `at`; none for other values."""
    found: list[Part] = []
    if text[at] not in "{[":
        return found
    is_object, decode = text[at] == "{", json.JSONDecoder().raw_decode
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        key: str | int
        start = value = at
        if is_object:
            key, at = decode(text, at)
            value = _skip(text, _skip(text, at) + 1)
        else:
            key = len(found)
        _, end = decode(text, value)
        found.append(Part(key, start, value, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _part(text: str, at: int, key: str | int) -> Part | None:
    """The part with a key. Of several members with one name, the last counts, as for every reader."""
    return next((part for part in reversed(_parts(text, at)) if part.key == key), None)


def _close(text: str, at: int) -> int:
    return json.JSONDecoder().raw_decode(text, at)[1] - 1


def _root(text: str) -> int:
    at = _skip(text, int(text.startswith(MARK)))
    _expect(text, at, "{", ())
    return at


def _expect(text: str, at: int, sign: str, path: Sequence[str]) -> None:
    if text[at] != sign:
        where = f"'{'.'.join(path)}'" if path else "the whole"
        raise ValueError(f"{where} is no {'object' if sign == '{' else 'list'}")


def _skip(text: str, at: int) -> int:
    blank = BLANK.match(text, at)
    return blank.end() if blank else at


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent(text: str) -> str | None:
    """The indentation of the first member; None if everything is on one line."""
    root = _root(text)
    parts = _parts(text, root)
    if not parts:
        return USUAL_INDENT
    _, newline, indent = text[root + 1 : parts[0].start].rpartition("\n")
    return indent.strip("\r") or USUAL_INDENT if newline else None
