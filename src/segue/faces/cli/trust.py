"""`segue trust`: let a project's settings file do more than narrow."""

from __future__ import annotations

import click

from segue.faces import render
from segue.faces.cli.config import plain
from segue.faces.cli.frame import Frame, answers
from segue.ops import settings_file as settings
from segue.ops.settings_file import Trust


def trust_screen(trust: Trust) -> str:
    first = "is trusted as it now is." if trust.is_trusted else "is no longer trusted: it may only narrow."
    lines = [f"{render.clean(trust.path)} {first}"]
    if trust.affects:
        lines.append("What takes effect by that:" if trust.is_trusted else "What it had set:")
        lines.append(
            render.table([(key, plain(key, value)) for key, value in trust.affects.items()], indent="  ")
        )
    return "\n".join(lines)


@click.command()
@click.option("--undo", "take_back", is_flag=True, help="Trust it no longer.")
@answers(trust_screen)
def trust(frame: Frame, take_back: bool) -> Trust:
    """Let this project's own settings file, as it now is, do more than narrow."""
    frame.is_quiet = True  # what is left out is what this command is about
    return settings.distrust(frame.desk) if take_back else settings.trust(frame.desk)


COMMANDS = {"trust": trust}
