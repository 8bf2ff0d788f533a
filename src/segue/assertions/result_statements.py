"""Statements about results: tests, checks, commands and commits.

Every pattern is bounded, and no two repeated parts of one can match the same character. So no reply, whatever its
text, takes long to search."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from segue.assertions import modality
from segue.assertions.assertion import Assertion, Kind
from segue.assertions.code_spans import Span, What
from segue.assertions.sentences import PRIVATE, Sentence
from segue.base.lazy_regex import lazy_pattern

GOOD = (
    r"(?:pass(?:es|ed|ing)?\b(?! (?:a|an|the|it|them|its|their|in|through|along|arguments?|data|agent|values?|to)\b)"
    r"|succeed(?:s|ed)?\b|succeeding\b|green\b|(?:complete[sd]?|ran|runs?|finish(?:es|ed)?|end(?:s|ed)?|exit(?:s|ed)?) "
    r"(?:successfully|clean(?:ly)?|fine|green|ok|with (?:status|code|exit code) 0|without (?:any )?"
    r"(?:errors?|issues?|problems?|failures?))|(?:is|are|was|were|came back|comes back|stays?|remains?) "
    r"(?:all |now |still )?(?:clean|ok|fine|good|happy|successful|green|passing)\b|clean\b|successful(?:ly)?\b"
    r"|works?\b|ok\b|(?:reports?|shows?|has|have|had|with|found) (?:no|zero|0) (?:issues?|errors?|warnings?|failures?"
    r"|problems?)|without (?:any |a |a single )?(?:errors?|issues?|failures?|problems?))"
)
TESTS = (
    r"(?:(?:unit|integration|e2e|regression|existing|new|backend|frontend|hook|browser|smoke|full|whole|entire"
    r"|complete)[ -]){0,6}(?:test ?suites?|tests?(?: cases?| files?| runs?)?|suite|specs?|pytest|jest|vitest|ctest)"
)
FEW = r"(?:[^\w'/§-]++(?:continues? to\b|(?!to\b|fail)[\w'/§-]++)){0,5}?[^\w'/§-]++"
"""A few words between."""
ALL_PASS = lazy_pattern(rf"\b{TESTS}\b{FEW}(?:{GOOD})", re.IGNORECASE)
COUNT_PASS = lazy_pattern(
    r"(?<![\w.])(\d{1,6})(?: ?/ ?(\d{1,6})| of (\d{1,6}))?\)? (?:\w+ ){0,2}?(?:tests?|specs?|cases?|checks)?\W{0,3}"
    r"(?:all |now |are |have |still )*(?:pass(?:es|ed|ing)?\b|green\b)",
    re.IGNORECASE,
)
EVERYTHING = lazy_pattern(
    rf"\b(?:everything|all(?: of (?:it|them))?|it all|the lot)\b{FEW}(?:pass(?:es|ed|ing)?|green)\b",
    re.IGNORECASE,
)
NO_FAILURE = lazy_pattern(
    r"\b(?:no|zero|0|without(?: any)?) (?:test )?(?:failures|failing tests|failed tests|regressions in tests)\b",
    re.IGNORECASE,
)
GOOD_TESTS = lazy_pattern(r"\bpass(?:ing|es|ed)? (?:all|every|the)[\w ]{0,20}\btests?\b", re.IGNORECASE)
FAIL = lazy_pattern(
    r"\b(?!0|no |zero )(?:\d+ |some |one |two |several |still |tests? |suite )(?:\w+ ){0,3}?fail(?:s|ed|ing|ures?)?\b",
    re.IGNORECASE,
)
STILL = lazy_pattern(r"\bstill (?:\w{1,20} ){0,2}?fail(?:s|ing)?\b")
SOME = lazy_pattern(
    r"\b(?:focused|targeted|related|relevant|new|these|those|this|that|its|my|affected|specific|selected|individual|unit"
    r"|integration|local|the test)\b",
    re.IGNORECASE,
)
ABOUT_TESTS = lazy_pattern(r"\b(?:tests?|suites?|specs?|pytest|jest|vitest|passed)\b", re.IGNORECASE)
ELSEWHERE = lazy_pattern(r"\b(?:checks?|ci|pipelines?|workflows?)\b", re.IGNORECASE)
"""Places that a transcript does not show."""
WHOLE = lazy_pattern(r"\b(?:all|every|everything|full|whole|entire|complete|suite)\b", re.IGNORECASE)
CHECKS = {
    "lint": lazy_pattern(
        rf"\b(?:lint(?:er|ing|s)?|ruff|eslint|clippy|flake8|golangci-lint|biome|formatt(?:er|ing))\b{FEW}(?:{GOOD})",
        re.IGNORECASE,
    ),
    "types": lazy_pattern(
        rf"\b(?:type[- ]?check(?:er|ing|s)?|types|mypy|pyright|tsc)\b{FEW}(?:{GOOD})", re.IGNORECASE
    ),
    "build": lazy_pattern(
        rf"\b(?:build|compilation)\b{FEW}(?:{GOOD})"
        r"|\b(?:it|project|code|crate|everything) (?:now |still )?(?:compiles|builds)\b",
        re.IGNORECASE,
    ),
}
COMMITTED = lazy_pattern(
    r"\bcommitted\b|\bcommit (?:successful|created|made|done|is in)\b"
    r"|\b(?:created|made|pushed|landed) (?:a |the |one )?(?:new )?commit\b"
    r"|\bcommit [\ue000-\uf8ff] (?:created|made|is|has)\b|\b(?:in|as) commit [\ue000-\uf8ff]"
)
COMMITTED_THEN = lazy_pattern(
    r"\bcommitted (?:state|data|metadata|checkpoint|file|files|version|transcript|code|to (?:the )?(?:idea|plan))\b"
    r"|\bcommitted [\ue000-\uf8ff] (?:does|is|has|had|was)\b"
)
OWN = lazy_pattern(
    r"(?:\b(?:i|we|i've|we've|have|has|been|was|were|is|and|then|also|now|successfully|all|changes|everything|it)"
    r"|[,:—–!.✅|-]) ?$"
)
"""Words before "committed" when the agent reports a commit."""
WANTED = lazy_pattern(
    r"\b(?:verify|check|ensure|confirm|make sure|so|until|see|that)(?: that)?(?: the| all){0,3}[^\w]{0,5}$"
)
VERIFIED = lazy_pattern(r"\b(?:verified|confirmed|checked|ensured)\b")
WENT_WELL = lazy_pattern(rf"[^\w§]{{0,10}}(?:[\w'-]{{1,40}}+[^\w'§-]{{1,5}}+){{0,6}}?(?:{GOOD})")
IN_BRACKETS = lazy_pattern(rf"[^.;(]{{0,80}}\((?:{GOOD}|0 \w+|all pass)")
ALL_OF_THEM = lazy_pattern(rf"§(?:,| and|, and).{{0,20}}(?:both|all)? ?(?:{GOOD})")
MARKED = lazy_pattern(r"^\W*[✅✓✔☑]\W*$")
WAS_RUN = lazy_pattern(
    r"\b(?:ran|re-?ran|executed|i've run|have run|after running|by running|verified (?:with|by|using|via)"
    r"|confirmed (?:with|by|via)|validated with)\b[^.;]*$"
)
"""WENT_WELL, IN_BRACKETS, ALL_OF_THEM, MARKED and WAS_RUN find the result of a command: after it, after it in brackets,
after several commands, and before it."""
WITH_TESTS = lazy_pattern(
    r"\b(lint|type-?check|build)(?:ing)?(?:,? and |, )(?:\w+,? ){0,3}tests?\b"
    r"|\btests?(?:,| and) (?:and )?(lint|type-?check|build)\b",
    re.IGNORECASE,
)
TESTS_TOO = lazy_pattern(rf"\b(?:tests?|lint\w*|type-?check\w*|build)\b{FEW}(?:{GOOD})", re.IGNORECASE)
NOUN = lazy_pattern(
    r"\b(?:a|an|one|final|another|last|first|second|clarity|quick|small|next)(?: [\w/]+){0,2} pass$|\btest pass$"
)
"""Where "pass" is a noun: "a final pass"."""


def in_sentence(sentence: Sentence) -> Iterator[Assertion | None]:
    """The results that a sentence states. None if it says that tests fail, which cancels what was said about tests
    before."""
    if modality.is_aside(sentence.section) or modality.is_question(sentence.text):
        return
    text = PRIVATE.sub("§", sentence.text).replace("’", "'")
    is_told = list(_commands(sentence))
    yield from is_told
    yield from _tests(sentence, text, any(one.kind is Kind.COMMAND for one in is_told))
    yield from _checks(sentence, text)
    yield from _commits(sentence)


# Tests


def _tests(sentence: Sentence, text: str, has_command: bool) -> Iterator[Assertion | None]:
    patterns = (ALL_PASS, COUNT_PASS, EVERYTHING, NO_FAILURE, GOOD_TESTS)
    by = next((pattern for pattern in patterns if _said(pattern, text)), None)
    if by is None:
        failing = FAIL.search(text)
        if failing and not _is_unsure(text.lower(), failing.end()) and "test" in text.lower():
            yield None
        return
    if not ABOUT_TESTS.search(text) or (by is not ALL_PASS and ELSEWHERE.search(text)):
        return
    if has_command and by is not COUNT_PASS and not WHOLE.search(text):
        return
    named = _named_test(sentence)
    if named:
        yield from (sentence.assertion(Kind.TEST, span.text) for span in named)
        return
    counted = COUNT_PASS.search(text)
    if counted and counted[2] and counted[1] != counted[2]:
        yield None
        return
    is_exact = WHOLE.search(text) is not None or not SOME.search(text)
    found = sentence.assertion(Kind.TESTS, "", is_exact=is_exact)
    yield replace(found, count=int(counted[1])) if counted else found


def _said(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first match of a pattern that the agent states as a fact."""
    for found in pattern.finditer(text):
        before = text[: found.start()].lower()
        inside = found.group().lower()
        is_wanted = modality.is_open(before) or WANTED.search(before) is not None
        if is_wanted and not VERIFIED.search(before):
            continue
        if NOUN.search(text[: found.end()].lower()) or "compile" in inside:
            continue
        is_denied = modality.is_denied(before) or modality.is_denied(inside)
        if not is_denied and not modality.is_open(inside) and not modality.is_of_others(before):
            return found
    return None


def _is_unsure(text: str, end: int) -> bool:
    """Whether a failure mentioned before `end` may not exist, or no longer. What follows may explain it."""
    said = text[:end]
    return modality.is_open(said) or modality.is_denied(said) or "previously" in text or "before" in text


def still_fails(sentence: Sentence) -> bool:
    """Whether a sentence says that tests still fail. That overrides every other statement about them."""
    text = sentence.text.lower()
    found = STILL.search(text)
    return found is not None and "test" in text and not _is_unsure(text, found.start())


def _named_test(sentence: Sentence) -> list[Span]:
    found = [sentence.at(letter) for letter in PRIVATE.findall(sentence.text)]
    tests = [span for span in found if span and (span.what is What.TEST or _is_test_file(span))]
    return tests if tests and not WHOLE.search(sentence.text) and len(tests) == len(found) else []


def _is_test_file(span: Span) -> bool:
    name = span.text.rpartition("/")[2]
    return (
        span.what is What.PATH
        and re.search(r"(?:^test_|_test\.|\.test\.|\.spec\.|_spec\.)", name) is not None
    )


# Checks and commands


def _checks(sentence: Sentence, text: str) -> Iterator[Assertion]:
    for name, pattern in CHECKS.items():
        if _said(pattern, text):
            yield sentence.assertion(Kind.CHECK, name)
    if (both := WITH_TESTS.search(text)) and _said(TESTS_TOO, text):
        word = (both[1] or both[2]).lower()
        yield sentence.assertion(Kind.CHECK, "types" if word.startswith("type") else word)


def _commands(sentence: Sentence) -> Iterator[Assertion]:
    """Commands with a result: "Ran `x`", "`x` passes", or the table row "| `x` | passed |"."""
    for found in PRIVATE.finditer(sentence.text):
        span = sentence.at(found.group())
        is_test = span is not None and (span.what is What.TEST or _is_test_file(span))
        if span is None or not (span.what is What.COMMAND or is_test):
            continue
        before = sentence.text[: found.start()].lower()
        after = PRIVATE.sub("§", sentence.text[found.end() :].lower())
        if modality.is_ruled_out(before):
            continue
        own = re.split(r"[.;]|\bbut\b", after)[0]
        is_told = (
            MARKED.search(before)
            or WENT_WELL.match(own)
            or IN_BRACKETS.match(own)
            or ALL_OF_THEM.search(own)
            or WAS_RUN.search(before)
        )
        is_denied = modality.is_denied(own.split(" that ")[0][:60]) or re.search(r"\bfail", own[:80])
        if is_test:
            is_told = WENT_WELL.match(own.partition(",")[0])
        if is_told and not is_denied:
            yield sentence.assertion(Kind.TEST if is_test else Kind.COMMAND, span.text)


# Commits


def _commits(sentence: Sentence) -> Iterator[Assertion]:
    text = sentence.text.lower()
    found = COMMITTED.search(text)
    if found is None or COMMITTED_THEN.search(text):
        return
    before = text[: found.start()]
    if modality.is_ruled_out(before) or (before.strip() and not OWN.search(before)):
        return
    named = [
        span
        for letter in PRIVATE.findall(sentence.text)
        if (span := sentence.at(letter)) and span.what is What.COMMIT
    ]
    bare = re.search(r"\b(?:commit|as) ((?=[a-f]*\d)[0-9a-f]{7,40})\b", text)
    yield sentence.assertion(Kind.COMMIT, named[0].text if named else bare[1] if bare else "")
