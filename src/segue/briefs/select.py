"""Selection of facts for a brief within a budget, with a receipt: what was passed, what was not, and why. Pure.

Each kind of fact has a weight, which fades from the newest to the oldest. The facts with the most weight are passed
as long as they fit and are likely to be needed. The user's prohibitions are always passed; a budget that cannot hold
them is refused. `render` words the chosen facts.
"""

from __future__ import annotations

import functools
import hashlib
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, groupby

import msgspec
from msgspec import Struct

from segue import tiers
from segue.briefs import goals, render
from segue.briefs.tokens import Counter
from segue.errors import BadInput
from segue.facts import constraints, relevance
from segue.model import Brief, Fact, Fate, Receipt, ReceiptLine, Tier
from segue.tiers import Shape

PINNED = 1000.0
WORDS = ("instruction", "constraint", "correction")
APART = "\0"
"""Separates messages: it occurs in none."""
SHORT = 280
"""A message of at most this many characters appears whole where it binds."""
PASSAGE, IN_PART = 1000, 1.5
"""A message of at most this many characters is worth this much more, if some of its sentences appear elsewhere or
might bind: alone they say too little, and longer ones would leave no room for others."""
FAILED = 1.5
"""A failed command is worth this much more."""
SHARE = 0.4
FRAME = 60
"""Tokens reserved for the line about what was not passed."""
FLOOR = 1.0
"""Facts worth less are left out even if there is room: a brief names what will be needed, not everything."""


class Kind(Struct, frozen=True):
    """How facts of a kind compete for room."""

    weight: float
    fade: float
    shape: Shape


KINDS = {
    "constraint": Kind(300, 0.999, Shape.CONSTRAINT),
    "correction": Kind(200, 0.99, Shape.CONSTRAINT),
    "stay": Kind(PINNED, 1, Shape.ITEM),
    "question": Kind(90, 1, Shape.SUMMARY),
    "next step": Kind(80, 1, Shape.SUMMARY),
    "instruction": Kind(60, 0.985, Shape.QUOTE),
    "plan": Kind(55, 0.9, Shape.QUOTE),
    "rule": Kind(45, 0.97, Shape.QUOTE),
    "violation": Kind(250, 1, Shape.ITEM),
    "assertion": Kind(70, 0.99, Shape.ITEM),
    "pending": Kind(50, 0.8, Shape.ITEM),
    "branch": Kind(50, 1, Shape.SCALAR),
    "worktree": Kind(49, 0.8, Shape.SCALAR),
    "folder": Kind(50, 1, Shape.SCALAR),
    "todo": Kind(40, 0.98, Shape.SUMMARY),
    "test": Kind(40, 0.96, Shape.SCALAR),
    "error": Kind(35, 0.94, Shape.ITEM),
    "delegation": Kind(25, 0.8, Shape.SUMMARY),
    "findings": Kind(35, 0.8, Shape.QUOTE),
    "decision": Kind(30, 0.97, Shape.QUOTE),
    "file": Kind(40, 0.97, Shape.SCALAR),
    "command": Kind(25, 0.96, Shape.ITEM),
    "commit": Kind(25, 0.9, Shape.SUMMARY),
    "pull request": Kind(25, 0.9, Shape.SCALAR),
    "url": Kind(15, 0.9, Shape.SCALAR),
    "id": Kind(12, 0.9, Shape.SCALAR),
    "name": Kind(30, 0.97, Shape.SCALAR),
    "port": Kind(10, 0.9, Shape.SCALAR),
    "version": Kind(10, 0.9, Shape.SCALAR),
    "reply": Kind(45, 0.4, Shape.QUOTE),
    "image": Kind(8, 0.8, Shape.SCALAR),
    "read": Kind(6, 0.9, Shape.SCALAR),
    "summary": Kind(2, 1, Shape.QUOTE),
    "talk": Kind(9, 0.995, Shape.QUOTE),
    "content": Kind(8, 0.98, Shape.CONTENT),
}
ONLY_FULL = ("talk", "content")
"""What a receiver can look up in the files or in the package: passed only at FULL."""
SETTLED = {"todo": ("done", "dropped"), "test": ("passing",), "error": ("resolved",), "delegation": ("done",)}
"""Values of finished facts: they are counted, not listed."""
ALWAYS = ("file", "test", "error", "todo", "plan")
"""Kinds that are listed as long as there is room."""


class Packed(Struct, frozen=True):
    brief: Brief
    receipt: Receipt


class _Choice(Struct):
    """A line that competes for room, and the facts that it would pass."""

    facts: tuple[int, ...]
    fact: Fact
    """The fact that decides its section."""
    line: str
    worth: float
    tokens: int = 0


def pack(
    facts: Iterable[Fact],
    *,
    tier: Tier,
    budget: int,
    counter: Counter,
    about: render.About,
    nonce: str = "",
) -> Packed:
    """The brief of some facts, and its receipt."""
    every = tuple(facts)
    frame = counter.count(render.render(_brief((), tier, budget, about, nonce))) + FRAME
    count = functools.cache(counter.count)  # most lines are the same in every room
    for room in render.Room:
        choices = _choices(every, tier, budget, count, room)
        kept = _fitting(choices, budget - frame, counter)
        if len(kept) == len(choices):
            break
    while True:
        lines = [(choice.fact, choice.line) for choice in sorted(kept, key=lambda choice: choice.facts)]
        brief = _brief(lines, tier, budget, about, nonce)
        left_out = _left_out(every, choices, kept, tier)
        brief = msgspec.structs.replace(brief, not_passed=_told(every, left_out), counter=counter.name)
        tokens = counter.count(render.render(brief))
        if tokens <= budget:
            break
        if not kept or kept[-1].worth >= PINNED:
            raise _too_small(tokens, budget)
        _drop(kept, tokens - budget)
    brief = msgspec.structs.replace(brief, tokens=tokens)
    receipts = (_line(fact, left_out.get(index), tier, about) for index, fact in enumerate(every))
    return Packed(brief, Receipt(lines=tuple(receipts), counter=counter.name))


def _drop(kept: list[_Choice], tokens: int) -> None:
    """Drop the choices with the least worth, until that many tokens are free."""
    while tokens > 0 and kept and kept[-1].worth < PINNED:
        tokens -= kept.pop().tokens


def _choices(
    facts: Sequence[Fact], tier: Tier, budget: int, count: Callable[[str], int], room: render.Room
) -> list[_Choice]:
    """All choices, by worth, highest first."""
    choices = sorted(_all_choices(facts, tier, budget, room), key=lambda choice: -choice.worth)
    for choice in choices:
        choice.tokens = count(render.written(choice.fact, choice.line)) + 2
    return choices


def _all_choices(facts: Sequence[Fact], tier: Tier, budget: int, room: render.Room) -> Iterable[_Choice]:
    passing = [(index, fact) for index, fact in enumerate(facts) if _may_pass(fact, tier)]
    yield from _words(passing, budget, room)
    order = sorted(passing, key=lambda pair: (pair[1].kind, -pair[1].weight, -pair[1].n, -pair[0]))
    rules = [(index, fact) for index, fact in passing if fact.kind == "rule" and room is render.Room.AMPLE]
    held: set[int] = set()
    for kind, group in groupby(order, key=lambda pair: pair[1].kind):
        if kind in WORDS:
            continue
        ranked = _together(list(group))
        for rank, (indices, fact) in enumerate(ranked):
            # Of several orders, the first one gives the goal.
            is_first = kind == "plan" and rank == len(ranked) - 1
            worth = _worth(KINDS[kind], fact, 0 if is_first else rank)
            if held.issuperset(indices) or not (worth >= FLOOR or kind in ALWAYS or tier is Tier.FULL):
                continue
            line = render.line(fact, budget, room=room)
            if kind == "plan":
                # Rules in a plan that appears whole are not repeated.
                within = [index for index, rule in rules if rule.value in line and index not in held]
                held.update(within)
                indices = (*indices, *within)
            yield _Choice(indices, fact, line, worth)


def _together(facts: Sequence[tuple[int, Fact]]) -> list[tuple[tuple[int, ...], Fact]]:
    """Facts with their indices. Commands that read the same become one line with the result of the last run; those
    with another result are not passed by that line."""
    found: dict[str, list[tuple[int, Fact]]] = {}
    for index, fact in facts:
        shown = render.command(fact, render.Room.AMPLE) if fact.kind == "command" else str(index)
        found.setdefault(shown, []).append((index, fact))
    last = [max(some, key=lambda pair: pair[1].n)[1] for some in found.values()]
    return [
        (tuple(index for index, fact in some if fact.value == end.value), end)
        for some, end in zip(found.values(), last, strict=True)
    ]


def _words(facts: Sequence[tuple[int, Fact]], budget: int, room: render.Room) -> Iterable[_Choice]:
    """The user's messages, numbered. A short message with a constraint or correction appears whole in that section,
    so that nothing is said twice. Of a long message, those sentences appear in addition."""
    messages = [(index, fact) for index, fact in facts if fact.kind == "instruction" and not is_said(fact)]
    for index, fact in facts:
        if fact.kind in WORDS and is_said(fact):
            yield _Choice((index,), fact, fact.value, PINNED)
    binding = _binding([(index, fact) for index, fact in facts if not is_said(fact)], messages)
    for place, (index, fact) in enumerate(messages, 1):
        rank = len(messages) - place
        bound = binding.pop(place, [])
        firm = [pair for pair in bound if is_pinned(pair[1]) or pair[1].kind == "correction"]
        line = render.line(fact, budget, room=room)
        if firm and len(fact.value) <= SHORT:
            section, line, told, left = firm[0][1], fact.value, bound, []
        elif line == fact.value:
            # A doubtful sentence is not repeated: the message contains it.
            section, told, left = fact, [pair for pair in bound if pair not in firm], firm
        else:
            section, told, left = fact, [], bound
        worth = _worth(KINDS["instruction"], fact, 0 if place == 1 else rank)
        if len(fact.value) <= PASSAGE and (left or constraints.doubtful(fact.value)):
            worth *= IN_PART
        worth = max(worth, *(_worth(KINDS[one.kind], one, rank) for _, one in told)) if told else worth
        yield _Choice((index, *(other for other, _ in told)), section, f"[{place}] {line}", worth)
        if left:
            binding[place] = left
    for place, inside in binding.items():
        for index, fact in inside:
            number = f"[{place}] " if place else ""
            worth = _worth(KINDS[fact.kind], fact, len(messages) - place)
            yield _Choice((index,), fact, number + fact.value, worth)


def _binding(
    facts: Sequence[tuple[int, Fact]], messages: Sequence[tuple[int, Fact]]
) -> dict[int, list[tuple[int, Fact]]]:
    """The constraints and corrections by the number of the message that contains them; 0 if none does. One entry
    contains several messages if it is a handoff."""
    told: dict[str, dict[int, str]] = {}
    for place, (_, fact) in enumerate(messages, 1):
        told.setdefault(fact.entry, {})[place] = fact.value
    said = {entry: _Said(told[entry]) for entry in told}
    found: dict[int, list[tuple[int, Fact]]] = {}
    for index, fact in facts:
        if fact.kind in ("constraint", "correction"):
            place = said[fact.entry].place_of(fact.value) if fact.entry in said else 0
            found.setdefault(place, []).append((index, fact))
    return found


class _Said:
    """The messages of one entry, by number, as one text. Sentences come in the order of their messages, so each
    search starts after the last hit: a handoff can contain thousands of them."""

    def __init__(self, messages: dict[int, str]) -> None:
        self.places = [*messages]
        self.text = APART.join(messages.values())
        self.ends = [*accumulate(len(message) + len(APART) for message in messages.values())]
        self.last = 0

    def _find(self, sentence: str) -> int:
        at = self.text.find(sentence, self.last)
        return self.text.find(sentence) if at < 0 else at

    def place_of(self, sentence: str) -> int:
        at = self._find(sentence)
        if at < 0:
            # An item appears with the heading above it.
            _, _, item = sentence.partition(": ")
            at = self._find(item) if item else at
        if at < 0:
            return 0
        self.last = at
        return self.places[bisect(self.ends, at)]


def _worth(kind: Kind, fact: Fact, rank: int) -> float:
    if fact.kind == "instruction" and constraints.COMMAND.match(fact.value):
        return kind.weight / 20
    if is_pinned(fact):
        return PINNED + kind.weight * kind.fade**rank
    worth = kind.weight * kind.fade**rank
    if fact.kind == "read" and fact.weight < relevance.HOT:
        return 0.0
    if fact.kind == "decision" and fact.value in ("refused", "rejected") and not fact.note:
        return worth / 3
    if fact.kind == "command":
        return worth * fact.weight * (FAILED if fact.value.startswith("failed") else 1)
    return worth


def _is_settled(fact: Fact) -> bool:
    return fact.value in SETTLED.get(fact.kind, ())


def is_pinned(fact: Fact) -> bool:
    """Whether a fact is always passed: the user's prohibitions, and what they insist on."""
    return fact.kind == "constraint" and (constraints.is_firm(fact.value) or is_said(fact))


def is_said(fact: Fact) -> bool:
    """Whether the user entered this with `segue task edit`."""
    return fact.entry.startswith(goals.SAID)


def _may_pass(fact: Fact, tier: Tier) -> bool:
    if fact.kind not in KINDS or _is_settled(fact):
        return False
    if fact.kind in ONLY_FULL and tier is not Tier.FULL:
        return False
    return tiers.passes(tier, KINDS[fact.kind].shape)


def _fitting(choices: Sequence[_Choice], room: int, counter: Counter) -> list[_Choice]:
    """The choices with the most worth that fit, in their order. While others have something to say, no section takes
    more than its share; the rest of the room goes to any that still fit. A section's title is counted once."""
    kept: dict[int, _Choice] = {}
    spent: dict[str, int] = {}
    for share in (SHARE, 1.0):
        limit = room * share
        for number, choice in enumerate(choices):
            title = render.title_of(choice.fact)
            cost = choice.tokens + (0 if title in spent else counter.count(title) + 4)
            fits = cost <= room - sum(spent.values()) and spent.get(title, 0) + cost <= limit
            if number not in kept and (fits or choice.worth >= PINNED):
                spent[title] = spent.get(title, 0) + cost
                kept[number] = choice
    return [kept[number] for number in sorted(kept)]


def _brief(
    lines: Sequence[tuple[Fact, str]], tier: Tier, budget: int, about: render.About, nonce: str
) -> Brief:
    return Brief(
        tier=tier,
        budget=budget,
        tokens=0,
        sections=render.sections(lines),
        title=about.title,
        source=about.source,
        nonce=nonce,
    )


def _too_small(tokens: int, budget: int) -> BadInput:
    return BadInput(
        what=f"A budget of {budget} tokens is too small for what the user insists on, which takes {tokens}.",
        next=f"segue pack --budget {tokens} of the same transcript; Segue makes no brief without it",
    )


def _left_out(
    facts: Sequence[Fact], choices: Sequence[_Choice], kept: Sequence[_Choice], tier: Tier
) -> dict[int, str]:
    """The facts that are not passed, each with the reason."""
    chosen = {index for choice in kept for index in choice.facts}
    offered = {index for choice in choices for index in choice.facts}
    return {
        index: _reason(fact, tier, index in offered)
        for index, fact in enumerate(facts)
        if index not in chosen
    }


def _reason(fact: Fact, tier: Tier, is_offered: bool) -> str:
    if _is_settled(fact):
        return fact.value
    if fact.kind not in KINDS:
        return "not part of any brief"
    if not _may_pass(fact, tier):
        return f"not at tier {tier}"
    return "over budget" if is_offered else "unlikely to be needed"


def _told(facts: Sequence[Fact], left_out: dict[int, str]) -> tuple[str, ...]:
    """The facts that were left out, counted by kind and reason; names are no loss and not counted."""
    counts: dict[tuple[str, str], int] = {}
    for index, reason in left_out.items():
        kind = facts[index].kind
        if kind != "name":
            counts[kind, reason] = counts.get((kind, reason), 0) + 1
    return tuple(
        f"{count} × {render.CALLED.get(kind, kind)}: {reason}"
        for (kind, reason), count in sorted(counts.items())
    )


def _line(fact: Fact, reason: str | None, tier: Tier, about: render.About) -> ReceiptLine:
    if reason is None:
        return ReceiptLine(fact=fact, fate=Fate.PASSED)
    # A fact from before the transcript is not in the transcript.
    is_inside = about.transcript and fact.entry and fact.n > 0
    if is_inside and _may_pass(fact, tier):
        return ReceiptLine(
            fact=fact,
            fate=Fate.RECOVERABLE,
            reason=reason,
            pointer=f"{about.transcript}#{fact.entry}",
            hash=fact.hash or _hash(fact),
        )
    return ReceiptLine(fact=fact, fate=Fate.NOT_PASSED, reason=reason)


def _hash(fact: Fact) -> str:
    """A hash of the fact when it was left out, which shows whether it has changed since."""
    return hashlib.sha256(f"{fact.kind}\0{fact.subject}\0{fact.value}".encode(errors="replace")).hexdigest()


class Preservation(Struct, frozen=True):
    """How much was passed: the kinds of facts, those that passed whole, and those that did not."""

    attempted: tuple[str, ...]
    successful: tuple[str, ...]
    failed: tuple[str, ...]
    preservation_score: float
    """The mean over the kinds of the share that was passed, so that forty files cannot hide a lost constraint. A fact
    that can be looked up counts half. Finished facts, unlikely ones and those outside the tier do not count."""


def preservation(receipt: Receipt) -> Preservation:
    counts: dict[str, list[float]] = {}
    for line in receipt.lines:
        if line.reason == "unlikely to be needed" or (
            line.fate is Fate.NOT_PASSED and line.reason != "over budget"
        ):
            continue
        worth = {Fate.PASSED: 1.0, Fate.RECOVERABLE: 0.5, Fate.NOT_PASSED: 0.0}[line.fate]
        counts.setdefault(line.fact.kind, []).append(worth)
    shares = {kind: sum(worths) / len(worths) for kind, worths in counts.items()}
    return Preservation(
        attempted=tuple(shares),
        successful=tuple(kind for kind, share in shares.items() if share == 1),
        failed=tuple(kind for kind, share in shares.items() if share < 1),
        preservation_score=sum(shares.values()) / len(shares) if shares else 1.0,
    )
