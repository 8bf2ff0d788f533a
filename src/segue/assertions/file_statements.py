"""Statements about files and symbols that were created, changed or deleted."""

from __future__ import annotations

from collections.abc import Iterator

from segue.assertions import location_statements, modality, verb_phrases
from segue.assertions.assertion import Assertion, Kind
from segue.assertions.code_spans import Span, What
from segue.assertions.sentences import Sentence
from segue.assertions.verb_phrases import BASE, NOUNS, VERBS, Done, is_code
from segue.base.lazy_regex import lazy_pattern

CHANGED = lazy_pattern(
    r"\b(?:changes?(?: made)?|changed|modified|updated|edited|touched"
    r"|what (?:i|was|we) (?:did|changed?|done|implemented)|implementation|implemented|fix(?:es|ed)?"
    r"|refactor(?:ed|ing)?)\b"
)
CREATED = lazy_pattern(
    r"\b(?:new|created|added) (?:files?|tests?|modules?|scripts?|docs?|documentation)|files? (?:created|added)\b"
)
DELETED = lazy_pattern(r"\b(?:deleted|removed)(?: files?)?\b")
LABELS = ((CREATED, Kind.CREATED), (DELETED, Kind.DELETED), (CHANGED, Kind.CHANGED))
"""Labels of lists of files, with what they say about the files."""
NEW = lazy_pattern(r"^\W*[\ue000-\uf8ff]\W*\(?new(?: file| module| script| test file)?\b")
CODE_LETTER = "[\ue000-\uf8ff]"
NEW_FILE = lazy_pattern(
    rf"\bnew (?:file|module|script|document|test file)(?: called| named| at)?(?: [,:])? ({CODE_LETTER})"
    rf"|({CODE_LETTER}) , (?:which is )?a new (?:file|module|script|document)\b|({CODE_LETTER}) is new\b"
)
NEW_SYMBOL = lazy_pattern(
    rf"\bnew (?:{'|'.join(sorted(NOUNS))})(?: called| named)?(?: [,:])? ({CODE_LETTER})"
)
EDITED = "|".join(sorted(verb for verb, kind in VERBS.items() if kind == "edit"))
IT = lazy_pattern(rf"\b(?:i|we|i've|we've)(?: have| also| then| now)? (?:{EDITED}) it\b")
THROUGH = lazy_pattern(
    rf"\b(?:went|gone|worked) through (?:all of |the )?(?P<file>{CODE_LETTER}) and (?:{EDITED})\b"
)
FILE_NOUNS = frozenset(("file", "files", "module", "script", "document", "page", "doc", "docs"))
GOES_ON = frozenset((*",.!)(—–-:;|&", "and", "or", "with", "that", "which", "to", "in", "into", "for", "at", "so", "as",
                     "containing", "covering", "under", "using", "via", "where"))  # fmt: skip
"""Words after a file that is itself the object. Before any other word, the file only describes that word."""
ELSEWHERE = frozenset(("moved", "replaced", "imported", "used", "renamed"))
"""Verbs that do not change the file that they name."""
FEW_WORDS = 2


def in_sentence(sentence: Sentence) -> Iterator[Assertion]:
    """The statements of a sentence about files and symbols, with their locations."""
    if modality.is_question(sentence.text) or modality.is_aside(sentence.section):
        return
    tokens = modality.words(sentence.text)
    if not tokens:
        return
    has_orders = sentence.is_item and CHANGED.search(sentence.section) is not None
    found = list(verb_phrases.in_words(sentence, tokens, has_orders=has_orders))
    for done in found:
        yield from _of(done, sentence)
    if not found:
        yield from _listed(sentence, tokens)
    yield from _new(sentence, tokens)
    yield from _again(sentence, tokens)
    yield from location_statements.in_words(sentence, tokens)


def _again(sentence: Sentence, tokens: list[str]) -> Iterator[Assertion]:
    """Files named before the verb: "`x.py` was wrong; I updated it", "I went through `x.py` and updated …"."""
    plain = " ".join(tokens)
    for found in (*IT.finditer(plain), *THROUGH.finditer(plain)):
        before = plain[: found.start()]
        if modality.is_ruled_out(before):
            continue
        named = (found.groupdict().get("file") or before).split()
        if subject := _single_file(sentence.paths(filter(is_code, named)), sentence.referred):
            yield sentence.assertion(Kind.CHANGED, subject)


def _single_file(files: list[Span], otherwise: str) -> str:
    """The file, if there is exactly one; empty if there are several."""
    return files[0].text if len(files) == 1 else "" if files else otherwise


def _new(sentence: Sentence, tokens: list[str]) -> Iterator[Assertion]:
    """Things called new: "a new file, `x.py`", "`x.py`, a new module", "new helper `retry()`"."""
    plain = " ".join(tokens)
    if "new" not in tokens or modality.is_ruled_out(plain):
        return
    for found in NEW_FILE.finditer(plain):
        for file in sentence.paths([found[1] or found[2] or found[3]]):
            yield sentence.assertion(Kind.CREATED, file.text)
    files = sentence.paths(filter(is_code, tokens))
    for found in NEW_SYMBOL.finditer(plain):
        span = sentence.at(found[1])
        if span and span.what is What.SYMBOL and not BASE.keys() & set(tokens):
            place = _single_file(files, sentence.place)
            yield sentence.assertion(Kind.ADDED, span.text, place=place, is_exact=False)


def _of(done: Done, sentence: Sentence) -> Iterator[Assertion]:
    files = [span for span in done.places if span.what is What.PATH and not span.said.rstrip().endswith("/")]
    for span, following in done.objects:
        if span.what is What.PATH:
            yield from _of_file(done, span, following, sentence, bool(files))
        elif span.what in (What.SYMBOL, What.TEST) and done.verb in ("create", "add", "edit"):
            if not _is_symbol(span, following, done) or (done.is_renamed and done.verb == "edit"):
                continue
            kind = Kind.SYMBOL if done.verb == "edit" else Kind.ADDED
            name, place = span.text.rpartition("::")[2], _single_file(files, sentence.place)
            yield sentence.assertion(kind, name, place=place, is_exact=len(files) == 1)
    for span in files:
        yield sentence.assertion(Kind.CHANGED, span.text)


def _of_file(
    done: Done, span: Span, following: str, sentence: Sentence, has_place: bool
) -> Iterator[Assertion]:
    is_itself = not following or following in GOES_ON or following in FILE_NOUNS or is_code(following)
    is_made = done.verb in ("create", "add")
    if done.verb == "edit" or (is_made and not is_itself):
        yield sentence.assertion(Kind.CHANGED, span.text)
    elif is_made and not has_place:
        yield sentence.assertion(Kind.CREATED if done.verb == "create" else Kind.CHANGED, span.text)
    elif done.verb == "delete" and is_itself and not has_place and following not in ("in", "to", "into"):
        yield sentence.assertion(Kind.DELETED, span.text)
    elif done.verb == "around" and is_itself and not done.places and not _moves_file(sentence):
        yield sentence.assertion(Kind.CHANGED, span.text)


def _moves_file(sentence: Sentence) -> bool:
    return bool(ELSEWHERE & set(modality.words(sentence.text)))


def _is_symbol(span: Span, following: str, done: Done) -> bool:
    """Whether a code span is a symbol, by its shape or because the prose calls it one."""
    return span.is_sure or following in NOUNS or bool(done.nouns & NOUNS and len(done.objects) == 1)


def _listed(sentence: Sentence, tokens: list[str]) -> Iterator[Assertion]:
    """The file at the start of a list item under a label such as "Files changed"."""
    if not sentence.is_item or not sentence.is_first or modality.is_denied(" ".join(tokens)):
        return
    first = next((token for token in tokens if token.isalnum() or is_code(token)), "")
    span = sentence.at(first) if first and is_code(first) else None
    if span is None or span.what is not What.PATH:
        return
    if NEW.search(sentence.text):
        yield sentence.assertion(Kind.CREATED, span.text)
        return
    is_bare = sum(token.isalpha() and not is_code(token) for token in tokens) <= FEW_WORDS
    for pattern, kind in LABELS:
        if pattern.search(sentence.section) and (is_bare or kind is not Kind.DELETED):
            yield sentence.assertion(kind, span.text)
            return
