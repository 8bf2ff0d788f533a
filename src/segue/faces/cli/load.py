"""`segue load`: print a saved state of the work."""

from __future__ import annotations

from typing import Any

import click

from segue.errors import NotFound
from segue.faces.cli.frame import Frame, answers, to_json
from segue.faces.cli.save import say_next_step
from segue.ops.briefs import saved_handoffs


def loaded_screen(found: dict[str, Any] | None) -> str:
    return to_json(found) if found else "No handoff found"


@click.command()
@click.option("--handoff-id", "id", metavar="ID", help="Which one; the latest by default.")
@answers(loaded_screen, exit_code=lambda found: 0 if found else 1)
def load(frame: Frame, id: str | None) -> dict[str, Any] | None:
    """Print the latest saved state, or one by its id, as JSON."""
    found = saved_handoffs.load(frame.desk, id)
    if found is None:
        next_step = saved_handoffs.SAVE if id is None else saved_handoffs.LIST
        say_next_step(frame, NotFound(noun="saved handoff", name=id or "latest", next=next_step), next_step)
    return found


COMMANDS = {"load": load}
