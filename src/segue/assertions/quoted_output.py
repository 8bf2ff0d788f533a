"""Output that an agent quotes: in a code fence after "Output:", or in a sentence such as "it printed `…`"."""

from __future__ import annotations

from collections.abc import Iterator

from segue.assertions import modality
from segue.assertions.assertion import Assertion, Kind
from segue.assertions.code_spans import Span, What
from segue.assertions.sentences import PRIVATE, Sentence
from segue.base.lazy_regex import lazy_pattern

SHOWN = lazy_pattern(
    r"\b(?:printed|prints|outputs|outputted|reports|reported|says|said|shows|showed|responded with|logged|emitted|gave"
    r"|output(?: of (?:the|this|that) [\w ]{1,20})? (?:was|is|reads|says|shows)|output)\b(?! of\b)[\s:\w]{0,12}$"
)
SEEN = lazy_pattern(
    r"\b(?:printed|reported|outputted|logged|emitted|output|ran|running|verified|confirmed)\b"
)
"""Words that report output which was seen, and do not only describe a program."""
BLOCK = lazy_pattern(
    r"\b(?:output|printed|prints|outputs|reported|reports|shows|showed|says|ran|running|result)\b.{0,80}[:：]$"
)
MADE_UP = lazy_pattern(r"\b(?:expected|example|sample|looks? like|format|shape|template)\b")
LANGUAGES = ("", "text", "txt", "console", "output", "log", "plaintext", "terminal", "shell-session")
QUOTED = lazy_pattern(r"[\"“]([^\"“”\n]{4,200})[\"”]")
SHORTEST = 4
LONGEST = 4000
NOTHING = Span(what=What.TEXT, text="", said="")


def in_sentence(sentence: Sentence) -> Iterator[Assertion]:
    """The output that a sentence quotes or introduces."""
    if modality.is_aside(sentence.section):
        return
    low = sentence.text.lower()
    block = sentence.block
    if block is not None and block.language in LANGUAGES and block.text.strip():
        is_said = BLOCK.search(low.rstrip("*_ ")) and not modality.is_open(low) and not MADE_UP.search(low)
        if is_said:
            is_seen = SEEN.search(low) is not None
            yield sentence.assertion(Kind.OUTPUT, block.text[:LONGEST], is_exact=is_seen)
    if not modality.is_question(sentence.text):
        yield from _within(sentence, low)


def _within(sentence: Sentence, low: str) -> Iterator[Assertion]:
    spots = [(found.start(), sentence.at(found.group())) for found in PRIVATE.finditer(sentence.text)]
    quoted = [(found.start(), found.group(1)) for found in QUOTED.finditer(sentence.text)]
    said = [(at, span.said) for at, span in spots if span and span.what is not What.PATH] + quoted
    for at, words in said:
        before = low[:at]
        if not SHOWN.search(before) or len(words.strip()) < SHORTEST:
            continue
        if modality.is_ruled_out(before):
            continue
        text = PRIVATE.sub(lambda one: (sentence.at(one.group()) or NOTHING).said, words)
        by = next((span for spot, span in reversed(spots) if spot < at and span), None)
        is_seen = SEEN.search(before) is not None or (by is not None and by.what is What.COMMAND)
        yield sentence.assertion(Kind.OUTPUT, text, is_exact=is_seen)
