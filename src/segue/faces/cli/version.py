"""`segue version`."""

from __future__ import annotations

import click

from segue import __version__
from segue.faces.cli.frame import Frame, answers


@click.command()
@answers(lambda version: f"segue {version}")
def version(frame: Frame) -> str:
    """Show the version."""
    return __version__


COMMANDS = {"version": version}
