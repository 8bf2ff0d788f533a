"""All rules, in rounds until nothing more is found: so a second pass over the result finds nothing either.

Before each round, earlier hits are masked exactly as their placeholders would look. The time is proportional to the
text: a run of characters is judged once however often it occurs, stretches do not overlap, and no rule looks further
than a fixed distance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from segue.redact import (
    betterleaks,
    context_rules,
    encodings,
    name_rules,
    pair_rules,
    value_shape,
    vendor_rules,
)
from segue.redact.view import FILLER, Hit, merged, painted, view_of, without_escapes

IN_RUNS = re.compile(rb"[A-Za-z0-9_+/=.:~%-]")
CLASSES = bytes(97 if IN_RUNS.match(bytes([code])) else 10 for code in range(256))
"""Every character as one of two, in a run or not, so that a run is found as fast as a byte."""
SHORTEST = b"a" * vendor_rules.SHORTEST
DEPTH = 2
"""Encodings inside encodings are decoded up to this depth."""
PATIENCE, END_OF_PATIENCE = 6, 9
"""After this many rounds whole lines are removed, and then everything: only a hostile text gets there."""
MOST_SPREAD = 64
"""At most this many secrets are searched in the whole text: each costs a search."""
BEFORE, AFTER = 100, 40
"""The library sees this much around a run."""
EDGE = re.compile(f"[\n{FILLER}]")
UNPRINTABLE = re.compile(r"[^\t\r -~]")
HEX_ONLY = re.compile(r"[0-9a-fA-F:_-]+")

Judge = Callable[[str], bool]


def find_all(text: str, is_allowed: Judge) -> list[Hit]:
    """Every secret of a text, in order and not overlapping."""
    whole = view_of(text)
    search = Search(is_allowed)
    found: list[Hit] = []
    for round in range(END_OF_PATIENCE + 1):
        now = painted(whole, found)
        hits = merged(search.find(now.view, 0) or search.second_opinion(now.view))
        if not hits:
            break
        if round >= PATIENCE:
            hits = merged(_widened(now.view, hit, is_all=round >= END_OF_PATIENCE) for hit in hits)
        hits = merged([*hits, *_spread(now.view, hits)])
        found = merged([*found, *(_in_own_letters(text, now.origin(hit)) for hit in hits)])
    return found


def _in_own_letters(text: str, hit: Hit) -> Hit:
    """The view shows non-ASCII characters as question marks."""
    own = text[hit.start : hit.end]
    return hit if own.isascii() else hit._replace(secret=own)


def _widened(view: str, hit: Hit, *, is_all: bool) -> Hit:
    start = 0 if is_all else view.rfind("\n", 0, hit.start) + 1
    end = len(view) if is_all else view.find("\n", hit.end)
    return hit._replace(start=start, end=end if end >= 0 else len(view), encoding="plain")


def _spread(view: str, hits: list[Hit]) -> Iterator[Hit]:
    """The same secrets wherever else they occur."""
    secrets = {hit.secret: hit.kind for hit in hits if value_shape.is_distinctive(hit.secret)}
    for secret, kind in list(secrets.items())[:MOST_SPREAD]:
        at = view.find(secret)
        while at >= 0:
            if stands_at(view, at, secret):
                yield Hit(at, at + len(secret), kind, secret)
            at = view.find(secret, at + len(secret))


def stands_at(text: str, at: int, secret: str) -> bool:
    """Whether this secret begins here, and not as part of a longer word."""
    if not text.startswith(secret, at):
        return False
    end = at + len(secret)
    around = text[at - 1 : at] + text[end : end + 1] if at else text[end : end + 1]
    is_long = len(secret) >= 16 and (not secret.isalpha() or value_shape.is_gibberish(secret))
    return is_long or not any(map(str.isalnum, around))


class Search:
    """The search of one text, with what was already judged."""

    def __init__(self, is_allowed: Judge) -> None:
        self._is_allowed = is_allowed
        self._seen: list[set[str]] = [set() for _ in range(DEPTH + 1)]
        self._in_run: list[dict[str, list[Hit]]] = [{} for _ in range(DEPTH + 1)]
        self._last: tuple[str, list[tuple[int, int]]] = ("", [])
        self._asked: dict[str, tuple[betterleaks.Answer, ...]] = {}

    def find(self, view: str, depth: int) -> list[Hit]:
        """Hits of our own rules."""
        low = view.lower()
        hits = list(self._in_runs(view, depth))
        hits += [hit for rules in (context_rules, name_rules, pair_rules) for hit in rules.find(view, low)]
        if depth < DEPTH:
            hits += encodings.unescaped(
                view, lambda inner: merged(self.find(without_escapes(inner), depth + 1))
            )
        return [hit for hit in hits if not self._is_allowed(hit.secret)]

    def _inside(self, text: str, depth: int) -> list[Hit]:
        return merged(self.find(view_of(text), depth + 1))

    def _in_runs(self, view: str, depth: int) -> Iterator[Hit]:
        places = self._places(view, depth)
        hits = self._of_runs({view[a:b] for a, b in places}, depth)
        for start, end in places if hits else ():
            for hit in hits.get(view[start:end], ()):
                yield hit._replace(start=hit.start + start, end=hit.end + start)
        for start, end, whole in encodings.wrapped(view, places) if depth < DEPTH else ():
            for hit in encodings.unwrapped(whole, lambda inner: self._inside(inner, depth))[:1]:
                yield hit._replace(start=start, end=end)

    def _places(self, view: str, depth: int) -> list[tuple[int, int]]:
        if view is self._last[0]:
            return self._last[1]
        places = list(_runs(view))
        if depth == 0:
            # The second opinion needs them again.
            self._last = (view, places)
        return places

    def _of_runs(self, runs: set[str], depth: int) -> dict[str, list[Hit]]:
        """Hits in runs of characters, wherever they occur."""
        known, hits = self._seen[depth], self._in_run[depth]
        new = sorted(runs - known)
        for run, start, end, kind in vendor_rules.find(new):
            hits.setdefault(run, []).append(Hit(start, end, kind, run[start:end]))
        for run in new if depth < DEPTH else ():
            if found := encodings.unwrapped(run, lambda inner: self._inside(inner, depth)):
                hits.setdefault(run, []).extend(found)
        known.update(new)
        return {run: hits[run] for run in runs & hits.keys()}

    def second_opinion(self, view: str) -> list[Hit]:
        """Hits of the library where our own rules have none."""
        first: dict[str, int] = {}
        for start, end in self._places(view, 0):
            first.setdefault(view[start:end], start)
        worth_asking = [(start, start + len(run)) for run, start in first.items() if _is_worth_asking(run)]
        hits = [hit for start, end in worth_asking for hit in self._ask(view, start, end)]
        return [hit for hit in hits if not self._is_allowed(hit.secret)]

    def _ask(self, view: str, start: int, end: int) -> Iterator[Hit]:
        before, after = view[max(0, start - BEFORE) : start], view[end : end + AFTER]
        before, after = EDGE.split(before)[-1], EDGE.split(after)[0]
        first = start - len(before)
        window = UNPRINTABLE.sub(" ", before + view[start:end] + after)
        if window not in self._asked:
            self._asked[window] = betterleaks.asked(window)
        for answer in self._asked[window]:
            at = window.find(answer.secret)
            if at >= 0:
                yield Hit(first + at, first + at + len(answer.secret), _kind(answer.kind), answer.secret)


def _runs(view: str) -> Iterator[tuple[int, int]]:
    """Where long stretches of letters, digits and token characters begin and end."""
    classes = view.encode("ascii").translate(CLASSES) + b"\n"
    start = classes.find(SHORTEST)
    while start >= 0:
        end = classes.find(b"\n", start)
        yield start, end
        start = classes.find(SHORTEST, end)


def _is_worth_asking(run: str) -> bool:
    """Whether a run could be a token: without digits, or only hex, the library does not know it by itself."""
    if len(run) > betterleaks.LONGEST or not value_shape.DIGIT.search(run) or HEX_ONLY.fullmatch(run):
        return False
    return value_shape.is_random(run)


def _kind(rule: str) -> str:
    """The library's name for a rule, as a placeholder can contain it."""
    return re.sub(r"[^a-z0-9]+", "-", rule.lower()).strip("-")[:40] or "secret"
