"""Denials: what an agent says it did not do, such as files left unchanged or no commit made."""

from __future__ import annotations

import re
from collections.abc import Iterator

from segue.assertions import modality
from segue.assertions.assertion import Assertion, Kind
from segue.assertions.sentences import PRIVATE, Sentence
from segue.base.lazy_regex import lazy_pattern

CODE = "[\ue000-\uf8ff]"
FILES = rf"(?:the |any |file |existing ){{0,2}}{CODE}(?:(?:,| and| or|, or|, and) {CODE})*"
END = r"(?=\s*(?:$|[.!,;)–—]|"
END += r" (?:at all|itself|in any way|as (?:you |it |they |re|inst)|file|and |or |but |since|because)))"
DID_NOT = lazy_pattern(
    rf"\b(?:i|we) (?:did not|didn't|have not|haven't|never) (?:touch|modif|edit|chang|alter|updat)\w* "
    rf"(?P<files>{FILES}){END}"
    rf"|\b(?:i|we)(?:'ve| have)? left (?P<left>{FILES}) "
    r"(?:alone|untouched|unchanged|intact|as (?:is|it is|it was|they are|they were))\b"
)
UNCHANGED = lazy_pattern(
    rf"(?:^|[.;:,] |\b(?:and|the|file) )(?P<files>{FILES}) (?:file )?"
    r"(?:is|are|was|were|remains?|stays?|has been|have been)"
    r" (?:left )?(?:completely |entirely )?(?:unchanged|untouched|not (?:touched|modified|changed|edited)|unmodified)\b"
)
IT = lazy_pattern(r"\b(?:i|we) (?:did not|didn't|have not|haven't|never) (?:touch|modif|edit|chang)\w* it\b")
NOTHING = lazy_pattern(
    r"\bno files? (?:was|were|have been|has been) (?:modified|changed|edited|touched|altered)\b"
    r"|\b(?:i|we) (?:did not|didn't|have not|haven't) (?:modif|chang|edit|touch)\w* "
    r"(?:any (?:files?|code)|anything)(?=\s*(?:$|[.!,;]))"
)
NO_COMMIT = lazy_pattern(
    r"\b(?:i|we) (?:did not|didn't|have not|haven't) (?:made? any )?(?:commit\w*)"
    r"(?=\s*(?:$|[.!,;]| anything| it| or | the changes| any))"
    r"|\b(?:nothing (?:was|has been) committed|no commits? (?:was|were) made)\b"
)


def in_sentence(sentence: Sentence) -> Iterator[Assertion]:
    """The denials in a sentence."""
    if modality.is_question(sentence.text) or modality.is_aside(sentence.section):
        return
    text = sentence.text.lower().replace("’", "'")
    for pattern in (DID_NOT, UNCHANGED):
        for found in pattern.finditer(text):
            if modality.is_open(text[: found.start()]):
                continue
            named = next(group for group in found.groups() if group)
            for span in sentence.paths(PRIVATE.findall(named)):
                yield sentence.assertion(Kind.UNTOUCHED, span.text)
    if sentence.referred and (it := IT.search(text)) and not modality.is_open(text[: it.start()]):
        yield sentence.assertion(Kind.UNTOUCHED, sentence.referred)
    for pattern, kind in ((NOTHING, Kind.NOTHING_CHANGED), (NO_COMMIT, Kind.NO_COMMIT)):
        if (none := pattern.search(text)) and not _is_limited(text, none):
            yield sentence.assertion(kind, "")


def _is_limited(text: str, found: re.Match[str]) -> bool:
    """Whether it is a plan, or has an exception: "no files were changed except …"."""
    after = text[found.end() :]
    limits = r"\b(?:except|other than|besides|apart|outside|beyond|yet|but|until|in this|by this|during)\b"
    return modality.is_open(text[: found.start()]) or re.search(limits, after) is not None
