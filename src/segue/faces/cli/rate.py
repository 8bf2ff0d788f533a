"""`segue rate`: rate a handoff or a session from 1 to 5."""

from __future__ import annotations

import click

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.model import Handoff, Session
from segue.ops.handoff import ratings
from segue.ops.handoff.ratings import Change


def rated_screen(change: Change[Session] | Change[Handoff]) -> str:
    rated = change.kept()
    if isinstance(rated, Handoff):
        satisfaction = rated.event.outcome.user_satisfaction if rated.event else None
        what = f"{rated.id}  {render.clean(f'{rated.source} → {rated.target}')}"
    else:
        satisfaction = rated.satisfaction
        what = f"{rated.id}  {render.clean(render.short(rated.title, 60))}"
    return f"Rated {render.rating(satisfaction or 0)}: {what}\nTo undo: segue undo"


@click.command()
@click.argument("rating", type=int)
@click.option("--session", "id", help="A session other than this folder's.")
@answers(rated_screen)
def rate(frame: Frame, rating: int, id: str | None) -> Change[Session] | Change[Handoff]:
    """Rate the latest handoff of this folder's session, or the session itself if it has no handoffs.

    RATING is from 1 (bad) to 5 (good).
    """
    return ratings.rate(frame.desk, rating, id)


COMMANDS = {"rate": rate}
