"""`segue back`: return to the agent that the work came from."""

from __future__ import annotations

import click

from segue.faces.cli.frame import Frame, answers
from segue.faces.cli.handoff_options import asking, handoff_options, mode_of
from segue.faces.cli.handoff_screens import Shown, result_data, result_screen
from segue.model.delivery import Mode
from segue.ops.handoff import plan
from segue.ops.handoff.plan import Order
from segue.ops.verify import back as returns


@click.command()
@handoff_options
@answers(result_screen, data=result_data)
def back(
    frame: Frame,
    session: str | None,
    anyway: bool,
    yes: bool,
    dry_run: bool,
    headless: bool,
    reason: str,
) -> Shown:
    """Return to the previous agent: resumes its conversation, with a report of what happened meanwhile."""
    order = Order(
        to=plan.BACK,
        mode=Mode.HEADLESS if dry_run else mode_of(frame, headless, "segue back"),
        reason=reason,
        session=session,
        anyway=anyway,
    )

    if dry_run:
        return Shown(plan=returns.plan(frame.desk, order))
    return Shown(handed=returns.come_back(frame.desk, order, may=asking(frame, yes), tell=frame.say))


COMMANDS = {"back": back}
