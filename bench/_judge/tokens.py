"""Tokens of a text: counted with o200k where `splintr` is installed, otherwise estimated on the high side."""

from __future__ import annotations

import re
from typing import Any

PIECE = re.compile(r"\w+|[^\w\s]|\s+")

_tokenizer: Any = None
try:
    import splintr

    _tokenizer = splintr.Tokenizer.from_pretrained("o200k_base")
    NAME = "o200k (splintr)"
except ImportError:
    NAME = "estimate"


def count(text: str) -> int:
    if _tokenizer is not None:
        return len(_tokenizer.encode_ordinary(text))
    return estimate(text)


def estimate(text: str) -> int:
    """Every mark a token, words by length, text beyond ASCII by its bytes."""
    total = 0
    for piece in PIECE.findall(text):
        if piece.isspace():
            total += piece.count("\n")
        elif piece.isascii():
            total += 1 + len(piece) // 5
        else:
            total += len(piece.encode("utf-8", "replace")) // 2 + 1
    return total


def fit(text: str, budget: int) -> str:
    """The beginning of a text within a budget, cut at a line's end where there is one near."""
    if count(text) <= budget:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) <= budget else (low, middle - 1)
    end = text.rfind("\n", max(0, low - 200), low)
    return text[: end if end > 0 else low]
