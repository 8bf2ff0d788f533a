"""Encoded secrets: base64, percent-encoding, JSON escapes, hex. Each stretch is decoded and searched as text.

A hit inside base64 or hex stands for the whole stretch: half of it would be neither a secret nor text.
"""

from __future__ import annotations

import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from segue.base.lazy_regex import lazy_pattern
from segue.redact.view import ESCAPED, FILLER, Hit

STANDARD = re.compile(r"[A-Za-z0-9+/]{22,}={0,2}")
FOR_URLS = re.compile(r"[A-Za-z0-9_-]{22,}={0,2}")
HEX = re.compile(r"(?<![0-9A-Za-z])(?:0x)?((?:[0-9a-f]{2}){16,}|(?:[0-9A-F]{2}){16,})(?![0-9A-Za-z])")
SOME_HEX = re.compile(r"[0-9a-fA-F]{32}")
READABLE = re.compile(rb"[\t\n\r -~]{12,}")
SHORTEST_LINE = 40
BREAK_ONLY = re.compile(rf"[ \t\r\\>|#*{ESCAPED}]{{0,30}}\n[ \t\r\\>|#*{ESCAPED}]{{0,30}}")
ONLY_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
LAST_LINE = re.compile(
    BREAK_ONLY.pattern + rf"([A-Za-z0-9+/_-]+={{0,2}})(?=[ \t]{{0,8}}(?:[\r\n\"'`\\{ESCAPED}]|$))"
)
"""A short last line of wrapped base64, alone on its line."""
PERCENT = re.compile(r"%(?:25)?([0-9A-Fa-f]{2})")
ESCAPES = re.compile(r"\\+(?:u00([2-7][0-9A-Fa-f])|x([2-7][0-9A-Fa-f])|(/))")
SIGNS = (re.compile(r"\\u00[2-7]"), re.compile(r"\\x[2-7]"), re.compile(r"\\/"))
"""The escapes are searched one by one, which is faster than all at once."""
EDGES = tuple(" \t\r\n\"'`<>" + FILLER)
ITS_VALUE = lazy_pattern(
    rf"[\"'][ \t]{{0,4}}:[ \t]{{0,4}}[\\{ESCAPED}]{{0,4}}[\"'][^\"'\r\n{FILLER}]{{1,256}}[\"']"
)
AROUND = 256
"""A stretch reaches at least this far on either side of a sign of its encoding, unless an edge comes first."""

SAMPLE = 8
TEXT_HEADS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef")

Inner = Callable[[str], list[Hit]]
"""Finds secrets in decoded text."""


class Stretch(NamedTuple):
    """Decoded text, and the origin of each piece."""

    text: str
    at: list[int]
    """Where pieces begin in the decoded text."""
    source: list[int]
    """Where pieces begin in the view."""
    end: int

    def place(self, hit: Hit) -> tuple[int, int]:
        return self.start_of(hit.start), self.end_of(hit.end)

    def start_of(self, at: int) -> int:
        piece = bisect_right(self.at, at) - 1
        return self.source[piece] + at - self.at[piece]

    def end_of(self, at: int) -> int:
        """The place after the last character, including all of its escape."""
        piece = bisect_right(self.at, at - 1) - 1
        is_last = at == (self.at[piece + 1] if piece + 1 < len(self.at) else len(self.text))
        if is_last:
            return self.source[piece + 1] if piece + 1 < len(self.source) else self.end
        return self.source[piece] + at - self.at[piece]


def unwrapped(run: str, find: Inner) -> list[Hit]:
    """Secrets in a run of characters that is base64 or hex."""
    hits = []
    if not run.islower() and not run.isupper():
        for pattern in (STANDARD, FOR_URLS) if "-" in run or "_" in run else (STANDARD,):
            for found in pattern.finditer(run):
                inner = next(filter(None, (_inside(text, find) for text in from_base64(found.group()))), None)
                if inner:
                    hits.append(_whole(found.start(), found.end(), inner, "base64"))
    for found in HEX.finditer(run) if SOME_HEX.search(run) else ():
        inner = _inside(binascii.unhexlify(found.group(1)), find)
        if inner:
            hits.append(_whole(found.start(), found.end(), inner, "hex"))
    return hits


def from_base64(text: str) -> Iterator[bytes]:
    """Every decoding that gives text: a prefix shifts the groups of four."""
    body = text.rstrip("=").replace("-", "+").replace("_", "/")
    for shift in range(4):
        if _may_be_text(body[shift:]):
            whole = body[shift:-1] if (len(body) - shift) % 4 == 1 else body[shift:]
            yield binascii.a2b_base64(whole + "=" * (-len(whole) % 4))


def _may_be_text(body: str) -> bool:
    """A byte below 128 begins its group of four with one of 32 letters."""
    middle, end = len(body) // 8 * 4, len(body) // 4 * 4 - 4 * SAMPLE
    return any(
        TEXT_HEADS.issuperset(body[start : start + 4 * SAMPLE : 4])
        for start in (0, middle, end)
        if start >= 0
    )


def _inside(content: bytes, find: Inner) -> list[Hit]:
    if content[1:40:2].count(0) > 10:
        # Two bytes for each letter, as some shells encode their commands.
        content = content[::2]
    hits: list[Hit] = []
    for readable in READABLE.finditer(content):
        hits += find(readable.group().decode("ascii"))
    return hits


def _whole(start: int, end: int, inner: list[Hit], encoding: str) -> Hit:
    first = inner[0]
    secret = first.secret if len(inner) == 1 else "\n".join(hit.secret for hit in inner)
    encodings = encoding if first.encoding == "plain" else f"{encoding}+{first.encoding}"
    return Hit(start, end, first.kind, secret, encodings)


def unescaped(view: str, find: Inner) -> Iterator[Hit]:
    """Secrets in percent-encoding or escapes."""
    for pattern, signs, encoding in ((PERCENT, (PERCENT,), "url"), (ESCAPES, SIGNS, "json")):
        places = sorted(found.span() for sign in signs for found in sign.finditer(view))
        for start, end in _stretches(view, places):
            stretch = _decode(view, start, end, pattern)
            for hit in find(stretch.text):
                encodings = encoding if hit.encoding == "plain" else f"{encoding}+{hit.encoding}"
                yield Hit(*stretch.place(hit), hit.kind, hit.secret, encodings)


def _stretches(view: str, places: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The surroundings of every sign of an encoding; adjacent ones are joined."""
    start, end = 0, -1
    for first, last in places:
        if first > end:
            if end >= 0:
                yield start, end
            start, end = max(_edge_before(view, first), end), _edge_after(view, last)
        elif end - last < AROUND // 2 and view[end : end + 1] not in EDGES:
            end = _edge_after(view, last)
    if end >= 0:
        yield start, end


def _edge_before(view: str, at: int) -> int:
    first = max(0, at - AROUND)
    near = view[first:at]
    # A name may be before its value, or on the line before it.
    line = max(near.rfind("\n"), 0)
    edge = max(near.rfind(FILLER), near.rfind("\n", 0, line)) + 1
    if not edge and first:
        # Not in the middle of a word: half a word could be taken for a whole one.
        edge = min((place + 1 for each in EDGES if (place := near.find(each)) >= 0), default=0)
    return first + edge


def _edge_after(view: str, at: int) -> int:
    last = min(len(view), at + AROUND)
    ends = [place for edge in EDGES if (place := view.find(edge, at, last)) >= 0]
    end = min(ends, default=last)
    # The value of an escaped name belongs to it.
    value = ITS_VALUE.match(view, end) if ends else None
    return value.end() if value else end


def _decode(view: str, start: int, end: int, pattern: re.Pattern[str]) -> Stretch:
    pieces: list[str] = []
    at: list[int] = []
    source: list[int] = []
    length, last = 0, start

    def add(piece: str, place: int) -> None:
        nonlocal length
        if piece:
            pieces.append(piece)
            at.append(length)
            source.append(place)
            length += len(piece)

    for found in pattern.finditer(view, start, end):
        add(view[last : found.start()], last)
        code = next(group for group in found.groups() if group)
        char = "/" if code == "/" else chr(int(code, 16))
        add(char if " " <= char <= "~" or char in "\n\t" else "?", found.start())
        last = found.end()
    add(view[last:end], last)
    return Stretch("".join(pieces), at, source, end)


def wrapped(view: str, runs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, str]]:
    """Base64 that is broken into lines: long runs with only a line break between them, joined with the short last
    one."""
    pieces: list[str] = []
    start, end = 0, -1
    for first, last in runs:
        if last - first < SHORTEST_LINE or not ONLY_BASE64.fullmatch(view, first, last):
            continue
        if not pieces or not BREAK_ONLY.fullmatch(view, end, first):
            yield from _with_rest(view, start, end, pieces)
            pieces, start = [], first
        pieces.append(view[first:last])
        end = last
    yield from _with_rest(view, start, end, pieces)


def _with_rest(view: str, start: int, end: int, pieces: list[str]) -> Iterator[tuple[int, int, str]]:
    # Padding ends it.
    rest = LAST_LINE.match(view, end) if pieces and not pieces[-1].endswith("=") else None
    if rest:
        yield start, rest.end(), "".join([*pieces, rest.group(1)])
    elif len(pieces) > 1:
        yield start, end, "".join(pieces)
