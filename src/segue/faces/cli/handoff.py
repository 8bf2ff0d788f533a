"""`segue handoff`: for now its settings, by flags."""

from __future__ import annotations

import re

import click

from segue.errors import BadInput
from segue.faces.cli.config import changed_screen
from segue.faces.cli.frame import Frame, answers
from segue.model import Preserve
from segue.ops import config as ops
from segue.ops.config import Changed


@click.group()
def handoff() -> None:
    """The settings of handoffs, by flags."""


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
