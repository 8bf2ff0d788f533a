"""Screens of one handoff and of the history."""

from __future__ import annotations

from segue.faces import render
from segue.model import Handoff
from segue.ops.handoff import handoffs


def handoff(handoff: Handoff) -> str:
    delivery, event = handoff.delivery, handoff.event
    rows = [
        ("Handoff", f"{handoff.id}, {handoff.state.value}"),
        ("Session", handoff.session),
        ("From", f"{handoffs.title_of(handoff.source)}, transcript {handoff.transcript}"),
        ("To", handoffs.title_of(handoff.target)),
        ("Why", handoff.reason),
        ("When", f"{render.when(handoff.created_at)}, last changed {render.when(handoff.updated_at)}"),
    ]
    if delivery:
        why = f" ({delivery.why})" if delivery.why else ""
        rows.append(
            (
                "How",
                f"{delivery.way.value}, {delivery.mode.value}{why}; started {render.plural(delivery.attempts, 'time')}",
            )
        )
        rows.append(("Sent", f"{delivery.tokens:,} tokens ({delivery.counter}), {delivery.turns} turns"))
        rows.append(("Arrived", f"transcript {delivery.transcript}" if delivery.has_arrived else "not yet"))
    size = render.size(handoff.package.stored) if handoff.package.context else "not packaged yet"
    rows.append(("Package", f"{size}, {handoff.tier.preserve.value}"))
    if event:
        kept = event.context_preservation
        rows.append(("Kept", f"{kept.preservation_score:.0%} of what was attempted"))
        rows += [("Lesson", lesson) for lesson in event.lessons]
    rows += [("Not passed" if not n else "", item) for n, item in enumerate(handoff.not_passed)]
    return f"{render.table(rows)}\nEvery fact: segue show {handoff.id} --facts"


def history(found: list[Handoff]) -> str:
    if not found:
        return "No handoffs yet. Make one: segue to AGENT"
    rows = [("id", "when", "from", "to", "state", "kept", "satisfied", "why")]
    for one in found:
        has_arrived = one.event is not None and one.delivery is not None and one.delivery.has_arrived
        kept = (
            f"{one.event.context_preservation.preservation_score:.0%}" if one.event and has_arrived else "-"
        )
        satisfaction = one.event.outcome.user_satisfaction if one.event else None
        content = f"{satisfaction:.0%}" if satisfaction is not None else "-"
        rows.append(
            (
                one.id,
                render.when(one.created_at),
                one.source,
                one.target,
                one.state.value,
                kept,
                content,
                render.short(one.reason, 50),
            )
        )
    return render.table(rows)
