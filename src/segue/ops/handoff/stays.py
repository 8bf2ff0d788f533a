"""Stays of a session's work with other agents, replayed from its handoffs. Pure.

Every handoff that its target took is a stay with that target. A handoff to another agent opens a round trip. A return
closes that round trip and every later one; their stays then belong to the round trip that is still open. After
A -> B -> C -> back to B, the next return is to A and reports three stays: B, C, B again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from segue.model import Handoff
from segue.ops.handoff.handoff_records import agent_of, title_of
from segue.ops.work import discovery


class OpenTrip(Struct, frozen=True):
    """Handoff that the work has not returned from, and the stays since, in order."""

    out: Handoff
    stays: tuple[Handoff, ...]


def open_trips(handoffs: Iterable[Handoff]) -> list[OpenTrip]:
    """Round trips of a session that no return has closed, latest last."""
    trips: list[OpenTrip] = []
    for one in sorted(handoffs, key=lambda handoff: handoff.created_at):
        if not discovery.is_taken(one):
            continue
        if not one.returns:
            trips.append(OpenTrip(one, (one,)))
            continue
        start = next((n for n, trip in enumerate(trips) if trip.out.id == one.returns), len(trips))
        closed, trips = trips[start:], trips[:start]
        # Stays that a return to the same transcript has reported are not reported again.
        if closed and trips and trips[-1].out.transcript != closed[0].out.transcript:
            stays = (*trips[-1].stays, *_all_stays(closed), one)
            trips[-1] = OpenTrip(trips[-1].out, stays)
    return trips


def stays_since(handoffs: Iterable[Handoff], out: Handoff) -> tuple[Handoff, ...]:
    """Stays that a return from a handoff reports."""
    trips = open_trips(handoffs)
    start = next((n for n, trip in enumerate(trips) if trip.out.id == out.id), len(trips))
    return _all_stays(trips[start:]) or (out,)


def _all_stays(trips: Sequence[OpenTrip]) -> tuple[Handoff, ...]:
    return tuple(stay for trip in trips for stay in trip.stays)


def names(stays: Sequence[Handoff]) -> tuple[str, ...]:
    """Title of each stay's agent, with "again" if it had the work before."""
    agents = [agent_of(stay.target) for stay in stays]
    titles = [title_of(agent) for agent in agents]
    return tuple(f"{title} again" if agents[n] in agents[:n] else title for n, title in enumerate(titles))
