"""`segue check` and `segue rate`: whether to hand over, and how content you are."""

from __future__ import annotations

import click

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.model import Session
from segue.ops import sessions, status
from segue.ops.sessions import Change
from segue.ops.status import Check

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
    return status.check(frame.desk, warning_only)


def rated_screen(change: Change[Session]) -> str:
    session = change.kept()
    rated = f"Rated {1 + (session.satisfaction or 0) * 4:.0f} of 5"
    return (
        f"{rated}: {session.id}  {render.clean(render.short(session.title, 60))}\nsegue undo takes it back."
    )


@click.command()
@click.argument("rating", type=int)
@click.option("--session", "id", help="Another session than this folder's.")
@answers(rated_screen)
def rate(frame: Frame, rating: int, id: str | None) -> Change[Session]:
    """Say how content you are with this folder's session: RATING is from 1 (bad) to 5 (good)."""
    return sessions.rate(frame.desk, rating, id)


COMMANDS = {"check": check, "rate": rate}
