"""A handoff that an agent was given: of its words only the person's are taken for the person's. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from segue.base.fence import CLOSE, OPEN
from segue.base.lazy_regex import lazy_pattern
from segue.model.brief_format import HEADING, HUMAN, TITLES

FIRST_LINE = lazy_pattern(rf"\s*{re.escape(HEADING)} (h-[0-9a-z]{{12}})\n")
OPENING = lazy_pattern(rf"{re.escape(OPEN)}([0-9a-f]+)")
SECTION = lazy_pattern(r"^## (.+)\n((?:- .*\n(?:  .*\n|\n(?=  ))*)+)", re.MULTILINE)
ITEM = lazy_pattern(r"^- ((?:.*\n)(?:  .*\n|\n(?=  ))*)", re.MULTILINE)
NUMBER = lazy_pattern(r"^\[\d+\] ")
"""What says in which order things were said."""
KINDS = {TITLES[name]: name for name in HUMAN}


def id_in(text: str) -> str:
    """The handoff that a message is; empty for any other message."""
    found = FIRST_LINE.match(text)
    return found.group(1) if found else ""


def words_in(text: str) -> Iterator[tuple[str, str]]:
    """What the person said before, as the handoff tells it: kind of fact and words, in order."""
    said = "\n".join(_outside(text.split("\n")))
    for section in SECTION.finditer(said):
        kind = KINDS.get(section.group(1))
        if kind is not None:
            for item in ITEM.finditer(section.group(2)):
                yield kind, NUMBER.sub("", re.sub(r"\n {2}", "\n", item.group(1)).strip())


def _outside(lines: Iterable[str]) -> Iterator[str]:
    """The lines that stand inside no fence, and an empty one for each fence. One that is never closed holds all that
    follows it."""
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
