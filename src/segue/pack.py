"""Facts in, a brief within a budget out, with its receipt: what was passed, what was not, and why. Pure.

What may not be forgotten comes first (constraints), then how things stand, the next step last. Where
the budget is short, the least telling kinds give way first; constraints give way to nothing, and a
budget that cannot hold even them is refused. Only human text stands in sections of human origin.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from segue.errors import BadInput
from segue.model import Brief, Fact, Fate, Origin, Receipt, ReceiptLine, Section, Tier

SECTIONS = {
    "constraint": "Constraints (the person's words)",
    "instruction": "What the person asked for, in order",
    "file": "Files, as they now stand",
    "command": "Commands, with their last result",
    "test": "Tests, as last seen",
    "next step": "Next step",
}
KEEP_LONGEST = ("constraint", "next step", "instruction", "test", "file", "command")


def rank(fact: Fact) -> int:
    """How early a fact gives way: a passing test before anything else."""
    is_passing = fact.kind == "test" and fact.value == "passing"
    return len(KEEP_LONGEST) if is_passing else KEEP_LONGEST.index(fact.kind)


def count_tokens(text: str) -> int:
    """A cautious estimate: more than any vendor's tokenizer is likely to count."""
    return -(-len(text.encode()) // 3)


def pack(facts: Iterable[Fact], *, tier: Tier, budget: int) -> tuple[Brief, Receipt]:
    every = list(facts)
    kept: list[Fact] = []
    # Of one rank, what came about last is kept longest.
    for _, _, fact in sorted((rank(fact), -index, fact) for index, fact in enumerate(every)):
        if count_tokens(render(_sections([*kept, fact]))) <= budget:
            kept.append(fact)
        elif fact.kind == "constraint":
            raise BadInput(
                what=f"A budget of {budget} tokens cannot hold the constraints.",
                next="give a larger budget: no brief is made without them",
            )
    sections = _sections([fact for fact in every if fact in kept])
    brief = Brief(tier=tier, budget=budget, tokens=count_tokens(render(sections)), sections=sections)
    return brief, Receipt(lines=tuple(_receipt_line(fact, fact in kept) for fact in every))


def _receipt_line(fact: Fact, is_kept: bool) -> ReceiptLine:
    if is_kept:
        return ReceiptLine(fact=fact, fate=Fate.PASSED)
    return ReceiptLine(fact=fact, fate=Fate.NOT_PASSED, reason="over budget")


def render(sections: Iterable[Section]) -> str:
    """A brief as the receiver reads it."""
    parts = [f"## {section.title}\n" + "".join(f"{line}\n" for line in section.lines) for section in sections]
    return "\n".join(["# Handoff\n", *parts])


def _sections(facts: Sequence[Fact]) -> tuple[Section, ...]:
    found = []
    for kind, title in SECTIONS.items():
        lines = tuple(_line(fact) for fact in facts if fact.kind == kind)
        if lines:
            origin = Origin.HUMAN if kind in ("constraint", "instruction") else Origin.ASSISTANT
            found.append(Section(title=title, origin=origin, lines=lines))
    return tuple(found)


def _line(fact: Fact) -> str:
    if fact.kind in ("file", "command", "test"):
        return f"- {fact.subject}: {fact.value}"
    return f"- {fact.value}"
