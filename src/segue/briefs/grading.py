"""What a receiver said when it was asked: the answers in its reply, and which of the known things each one names. Pure.

A reply comes from a model, so it may be anything: prose around it, a code fence, other quotes, the wrong types, ten
megabytes. What cannot be read is no answer. Nothing in it is obeyed, and no pattern here takes more than linear time.
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
"""The same of lines, and of names that stand in one."""
MOST_TRIES = 20
"""How many objects of a reply are tried, the last first."""

OBJECT = lazy_pattern(r'\{\s{0,200}"\s{0,3}answers\s{0,3}"\s{0,20}:', re.IGNORECASE)
BARE = lazy_pattern(r'\{\s{0,200}"\s{0,3}\d{1,3}\s{0,3}"\s{0,20}:')
"""The answers alone, or those of an object that was cut off."""
QUOTES = dict.fromkeys(map(ord, "“”„‟«»"), '"')

# Reading


def answers_in(reply: str) -> dict[str, tuple[str, ...]]:
    """The answers by the number of the question. Of several objects the last one counts that can be read."""
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
    """What was said in answer to one question; None if it is of no type that says anything."""
    if isinstance(value, list):
        said = [_item(part) for part in value] if len(value) <= MOST_ITEMS else [None]
        return tuple(part for part in said if part is not None) if any(said) or not value else None
    item = _item(value)
    return None if item is None else (item,)


def _item(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    # Half of a surrogate pair cannot be kept.
    text = str(value)[:LONGEST_ITEM].encode(errors="replace").decode()
    return text if any(char.isalnum() for char in text) else None


# Comparing

GRAM = 4
SHARE = 0.75
"""How many of the runs of four words of a sentence must be there; of a shorter one, all its words."""
ROOM = 200
"""How many characters may stand around a name: a remark behind it."""
ROOM_WORDS = 12
"""How many words may stand around a sentence."""
ROOM_MESSAGE = 60
"""The same where it is a person's: their message."""
KNOWN = 0.9
"""From this share on all of a text is known."""
KEPT = 2048
CLOSE = 3
BULLET = lazy_pattern(r"^\s*(?:[-*•>]{1,3}|\[\d{1,4}\]|\d{1,3}[.)])\s+")
DROPPED = lazy_pattern(r'["“”„‟«»‹›`*]+')
APOSTROPHE = str.maketrans("‘’ʼ´", "''''")
WORD = lazy_pattern(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
    r"|[^\W_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
"""Of scripts without spaces every letter is one."""
NAME = lazy_pattern(r"[\d_/]|\w\.\w")
HEX = lazy_pattern(r"(?<![\w])[0-9a-f]{7,64}(?![\w])")
MOST_SPOTS = 50
SHORTEST_END = 3

SENTENCES = ("constraint", "error", "next step", "todo", "question")

Names = Callable[[str, Sequence[str]], set[str]]


class Judged(Struct, frozen=True):
    """What an answer names of what is known, and what else it says."""

    named: set[str]
    wrong: list[str]


@functools.lru_cache(maxsize=KEPT)
def plain(text: str) -> str:
    """A text as it is compared: no bullet, no quotes, no marks of a fence, one case, one space between words."""
    text = BULLET.sub("", BULLET.sub("", text.casefold().translate(APOSTROPHE), count=1), count=1)
    return " ".join(DROPPED.sub(" ", text.replace(MARK, "")).split())


@functools.lru_cache(maxsize=KEPT)
def words(text: str) -> tuple[str, ...]:
    return tuple(WORD.findall(plain(text)))


def judged_all(items: Sequence[str], known: Sequence[str], kind: str) -> Judged:
    """Everything that was said in answer to one question; too much of it is not looked at."""
    if sum(len(_pieces(item, kind)) for item in items) > MOST_PIECES:
        return Judged(set(), list(items))
    each = [judged(item, known, kind) for item in items]
    return Judged({name for one in each for name in one.named}, [text for one in each for text in one.wrong])


def judged(item: str, known: Sequence[str], kind: str) -> Judged:
    """One answer: line by line, or as a whole where no line says anything."""
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
    """The names of a list on one line; a line that is more than names stays whole."""
    parts = [part for part in re.split(r"[,;]\s", line) if part.strip()]
    return parts if all(len(part.split()) == 1 for part in parts) else [line]


# Sentences


def says(text: str, known: Sequence[str], room: int = ROOM_WORDS) -> set[str]:
    """The known sentences that a text says, in their words and order. It may be a message around them, if that is
    short or all of it is known: whoever says everything says nothing."""
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
    """The one sentence that a text says but for a slip. Only one: two that differ in a name are nearly each other."""
    grams = _grams(text)
    shares = {
        one: len(_grams(one) & grams) / len(_grams(one))
        for one in known
        if len(words(one)) > GRAM and len(grams) >= SHARE * len(_grams(one))
    }
    best = max(shares, key=lambda one: shares[one], default="")
    return {best} if shares.get(best, 0) >= SHARE and _means(text, best) else set()


def says_bound(text: str, known: Sequence[str]) -> set[str]:
    """The same of what binds: it may stand in the message that it was said in."""
    return says(text, known, ROOM_MESSAGE)


def _stands_alone(one: str, run: str, others: set[str]) -> bool:
    """Whether a sentence stands in a text elsewhere than within longer ones that are known as well."""
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
    """Whether no 'not', 'never' or 'must' was lost on the way, nor one added, and no path, number or name."""
    said, wanted = plain(text), plain(sentence)
    firm = constraints.FIRM.findall(wanted)
    named = (token.strip(".,:;!?'()") for token in wanted.split() if NAME.search(token))
    if any(said.count(word) < wanted.count(word) for word in (*firm, *named)):
        return False
    is_close = len(words(text)) <= len(words(sentence)) + CLOSE
    return not is_close or sorted(constraints.FIRM.findall(said)) == sorted(firm)


def is_within(text: str, known: Sequence[str]) -> bool:
    """Whether all of a text stands in one that is known."""
    return bool(words(text)) and any(_run(text) in _run(one) for one in known)


# Names


def _paths(text: str, known: Sequence[str]) -> set[str]:
    """The files that a text names: by their whole path, by an absolute one, or by an end of it that no other has."""
    return _named(text, known, _is_path_at, "/\\")


def _tests(text: str, known: Sequence[str]) -> set[str]:
    """The tests that a text names: in full, or by an end of the name that no other has."""
    return _named(text, known, _is_word_at, "/\\:.>›#([ ")


def _branches(text: str, known: Sequence[str]) -> set[str]:
    text = plain(text)
    return {
        name for name in known if len(text) <= len(name) + ROOM and _is_at(text, plain(name), _is_path_at)
    }


def _commits(text: str, known: Sequence[str]) -> set[str]:
    """The commit of a text that names one: seven letters of its hash are enough."""
    text = plain(text)
    hashes = set(HEX.findall(text)) if len(text) <= 2 * ROOM else set()
    if not hashes:
        return {one for one in known if plain(one) == text}

    def is_it(name: str) -> bool:
        return all(one.startswith(name) or name.startswith(one) for one in hashes)

    return {one for one in known if HEX.fullmatch(plain(one)) and is_it(plain(one))}


def _commands(text: str, known: Sequence[str]) -> set[str]:
    """The commands that a text begins with, or holds with little else."""
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
    # Behind a name stands how it was called before, or more than there is room for.
    text = first + text[len(first) :].partition(" (")[0] if first else text
    found = {text} & names or {first} - {""}
    found |= {name for name in names if len(text) <= len(name) + ROOM and _is_at(text, name, is_at)}
    # 'a.py' is not named where 'src/a.py' is.
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
    """Whether what stands there begins and ends there."""
    around = (text[start - 1] if start else "") + text[end : end + 1]
    return not any(char.isalnum() or char == "_" for char in around)


def _is_path_at(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1] if start else "", text[end : end + 2]
    if before == "/":
        # Below a folder it is the same file only if the path is told from its root on, or is more than a name.
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
"""How an answer names something; what is not here is said in sentences."""
