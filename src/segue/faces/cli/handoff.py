"""`segue handoff`: how things stand, the models work may go to, and the settings, by flags."""

from __future__ import annotations

import re

import click

from segue.errors import BadInput
from segue.faces import render
from segue.faces.cli.config import changed_screen
from segue.faces.cli.frame import Frame, answers
from segue.faces.cli.home import home
from segue.model import Preserve
from segue.ops import config as ops
from segue.ops import models as ops_models
from segue.ops.config import Changed
from segue.ops.models import Address


def models_screen(found: list[Address]) -> str:
    if not found:
        return "No models are listed. segue handoff models --add opus --add sonnet puts some on the list."
    rows = [(each.name, str(each), "" if each.is_installed else "not installed here") for each in found]
    return render.table(rows)


@click.group()
def handoff() -> None:
    """How things stand, the models that work may go to, and the settings of handoffs."""


handoff.add_command(home, "status")


@handoff.command("models")
@click.option("--add", multiple=True, metavar="NAME", help="A model: opus, agent:model, or NAME=agent:model.")
@click.option("--remove", multiple=True, metavar="NAME", help="Take one off the list.")
@answers(models_screen)
def models(frame: Frame, add: tuple[str, ...], remove: tuple[str, ...]) -> list[Address]:
    """List the models that work may be handed to, and what their names stand for."""
    return ops_models.change(frame.desk, add, remove) if add or remove else ops_models.listed(frame.desk)


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
    return ops.change(frame.desk, values)


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
