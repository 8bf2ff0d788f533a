"""Corrections in a user's words. Separate from `constraints` because every index needs it."""

from __future__ import annotations

import re

WENT_WRONG = re.compile(
    r"^\s*(no\b|nope|wrong|stop\b|wait\b|not (that|what|like))"
    r"|\b(that'?s (wrong|not (right|what|it))|i (said|told you|meant)|you (forgot|missed|broke|ignored)"
    r"|(undo|revert) (that|this|it|your)|not what i|still (fails|failing|broken|wrong|not working)|try again)\b",
    re.IGNORECASE,
)


def is_correction(text: str) -> bool:
    return WENT_WRONG.search(text[:400]) is not None
