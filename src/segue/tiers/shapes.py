"""The shapes that each tier passes, and the fields of a payload that exceed them. Pure.

A name can make a field narrower, never wider: a field called `content` is contents however short it is, and any other
field is contents as soon as it has two lines.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from segue.model import Tier
from segue.tiers.fields import Field

ONE_LINE = 256
"""The most characters of a line: about as long as the title of an issue."""
NAME_WORDS = 3
"""The most words of a name, or of each part of a path; with more it is a sentence."""
IDEOGRAPHS, LETTERS = 4, 8
"""The most letters of a word in scripts without spaces between words: words are shorter in Chinese."""
DEEPEST = 64

BREAKS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
SEPARATORS = re.compile(r"[\W_]+")
CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""The places where a word begins without a separator: gitHistory, GITHistory."""
CONTENT_NAME = re.compile(r"(?:contents?|snippets?|codesamples?|sourcecode)$")
IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
LETTER = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff]")
"""Thai, Lao, Burmese, Khmer, and the two syllabaries of Japanese."""
DESCRIPTIONS = ("description", "summary", "title")
"""Of several sentences in one object, the field with the first of these names is the description."""

Found = tuple[Field, str]
"""A field, and why it exceeds the tier."""


class Rules(Struct, frozen=True):
    """What a tier passes besides fields of one line and lists of names."""

    nested: bool = False
    """Nested objects and lists of any depth."""
    contents: bool = False
    objects: bool = False
    """Flat objects: their fields are values and lists of names."""
    items: bool = False
    """Lists of flat objects."""
    sentences: bool = False
    """Lists of lines, not of names only, and more than one sentence in an object."""


RULES = {
    Tier.FULL: Rules(nested=True, contents=True, objects=True, items=True, sentences=True),
    Tier.SELECTIVE: Rules(contents=True, objects=True, items=True, sentences=True),
    Tier.FILTERED: Rules(items=True, sentences=True),
    Tier.MINIMAL: Rules(),
    Tier.METADATA: Rules(objects=True, items=True),
}


def beyond(payload: Mapping[str, Any], tier: Tier) -> Iterator[Found]:
    """Every field of a payload whose shape a tier does not pass."""
    rules = RULES[tier]
    for key, value in payload.items():
        field = (key,)
        if (problem := _bad_key(key)) is not None:
            yield field, problem
        elif rules.nested:
            yield from _strange(field, value)
        elif isinstance(value, dict):
            if rules.objects:
                yield from _in_object(rules, field, value)
            else:
                yield field, "an object"
        elif isinstance(value, list | tuple):
            yield from _in_list(rules, field, value)
        else:
            yield from _in_value(rules, field, value)


@functools.lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """A normalised name: git_history, gitHistory, GITHistory and 'Git history' become githistory."""
    return SEPARATORS.sub("", unicodedata.normalize("NFKC", name).casefold())


@functools.lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """The normalised words of a name: git and history, of gitHistory or GIT-History."""
    parts = SEPARATORS.split(CAPITAL.sub("_", unicodedata.normalize("NFKC", name)))
    return tuple(folded(part) for part in parts if part)


def is_content(name: str, value: Any) -> bool:
    """Whether a value is contents: by its name, or because it has more than one line."""
    if not isinstance(value, str):
        return False
    return len(value) > ONE_LINE or BREAKS.search(value) is not None or _says_content(name)


@functools.lru_cache(maxsize=4096)
def _says_content(name: str) -> bool:
    return CONTENT_NAME.search(folded(name)) is not None


def is_name(value: Any) -> bool:
    """Whether a value is a name or a number, not a sentence."""
    if not isinstance(value, str) or len(value) > ONE_LINE:
        return not isinstance(value, str)
    return all(sum(map(_count, part.split())) <= NAME_WORDS for part in re.split(r"[/\\]", value))


def _count(word: str) -> float:
    """The number of words in a text without spaces."""
    if word.isascii():
        return 1
    return max(1, len(IDEOGRAPH.findall(word)) / IDEOGRAPHS + len(LETTER.findall(word)) / LETTERS)


def _name_of(field: Field) -> str:
    return next((step for step in reversed(field) if isinstance(step, str)), "")


def _in_value(rules: Rules, field: Field, value: Any) -> Iterator[Found]:
    problem = _no_value(value)
    if problem is not None:
        yield field, problem
    elif not rules.contents and is_content(_name_of(field), value):
        yield field, _content_in_words(value)


def _content_in_words(value: str) -> str:
    if BREAKS.search(value):
        return "contents: a text with line breaks"
    if len(value) > ONE_LINE:
        return f"contents: a text of {len(value):,} characters, more than a line of {ONE_LINE}"
    return "contents, by its name"


def _in_list(rules: Rules, field: Field, values: Any, *, is_inner: bool = False) -> Iterator[Found]:
    """A list that is a field of the payload, or of an object in it."""
    with_objects = rules.items and not is_inner
    with_sentences = rules.contents if is_inner else rules.sentences
    found: list[Found] = []
    whole: dict[str, int] = {}
    for index, value in enumerate(values):
        at = (*field, index)
        if isinstance(value, dict) and with_objects:
            found += _in_object(rules, at, value)
            continue
        problem = _bad_item(rules, at, value, with_sentences)
        if problem is not None:
            found.append((at, problem))
            whole[problem] = whole.get(problem, 0) + 1
    if values and list(whole.values()) == [len(values)]:
        # All of it, for one reason: the list itself does not fit.
        yield field, f"a list of {ITEMS_IN_WORDS.get(next(iter(whole)), next(iter(whole)))}"
    else:
        yield from found


ITEMS_IN_WORDS = {
    "an object in a list": "objects",
    "a list in a list": "lists",
    "a sentence instead of a name": "sentences",
}


def _bad_item(rules: Rules, field: Field, value: Any, with_sentences: bool) -> str | None:
    if isinstance(value, dict):
        return "an object in a list"
    if isinstance(value, list | tuple):
        return "a list in a list"
    for _field, problem in _in_value(rules, field, value):
        return problem
    return None if with_sentences or is_name(value) else "a sentence instead of a name"


def _in_object(rules: Rules, field: Field, value: Mapping[Any, Any]) -> Iterator[Found]:
    sentences = []
    for key, inner in value.items():
        at = (*field, key)
        if (problem := _bad_key(key)) is not None:
            yield at, problem
        elif isinstance(inner, dict):
            yield at, "an object in an object"
        elif isinstance(inner, list | tuple):
            yield from _in_list(rules, at, inner, is_inner=True)
        else:
            found = list(_in_value(rules, at, inner))
            yield from found
            if not found and not is_name(inner):
                sentences.append(key)
    if not rules.sentences and len(sentences) > 1:
        described = min(sentences, key=_rank)
        yield from (((*field, key), "a second description") for key in sentences if key != described)


def _rank(key: str) -> int:
    return DESCRIPTIONS.index(folded(key)) if folded(key) in DESCRIPTIONS else len(DESCRIPTIONS)


def _bad_key(key: Any) -> str | None:
    if not isinstance(key, str):
        return "a name that is not text"
    return "contents instead of a name" if len(key) > ONE_LINE or BREAKS.search(key) else None


def _no_value(value: Any) -> str | None:
    if isinstance(value, int | float) and not abs(value) < (2**63 if isinstance(value, int) else math.inf):
        return "a number that documents cannot contain"
    is_known = value is None or isinstance(value, str | int | float)
    return None if is_known else f"a {type(value).__name__}, which no document can contain"


def _strange(field: Field, value: Any) -> Iterator[Found]:
    """Values that no document can contain, at any depth."""
    if len(field) > DEEPEST:
        yield field, f"nested more than {DEEPEST} deep"
    elif isinstance(value, dict):
        for key, inner in value.items():
            at = (*field, key)
            if (problem := _bad_key(key)) is not None:
                yield at, problem
            else:
                yield from _strange(at, inner)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _strange((*field, index), inner)
    elif (problem := _no_value(value)) is not None:
        yield field, problem
