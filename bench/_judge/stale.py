"""What a brief states that no longer holds.

A statement is a mention of something whose value changed: a command that failed and then passed, a test, a
todo that is done, a file that is gone, a branch, a line of code that was edited. It is stale if it gives an old
value and not the new one.
"""

from __future__ import annotations

import re

from msgspec import Struct, field

from bench._judge import found
from bench._judge.prose import Pattern, Place, Prose
from bench._judge.truth import Superseded, Truth

PAST = re.compile(
    r"(?<!\w)(?:removed?|was|were|old|before|previous(?:ly)?|former(?:ly)?|earlier|no longer|replaced?|deleted|instead of|from)(?!\w)",
    re.IGNORECASE,
)

PASSING = re.compile(found.OK.pattern + r"|(?<![\w./-])(?:fixed|resolved)(?![\w/-])", re.IGNORECASE)


class Stale(Struct):
    all: int = 0
    """Statements about what changed."""
    stale: list[str] = field(default_factory=list)
    quoted: int = 0
    """Lines of code among them."""

    @property
    def code(self) -> float | None:
        gone = sum(one.startswith("code: ") for one in self.stale)
        return gone / self.quoted if self.quoted else None

    @property
    def share(self) -> float:
        return len(self.stale) / self.all if self.all else 0.0


def staleness(prose: Prose, truth: Truth) -> Stale:
    seen = Stale()
    for one in truth.superseded:
        verdict = JUDGES[one.kind](prose, one, truth)
        if verdict is not None:
            seen.all += 1
            if verdict:
                seen.stale.append(f"{one.kind}: {one.subject[:100]} (now {one.value})")
    _code(prose, truth, seen)
    return seen


def _command(prose: Prose, one: Superseded, truth: Truth) -> bool | None:
    """Stale if every status that it is given with is an old one."""
    start = found.head(one.subject, [fact.subject for fact in truth.facts if fact.kind == "commands"])
    now, before = found.STATUSES[one.value]
    return _is_old(prose, list(prose.places(start, one.subject)), now, before)


def _test(prose: Prose, one: Superseded, truth: Truth) -> bool | None:
    places = list(prose.places(one.subject[:100], one.subject))
    return _is_old(prose, places, PASSING, found.FAILED)


def _is_old(prose: Prose, places: list[Place], now: Pattern, before: Pattern) -> bool | None:
    """None where none of the places gives a value at all."""
    if any(prose.tells(place, now, before) for place in places):
        return False
    return True if any(prose.tells(place, before, now) for place in places) else None


def _todo(prose: Prose, one: Superseded, truth: Truth) -> bool | None:
    lines = found.lines_saying(prose, one.subject)
    if any(found.todo_is(prose, number, one.subject, found.DONE, found.OPEN) for number in lines):
        return False
    if any(found.todo_is(prose, number, one.subject, found.OPEN, found.DONE) for number in lines):
        return True
    return None


def _file(prose: Prose, one: Superseded, truth: Truth) -> bool | None:
    """Stale if it is named and nothing near says that it is gone."""
    places = list(prose.places(found.tail(one.subject, found.paths_of(truth))))
    said = (prose.near(place) + "\n" + prose.lines[place.first].above for place in places)
    told = any(found.DELETED.search(text) or found.RENAMED.search(text) for text in said)
    return not told if places else None


def _branch(prose: Prose, one: Superseded, truth: Truth) -> bool | None:
    """Stale if an old branch is called the branch, and the one that is current now is not named."""
    if prose.holds(one.subject):
        return False
    named = (prose.lines[place.first] for old in one.old for place in prose.places(old))
    return True if any("branch" in (line.text + line.above).lower() for line in named) else None


def _code(prose: Prose, truth: Truth, seen: Stale) -> None:
    """Lines of code that edits put in or took out, where the brief quotes them."""
    if not (truth.gone_lines or truth.live_lines):
        return
    for number, line in enumerate(prose.lines):
        text = " ".join(line.text.split())
        bare = re.sub(r"^(?:[+>|]|\d+[:|→\t]) ?", "", text).strip("` ")
        is_gone = bare in truth.gone_lines
        if bare in truth.live_lines or is_gone:
            seen.all += 1
            seen.quoted += 1
        if is_gone:
            label = prose.lines[number - 1].text if number else ""
            if not PAST.search(label[:120]):
                seen.stale.append(f"code: {bare[:100]}")


JUDGES = {"commands": _command, "tests": _test, "todos": _todo, "files": _file, "branch": _branch}
