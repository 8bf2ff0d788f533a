"""`segue history show`: the last handoffs and how they went."""

from __future__ import annotations

import click

from segue.faces.cli.frame import Frame, answers
from segue.faces.screens import handoffs as screens
from segue.model import Handoff
from segue.ops.handoff import handoffs


@click.group()
def history() -> None:
    """What was handed over, to whom, and how it went."""


@history.command("show")
@click.option("--all", "everywhere", is_flag=True, help="Those of every folder.")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1), help="How many, at most.")
@answers(screens.history)
def history_show(frame: Frame, limit: int, everywhere: bool) -> list[Handoff]:
    """The last handoffs of this folder: what set them off, what they kept, how content the person was."""
    return handoffs.listed(frame.desk, limit, everywhere=everywhere)


COMMANDS = {"history": history}
