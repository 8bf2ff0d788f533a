"""`segue undo`: take back the last operation."""

from __future__ import annotations

import click

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.ops import log as ops
from segue.ops.log import Undone


def undone_screen(undone: Undone) -> str:
    taken = f"Undid {undone.undone.id} ({undone.undone.kind} of {render.clean(undone.undone.subject)})."
    if undone.can_be_undone:
        return f"{taken} To redo it: segue undo {undone.by.id}"
    handoff = ops.as_data(undone.undone)["after"] or {}
    id, source, target = (render.clean(handoff.get(field, "")) for field in ("id", "source", "target"))
    return (
        f"Undid handoff {id} ({source} to {target}); its state is rolled back.\n"
        f"The work is with {source} again; changes made to your files meanwhile remain."
        + (f"\n{render.clean(undone.stays)}" if undone.stays else "")
    )


@click.command()
@click.argument("id", required=False)
@answers(undone_screen)
def undo(frame: Frame, id: str | None) -> Undone:
    """Undo your last operation, or the one with this ID. Your code is never touched."""
    return ops.undo(frame.desk, id)


COMMANDS = {"undo": undo}
