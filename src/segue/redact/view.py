"""Text as the rules see it: plain ASCII, of the same length, so that a place in it is a place in the text.

What is no ASCII becomes a question mark; a line break or a quote that some JSON escaped becomes a real one, at any
depth, and every other escape of a character that is not printable ASCII becomes what separates words; what was
replaced before becomes a filler that no rule matches, so that nothing is replaced twice.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from segue.redact import vendor_rules

FILLER = "\x01"
ESCAPED = "\x02"
"""What stands in a view before a quote that was escaped."""
FOREIGN = "\x03"
"""What stands in a view for an escape of a character that is not ASCII, once for each character of the escape."""
PLACEHOLDER = re.compile(r"\[secret:[a-z0-9-]{1,40}:[0-9a-f]{6}\]")


SEQUENCE = re.compile(
    r"(?:\x1b|\\(?:033|0?33|x1[bB]|u001[bB]|e)|\^\[)(?:\[[0-9;:?]{0,40}[A-Za-z]|\([AB0])"
    r"|\\(?:x[01][0-9A-Fa-f]|u00[01][0-9A-Fa-f])|(?<==)3D"
)
"""What a terminal obeys, as such or as code spells it, and other signs that cannot be seen: a word of its own follows.
Mail spells the sign before a value so: `=3D`."""
SIGNS = ("\x1b", "^[", "=3D")
SPELLED = ("\\033", "\\33", "\\x0", "\\x1", "\\u000", "\\u001", "\\e[")
"""One of these stands in all of that; few texts have any."""
CODED = re.compile(r"\\(?:u(?!00[0-7])[0-9A-Fa-f]{4}|x[89A-Fa-f][0-9A-Fa-f]|U[0-9A-Fa-f]{8})")
"""A character that is not ASCII, by its number."""
CODES = ("\\u", "\\x", "\\U")
ESCAPES = (
    ("\\n", "\r\n"),
    ('\\"', ESCAPED + '"'),
    ("\\t", " \t"),
    ("\\r", " \r"),
    ("\\b", "  "),
    ("\\f", "  "),
)
"""The escapes of JSON that are a letter or a quote, and what a view shows instead."""
GLUED = re.compile(
    rf"\\(?:(?={vendor_rules.LIKE_ESCAPES})"
    rf"|(?:[aeEv0]|[0-3][0-7]{{2}}|u[0-9A-Fa-f]{{4}}|x[0-9A-Fa-f]{{2}})(?={vendor_rules.ANY_PREFIX}))"
)
"""A backslash before a token that begins like an escape; an escape that JSON does not have, or of a letter, before a
token. Elsewhere these may be parts of a path or a word."""


VAGUE = frozenset({"password", "secret", "api-key", "token", "authorization", "cookie"})
"""Kinds that tell what a secret is for, not whose it is."""


class Hit(NamedTuple):
    """A secret, and where it stands. It never leaves this package: findings are made of it."""

    start: int
    end: int
    kind: str
    secret: str
    encoding: str = "plain"


def view_of(text: str) -> str:
    view = text if text.isascii() else text.encode("ascii", "replace").decode("ascii")
    for sign in (FILLER, ESCAPED, FOREIGN):
        view = view.replace(sign, "?")
    if "[secret:" in view:
        view = PLACEHOLDER.sub(lambda found: FILLER * len(found.group()), view)
    return without_escapes(view)


def without_escapes(view: str) -> str:
    """Escapes as what they stand for, of the same length. What they stand for may be an escape in turn: its backslash
    is left for `decoded`."""
    if any(map(view.__contains__, SIGNS)) or ("\\" in view and any(map(view.__contains__, SPELLED))):
        view = SEQUENCE.sub(lambda found: " " * len(found.group()), view)
    if "\\" in view:
        view = GLUED.sub(lambda found: " " * len(found.group()), view)
        if any(map(view.__contains__, CODES)):
            view = CODED.sub(lambda found: FOREIGN * len(found.group()), view)
        for escape, instead in ESCAPES:
            view = view.replace(escape, instead)
    return view


class Painted(NamedTuple):
    """A view in which what was found is filled in, exactly as the result will be seen."""

    view: str
    at: list[int]
    """Where pieces begin in it: by turns a stretch of the text and a filler."""
    source: list[tuple[int, int]]
    """What of the text each of them stands for."""

    def origin(self, hit: Hit) -> Hit:
        """A hit in the view, as a place in the text."""
        return hit._replace(start=self._origin(hit.start)[0], end=self._origin(hit.end - 1)[1])

    def _origin(self, at: int) -> tuple[int, int]:
        """What of the text a character of the view stands for: itself, or all that its filler replaced."""
        piece = bisect_right(self.at, at) - 1
        start, end = self.source[piece]
        return (start, end) if piece % 2 else (start + at - self.at[piece], start + at - self.at[piece] + 1)


def painted(view: str, found: Iterable[Hit]) -> Painted:
    """The view of a text with what was found in it filled in. The hits are in order and apart from each other."""
    pieces: list[str] = []
    at: list[int] = []
    source: list[tuple[int, int]] = []
    length, last = 0, 0
    for hit in found:
        for piece, start, end in (
            (view[last : hit.start], last, hit.start),
            (FILLER * len(placeholder(hit.kind, "000000")), hit.start, hit.end),
        ):
            pieces.append(piece)
            at.append(length)
            source.append((start, end))
            length += len(piece)
        last = hit.end
    return Painted("".join([*pieces, view[last:]]), [*at, length], [*source, (last, len(view))])


def placeholder(kind: str, hash: str) -> str:
    return f"[secret:{kind}:{hash}]"


def merged(hits: Iterable[Hit]) -> list[Hit]:
    """In order, and apart: what overlaps is replaced as one, and the rule that knows most names it."""
    result: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (hit.start, -hit.end, hit.kind in VAGUE)):
        last = result[-1] if result else None
        if last is None or hit.start >= last.end:
            result.append(hit)
            continue
        kind = hit.kind if last.kind in VAGUE else last.kind
        if hit.end > last.end:
            secret = last.secret + hit.secret[last.end - hit.start :]
            result[-1] = last._replace(end=hit.end, secret=secret, kind=kind)
        else:
            result[-1] = last._replace(kind=kind)
    return result
