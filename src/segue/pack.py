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
    "next step": "Next step, in the agent's words",
}
KEEP_LONGEST = ("constraint", "next step", "instruction", "test", "file", "command")


def rank(fact: Fact) -> int:
    """How early a fact gives way: a passing test before anything else."""
    is_passing = fact.kind == "test" and fact.value == "passing"
    return len(KEEP_LONGEST) if is_passing else KEEP_LONGEST.index(fact.kind)


def count_tokens(text: str) -> int:
    """A cautious estimate: more than any vendor's tokenizer is likely to count."""
    return _tokens(len(text.encode()))


def _tokens(size: int) -> int:
    return -(-size // 3)


def pack(facts: Iterable[Fact], *, tier: Tier, budget: int) -> tuple[Brief, Receipt]:
    every = list(facts)
    kept: set[int] = set()
    titled: set[str] = set()
    size = len(render([]).encode())
    # Of one rank, what came about last is kept longest.
    for _, position in sorted((rank(fact), -index) for index, fact in enumerate(every)):
        fact = every[-position]
        grown = size + len(_line(fact).encode()) + 1
        if fact.kind not in titled:
            grown += len(_title(fact.kind).encode())
        if _tokens(grown) <= budget:
            kept.add(-position)
            titled.add(fact.kind)
            size = grown
        elif fact.kind == "constraint":
            raise BadInput(
                what=f"A budget of {budget} tokens cannot hold the constraints.",
                next="give a larger budget: no brief is made without them",
            )
    sections = _sections([fact for index, fact in enumerate(every) if index in kept])
    brief = Brief(tier=tier, budget=budget, tokens=count_tokens(render(sections)), sections=sections)
    return brief, Receipt(lines=tuple(_receipt_line(fact, index in kept) for index, fact in enumerate(every)))


def _receipt_line(fact: Fact, is_kept: bool) -> ReceiptLine:
    if is_kept:
        return ReceiptLine(fact=fact, fate=Fate.PASSED)
    return ReceiptLine(fact=fact, fate=Fate.NOT_PASSED, reason="over budget")


def render(sections: Iterable[Section]) -> str:
    """A brief as the receiver reads it."""
    parts = [
        _title_line(section.title) + "".join(f"{line}\n" for line in section.lines) for section in sections
    ]
    return "".join(["# Handoff\n", *parts])


def _title(kind: str) -> str:
    return _title_line(SECTIONS[kind])


def _title_line(title: str) -> str:
    return f"\n## {title}\n"


def _sections(facts: Sequence[Fact]) -> tuple[Section, ...]:
    found = []
    for kind, title in SECTIONS.items():
        lines = tuple(_line(fact) for fact in facts if fact.kind == kind)
        if lines:
            origin = Origin.HUMAN if kind in ("constraint", "instruction") else Origin.ASSISTANT
            found.append(Section(title=title, origin=origin, lines=lines))
    return tuple(found)


def _line(fact: Fact) -> str:
    """A fact as one item of a list, whatever is in it: further lines are indented, so that nothing in a
    file name or a command can start a section, or an item, of its own."""
    text = f"{fact.subject}: {fact.value}" if fact.kind in ("file", "command", "test") else fact.value
    return "- " + "\n  ".join(text.splitlines())
