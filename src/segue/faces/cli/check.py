"""`segue check`: is a handoff due?"""

from __future__ import annotations

import click

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.ops.usage import folder_status
from segue.ops.usage.folder_status import Check

RULE = "=" * 70


def check_screen(found: Check) -> str:
    about = " (estimated limit)" if found.is_estimate else ""
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
    "--warning-only",
    is_flag=True,
    help="Answer NO below the urgent threshold; the reason still names the warning.",
)
@answers(check_screen, exit_code=lambda found: found.exit_code)
def check(frame: Frame, warning_only: bool) -> Check:
    """Check whether this folder's session should be handed over; exits 10 if it should."""
    return folder_status.check(frame.desk, warning_only)


COMMANDS = {"check": check}
