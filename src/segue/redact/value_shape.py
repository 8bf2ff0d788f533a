"""The shape of a value: machine-made, a stand-in, or plain words. Pure.

Names show where a secret may be; these functions decide whether there is one. All work on text without spaces, in
time proportional to its length.
"""

from __future__ import annotations

import re
from itertools import pairwise
from string import ascii_lowercase

from segue.base.lazy_regex import lazy_pattern

STAND_IN = lazy_pattern(
    r"\.{3}|…|\*{3}|x{5}|•{3}|<[a-z_ -]+>?|[$%#]\{|\$\(|\{\{|%\(|@@|&lt;|^\$[A-Z_]{3}|^ENC[\[(]|your|example"
    r"|placeholder|my[_-]?(?:api|secret|token|password|key)|change[_-]?(?:me|it|this)|redacted|dummy|replace|insert|to-?do"
    r"|removed|masked|sample|fixme|goes[_-]?here|foo_?bar|lorem|deadbeef|abcdef|012345|123456789|fake|not[_-]?(?:a[_-]?)?real",
    re.IGNORECASE,
)
"""What people write in place of a secret, anywhere in a value."""
VARIABLE = lazy_pattern(
    r"\$\w+|%\w+%?|\{[\w.]+\}|#\{\w+\}|[:!@#][A-Za-z_]+|\?|(?:process\.env|os\.environ|import\.meta|env|vars|secrets"
    r"|config|settings|self|this|props|args|options|params|request|req|ctx|data|local|module|each|input|output)\.[\w.$]+",
    re.IGNORECASE,
)
UUID = lazy_pattern(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
NUMBER = lazy_pattern(r"[+-]?[\d.,:/TZ_-]+[a-zA-Z%]{0,3}")
"""A count, a size, a date, a version."""
NAME = r"(?:[_$]*[A-Z]?[a-z]+(?:_[a-z]+|_?[A-Z][a-z]+)*|[A-Z]+(?:_[A-Z]+)*)\d{0,2}"
CODE = lazy_pattern(rf"{NAME}(?:(?:\.|::|->|\?\.){NAME})*")
"""A dotted name: config.database.password."""
DIGIT = lazy_pattern(r"\d")
SIGN = lazy_pattern(r"[\d!@#$%^&*+=?~]")
LETTERS = lazy_pattern(r"[A-Za-z][^A-Za-z]*[A-Za-z]")
MARK = lazy_pattern(r"[!@#$%^&*+=?~]")
SHUFFLED = lazy_pattern(r"[A-Za-z]\d+[A-Za-z]+\d")
"""Letters, digits, letters, digits: no name has that."""
FILE = lazy_pattern(r"(?:\.{0,2}/)?[\w@.+-]+(?:/[\w@.+-]*)+|[\w-]+\.[a-z]{1,5}(?::\d+){0,2}|~/\S+")
WORDS = lazy_pattern(r"[A-Za-z]+(?:[-_. ][A-Za-z]+)*\??")
SLUG_PART = r"(?:[A-Za-z]+\d{0,4}|\d{1,4}|[A-Za-z]\d+[a-z])"
SLUG = lazy_pattern(rf"{SLUG_PART}(?:[-_.]{SLUG_PART}){{2,}}")
PART = lazy_pattern(r"[A-Za-z0-9+]{10,}")
KINDS = {
    **dict.fromkeys(range(128), "l"),
    **dict.fromkeys(range(ord("0"), ord("9") + 1), "d"),
    **dict.fromkeys(range(ord("A"), ord("Z") + 1), "u"),
}
FEWEST_DISTINCT = 6
FOLLOWERS = (
    "abcdefgiklmnprstuvwxy abcdeijlorstuy acdefhiklmoprstuy abcdefgilorstu abcdefghiklmnopqrstuvwxy "
    "acdefilorstuy aeghilmnorsu aeilorstu abcdefgklmnoprstvxz aeosu aeilos acdeiklnopstuvy abdeilmopstuv "
    "acdefgiklnoprstuvy abcdefgijklmnoprstuvwx acdehiloprstuy u abcdefgiklmnoprstuvy acdefhiklmnopstuwy "
    "acdefhilmoprstuwy abcdefgilmnprst aeimo aehinors ceipt aceilmnpst aei"
)
"""For each letter from a to z, the letters that follow it in 20 or more of the 10,000 commonest words of prose and
code."""
PAIRS = frozenset(
    first + second for first, row in zip(ascii_lowercase, FOLLOWERS.split(" "), strict=True) for second in row
)
HUMP = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[A-Z]")
"""A word within a name."""


def is_dummy(value: str) -> bool:
    """A stand-in, or the same few characters over and over."""
    return len(set(value)) < FEWEST_DISTINCT or STAND_IN.search(value) is not None


def is_random(value: str, least: int = 16) -> bool:
    """Whether a machine made it: letters, digits and cases change more often than in any name."""
    if len(value) < least or not any(map(_is_random_part, PART.findall(value[:512]))):
        return False
    return not (is_dummy(value) or NUMBER.fullmatch(value) or UUID.fullmatch(value))


def _is_random_part(part: str) -> bool:
    kinds = part.translate(KINDS)
    changes = _changes(kinds)
    if len(set(part)) < FEWEST_DISTINCT:
        return False
    if "u" in kinds and "l" in kinds:
        return changes >= 0.24 if "d" in kinds else changes >= 0.28 and len(part) >= 20
    return "d" in kinds and kinds.count("dl") + kinds.count("du") >= 2 and changes >= 0.2


def _changes(kinds: str) -> float:
    """The number of changes between small letters, capitals and digits. A capital before a small letter starts a word
    in any name, so it does not count."""
    return sum(map(kinds.count, ("ld", "lu", "dl", "du", "ud"))) / len(kinds)


def is_base64(value: str) -> bool:
    """Whether it is bytes in base64, and not words or hex with the same characters."""
    has_all = all(any(map(test, value)) for test in (str.isupper, str.islower, str.isdigit))
    return (has_all and _changes(value.translate(KINDS)) >= 0.15) or (
        not (value.islower() or value.isupper()) and is_gibberish(value)
    )


def is_plain(value: str) -> bool:
    """A word, a name in code, a number, a path: nothing to hide."""
    return bool(
        WORDS.fullmatch(value)
        or NUMBER.fullmatch(value)
        or VARIABLE.fullmatch(value)
        or FILE.fullmatch(value)
        or "://" in value
        or CODE.fullmatch(value)
        or SLUG.fullmatch(value)
    )


def is_made_up(value: str) -> bool:
    """Typed to be hard to guess: letters with digits or signs between them, and not plain."""
    if is_dummy(value):
        return False
    if is_plain(value):
        return is_random(value) or _is_odd(value) or SHUFFLED.search(value) is not None
    return LETTERS.search(value) is not None and SIGN.search(value) is not None


def _is_odd(value: str) -> bool:
    """Letters alone, whose cases change as in no name."""
    kinds = value.translate(KINDS)
    return len(value) >= 8 and value.isalpha() and kinds.count("lu") + kinds.count("ul") >= 0.4 * len(value)


def is_gibberish(value: str) -> bool:
    """Letters, perhaps with digits between them, that form no words: unusual pairs, or humps of a letter or two."""
    if not (value.isascii() and value.isalnum()) or is_dummy(value):
        return False
    humps = [hump.lower() for hump in HUMP.findall(value)]
    letters = sum(map(len, humps))
    odd = sum(len(hump) < 3 for hump in humps)
    odd += sum(pair not in PAIRS for hump in humps for pair in map("".join, pairwise(hump)))
    return letters >= 12 and odd >= 0.25 * letters


def is_strong(value: str) -> bool:
    """Whether it is clearly a secret even where anything may be."""
    if len(value) < 8 or is_dummy(value) or FILE.fullmatch(value) or UUID.fullmatch(value) or "://" in value:
        return False
    is_mixed = DIGIT.search(value) and MARK.search(value) and is_made_up(value)
    return bool(is_mixed or is_random(value, 8) or is_gibberish(value) or SHUFFLED.search(value))


def is_distinctive(value: str) -> bool:
    """Whether it can hardly occur in a text by chance: then it is the secret wherever it occurs."""
    return len(value) >= 8 and (is_made_up(value) or is_gibberish(value))


JOINED = lazy_pattern(r"\w[-_ ./+]\w")


def is_telling(value: str) -> bool:
    """Whether a secret can be recognised away from its place: no plain word can, several words in one can, digits
    alone cannot."""
    if len(value) < 8 or is_dummy(value):
        return False
    is_compound = len(value) >= 16 and value.isalpha() and len(HUMP.findall(value)) > 2
    is_joined = not value.isascii() or value.isdigit() or JOINED.search(value) is not None
    return is_compound or is_joined or is_distinctive(value)
