"""Damaged transcripts, made from a valid one: what a crash, a full disk, another program or an attacker
leaves behind.

Every mutation depends on a seed and the content alone, so that a failure can be reproduced from its number.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Mutate = Callable[[random.Random, bytes], bytes]

LONG_LINE = 64 << 20
LONG_LINE_EVERY = 500
"""It takes as long as hundreds of others, so it comes rarely."""

SPLICED = "another format"

WRONG_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, "", "x", "\x00", "nonsense", [], {}, [[]], [None], {"a": None}),
    *([1, "x", None, {}], {"type": "text", "text": 5}, "🜚" * 40, "a/../../b", " ", "null", "-5", "NaN"),
)
HUGE_NUMBERS = (b"1e400", b"-1e400", b"9" * 30, b"9" * 5000, b"NaN", b"-Infinity", b"18446744073709551616")
ABSURD_TIMES: tuple[Any, ...] = (
    *(
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59+14:00",
        "0001-01-01T00:00:00+23:59",
        "2026-13-45T99:99:99Z",
    ),
    *("2026-W01-1T00:00:00.000Z", "2026-01-01T00:00:00,000Z", "0099-01-01T00:00:00.000Z"),
    *("yesterday", "", -1, 0, 1e308, 10**30, True, "2026-01-01", "٢٠٢٦-٠١-٠١T٠٠:٠٠:٠٠Z", "2026-W01-1", None),
)
TIME_KEY = re.compile(r"time|date|created|reset|^at$|_at$|At$", re.IGNORECASE)
FOREIGN = (
    b'{"type":"user","uuid":"f-1","parentUuid":null,"message":{"role":"user","content":"spliced in"}}',
    b'{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user"}}',
    b'{"id":"m-1","type":"model","content":"spliced in","toolCalls":[{"id":1}]}',
    b'{"type":"session","version":3,"id":"p-1","cwd":"/"}',
    b'{"type":"assistant.message","data":{"content":"spliced in","toolRequests":[null]},"id":"c-1"}',
    b"# chat started at 2026-01-01 00:00:00",
    b"<?xml version='1.0'?><plist/>",
    b"SQLite format 3\x00" + bytes(84),
    b"\x28\xb5\x2f\xfd\x04\x00",
    b"%PDF-1.7",
)


def mutations(
    content: bytes, seed: int, count: int, foreign: Sequence[bytes] = ()
) -> Iterator[tuple[str, bytes]]:
    """`count` mutations of a transcript, each with its kind. Lines of `foreign`, files of other formats, are
    spliced in too."""
    kinds = list(KINDS)
    for number in range(count):
        chance = random.Random(f"{seed}/{number}")  # noqa: S311 - reproducible, not secret
        kind = kinds[(number + seed) % len(kinds)]
        if chance.randrange(LONG_LINE_EVERY) == 0:
            yield "a very long line", a_long_line(content)
        elif kind == SPLICED and foreign:
            yield kind, _spliced(chance, content, chance.choice(foreign))
        else:
            yield kind, KINDS[kind](chance, content)


def a_long_line(content: bytes, length: int = LONG_LINE) -> bytes:
    """A line that is too long to keep, in the middle of a file."""
    lines = content.splitlines(keepends=True)
    middle = len(lines) // 2
    return b"".join([*lines[:middle], b'{"type":"user","text":"', b"x" * length, b'"}\n', *lines[middle:]])


# Bytes


def _cut(chance: random.Random, content: bytes) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _cut_start(chance: random.Random, content: bytes) -> bytes:
    return content[chance.randrange(len(content) + 1) :]


def _hole(chance: random.Random, content: bytes) -> bytes:
    """Consecutive lines that end too early."""
    at = chance.randrange(len(content) + 1)
    return content[:at] + content[at + chance.randrange(1, 400) :]


def _nuls(chance: random.Random, content: bytes) -> bytes:
    """NUL bytes, as some file systems leave after a crash."""
    at = chance.randrange(len(content) + 1)
    run = bytes(chance.choice((1, 16, 4096)))
    return content[:at] + run + content[at + (len(run) if chance.random() < 0.5 else 0) :]


def _invalid_utf8(chance: random.Random, content: bytes) -> bytes:
    spoilt = bytearray(content)
    for _ in range(chance.randrange(1, 8)):
        spoilt.insert(chance.randrange(len(spoilt) + 1), chance.randrange(128, 256))
    return bytes(spoilt)


def _flipped(chance: random.Random, content: bytes) -> bytes:
    spoilt = bytearray(content)
    for _ in range(chance.randrange(1, 20) if spoilt else 0):
        spoilt[chance.randrange(len(spoilt))] = chance.randrange(256)
    return bytes(spoilt)


def _crlf(_: random.Random, content: bytes) -> bytes:
    return content.replace(b"\n", b"\r\n")


def _byte_order_mark(_: random.Random, content: bytes) -> bytes:
    return b"\xef\xbb\xbf" + content


def _utf16(_: random.Random, content: bytes) -> bytes:
    return content.decode("utf-8", "replace").encode("utf-16")


def _empty(chance: random.Random, _content: bytes) -> bytes:
    return chance.choice((b"", b"\n", b"\n\n \n", b"{}", b"{}\n", b"[]", b"null\n", b'""', b"\xef\xbb\xbf"))


def _foreign(chance: random.Random, content: bytes) -> bytes:
    return _spliced(chance, content, chance.choice(FOREIGN))


def _spliced(chance: random.Random, content: bytes, other: bytes) -> bytes:
    lines, others = _ended(content), _ended(other)
    at, start = chance.randrange(len(lines) + 1), chance.randrange(len(others) + 1)
    return b"".join([*lines[:at], *others[start : start + chance.randrange(1, 20)], *lines[at:]])


# Lines


def _duplicated(chance: random.Random, content: bytes) -> bytes:
    lines = _ended(content)
    some = [chance.choice(lines) for _ in range(3)] if lines else []
    at = chance.randrange(len(lines) + 1)
    return b"".join([*lines[:at], *some, *lines[at:]])


def _replayed(_: random.Random, content: bytes) -> bytes:
    """The whole content twice, as in a fork or a resumed transcript."""
    return b"".join(_ended(content) * 2)


def _reordered(chance: random.Random, content: bytes) -> bytes:
    lines = _ended(content)
    chance.shuffle(lines)
    return b"".join(lines)


def _backwards(_: random.Random, content: bytes) -> bytes:
    """Every child before its parent."""
    return b"".join(reversed(_ended(content)))


def _deleted(chance: random.Random, content: bytes) -> bytes:
    return b"".join(line for line in content.splitlines(keepends=True) if chance.random() < 0.7)


def _joined(chance: random.Random, content: bytes) -> bytes:
    """A missing line end, as from two concurrent writers."""
    lines = content.splitlines(keepends=True)
    at = chance.randrange(len(lines)) if lines else 0
    return b"".join([*lines[:at], *(line.rstrip(b"\r\n") for line in lines[at : at + 1]), *lines[at + 1 :]])


def _ended(content: bytes) -> list[bytes]:
    return [line if line.endswith(b"\n") else line + b"\n" for line in content.splitlines(keepends=True)]


# Values


def _in_records(change: Callable[[random.Random, Any], Any]) -> Mutate:
    """A mutation of some records of a file of JSON lines, or of the value of a JSON document. Other files
    lose a part instead."""

    def mutate(chance: random.Random, content: bytes) -> bytes:
        parts = [content] if _parsed(content) is not None else content.splitlines(keepends=True)
        able = [number for number, part in enumerate(parts) if _parsed(part) is not None]
        if not able:
            return _hole(chance, content)
        for number in chance.sample(able, min(len(able), chance.randrange(1, 6))):
            changed = change(chance, _parsed(parts[number]))
            end = b"\n" if parts[number].endswith(b"\n") else b""
            parts[number] = _written(changed) + end
        return b"".join(parts)

    return mutate


def _parsed(part: bytes) -> Any:
    try:
        value = json.loads(part)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _written(value: Any) -> bytes:
    """A value as JSON; a `_RawJson` is inserted as it is."""
    raw: dict[str, bytes] = {}

    def place(inner: Any) -> str:
        name = f"\u2063{len(raw)}\u2063"
        raw[name] = inner.text
        return name

    written = json.dumps(value, ensure_ascii=False, default=place)
    content = written.encode("utf-8", "surrogatepass")
    for name, text in raw.items():
        content = content.replace(f'"{name}"'.encode(), text)
    return content


class _Raw:
    """JSON that Python's encoder would not write."""

    def __init__(self, text: bytes) -> None:
        self.text = text


def _spots(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON value, as container and key."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        keys: Any = inner if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else ()
        found.extend((inner, key) for key in keys)
        waiting.extend(inner[key] for key in keys)
    return found


def _put(
    chance: random.Random, record: Any, value: Any, wanted: Callable[[Any, Any], bool] = lambda k, v: True
) -> Any:
    """Put a value at a wanted place; at any place if there is none."""
    spots = _spots(record)
    if spots:
        holder, key = chance.choice([spot for spot in spots if wanted(spot[1], spot[0][spot[1]])] or spots)
        holder[key] = value
    return record


def _wrong_types(chance: random.Random, record: Any) -> Any:
    for _ in range(chance.randrange(1, 4)):
        _put(chance, record, json.loads(json.dumps(chance.choice(WRONG_VALUES))))
    return record


def _wrong_at_the_top(chance: random.Random, record: Any) -> Any:
    """Wrong types in a record's own fields, which readers use first: most faults are there."""
    keys = list(record) if isinstance(record, dict) else list(range(len(record)))
    for key in chance.sample(keys, min(len(keys), 2)):
        record[key] = json.loads(json.dumps(chance.choice(WRONG_VALUES)))
    return record


def _missing(chance: random.Random, record: Any) -> Any:
    for _ in range(chance.randrange(1, 6)):
        spots = [spot for spot in _spots(record) if isinstance(spot[0], dict)]
        if spots:
            holder, key = chance.choice(spots)
            del holder[key]
    return record


def _surrogates(chance: random.Random, record: Any) -> Any:
    half = chance.choice((b'"\\ud800"', b'"ok \\udfff\\ud83d"', b'"\xed\xa0\x80"', b'"\\u0000"'))
    return _put(chance, record, _Raw(half), lambda key, value: isinstance(value, str))


def _huge_numbers(chance: random.Random, record: Any) -> Any:
    return _put(chance, record, _Raw(chance.choice(HUGE_NUMBERS)), _is_number)


def _negative_tokens(chance: random.Random, record: Any) -> Any:
    value = chance.choice((-1, -(10**12), 10**15, 0.5, "12", -0.0))
    return _put(chance, record, value, lambda key, old: _is_number(key, old) and "oken" in str(key))


def _absurd_times(chance: random.Random, record: Any) -> Any:
    return _put(chance, record, chance.choice(ABSURD_TIMES), _is_time)


def _is_number(_key: Any, value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_time(key: Any, _value: Any) -> bool:
    return bool(TIME_KEY.search(str(key)))


def _nested(chance: random.Random, record: Any) -> Any:
    """Nest so deeply that no parser accepts it; or just so deeply that it can be read and hardly used."""
    bearable = sys.getrecursionlimit() - chance.randrange(10, 120)
    depth = chance.choice((10_000, bearable, bearable, 300))
    inside = chance.choice((b"[", b'{"a":'))
    closing = b"]" if inside == b"[" else b"}"
    return _put(chance, record, _Raw(inside * depth + b"0" * (inside != b"[") + closing * depth))


def _swapped_ids(chance: random.Random, content: bytes) -> bytes:
    """Make children their own ancestors: swap two values of id fields throughout."""
    ids: list[bytes] = []
    for line in content.splitlines()[:2000]:
        record = _parsed(line)
        if isinstance(record, dict):
            ids += [
                json.dumps(value).encode()
                for key, value in record.items()
                if isinstance(value, str) and 4 < len(value) < 80 and str(key).lower().endswith("id")
            ]
    names = sorted(set(ids))
    if len(names) < 2:
        return _hole(chance, content)
    one, other = chance.sample(names, 2)
    lines = content.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    # Only from here on, so that the two halves contradict each other.
    tail = b"".join(lines[at:]).replace(one, b"\0\1").replace(other, one).replace(b"\0\1", other)
    return b"".join(lines[:at]) + tail


def _own_parent(chance: random.Random, record: Any) -> Any:
    """A record that names itself as its parent."""
    if isinstance(record, dict):
        parents = [key for key in record if "parent" in key.lower()]
        own = next((record[key] for key in ("uuid", "id") if isinstance(record.get(key), str)), "x")
        for key in parents or ["parentUuid"]:
            record[key] = own
    return record


def _same_ids(chance: random.Random, record: Any) -> Any:
    """Ids that all records share."""
    for holder, key in _spots(record):
        if str(key).lower() in ("id", "uuid", "call_id", "toolcallid", "tool_use_id", "callid"):
            holder[key] = chance.choice(("same", "", "#1", "~2"))
    return record


KINDS: dict[str, Mutate] = {
    "cut": _cut,
    "without its start": _cut_start,
    "a piece missing": _hole,
    "NULs": _nuls,
    "invalid UTF-8": _invalid_utf8,
    "flipped bytes": _flipped,
    "CRLF": _crlf,
    "byte order mark": _byte_order_mark,
    "UTF-16": _utf16,
    "empty": _empty,
    SPLICED: _foreign,
    "lines twice": _duplicated,
    "all twice": _replayed,
    "reordered": _reordered,
    "backwards": _backwards,
    "lines missing": _deleted,
    "lines joined": _joined,
    "wrong types": _in_records(_wrong_types),
    "wrong types at the top": _in_records(_wrong_at_the_top),
    "fields missing": _in_records(_missing),
    "lone surrogates": _in_records(_surrogates),
    "huge numbers": _in_records(_huge_numbers),
    "negative tokens": _in_records(_negative_tokens),
    "absurd times": _in_records(_absurd_times),
    "nested deeply": _in_records(_nested),
    "ids swapped": _swapped_ids,
    "its own parent": _in_records(_own_parent),
    "the same ids": _in_records(_same_ids),
}
