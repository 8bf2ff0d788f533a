"""What a tail is made of, and text made sound: what any vendor's format can hold."""

from __future__ import annotations

import re
from enum import IntEnum

from msgspec import Struct

from segue.base.clock import Moment
from segue.base.text import begun

LONGEST_NAME = 64
"""No vendor takes longer names and ids."""
LONGEST_TEXT = 1 << 20
"""Of what is longer only the beginning is kept."""
OVERHEAD = 128
"""What a piece takes up beside its texts."""

UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
SURROGATE = re.compile("[\ud800-\udfff]")


class Sort(IntEnum):
    PERSON = 0
    """What the person said."""
    AGENT = 1
    """What the agent said."""
    ALONE = 2
    """The agent's too, and a turn by itself: a summary, or what it was given to do."""
    USE = 3


class Piece(Struct, array_like=True, gc=False):
    """One thing that was said, or one call with its result."""

    sort: Sort
    id: str
    """The entry it was made of."""
    text: str
    """What was said; of a use, its arguments as they were written."""
    at: Moment | None = None
    model: str = ""
    tool: str = ""
    call: str = ""
    """Of a use: its id, fit for every vendor."""
    result: str | None = None
    """Of a use: None while there is none."""
    is_error: bool = False
    is_later: bool = False
    """Of a use: whether it was called for after the one before it had its result."""
    images: str = ""
    """Of a use: what it showed, by reference. Of what the person said: the same, while that is all there is."""

    @property
    def size(self) -> int:
        """In bytes, more or less."""
        return OVERHEAD + _bytes(self.text) + _bytes(self.result or "") + _bytes(self.images)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def sound(text: str) -> str:
    """Text that is UTF-8 and holds no NUL."""
    if len(text) > LONGEST_TEXT:
        text = beginning(text, LONGEST_TEXT)
    if "\0" in text:
        text = text.replace("\0", "␀")
    if not text.isascii():
        text = SURROGATE.sub("\ufffd", text)
    return text


def beginning(text: str, limit: int) -> str:
    """The beginning of a long text, with a mark that says how much is missing."""
    begin = begun(text, limit)
    return f"{begin}\n[{len(text) - len(begin):,} more characters were left out.]"


def fit_name(text: str, otherwise: str) -> str:
    """A name or an id as every vendor takes it."""
    return UNFIT.sub("_", text[: 4 * LONGEST_NAME])[:LONGEST_NAME] or otherwise
