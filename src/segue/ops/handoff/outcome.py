"""Outcome of a handoff, measured from its target's transcript, for the handoff's event."""

from __future__ import annotations

from segue.briefs.probes import Report
from segue.facts.tracker import derive
from segue.model import Handoff
from segue.model.handoff import HandoffEvent
from segue.ops.common.desk import Desk
from segue.ops.handoff import arrival, consent, events, handoff_records
from segue.ops.handoff.arrival import Arrival
from segue.ops.index.tracked_transcript import Meaning


def of(desk: Desk, handoff: Handoff, found: Arrival, report: Report | None) -> HandoffEvent | None:
    """Event with the outcome so far; None if the handoff has no event."""
    if handoff.event is None or found.source is None:
        return handoff.event
    since = list(arrival.since(found.source, handoff.id))
    receipt, delivery = handoff_records.receipt_of(desk, handoff), handoff.delivery
    said = desk.shared.content(delivery.prompt).decode() if delivery and delivery.prompt else ""
    source = consent.source_transcript(desk, handoff.transcript)
    return events.finish(
        handoff.event,
        receipt,
        facts_after=derive(since, Meaning(found.source.agent)),
        report=report,
        first=report,
        # The transcript contains the prompt word for word. A file that the prompt only names may not have been read.
        held=events.shown(receipt, said) if found.is_there and not found.is_in_file else None,
        tokens=delivery.tokens if delivery else 0,
        whole=source.context_tokens if source else None,
    )
