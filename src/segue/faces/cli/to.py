"""`segue to`: continue this work in another agent."""

from __future__ import annotations

import click

from segue.errors import BadInput
from segue.faces.cli.frame import Frame, answers
from segue.faces.cli.handoff_options import asking, doubting, handoff_options, mode_of, showing
from segue.faces.cli.handoff_screens import Shown, result_data, result_screen
from segue.model import Preserve
from segue.model.delivery import Mode, Way
from segue.ops.handoff import handoffs, plan
from segue.ops.handoff.plan import Order


@click.command()
@click.argument("target", metavar="AGENT[:MODEL]")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- ARGUMENT...]")
@click.option(
    "--preserve", type=click.Choice([level.value for level in Preserve]), help="How much is passed."
)
@click.option("--budget", metavar="TOKENS", type=int, help="Maximum length of the brief.")
@click.option("--way", type=click.Choice([Way.NATIVE.value, Way.PROMPT.value]), help="How it is delivered.")
@click.option("--prove", is_flag=True, help="Question a throw-away copy of the target first; costs tokens.")
@handoff_options
@answers(result_screen, data=result_data)
def to(
    frame: Frame,
    target: str,
    arguments: tuple[str, ...],
    preserve: str | None,
    budget: int | None,
    way: str | None,
    prove: bool,
    session: str | None,
    anyway: bool,
    yes: bool,
    dry_run: bool,
    headless: bool,
    reason: str,
) -> Shown:
    """Continue this folder's work in another agent or model: AGENT, AGENT:MODEL or a model's name.

    On a terminal the agent opens with the work loaded; --headless runs it to its end. Arguments after -- go to the
    agent's program. Segue asks before it sends a project's context to a vendor for the first time.
    """
    refuse_words(arguments)
    plan.target_of(frame.desk, target)
    order = Order(
        to=target,
        mode=Mode.HEADLESS if dry_run else mode_of(frame, headless),
        reason=reason,
        preserve=Preserve(preserve) if preserve else None,
        budget=budget,
        way=Way(way) if way else None,
        session=session,
        arguments=arguments,
        prove=prove,
        anyway=anyway,
    )
    if dry_run:
        return Shown(plan=plan.plan(frame.desk, order))
    return Shown(
        handed=handoffs.hand_over(
            frame.desk,
            order,
            may=asking(frame, yes),
            tell=frame.say,
            show=showing(frame, order),
            doubt=doubting(anyway),
        )
    )


def refuse_words(arguments: tuple[str, ...]) -> None:
    """Refuse arguments that are not options: the agent's program would read a word as a prompt."""
    if arguments and not arguments[0].startswith("-"):
        raise BadInput(
            what=f"Unexpected argument '{arguments[0]}': name one agent, and put options for its program after --.",
            next="segue to AGENT --reason 'what it should know'",
        )


COMMANDS = {"to": to}
