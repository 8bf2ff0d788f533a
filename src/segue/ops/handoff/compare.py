"""Comparison of two briefs, receipts or points in time: facts added, removed and changed."""

from __future__ import annotations

import re

from msgspec import Struct

from segue.base import clock
from segue.base.clock import Moment
from segue.briefs import select
from segue.errors import BadInput
from segue.facts.tracker import Tracker
from segue.hooks import spool
from segue.model import Fact, Fate, Receipt
from segue.ops.briefs import make
from segue.ops.common.desk import Desk
from segue.ops.handoff import receipts
from segue.ops.index.tracked_transcript import Warm
from segue.ops.work import transcripts

NOTED = ("compact", "end")
"""Hook events that name a point in time: ID@compact, ID@end."""
PASSING = ("name", "reply", *select.ONLY_FULL)
"""Fact kinds that are not compared because they change with every entry."""


class Side(Struct, frozen=True):
    """Facts of one side, and the fate of each if it comes from a receipt."""

    name: str
    facts: tuple[Fact, ...]
    fates: dict[str, Fate]


class Changed(Struct, frozen=True):
    kind: str
    subject: str
    before: str
    after: str


class Difference(Struct, frozen=True):
    before: str
    after: str
    added: tuple[Fact, ...]
    gone: tuple[Fact, ...]
    changed: tuple[Changed, ...]
    fates: tuple[Changed, ...]
    """Facts in both that were passed in only one."""


def compare(desk: Desk, before: str, after: str) -> Difference:
    """Compare two sides. Each is the id of a brief, a handoff or a transcript, or a transcript at a point in time:
    ID@TIME, ID@compact or ID@end (the last such event that a hook recorded)."""
    old, new = side(desk, before), side(desk, after)
    left = {_key(fact): fact for fact in old.facts if fact.kind not in PASSING}
    right = {_key(fact): fact for fact in new.facts if fact.kind not in PASSING}
    both = left.keys() & right.keys()
    return Difference(
        before=old.name,
        after=new.name,
        added=tuple(fact for key, fact in right.items() if key not in left),
        gone=tuple(fact for key, fact in left.items() if key not in right),
        changed=tuple(
            Changed(fact.kind, fact.subject, left[key].value, fact.value)
            for key, fact in right.items()
            if key in both and left[key].value != fact.value
        ),
        fates=tuple(
            Changed(fact.kind, _said(fact), old.fates[key].value, new.fates[key].value)
            for key, fact in right.items()
            if key in both and key in old.fates and key in new.fates and old.fates[key] != new.fates[key]
        ),
    )


def _said(fact: Fact) -> str:
    """Fact's subject, or its text if the subject is only an id."""
    return fact.value if fact.kind in ("instruction", "plan") or not fact.subject else fact.subject


def _key(fact: Fact) -> str:
    return f"{fact.kind}\0{fact.subject}"


def side(desk: Desk, name: str) -> Side:
    if re.match(r"[bh]-", name) and not (desk.cwd / name).exists():
        made = receipts.get(desk, name)
        return _packed(made.id, made.receipt)
    transcript, _, moment = name.rpartition("@")
    if not transcript or (desk.cwd / name).exists():
        return Side(name, _facts_at(desk, name, None), {})
    return Side(name, _facts_at(desk, transcript, _noted(desk, transcript, moment) or _moment(moment)), {})


def _packed(name: str, receipt: Receipt) -> Side:
    return Side(
        name,
        tuple(line.fact for line in receipt.lines),
        {_key(line.fact): line.fate for line in receipt.lines},
    )


def _noted(desk: Desk, name: str, event: str) -> Moment | None:
    """Time at which a hook last recorded an event of a transcript."""
    if event not in NOTED:
        return None
    shown = transcripts.find(desk, name)
    id = shown.transcript.id if shown.transcript else name
    noted = [each for each in spool.read_moments(desk.places.data, id) if each.event == event]
    if not noted:
        raise BadInput(
            what=f"No '{event}' event of {name} was recorded. Hooks record it.",
            next="segue session info lists recorded events; segue init sets up hooks",
        )
    return noted[-1].at


def _moment(text: str) -> Moment | None:
    if not text:
        return None
    try:
        return clock.moment(clock.parse(text))
    except (ValueError, OverflowError):
        raise BadInput(what=f"Invalid time '{text}'.", next="segue diff ID@2026-11-16T10:00:00Z ID") from None


def _facts_at(desk: Desk, name: str, moment: Moment | None) -> tuple[Fact, ...]:
    """Facts of a transcript at a point in time; without one, all of them."""
    shown = transcripts.find(desk, name)
    known = Warm(shown.source, Tracker(), doubt=shown.doubt)
    for entry in transcripts.entries(shown):
        if moment is not None and entry.at is not None and entry.at > moment:
            continue  # not break: entries may be out of order
        known.add(entry)
    facts = known.facts()  # which finds the secrets
    return make.without_secrets(desk, facts, known.tracker.heat.secrets)
