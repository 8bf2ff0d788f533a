"""`segue check` and `segue rate`: whether to hand over, and how satisfied you are with a handoff."""

from __future__ import annotations

import click

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.model import Handoff, Session
from segue.ops.handoff import ratings
from segue.ops.handoff.ratings import Change
from segue.ops.usage import folder_status
from segue.ops.usage.folder_status import Check

RULE = "=" * 70


def check_screen(found: Check) -> str:
    about = " (the limit is an estimate)" if found.is_estimate else ""
    share = 100 * found.tokens / found.limit
    used = f"{found.tokens:,} / {found.limit:,} ({share:.1f}%){about}"
    return "\n".join(
        [
            "",
            RULE,
            "Segue Handoff Status",
            RULE,
            "",
            f"Session ID: {found.session}",
            f"Token Usage: {used if found.is_known else 'no session here yet'}",
            f"Should Handoff: {'YES' if found.should_handoff else 'NO'}",
            f"Reason: {found.reason}",
            f"Decided by: {render.clean(render.in_local_time(found.figures))}",
            "",
        ]
    )


@click.command()
@click.option(
    "--warning-only", is_flag=True, help="Say NO up to the urgent threshold, and only name the reason."
)
@answers(check_screen, exit_code=lambda found: found.exit_code)
def check(frame: Frame, warning_only: bool) -> Check:
    """Say whether this folder's session should be handed over; exit code 10 if it should, 0 if not."""
    return folder_status.check(frame.desk, warning_only)


def rated_screen(change: Change[Session] | Change[Handoff]) -> str:
    rated = change.kept()
    if isinstance(rated, Handoff):
        satisfaction = rated.event.outcome.user_satisfaction if rated.event else None
        what = f"{rated.id}  {render.clean(f'{rated.source} → {rated.target}')}"
    else:
        satisfaction = rated.satisfaction
        what = f"{rated.id}  {render.clean(render.short(rated.title, 60))}"
    return f"Rated {render.rating(satisfaction or 0)}: {what}\nsegue undo takes it back."


@click.command()
@click.argument("rating", type=int)
@click.option("--session", "id", help="Another session than this folder's.")
@answers(rated_screen)
def rate(frame: Frame, rating: int, id: str | None) -> Change[Session] | Change[Handoff]:
    """Rate the last handoff of this folder's session, or the session if it was not handed over yet: RATING is from 1
    (bad) to 5 (good)."""
    return ratings.rate(frame.desk, rating, id)


COMMANDS = {"check": check, "rate": rate}
