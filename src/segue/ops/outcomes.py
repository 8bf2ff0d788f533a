"""What came of a handoff, from what its target left behind: for the event that every handoff leaves."""

from __future__ import annotations

from segue.event import HandoffEvent
from segue.facts.tracker import derive
from segue.model import Handoff
from segue.ops import arrival, events, records
from segue.ops.arrival import Arrival
from segue.ops.desk import Desk
from segue.ops.warm import Meaning
from segue.probes import Report


def of(desk: Desk, handoff: Handoff, found: Arrival, report: Report | None) -> HandoffEvent | None:
    """The event with how it went so far; None where there is none to begin with."""
    if handoff.event is None or found.source is None:
        return handoff.event
    since = list(arrival.since(found.source, handoff.id))
    receipt, delivery = records.receipt_of(desk, handoff), handoff.delivery
    said = desk.shared.content(delivery.prompt).decode() if delivery and delivery.prompt else ""
    known = (entry.transcript for entry in desk.index.transcripts().values())
    return events.finish(
        handoff.event,
        receipt,
        facts_after=derive(since, Meaning(found.source.agent)),
        report=report,
        first=report,
        # What was said is, word for word, what the target recorded. What it was told to read, it may not have read.
        held=events.shown(receipt, said) if found.is_there and not found.is_in_file else None,
        tokens=delivery.tokens if delivery else 0,
        whole=next((one.context_tokens for one in known if one and one.id == handoff.transcript), None),
    )
