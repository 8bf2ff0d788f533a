"""`segue handoff`: handoffs step by step, the list of models, and settings by flags."""

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
        return "No models are listed. Add some: segue handoff models --add opus --add sonnet"
    rows = [(each.name, str(each), "" if each.is_installed else "not installed") for each in found]
    return render.table(rows)


@click.group()
def handoff() -> None:
    """Hand over step by step, show the status, and set models and preferences."""


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
@click.option("--to", "target", required=True, metavar="AGENT[:MODEL]", help="Who continues the work.")
@click.option(
    "--preserve", type=click.Choice([level.value for level in Preserve]), help="How much is passed."
)
@click.option("--reason", metavar="TEXT", default="", help="Why; recorded, and passed to the next agent.")
@click.option("--way", type=click.Choice(["native", "prompt"]), help="How it is delivered.")
@click.option("--session", metavar="ID", help="A session other than this folder's.")
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
    """What the target received: the full context only if its conversation was resumed, or at tier FULL."""
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
@click.option("--to", "target", metavar="AGENT[:MODEL]", help="Prepare and execute in one step.")
@click.option("--reason", metavar="TEXT", default="", help="Why; recorded, and passed to the next agent.")
@click.option(
    "--open/--headless", "is_open", help="Open on this terminal, or run headless to the end (default)."
)
@click.option("--prove", is_flag=True, help="Question a throw-away copy of the target first; costs tokens.")
@click.option("--yes", "-y", is_flag=True, help="Send the context to the vendor without asking.")
@click.option(
    "--anyway",
    is_flag=True,
    help="Hand over even if the target reports that it is at its limit, or if --prove fails.",
)
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
    """Start the target with a prepared handoff: ID, the latest one, or a new one with --to."""
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
        return f"{render.mark('problem')} {handoff.id} is {handoff.state.value}, not confirmed: {report.why}."
    lines = [
        f"{render.mark('ok')} {handoff.id} is {handoff.state.value}: "
        f"{handoffs.title_of(handoff.target)} has it (transcript {render.clean(found.id)})."
    ]
    if handoff.delivery and handoff.delivery.turns:
        lines.append(f"  {found.carried} of {handoff.delivery.turns} turns precede it.")
    if report.proof:
        lines.append(
            f"  {report.proof.report.right} of {len(report.proof.report.results)} answers were right."
        )
    return "\n".join(lines)


@handoff.command("validate")
@click.argument("id")
@answers(report_screen, exit_code=lambda report: 0 if report.is_proved else 1)
def validate(frame: Frame, id: str) -> Report:
    """Check that the target's transcript contains the handoff; exits 1 if not."""
    return handoffs.validate(frame.desk, id)


def list_screen(found: list[Handoff]) -> str:
    if not found:
        return "No handoffs yet. Make one: segue to AGENT"
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
@click.option("--all", "everywhere", is_flag=True, help="Include every folder.")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1), help="Maximum number.")
@answers(list_screen)
def list_(frame: Frame, limit: int, everywhere: bool) -> list[Handoff]:
    """List the handoffs of this folder, newest first."""
    return handoffs.listed(frame.desk, limit, everywhere=everywhere)


@handoff.command("show")
@click.argument("id", required=False)
@answers(screens.handoff)
def show(frame: Frame, id: str | None) -> Handoff:
    """Show a handoff (the latest one of this folder by default): state, delivery, outcome."""
    return handoffs.get(frame.desk, id) if id else handoffs.last_here(frame.desk)


def cancelled_screen(handoff: Handoff) -> str:
    return f"{render.mark('ok')} {handoff.id} is cancelled. Nothing was sent."


@handoff.command("cancel")
@click.argument("id")
@answers(cancelled_screen)
def cancel(frame: Frame, id: str) -> Handoff:
    """Cancel a prepared handoff."""
    return handoffs.cancel(frame.desk, id, frame.say)


@handoff.command("models")
@click.option("--add", multiple=True, metavar="NAME", help="A model: opus, agent:model, or NAME=agent:model.")
@click.option("--remove", multiple=True, metavar="NAME", help="Remove a model from the list.")
@answers(models_screen)
def models(frame: Frame, add: tuple[str, ...], remove: tuple[str, ...]) -> list[Address]:
    """List the models that work may be handed to, and what each name refers to."""
    return settings.change_models(frame.desk, add, remove) if add or remove else addresses.listed(frame.desk)


@handoff.command("config", context_settings={"ignore_unknown_options": True})
@click.option("--auto", metavar="true|false", help="Prepare a handoff automatically at a threshold.")
@click.option("--auto-switch", metavar="true|false", help="Let `segue run` switch agents automatically.")
@click.option(
    "--preserve", type=click.Choice([level.value for level in Preserve]), help="How much a handoff passes."
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
        raise BadInput(what="No setting was given.", next="segue handoff config --help")
    return settings.change(frame.desk, values)


def model_limits(arguments: tuple[str, ...]) -> dict[str, str]:
    """Parse `--opus-limit 80%` of any model into settings."""
    words = [part for argument in arguments for part in argument.split("=", 1)]
    found = {}
    while words:
        match = re.fullmatch(r"--([a-z0-9][\w.:-]*)-limit", words[0])
        if match is None or len(words) < 2:
            raise BadInput(what=f"Unknown option '{words[0]}'.", next="segue handoff config --help")
        found[f"limits.models.{match.group(1)}"] = words[1]
        words = words[2:]
    return found


COMMANDS = {"handoff": handoff}
