"""Statements about where something is: "`retry()` in `client.py`", "is defined in `x.py`", "`x.py:12`"."""

from __future__ import annotations

from collections.abc import Iterator

from segue.assertions import modality
from segue.assertions.assertion import Assertion, Kind
from segue.assertions.code_spans import CODE, Span, What, word_set
from segue.assertions.sentences import Sentence
from segue.assertions.verb_phrases import BASE, LEADS, NOUNS, is_code
from segue.base.lazy_regex import lazy_pattern

LOCATED = lazy_pattern(
    r"\b(?:defined|located|declared|implemented|lives?|sits?|exists?|found|documented|handled|is|are|stands?)"
    r"(?: now)? ?$"
)
FIND = lazy_pattern(r"\byou(?:'ll| will| can)? (?:find|see)\b")
"""Addressed to the user, but about a thing that is there."""
IS_NOT = lazy_pattern(
    r"(?:do|does|did)(?:n't| not) (?:yet )?exist|(?:no longer|never) exist"
    r"|(?:is|are|was|were) (?:missing|gone|absent)\b"
    r"|(?:is|are|was|were)(?:n't| not) (?:yet )?(?:there|here|present|written|created|added|in place|yet)\b"
    r"|(?:has|have)(?:n't| not) (?:yet )?been (?:written|created|added)\b"
)
"""Words after a path that does not exist, according to the agent."""
GONE = word_set("remove removed delete deleted rename renamed move moved replaced")
HAS = word_set("has contains includes defines exports provides holds exposes")
DESCRIBING = word_set("a an the new small public private single simple shared its one called named")
AT = ("in", "at", "inside", "under", "see")
NEAR = 6


def in_words(sentence: Sentence, tokens: list[str]) -> Iterator[Assertion]:
    """The stated locations: paths that exist, and symbols with their files."""
    if GONE & set(tokens) or any(verb in tokens[:-1] for verb in BASE):
        return
    for at, token in enumerate(tokens):
        span = sentence.at(token) if is_code(token) else None
        if span is not None and span.what is What.PATH:
            yield from _path(sentence, tokens, at, span)
        elif token in HAS and at:
            yield from _held(sentence, tokens, at)


def _path(sentence: Sentence, tokens: list[str], at: int, span: Span) -> Iterator[Assertion]:
    before = FIND.sub("", " ".join(tokens[:at]))
    after = " ".join(tokens[at + 1 : at + 1 + NEAR])
    if modality.is_open(before) or modality.is_denied(before) or IS_NOT.match(after):
        return
    how = tokens[at - 1] if at else ""
    how = tokens[at - 2] if how in LEADS and at > 1 else how
    is_located = how in AT and not modality.is_of_others(before)
    is_source = span.text.rpartition(".")[2].lower() in CODE
    if is_located or span.has_line:
        is_said = span.has_line or "/" in span.text or LOCATED.search(before[: before.rfind(how)]) is not None
        yield sentence.assertion(Kind.PATH, span.text, is_exact=is_said and is_source)
    if is_located and (symbol := _symbol_before(sentence, tokens, at)):
        yield sentence.assertion(Kind.SYMBOL, symbol.text, place=span.text)


def _symbol_before(sentence: Sentence, tokens: list[str], at: int) -> Span | None:
    """The symbol that is in a file: "`retry()` [helper] [is defined] in the `client.py`"."""
    back = [token for token in tokens[max(0, at - NEAR) : at] if token not in LEADS]
    words: list[str] = []
    for token in reversed(back[:-1]):
        if is_code(token):
            span = sentence.at(token)
            is_plain = all(word in NOUNS or LOCATED.search(word) for word in words)
            return span if span and is_plain and _is_symbol(span, set(words)) else None
        words.append(token)
    return None


def _held(sentence: Sentence, tokens: list[str], at: int) -> Iterator[Assertion]:
    """The symbol of a file: "`x.py` now has a function `retry()`"."""
    owner = tokens[at - 2] if tokens[at - 1] in ("now", "also", "already") and at > 1 else tokens[at - 1]
    file = sentence.at(owner) if is_code(owner) else None
    near = next((n for n in range(at + 1, min(at + 1 + NEAR, len(tokens))) if is_code(tokens[n])), None)
    if file is None or near is None or file.what is not What.PATH or modality.is_open(" ".join(tokens[:at])):
        return
    held, between = sentence.at(tokens[near]), set(tokens[at + 1 : near])
    if held is not None and _is_symbol(held, between) and between <= NOUNS | DESCRIBING:
        yield sentence.assertion(Kind.SYMBOL, held.text, place=file.text)


def _is_symbol(span: Span, around: set[str]) -> bool:
    return span.what is What.SYMBOL and (span.is_sure or bool(NOUNS & around))
