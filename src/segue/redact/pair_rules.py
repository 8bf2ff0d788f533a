"""A name in one field and its value in another, as in lists of settings: {"name": "DB_PASSWORD", "value": …}.

They are judged as if they were side by side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from segue.base.lazy_regex import lazy_pattern
from segue.redact import name_rules
from segue.redact.view import ESCAPED, FILLER, Hit

QUOTE = rf"[\\{ESCAPED}]{{0,4}}[\"']"
IS = rf"{QUOTE}[ \t]{{0,4}}[:=][ \t]{{0,4}}{QUOTE}"
INNER = rf"[^\"'\\\r\n{FILLER}{ESCAPED}]"
NAME = lazy_pattern(rf"{QUOTE}(?:name|key|parameterkey|variable){IS}(?P<name>[\w.-]{{2,80}}){QUOTE}")
VALUE = lazy_pattern(rf"value{IS}(?P<value>{INNER}{{4,512}}){QUOTE}")
INLINE = lazy_pattern(
    rf"parameterkey=(?P<name>[\w.-]{{2,80}}),parametervalue={QUOTE}?(?P<value>[^\s\"'\\,{FILLER}{ESCAPED}]{{4,512}})"
)
DECLARED = lazy_pattern(
    rf"variable[ \t]+{QUOTE}(?P<name>[\w-]{{2,80}}){QUOTE}[ \t]*\{{[^{{}}{FILLER}]{{0,400}}?"
    rf"\bdefault[ \t]*=[ \t]*{QUOTE}(?P<value>{INNER}{{4,512}}){QUOTE}"
)
AROUND = 600
"""The name is searched this far from its value."""


def find(view: str, low: str) -> Iterator[Hit]:
    if "value" in low:
        for value in VALUE.finditer(low):
            if name := _beside(low, value):
                yield from _judged(view, name, value)
        for both in INLINE.finditer(low):
            yield from _judged(view, both, both)
    for both in DECLARED.finditer(low) if "variable" in low else ():
        yield from _judged(view, both, both)


def _beside(low: str, value: re.Match[str]) -> re.Match[str] | None:
    """The name in the object that contains a value."""
    start, end = value.span()
    first = low.rfind("{", max(0, start - AROUND), start)
    last = low.find("}", end, end + AROUND)
    if first < 0 or last < 0 or "}" in low[first:start] or "{" in low[end:last]:
        return None
    return NAME.search(low, first, last)


def _judged(view: str, name: re.Match[str], value: re.Match[str]) -> Iterator[Hit]:
    start, end = value.span("value")
    line = f'{view[slice(*name.span("name"))]}="'
    beside = f'{line}{view[start:end]}"'
    for hit in name_rules.find(beside, beside.lower()):
        if hit.start == len(line):
            yield hit._replace(start=start, end=start + len(hit.secret))
