"""Grading of a receiver's reply: the answers in it, and which of the known items each one names. Pure.

A reply comes from a model, so it may be anything: prose around it, a code fence, other quotes, the wrong types, ten
megabytes. What cannot be parsed is no answer. Nothing in it is obeyed, and no pattern here takes more than linear
time.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from segue.base.fence import MARK
from segue.base.lazy_regex import lazy_pattern
from segue.facts import constraints

LONGEST_REPLY = 1_000_000
"""No honest answer is longer."""
LONGEST_ITEM = 20_000
LONGEST_NUMBER = 3
MOST_ITEMS = 200
"""A longer list says everything, and so nothing."""
MOST_PIECES = 300
"""The same for lines, and for names on a line."""
MOST_TRIES = 20
"""At most this many objects of a reply are tried, the last first."""

OBJECT = lazy_pattern(r'\{\s{0,200}"\s{0,3}answers\s{0,3}"\s{0,20}:', re.IGNORECASE)
BARE = lazy_pattern(r'\{\s{0,200}"\s{0,3}\d{1,3}\s{0,3}"\s{0,20}:')
"""The answers alone, or those of an object that was cut off."""
QUOTES = dict.fromkeys(map(ord, "“”„‟«»"), '"')

# Parsing


def answers_in(reply: str) -> dict[str, tuple[str, ...]]:
    """The answers by the number of the question, from the last object that can be parsed."""
    if len(reply) > LONGEST_REPLY:
        return {}
    texts = (reply, reply.translate(QUOTES))
    for pattern, text in ((pattern, text) for text in texts for pattern in (OBJECT, BARE)):
        starts = [found.start() for found in pattern.finditer(text)]
        for start in reversed(starts[-MOST_TRIES:]):
            if answers := _answers_at(text, start):
                return answers
    return {}


def _answers_at(text: str, start: int) -> dict[str, tuple[str, ...]]:
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return {}
    inner = {key.strip().lower(): part for key, part in value.items()}
    given = inner.get("answers", inner)
    if not isinstance(given, dict):
        return {}
    read = ((key.strip(), _items(part)) for key, part in given.items())
    return {
        str(int(key)): items
        for key, items in read
        if key.isdecimal() and len(key) <= LONGEST_NUMBER and items is not None
    }


def _items(value: Any) -> tuple[str, ...] | None:
    """The items of one answer; None if its type has no text."""
    if isinstance(value, list):
        said = [_item(part) for part in value] if len(value) <= MOST_ITEMS else [None]
        return tuple(part for part in said if part is not None) if any(said) or not value else None
    item = _item(value)
    return None if item is None else (item,)


def _item(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    # A lone surrogate cannot be stored.
    text = str(value)[:LONGEST_ITEM].encode(errors="replace").decode()
    return text if any(char.isalnum() for char in text) else None


# Comparison

GRAM = 4
SHARE = 0.75
"""This share of the four-word runs of a sentence must be there; of a shorter one, all its words."""
ROOM = 200
"""At most this many characters around a name: a remark after it."""
ROOM_WORDS = 12
"""At most this many words around a sentence."""
ROOM_MESSAGE = 60
"""The same for a user's sentence: the rest of their message."""
KNOWN = 0.9
"""From this share on, all of a text is known."""
KEPT = 2048
CLOSE = 3
BULLET = lazy_pattern(r"^\s*(?:[-*•>]{1,3}|\[\d{1,4}\]|\d{1,3}[.)])\s+")
DROPPED = lazy_pattern(r'["“”„‟«»‹›`*]+')
APOSTROPHE = str.maketrans("‘’ʼ´", "''''")
WORD = lazy_pattern(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
    r"|[^\W_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
"""In scripts without spaces, every letter is a word."""
NAME = lazy_pattern(r"[\d_/]|\w\.\w")
HEX = lazy_pattern(r"(?<![\w])[0-9a-f]{7,64}(?![\w])")
MOST_SPOTS = 50
SHORTEST_END = 3

SENTENCES = ("constraint", "error", "next step", "todo", "question")

Names = Callable[[str, Sequence[str]], set[str]]


class Judged(Struct, frozen=True):
    """The known items that an answer names, and what else it says."""

    named: set[str]
    wrong: list[str]


@functools.lru_cache(maxsize=KEPT)
def plain(text: str) -> str:
    """A text normalised for comparison: no bullet, quotes or fence marks, lower case, single spaces."""
    text = BULLET.sub("", BULLET.sub("", text.casefold().translate(APOSTROPHE), count=1), count=1)
    return " ".join(DROPPED.sub(" ", text.replace(MARK, "")).split())


@functools.lru_cache(maxsize=KEPT)
def words(text: str) -> tuple[str, ...]:
    return tuple(WORD.findall(plain(text)))


def judged_all(items: Sequence[str], known: Sequence[str], kind: str) -> Judged:
    """All items of one answer, up to a limit."""
    if sum(len(_pieces(item, kind)) for item in items) > MOST_PIECES:
        return Judged(set(), list(items))
    each = [judged(item, known, kind) for item in items]
    return Judged({name for one in each for name in one.named}, [text for one in each for text in one.wrong])


def judged(item: str, known: Sequence[str], kind: str) -> Judged:
    """One item: line by line, or as a whole if no line says anything."""
    names = NAMES.get(kind, says)
    pieces = _pieces(item, kind)
    named: set[str] = set()
    wrong = []
    for piece in pieces:
        found = names(piece, known)
        named |= found
        if not found and not (kind in SENTENCES and is_within(piece, known)):
            wrong.append(piece)
    if not named and len(pieces) > 1 and (found := names(item, known)):
        return Judged(found, [])
    return Judged(named, wrong)


def _pieces(item: str, kind: str) -> list[str]:
    lines = [line for line in item.splitlines() if any(char.isalnum() for char in line)]
    return [piece for line in lines for piece in _listed(line)] if kind in ("file", "test") else lines


def _listed(line: str) -> list[str]:
    """The names of a list on one line; a line with anything else stays whole."""
    parts = [part for part in re.split(r"[,;]\s", line) if part.strip()]
    return parts if all(len(part.split()) == 1 for part in parts) else [line]


# Sentences


def says(text: str, known: Sequence[str], room: int = ROOM_WORDS) -> set[str]:
    """The known sentences that a text repeats, in their words and order. A message may surround them if it is short
    or all of it is known: saying everything is saying nothing."""
    said, run = words(text), _run(text)
    there = {one for one in known if words(one) and _run(one) in run}
    is_known = sum(len(words(one)) for one in there) >= KNOWN * len(said)
    whole = {
        one
        for one in there
        if (is_known or len(said) <= len(words(one)) + room) and _stands_alone(one, run, there)
    }
    return whole or _nearly(text, [one for one in known if len(said) <= len(words(one)) + room])


def _nearly(text: str, known: Sequence[str]) -> set[str]:
    """The one sentence that a text repeats except for a slip. Only one: two that differ in a name are almost equal."""
    grams = _grams(text)
    shares = {
        one: len(_grams(one) & grams) / len(_grams(one))
        for one in known
        if len(words(one)) > GRAM and len(grams) >= SHARE * len(_grams(one))
    }
    best = max(shares, key=lambda one: shares[one], default="")
    return {best} if shares.get(best, 0) >= SHARE and _means(text, best) else set()


def says_bound(text: str, known: Sequence[str]) -> set[str]:
    """The same for constraints: the rest of the user's message may surround them."""
    return says(text, known, ROOM_MESSAGE)


def _stands_alone(one: str, run: str, others: set[str]) -> bool:
    """Whether a sentence occurs in a text outside longer known sentences."""
    own = _run(one)
    longer = [_run(other) for other in others if own in _run(other) != own]
    return run.count(own) > sum(run.count(other) * other.count(own) for other in longer)


@functools.lru_cache(maxsize=KEPT)
def _run(text: str) -> str:
    """The words in a row, each with spaces of its own, so that they can be counted."""
    return f" {'  '.join(words(text))} "


@functools.lru_cache(maxsize=KEPT)
def _grams(text: str) -> frozenset[tuple[str, ...]]:
    said = words(text)
    return frozenset(said[at : at + GRAM] for at in range(len(said) - GRAM + 1))


def _means(text: str, sentence: str) -> bool:
    """Whether the text kept every 'not', 'never', 'must', path, number and name, and added no 'not', 'never' or
    'must'."""
    said, wanted = plain(text), plain(sentence)
    firm = constraints.FIRM.findall(wanted)
    named = (token.strip(".,:;!?'()") for token in wanted.split() if NAME.search(token))
    if any(said.count(word) < wanted.count(word) for word in (*firm, *named)):
        return False
    is_close = len(words(text)) <= len(words(sentence)) + CLOSE
    return not is_close or sorted(constraints.FIRM.findall(said)) == sorted(firm)


def is_within(text: str, known: Sequence[str]) -> bool:
    """Whether all of a text is part of a known one."""
    return bool(words(text)) and any(_run(text) in _run(one) for one in known)


# Names


def _paths(text: str, known: Sequence[str]) -> set[str]:
    """The files that a text names: by the whole path, an absolute path, or a unique end of the path."""
    return _named(text, known, _is_path_at, "/\\")


def _tests(text: str, known: Sequence[str]) -> set[str]:
    """The tests that a text names: in full, or by a unique end of the name."""
    return _named(text, known, _is_word_at, "/\\:.>›#([ ")


def _branches(text: str, known: Sequence[str]) -> set[str]:
    text = plain(text)
    return {
        name for name in known if len(text) <= len(name) + ROOM and _is_at(text, plain(name), _is_path_at)
    }


def _commits(text: str, known: Sequence[str]) -> set[str]:
    """The commit that a text names: seven digits of its hash are enough."""
    text = plain(text)
    hashes = set(HEX.findall(text)) if len(text) <= 2 * ROOM else set()
    if not hashes:
        return {one for one in known if plain(one) == text}

    def is_it(name: str) -> bool:
        return all(one.startswith(name) or name.startswith(one) for one in hashes)

    return {one for one in known if HEX.fullmatch(plain(one)) and is_it(plain(one))}


def _commands(text: str, known: Sequence[str]) -> set[str]:
    """The commands that a text begins with, or contains with little else."""
    said = plain(text)
    begins = {one for one in known if said.startswith(plain(one)) and _is_word_at(said, 0, len(plain(one)))}
    return begins or says(text, known)


IsAt = Callable[[str, int, int], bool]


def _named(text: str, known: Sequence[str], is_at: IsAt, joints: str) -> set[str]:
    names = {name for name in map(plain, known) if name}
    text = plain(text) if plain(text).startswith(tuple(names)) else _bare(plain(text))
    first = max(
        (one for one in names if text.startswith(one) and is_at(text, 0, len(one))), key=len, default=""
    )
    # After a name comes its earlier name, or a remark too long to be allowed.
    text = first + text[len(first) :].partition(" (")[0] if first else text
    found = {text} & names or {first} - {""}
    found |= {name for name in names if len(text) <= len(name) + ROOM and _is_at(text, name, is_at)}
    # 'a.py' is not named by 'src/a.py'.
    found = {name for name in found if not any(name != other and name in other for other in found)}
    for end in dict.fromkeys((text, _bare(text.partition(" ")[0]))):
        if not found:
            ends = {name for name in names if _is_end(end, name, joints)}
            found = ends if len(ends) == 1 else found
    return {one for one in known if plain(one) in found}


def _bare(text: str) -> str:
    return text.lstrip(" '(,:;").rstrip(" '),:;.")


def _is_at(text: str, name: str, is_at: IsAt) -> bool:
    return any(is_at(text, at, at + len(name)) for at in _spots(text, name))


def _spots(text: str, name: str) -> Iterator[int]:
    at = text.find(name) if name else -1
    for _ in range(MOST_SPOTS):
        if at < 0:
            return
        yield at
        at = text.find(name, at + 1)


def _is_word_at(text: str, start: int, end: int) -> bool:
    """Whether the match is a whole word."""
    around = (text[start - 1] if start else "") + text[end : end + 1]
    return not any(char.isalnum() or char == "_" for char in around)


def _is_path_at(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1] if start else "", text[end : end + 2]
    if before == "/":
        # Below a folder it is the same file only if the path is relative to its root or is more than a name.
        root = text[:start].split()[-1].lstrip("'(")
        if not root.startswith(("/", "./", "~")) and root[1:2] != ":" and "/" not in text[start:end]:
            return False
    elif before.isalnum() or before in ("_", "-", "."):
        return False
    if after[:1] == "." and after[1:].isalnum():
        return False
    return not (after[:1].isalnum() or after[:1] in ("_", "-", "/"))


def _is_end(end: str, name: str, joints: str) -> bool:
    """Whether a text is the last part of a name: of a path, or of a test within its file or class."""
    is_part = SHORTEST_END <= len(end) < len(name) and name.endswith(end)
    return is_part and name[-len(end) - 1] in joints


NAMES: dict[str, Names] = {
    "constraint": says_bound,
    "file": _paths,
    "test": _tests,
    "commit": _commits,
    "branch": _branches,
    "command": _commands,
}
"""How an answer names an item of each kind; all other kinds are sentences."""
