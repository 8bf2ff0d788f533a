"""The user's words in a brief that an agent received. Everything else in it is nobody's instruction. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from segue.base.fence import CLOSE, OPEN
from segue.base.lazy_regex import lazy_pattern
from segue.model.brief_format import HEADING, HUMAN, SECTION_NAMES

FIRST_LINE = lazy_pattern(rf"\s*{re.escape(HEADING)} (h-[0-9a-z]{{12}})\n")
OPENING = lazy_pattern(rf"{re.escape(OPEN)}([0-9a-f]+)")
SECTION = lazy_pattern(r"^## (.+)\n((?:- .*\n(?:  .*\n|\n(?=  ))*)+)", re.MULTILINE)
ITEM = lazy_pattern(r"^- ((?:.*\n)(?:  .*\n|\n(?=  ))*)", re.MULTILINE)
NUMBER = lazy_pattern(r"^\[\d+\] ")
"""The number of a message before its text."""


def id_in(text: str) -> str:
    """The id of the handoff that a message delivers; empty for any other message."""
    found = FIRST_LINE.match(text)
    return found.group(1) if found else ""


def words_in(text: str) -> Iterator[tuple[str, str]]:
    """The user's words that a brief quotes, in order: kind of fact and text."""
    outside = "\n".join(_lines_outside_fences(text.split("\n")))
    for section in SECTION.finditer(outside):
        kind = SECTION_NAMES.get(section.group(1))
        if kind in HUMAN:
            for item in ITEM.finditer(section.group(2)):
                yield kind, NUMBER.sub("", re.sub(r"\n {2}", "\n", item.group(1)).strip())


def _lines_outside_fences(lines: Iterable[str]) -> Iterator[str]:
    """The lines outside all fences, with an empty line for each fence. A fence that is never closed contains the rest
    of the text."""
    closing = ""
    for line in lines:
        if closing:
            if line == closing:
                closing = ""
                yield ""
        elif opened := OPENING.fullmatch(line):
            closing = opened.group(1) + CLOSE
        else:
            yield line
