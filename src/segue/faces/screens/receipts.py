"""Screen of a receipt: how many facts of each kind were passed."""

from __future__ import annotations

from collections import Counter

from segue.briefs import select
from segue.faces import render
from segue.model import Fact, Fate, Receipt
from segue.ops.briefs.make import Made


def receipt(shown: Made) -> str:
    brief = shown.brief
    kept = select.preservation(shown.receipt)
    lines = [
        f"{shown.id}  {render.clean(render.short(brief.title or brief.source, 70))}",
        f"{brief.tier}, {brief.tokens:,} of {brief.budget:,} tokens, counted by {brief.counter}",
        f"Preserved: {kept.preservation_score:.0%} of what was attempted "
        f"({len(kept.attempted)} kinds: {len(kept.successful)} whole, {len(kept.failed)} not)",
    ]
    if brief.rewritten_by:
        lines.append(f"The prose was rewritten by {render.clean(brief.rewritten_by)}.")
    lines += _fates(shown.receipt)
    return "\n".join(lines)


def _fates(receipt: Receipt) -> list[str]:
    rows: list[tuple[str, ...]] = [("kind", "passed", "recoverable", "not passed", "why")]
    for kind in dict.fromkeys(line.fact.kind for line in receipt.lines):
        own = [line for line in receipt.lines if line.fact.kind == kind]
        counts = Counter(line.fate for line in own)
        why = Counter(line.reason for line in own if line.reason)
        rows.append(
            (
                kind,
                *(str(counts[fate] or "-") for fate in Fate),
                ", ".join(f"{reason} ({count})" for reason, count in why.most_common(3)),
            )
        )
    return ["", render.table(rows, right={1, 2, 3})]


def fact_line(fact: Fact) -> str:
    """One line for a fact: subject and value, or the value alone where the subject is only an id."""
    said = f"{fact.subject}: {fact.value}" if fact.subject and fact.subject != fact.value else fact.value
    if fact.kind in ("instruction", "plan", "reply", "talk"):
        said = fact.value or fact.entry
    elif fact.kind in ("name", "content"):
        said = fact.subject
    return f"{fact.kind}: {render.short(' '.join(said.split()), 100)}"
