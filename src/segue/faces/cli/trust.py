"""`segue trust`: trust a project's settings file."""

from __future__ import annotations

import click

from segue.faces import render
from segue.faces.cli.config import plain
from segue.faces.cli.frame import Frame, answers
from segue.ops import settings_file as settings
from segue.ops.settings_file import Trust


def trust_screen(trust: Trust) -> str:
    first = (
        "is trusted in its present form."
        if trust.is_trusted
        else "is no longer trusted: it may only restrict settings."
    )
    lines = [f"{render.clean(trust.path)} {first}"]
    if trust.affects:
        lines.append("These settings take effect:" if trust.is_trusted else "These settings no longer apply:")
        lines.append(
            render.table([(key, plain(key, value)) for key, value in trust.affects.items()], indent="  ")
        )
    return "\n".join(lines)


@click.command()
@click.option("--undo", "take_back", is_flag=True, help="Revoke the trust.")
@answers(trust_screen)
def trust(frame: Frame, take_back: bool) -> Trust:
    """Trust this project's settings file in its present form.

    Untrusted files may only restrict settings.
    """
    frame.is_quiet = True  # the ignored settings are this command's subject
    return settings.distrust(frame.desk) if take_back else settings.trust(frame.desk)


COMMANDS = {"trust": trust}
