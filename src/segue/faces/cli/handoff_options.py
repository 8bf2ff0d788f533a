"""Shared options, questions and progress messages of the commands that hand over."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from segue.errors import BadInput, Declined
from segue.faces.cli.frame import Frame
from segue.faces.cli.handoff_screens import going_screen, plan_screen, whose
from segue.model import Handoff
from segue.model.delivery import Mode
from segue.ops.handoff import handoffs
from segue.ops.handoff.plan import Order, Plan
from segue.ops.handoff.proof import Proof


def handoff_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--session", metavar="ID", help="A session other than this folder's."),
        click.option(
            "--anyway",
            is_flag=True,
            help="Hand over even if the target reports that it is at its limit, or if --prove fails.",
        ),
        click.option("--yes", "-y", is_flag=True, help="Send the context to the vendor without asking."),
        click.option("--dry-run", is_flag=True, help="Show what would be sent where, and stop."),
        click.option("--headless", is_flag=True, help="Run the agent to its end, without a terminal."),
        click.option(
            "--reason", metavar="TEXT", default="", help="Why; recorded, and passed to the next agent."
        ),
    ):
        function = option(function)
    return function


def mode_of(frame: Frame, headless: bool, command: str = "segue to AGENT") -> Mode:
    """Headless if asked for; otherwise a terminal is required."""
    if headless:
        return Mode.HEADLESS
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput(
            what="There is no terminal to open the agent in.",
            next=f"{command} --headless",
        )
    return Mode.OPEN


def asking(frame: Frame, yes: bool) -> handoffs.May:
    """Ask the user whether a handoff may be sent to a vendor."""

    def may(handoff: Handoff) -> bool:
        title = handoffs.title_of(handoff.target)
        mode = handoff.delivery.mode if handoff.delivery else None
        if yes:
            say_at_work(frame, title, mode)
            return True
        if not sys.stdin.isatty():
            return False
        frame.say(going_screen(handoff, handoffs.vendor_of(frame.desk, handoff.target)))
        kept = f" Handoff {handoff.id} remains prepared."
        goes_on = f"segue handoff execute {handoff.id}{' --open' if mode is Mode.OPEN else ''}"
        next = f"{goes_on} to continue, segue handoff cancel {handoff.id} to discard it"
        try:
            is_given = click.confirm("Let this project's context go there?", default=False, err=True)
        except click.Abort:
            frame.say(f"\nNothing was sent.{kept} Run {next}.")
            raise
        if not is_given:
            raise Declined(agent=handoffs.title_of(handoff.source), kept=kept, next=next)
        say_at_work(frame, title, mode)
        return True

    return may


def doubting(anyway: bool) -> handoffs.Doubt:
    """Ask the user whether to start a target whose copy failed the questions."""

    def doubt(proof: Proof) -> bool:
        if anyway or not sys.stdin.isatty():
            return anyway
        report = proof.report
        asked = f"The copy answered {report.right} of {len(report.results)} questions. Start it anyway?"
        return click.confirm(asked, default=False, err=True)

    return doubt


def say_at_work(frame: Frame, title: str, mode: Mode | None) -> None:
    """Report that a headless agent is working: it prints nothing itself."""
    if mode is Mode.HEADLESS and sys.stderr.isatty() and not frame.as_json:
        frame.say(f"{title} is working; press Ctrl-C to stop it.")


def showing(frame: Frame, order: Order) -> Callable[[Plan], None]:
    """Show the plan to a user at a terminal before anything is sent."""

    def show(plan: Plan) -> None:
        if order.mode is Mode.OPEN or (sys.stderr.isatty() and not frame.as_json):
            frame.say(plan_screen(plan))
        else:
            frame.say(whose(plan))
        if plan.is_allowed:
            say_at_work(frame, plan.target_title, order.mode)

    return show
