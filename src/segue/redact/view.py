"""Text as the rules see it: plain ASCII of the same length, so that positions match the text.

A non-ASCII character becomes a question mark. An escaped line break or quote becomes a real one, at any depth; every
other escape of a character that is not printable ASCII becomes a word separator. A replaced secret becomes a filler
that no rule matches, so that nothing is replaced twice.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from segue.redact import vendor_rules

FILLER = "\x01"
ESCAPED = "\x02"
"""Before a quote that was escaped."""
FOREIGN = "\x03"
"""For an escape of a non-ASCII character, once for each character of the escape."""
PLACEHOLDER = re.compile(r"\[secret:[a-z0-9-]{1,40}:[0-9a-f]{6}\]")


SEQUENCE = re.compile(
    r"(?:\x1b|\\(?:033|0?33|x1[bB]|u001[bB]|e)|\^\[)(?:\[[0-9;:?]{0,40}[A-Za-z]|\([AB0])"
    r"|\\(?:x[01][0-9A-Fa-f]|u00[01][0-9A-Fa-f])|(?<==)3D"
)
"""Terminal control characters, literal or as code spells them, and other invisible characters: a new word follows.
Quoted-printable mail spells the sign before a value like this: `=3D`."""
SIGNS = ("\x1b", "^[", "=3D")
SPELLED = ("\\033", "\\33", "\\x0", "\\x1", "\\u000", "\\u001", "\\e[")
"""All of that contains one of these; few texts do."""
CODED = re.compile(r"\\(?:u(?!00[0-7])[0-9A-Fa-f]{4}|x[89A-Fa-f][0-9A-Fa-f]|U[0-9A-Fa-f]{8})")
"""A non-ASCII character by its number."""
CODES = ("\\u", "\\x", "\\U")
ESCAPES = (
    ("\\n", "\r\n"),
    ('\\"', ESCAPED + '"'),
    ("\\t", " \t"),
    ("\\r", " \r"),
    ("\\b", "  "),
    ("\\f", "  "),
)
"""JSON escapes that are a letter or a quote, and what a view shows for them."""
GLUED = re.compile(
    rf"\\(?:(?={vendor_rules.LIKE_ESCAPES})"
    rf"|(?:[aeEv0]|[0-3][0-7]{{2}}|u[0-9A-Fa-f]{{4}}|x[0-9A-Fa-f]{{2}})(?={vendor_rules.ANY_PREFIX}))"
)
"""A backslash before a token that looks like an escape; an escape that JSON does not have, or of a letter, before a
token. Elsewhere these may be parts of a path or a word."""


VAGUE = frozenset({"password", "secret", "api-key", "token", "authorization", "cookie"})
"""Kinds for the purpose of a secret, not its vendor."""


class Hit(NamedTuple):
    """A secret and its place. It never leaves this package: findings are made from it."""

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
    """The text with escapes replaced by their characters, at the same length. The result may be another escape: its
    backslash is left for `encodings`."""
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
    """A view in which hits are masked exactly as their placeholders will look."""

    view: str
    at: list[int]
    """Where pieces begin in it: a stretch of the text and a filler in turns."""
    source: list[tuple[int, int]]
    """The stretch of the text that each piece stands for."""

    def origin(self, hit: Hit) -> Hit:
        """A hit in the view, as a place in the text."""
        return hit._replace(start=self._origin(hit.start)[0], end=self._origin(hit.end - 1)[1])

    def _origin(self, at: int) -> tuple[int, int]:
        """The stretch of the text that a character of the view stands for: itself, or all that its filler replaced."""
        piece = bisect_right(self.at, at) - 1
        start, end = self.source[piece]
        return (start, end) if piece % 2 else (start + at - self.at[piece], start + at - self.at[piece] + 1)


def painted(view: str, found: Iterable[Hit]) -> Painted:
    """The view of a text with hits masked. The hits are in order and do not overlap."""
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
    """Hits in order, without overlaps: overlapping ones are replaced as one, named by the most specific rule."""
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
