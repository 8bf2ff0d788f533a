"""Briefs and receipts by id: of `segue pack` or of a handoff."""

from __future__ import annotations

from msgspec import Struct

from segue.errors import NotFound
from segue.model import Tier
from segue.ops.briefs import make
from segue.ops.briefs.make import Made
from segue.ops.common.desk import Desk
from segue.ops.handoff import handoffs

LISTED = 20


class Listed(Struct, frozen=True):
    """Summary of a stored brief."""

    id: str
    title: str
    tier: Tier
    tokens: int
    budget: int


def get(desk: Desk, id: str) -> Made:
    """Brief and receipt of `segue pack` or of a handoff, by id or start of the id."""
    if id.startswith("h-"):
        handoff = handoffs.get(desk, id)
        return Made(handoff.id, handoffs.brief_of(desk, handoff), handoffs.receipt_of(desk, handoff))
    return make.get(desk, id)


def listed(desk: Desk) -> list[Listed]:
    """Latest stored briefs, newest first."""
    found = []
    for id in make.made(desk)[:LISTED]:
        try:
            brief = make.get(desk, id).brief
        except NotFound:
            continue
        found.append(Listed(id, brief.title or brief.source, brief.tier, brief.tokens, brief.budget))
    return found
