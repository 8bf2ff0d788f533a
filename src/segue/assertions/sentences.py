"""Split a reply into sentences, each with its code spans and the heading and list item above it.

Each code span is replaced by one letter of Unicode's private use area. So the rules never match inside code, and the
dot in a file name does not end a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec
from msgspec import Struct

from segue.assertions import code_spans
from segue.assertions.assertion import Assertion, Kind
from segue.assertions.code_spans import Span, What
from segue.base.lazy_regex import lazy_pattern

FIRST = 0xE000
MOST = 6000
"""How many code spans of one reply are used."""
SPAN = "[\ue000-\uf8ff]"
LONGEST_REPLY = 200_000
LONGEST_SENTENCE = 1500

FENCE = lazy_pattern(r"^\s*(`{3,}|~{3,})\s*([\w+-]*)")
HEADING = lazy_pattern(r"^\s{0,3}#{1,6}\s+(.*?)\s*#*$")
BOLD_LINE = lazy_pattern(r"^\s*\*\*([^*]+)\*\*:?\s*$")
ITEM = lazy_pattern(r"^(\s*)(?:[-*+•]|\d{1,3}[.)])\s+(.*)$")
OPEN_BOX = lazy_pattern(r"\[ \]|☐|⬜")
DONE_BOX = lazy_pattern(r"\[[xX]\]\s*")
TABLE = lazy_pattern(r"^\s*\|(.*)\|\s*$")
RULE = lazy_pattern(r"^[\s|:=-]+$")
TICKS = lazy_pattern(r"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)")
LINK = lazy_pattern(r"\[([^\[\]\n]{1,200})\]\(([^()\s]{1,400})\)")
WORD = lazy_pattern(
    r"(?<![\w@/.`-])(?:[\w~.-]*/)*[\w.-]*[A-Za-z0-9_](?:\(\)|(?:\.\w{1,9})(?::\d+(?:-\d+)?)?)?(?![\w/@])"
)
END = re.compile(rf"(?<=[.!?。！？])[\"')*]*\s+(?=[A-Z(\"'✅✓✔{SPAN[1:-1]}⚠*])|;\s+|(?<=[。！？])")
PRIVATE = lazy_pattern(SPAN)


class Block(Struct, frozen=True):
    """The content of a code fence."""

    language: str
    text: str


class Sentence(Struct, frozen=True):
    """One sentence with its context."""

    text: str
    """The sentence, with one letter for each code span."""
    spans: tuple[Span, ...]
    """All code spans of the reply; `at` finds the one of a letter."""
    section: str = ""
    """The heading and the label above, in lower case."""
    place: str = ""
    """The file that the heading or item above is about."""
    referred: str = ""
    """The file that "it" means: the only one in the sentence before."""
    is_item: bool = False
    is_first: bool = True
    """Whether it is the first in its item or paragraph."""
    block: Block | None = None
    """The code fence right after it."""

    def at(self, letter: str) -> Span | None:
        number = ord(letter) - FIRST
        return self.spans[number] if 0 <= number < len(self.spans) else None

    @property
    def said(self) -> str:
        """The sentence as the agent wrote it."""
        text = PRIVATE.sub(
            lambda found: f"`{span.said}`" if (span := self.at(found.group())) else "", self.text
        )
        return " ".join(text.replace("**", "").split())

    def paths(self, letters: Iterable[str]) -> list[Span]:
        """The paths among these letters."""
        return [span for one in letters if (span := self.at(one)) and span.what is What.PATH]

    def assertion(self, kind: Kind, subject: str, *, place: str = "", is_exact: bool = True) -> Assertion:
        return Assertion(kind=kind, subject=subject, sentence=self.said, place=place, is_exact=is_exact)


def sentences(reply: str) -> tuple[Sentence, ...]:
    """The sentences of a reply, without code fences and quotations."""
    reader = _Reader()
    found = list(reader.read(PRIVATE.sub("", reply[:LONGEST_REPLY])))
    all_spans = tuple(reader.spans)
    return tuple(msgspec.structs.replace(sentence, spans=all_spans) for sentence in found)


class _Reader:
    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.heading = ""
        self.label = ""
        self.places: list[tuple[int, str]] = []

    def read(self, reply: str) -> Iterator[Sentence]:
        waiting: list[Sentence] = []
        for text, indent, is_item, block in _paragraphs(reply):
            if block is not None:
                if waiting and waiting[-1].block is None:
                    waiting[-1] = msgspec.structs.replace(waiting[-1], block=block)
                continue
            yield from waiting
            waiting = list(self._sentences(text, indent, is_item))
        yield from waiting

    def _sentences(self, text: str, indent: int, is_item: bool) -> Iterator[Sentence]:
        is_heading = indent < 0
        text = self._lettered(text)
        if is_heading:
            self.heading, self.label, self.places = text.lower(), "", []
        elif not is_item:
            self.label, self.places = "", [one for one in self.places if one[0] < 0]
        self.places = [one for one in self.places if one[0] < indent or is_heading or not is_item]
        place = self.places[-1][1] if self.places else ""
        section = f"{self.heading} · {self.label}" if not is_heading else ""
        referred = ""
        for number, part in enumerate(END.split(text)):
            if part and part.strip():
                yield Sentence(
                    text=part.strip()[:LONGEST_SENTENCE],
                    spans=(),
                    section=section,
                    place=place,
                    referred=referred,
                    is_item=is_item,
                    is_first=number == 0,
                )
                referred = self._place_in(part)
        if own := self._place_in(text):
            self.places.append((indent, own))
        if not is_item and not is_heading and text.rstrip().endswith((":", "：")):
            self.label = text.lower()

    def _place_in(self, text: str) -> str:
        """The file that an item or heading is about: the only one that it names."""
        named = [self.spans[ord(letter) - FIRST] for letter in PRIVATE.findall(text)]
        paths = list(dict.fromkeys(span.text for span in named if span.what is What.PATH))
        return paths[0] if len(paths) == 1 else ""

    def _lettered(self, text: str) -> str:
        text = TICKS.sub(lambda found: self._letter(code_spans.of_code(found.group(2))), text)
        text = LINK.sub(self._link, text)
        text = text.replace("**", "")
        return WORD.sub(self._word, text)

    def _letter(self, span: Span) -> str:
        if len(self.spans) >= MOST:
            return span.said
        self.spans.append(span)
        return chr(FIRST + len(self.spans) - 1)

    def _link(self, found: re.Match[str]) -> str:
        text, target = found.groups()
        target = re.sub(r"^[\w:]*file://", "", target)
        path = code_spans.path_in(target)
        if path and "://" not in target:
            return self._letter(Span(what=What.PATH, text=path, said=text))
        return text

    def _word(self, found: re.Match[str]) -> str:
        word = found.group()
        if "." not in word and "_" not in word and not word.endswith("()"):
            return word
        span = code_spans.of_word(word)
        return self._letter(span) if span else word


def _paragraphs(reply: str) -> Iterator[tuple[str, int, bool, Block | None]]:
    """Each paragraph: its text, its indent (-1 for a heading), whether it is a list item; or a code block."""
    lines = reply.split("\n")
    held: tuple[list[str], int, bool] | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if fence := FENCE.match(line):
            if held:
                yield " ".join(held[0]), held[1], held[2], None
                held = None
            block, at = _block(lines, at, fence)
            yield "", 0, False, block
            continue
        starts = _starts(line)
        if starts is None and held and line.strip() and not line.lstrip().startswith(">"):
            held[0].append(line.strip())
            continue
        if held:
            yield " ".join(held[0]), held[1], held[2], None
            held = None
        if starts is not None:
            held = starts
            if starts[1] < 0 or TABLE.match(line):
                yield " ".join(held[0]), held[1], held[2], None
                held = None
        elif line.strip() and not line.lstrip().startswith(">"):
            held = ([line.strip()], len(line) - len(line.lstrip()), False)
    if held:
        yield " ".join(held[0]), held[1], held[2], None


def _block(lines: list[str], at: int, fence: re.Match[str]) -> tuple[Block, int]:
    inside = []
    while at < len(lines) and not (lines[at].strip().startswith(fence[1]) and not lines[at].strip(" `~")):
        inside.append(lines[at])
        at += 1
    return Block(fence[2].lower(), "\n".join(inside)), at + 1


def _starts(line: str) -> tuple[list[str], int, bool] | None:
    """The heading, table row or list item that a line starts; None if it continues a paragraph."""
    if found := HEADING.match(line) or BOLD_LINE.match(line):
        return [found.group(1)], -1, False
    if found := TABLE.match(line):
        cells = [cell.strip() for cell in found.group(1).split("|")]
        return ([] if RULE.match(line) else [" | ".join(cells)]), 0, True
    if found := ITEM.match(line):
        text = DONE_BOX.sub("", found.group(2))
        return ([] if OPEN_BOX.match(text) else [text]), len(found.group(1)), True
    return None
