"""The values of a Kubernetes secret, as its tools print it: all of them are secrets, whatever their names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from segue.redact import value_shape
from segue.redact.view import ESCAPED, FILLER, Hit

QUOTES = rf"[\"'`\\ \t{ESCAPED}]{{0,6}}"
KIND = re.compile(rf"kind{QUOTES}:{QUOTES}secret\b")
DATA = re.compile(rf"(?<!meta)data{QUOTES}:[ \t]*(?P<open>\{{?)")
FIELD = re.compile(
    rf"[\n{{,]{QUOTES}[\w.-]{{1,128}}{QUOTES}:(?:[ \t]*[|>]-?\s{{1,40}}|{QUOTES})"
    rf"(?P<secret>[^\s\"'`,}}{{\\|>{FILLER}{ESCAPED}]{{6,8192}})"
)
AROUND = 4000
"""The data of a secret is searched this far from its kind."""


def find(view: str, low: str) -> Iterator[Hit]:
    last = 0
    for kind in KIND.finditer(low):
        first, last = max(last, kind.start() - AROUND), kind.end() + AROUND
        for data in DATA.finditer(low, first, last):
            for field in FIELD.finditer(view, data.end(), _end(low, data, last)):
                value = field.group("secret")
                if not value_shape.is_dummy(value) and not value_shape.VARIABLE.fullmatch(value):
                    yield Hit(*field.span("secret"), "cluster-secret", value)


def _end(low: str, data: re.Match[str], last: int) -> int:
    """The end of a mapping: its brace, or the first line that is indented no deeper than its name."""
    if data.group("open"):
        brace = low.find("}", data.end(), last)
        return brace if brace >= 0 else last
    start = low.rfind("\n", 0, data.start()) + 1
    before = low[start : data.start()]
    indent = len(before) - len(before.lstrip(" "))
    end = re.compile(rf"\n {{0,{min(indent, 40)}}}[^\s#]").search(low, data.end(), last)
    return end.start() if end else last
