"""Pieces of a conversation tail, and text that every vendor's format accepts."""

from __future__ import annotations

import re
from enum import IntEnum

from msgspec import Struct

from segue.base.clock import Moment
from segue.base.text import begun

LONGEST_NAME = 64
"""Maximum length of names and ids that every vendor accepts."""
LONGEST_TEXT = 1 << 20
"""Longer texts are truncated."""
OVERHEAD = 128
"""Size of a piece beside its texts."""

UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
SURROGATE = re.compile("[\ud800-\udfff]")


class Sort(IntEnum):
    PERSON = 0
    """The user's words."""
    AGENT = 1
    """The agent's words."""
    ALONE = 2
    """A separate turn of the agent: a summary, or its task."""
    USE = 3


class Piece(Struct, array_like=True, gc=False):
    """One message, or one call with its result."""

    sort: Sort
    id: str
    """Id of the entry."""
    text: str
    """The message, or the arguments of a call as written."""
    at: Moment | None = None
    model: str = ""
    tool: str = ""
    call: str = ""
    """Id of a call, valid for every vendor."""
    result: str | None = None
    """Result of a call; None while there is none."""
    is_error: bool = False
    is_later: bool = False
    """Whether a call was made after the result of the previous one."""
    images: str = ""
    """References to the images of a call, or of a user message that has only images so far."""

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return OVERHEAD + _bytes(self.text) + _bytes(self.result or "") + _bytes(self.images)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def sound(text: str) -> str:
    """Make text valid: UTF-8 without NUL."""
    if len(text) > LONGEST_TEXT:
        text = beginning(text, LONGEST_TEXT)
    if "\0" in text:
        text = text.replace("\0", "␀")
    if not text.isascii():
        text = SURROGATE.sub("\ufffd", text)
    return text


def beginning(text: str, limit: int) -> str:
    """Truncate a long text and note how much is missing."""
    begin = begun(text, limit)
    return f"{begin}\n[{len(text) - len(begin):,} more characters were left out.]"


def fit_name(text: str, otherwise: str) -> str:
    """Make a name or id valid for every vendor."""
    return UNFIT.sub("_", text[: 4 * LONGEST_NAME])[:LONGEST_NAME] or otherwise
