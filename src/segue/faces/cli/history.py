"""`segue history show`: the latest handoffs and their outcomes."""

from __future__ import annotations

import click

from segue.faces.cli.frame import Frame, answers
from segue.faces.screens import handoffs as screens
from segue.model import Handoff
from segue.ops.handoff import handoffs


@click.group()
def history() -> None:
    """Show past handoffs and their outcomes."""


@history.command("show")
@click.option("--all", "everywhere", is_flag=True, help="Include every folder.")
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1), help="Maximum number.")
@answers(screens.history)
def history_show(frame: Frame, limit: int, everywhere: bool) -> list[Handoff]:
    """List the latest handoffs of this folder: trigger, preserved context, satisfaction."""
    return handoffs.listed(frame.desk, limit, everywhere=everywhere)


COMMANDS = {"history": history}
