"""`segue` alone and `segue status`: each agent's limits, this folder's session, and what to do next."""

from __future__ import annotations

import click

from segue.faces.cli.frame import Frame, answers
from segue.faces.screens import overview as screens
from segue.ops import overview as ops
from segue.ops.overview import Overview


@click.command()
@answers(screens.overview)
def status(frame: Frame) -> Overview:
    """Show every agent's limits, this folder's session, and what to do next."""
    return ops.overview(frame.desk, frame.progress("Reading transcripts"))


COMMANDS = {"status": status}
