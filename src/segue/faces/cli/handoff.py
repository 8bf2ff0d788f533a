"""`segue handoff`: handoffs step by step, the models that work may go to, and the settings, by flags."""

from __future__ import annotations

import re

import click

from segue.errors import BadInput
from segue.faces import render
from segue.faces.cli.config import changed_screen
from segue.faces.cli.frame import Frame, answers
from segue.faces.cli.handoff_options import asking, doubting, mode_of, showing
from segue.faces.cli.handoff_screens import handed_screen, whose
from segue.faces.cli.init import init
from segue.faces.cli.status import status
from segue.faces.screens import handoffs as screens
from segue.model import Handoff, Preserve, Tier
from segue.model.delivery import Mode, Way
from segue.ops import settings_file as settings
from segue.ops.common import addresses
from segue.ops.common.addresses import Address
from segue.ops.handoff import handoffs
from segue.ops.handoff.handoffs import Handed, Report
from segue.ops.handoff.plan import Order
from segue.ops.settings_file import Changed


def models_screen(found: list[Address]) -> str:
    if not found:
        return "No models are listed. segue handoff models --add opus --add sonnet puts some on the list."
    rows = [(each.name, str(each), "" if each.is_installed else "not installed here") for each in found]
    return render.table(rows)


@click.group()
def handoff() -> None:
    """Handoffs step by step, how things stand, the models that work may go to, and the settings."""


handoff.add_command(status, "status")
handoff.add_command(init, "init")


def prepared_screen(handoff: Handoff) -> str:
    size = render.size(handoff.package.stored)
    title = handoffs.title_of(handoff.target)
    return (
        f"{render.mark('ok')} Context packaged ({size}) - Ready for handoff\n"
        f"  {handoff.id} to {title}: segue handoff execute {handoff.id} · segue show {handoff.id} · "
        f"segue handoff cancel {handoff.id}"
    )


@handoff.command("prepare")
@click.option("--to", "target", required=True, metavar="AGENT[:MODEL]", help="Who is to go on with the work.")
@click.option(
    "--preserve", type=click.Choice([level.value for level in Preserve]), help="How much is carried."
)
@click.option("--reason", metavar="TEXT", default="", help="Why, for the record and the next agent.")
@click.option("--way", type=click.Choice(["native", "prompt"]), help="How it is to be delivered.")
@click.option("--session", metavar="ID", help="Another session than this folder's.")
@answers(prepared_screen)
def prepare(
    frame: Frame, target: str, preserve: str | None, reason: str, way: str | None, session: str | None
) -> Handoff:
    """Package the context for another agent. Nothing leaves this machine."""
    order = Order(
        to=target,
        mode=Mode.HEADLESS,
        reason=reason,
        preserve=Preserve(preserve) if preserve else None,
        way=Way(way) if way else None,
        session=session,
    )
    return handoffs.prepare_whole(frame.desk, order, frame.say, lambda plan: frame.say(whose(plan)))


def executed_screen(handed: Handed) -> str:
    title = handoffs.title_of(handed.handoff.target)
    return f"{handed_screen(handed)}\n{render.mark('ok')} Handoff complete - {title} ready with {_held(handed.handoff)}"


def _held(handoff: Handoff) -> str:
    """What the target has: the full context only where its own conversation goes on, or all was to be passed."""
    delivery = handoff.delivery
    if delivery is None or delivery.way is Way.PROMPT:
        return "its brief"
    if delivery.way is Way.RESUME:
        return "full context"
    if handoff.tier is Tier.FULL:
        left = len(handoff.not_passed)
        return "full context" + (
            f", but for {render.plural(left, 'thing')} that could not be passed" if left else ""
        )
    return f"its brief and {render.plural(delivery.turns, 'turn')} of the conversation"


@handoff.command("execute")
@click.argument("id", required=False)
@click.option("--to", "target", metavar="AGENT[:MODEL]", help="Prepare and execute in one.")
@click.option("--reason", metavar="TEXT", default="", help="Why, for the record and the next agent.")
@click.option("--open/--headless", "is_open", help="On this terminal, or to its end (the default).")
@click.option("--prove", is_flag=True, help="Ask a throw-away copy what it knows first; costs tokens.")
@click.option("--yes", "-y", is_flag=True, help="Let the context go to the vendor without asking.")
@click.option("--anyway", is_flag=True, help="Hand over even at the target's limit, or if --prove fails.")
@answers(executed_screen)
def execute(
    frame: Frame,
    id: str | None,
    target: str | None,
    reason: str,
    is_open: bool,
    prove: bool,
    yes: bool,
    anyway: bool,
) -> Handed:
    """Start the target with what was prepared: the one with this ID, the last one, or a new one with --to."""
    mode = mode_of(frame, headless=not is_open, command="segue handoff execute")
    order = Order(to=target or "", mode=mode, reason=reason, prove=prove, anyway=anyway)
    return handoffs.execute_named(
        frame.desk,
        id,
        order if target else None,
        mode,
        may=asking(frame, yes),
        tell=frame.say,
        prove=prove,
        show=showing(frame, order),
        doubt=doubting(anyway),
    )


def report_screen(report: Report) -> str:
    handoff, found = report.handoff, report.arrival
    if not report.is_proved:
        return (
            f"{render.mark('problem')} {handoff.id} is {handoff.state.value}, and not proved: {report.why}."
        )
    lines = [
        f"{render.mark('ok')} {handoff.id} is {handoff.state.value}: "
        f"{handoffs.title_of(handoff.target)} holds it (transcript {render.clean(found.id)})."
    ]
    if handoff.delivery and handoff.delivery.turns:
        lines.append(f"  {found.carried} of {handoff.delivery.turns} turns stand before it.")
    if report.proof:
        lines.append(
            f"  {report.proof.report.right} of {len(report.proof.report.results)} answers were right."
        )
    return "\n".join(lines)


@handoff.command("validate")
@click.argument("id")
@answers(report_screen, exit_code=lambda report: 0 if report.is_proved else 1)
def validate(frame: Frame, id: str) -> Report:
    """Look at what the target holds, in its own records; exit code 1 if that proves nothing."""
    return handoffs.validate(frame.desk, id)


def list_screen(found: list[Handoff]) -> str:
    if not found:
        return "No handoff was made yet. segue to AGENT makes one."
    rows = [("id", "when", "from", "to", "state", "why")]
    rows += [
        (
            one.id,
            render.when(one.created_at),
            one.source,
            one.target,
            one.state.value,
            render.short(one.reason, 60),
        )
        for one in found
    ]
    return render.table(rows)


@handoff.command("list")
@click.option("--all", "everywhere", is_flag=True, help="Those of every folder.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1), help="How many, at most.")
@answers(list_screen)
def list_(frame: Frame, limit: int, everywhere: bool) -> list[Handoff]:
    """The handoffs of this folder, the last first; with --all, of every folder."""
    return handoffs.listed(frame.desk, limit, everywhere=everywhere)


@handoff.command("show")
@click.argument("id", required=False)
@answers(screens.handoff)
def show(frame: Frame, id: str | None) -> Handoff:
    """One handoff, the last one of this folder if none is named: where it stands, how it went, what it kept."""
    return handoffs.get(frame.desk, id) if id else handoffs.last_here(frame.desk)


def cancelled_screen(handoff: Handoff) -> str:
    return f"{render.mark('ok')} {handoff.id} is cancelled. Nothing of it has left this machine."


@handoff.command("cancel")
@click.argument("id")
@answers(cancelled_screen)
def cancel(frame: Frame, id: str) -> Handoff:
    """Put a handoff aside that was prepared and not started."""
    return handoffs.cancel(frame.desk, id, frame.say)


@handoff.command("models")
@click.option("--add", multiple=True, metavar="NAME", help="A model: opus, agent:model, or NAME=agent:model.")
@click.option("--remove", multiple=True, metavar="NAME", help="Take one off the list.")
@answers(models_screen)
def models(frame: Frame, add: tuple[str, ...], remove: tuple[str, ...]) -> list[Address]:
    """List the models that work may be handed to, and what their names stand for."""
    return settings.change_models(frame.desk, add, remove) if add or remove else addresses.listed(frame.desk)


@handoff.command("config", context_settings={"ignore_unknown_options": True})
@click.option("--auto", metavar="true|false", help="Prepare a handoff by itself at a threshold.")
@click.option("--auto-switch", metavar="true|false", help="Let `segue run` move on by itself.")
@click.option(
    "--preserve", type=click.Choice([level.value for level in Preserve]), help="How much a handoff carries."
)
@click.argument("limits", nargs=-1, type=click.UNPROCESSED, metavar="[--MODEL-limit SHARE]...")
@answers(changed_screen)
def config(
    frame: Frame, auto: str | None, auto_switch: str | None, preserve: str | None, limits: tuple[str, ...]
) -> list[Changed]:
    """Set thresholds and preferences: --opus-limit 80% --auto-switch true --preserve complete."""
    given = {"handoff.auto": auto, "handoff.auto_switch": auto_switch, "handoff.preserve": preserve}
    values = {key: value for key, value in given.items() if value is not None}
    values |= model_limits(limits)
    if not values:
        raise BadInput(what="Nothing to set was given.", next="segue handoff config --help")
    return settings.change(frame.desk, values)


def model_limits(arguments: tuple[str, ...]) -> dict[str, str]:
    """`--opus-limit 80%` for any model, as settings."""
    words = [part for argument in arguments for part in argument.split("=", 1)]
    found = {}
    while words:
        match = re.fullmatch(r"--([a-z0-9][\w.:-]*)-limit", words[0])
        if match is None or len(words) < 2:
            raise BadInput(what=f"'{words[0]}' is not understood.", next="segue handoff config --help")
        found[f"limits.models.{match.group(1)}"] = words[1]
        words = words[2:]
    return found


COMMANDS = {"handoff": handoff}
