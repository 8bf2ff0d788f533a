"""Values that the user declared harmless: an exact string, a pattern with * and ?, or a /regular expression/."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence

from segue.errors import BadInput

Judge = Callable[[str], bool]
LONGEST = 2000
"""Longer values are only compared as a whole: a regular expression could take too long."""


def judge(allow: Sequence[str]) -> Judge:
    exact = {pattern for pattern in allow if not _is_pattern(pattern)}
    patterns = [_compiled(pattern) for pattern in allow if _is_pattern(pattern)]

    def is_allowed(value: str) -> bool:
        return value in exact or any(
            len(value) <= LONGEST and pattern.fullmatch(value) is not None for pattern in patterns
        )

    return is_allowed


def _is_pattern(pattern: str) -> bool:
    return _is_expression(pattern) or any(char in pattern for char in "*?[")


def _is_expression(pattern: str) -> bool:
    return len(pattern) > 2 and pattern.startswith("/") and pattern.endswith("/")


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern[1:-1] if _is_expression(pattern) else fnmatch.translate(pattern))
    except (re.error, RecursionError, OverflowError) as error:
        raise BadInput(
            what=f"'{pattern}' is not a regular expression: {error}.", next="segue redact --help"
        ) from error
