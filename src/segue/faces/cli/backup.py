"""`segue backup`: back up the store into one file, and restore it."""

from __future__ import annotations

import sys

import click

from segue.errors import BadInput
from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.ops import backups as ops
from segue.ops.backups import Backup, Restored


def made_screen(backup: Backup) -> str:
    return f"{render.mark('ok')} {render.clean(backup.path)} ({render.size(backup.size)})"


def list_screen(backups: list[Backup]) -> str:
    if not backups:
        return "No backups yet. Make one: segue backup make"
    return render.table(
        [
            (b.name, render.when(b.header.made_at), render.size(b.size), b.header.why)
            if b.header
            else (b.name, "unreadable", render.size(b.size), b.problem)
            for b in backups
        ]
    )


def restored_screen(restored: Restored) -> str:
    lines = [f"{render.mark('ok')} Restored the store to its state of {moment(restored.backup)}."]
    if restored.saved:
        lines.append(f"  The previous state is saved in {render.clean(restored.saved)}")
    return "\n".join(lines)


@click.group()
def backup() -> None:
    """Make, list and restore backups of the store."""


@backup.command("make")
@answers(made_screen)
def make(frame: Frame) -> Backup:
    """Write the whole store into one file. Other processes can keep writing."""
    return ops.make(frame.desk)


@backup.command("list")
@answers(list_screen)
def list_all(frame: Frame) -> list[Backup]:
    """List the backups, newest first."""
    return ops.all_backups(frame.desk)


@backup.command("restore")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@answers(restored_screen)
def restore(frame: Frame, name: str, yes: bool) -> Restored:
    """Restore the store from a backup: NAME from the list, a file, or 'latest'. The present state is saved first."""
    if not yes and not confirmed(ops.find(frame.desk, name), ops.place(frame.desk)):
        raise BadInput(
            what="Nothing was restored: the restore was not confirmed.",
            next=f"segue backup restore {name} --yes",
        )
    return ops.restore(frame.desk, name)


def confirmed(backup: Backup, place: str) -> bool:
    """Ask on a terminal; without a terminal the answer is no."""
    origin = render.clean(backup.header.made_from) if backup.header else "?"
    question = (
        f"Replace {render.clean(place)} with the state of {origin} at {moment(backup)}? "
        "The present state is saved as a backup."
    )
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    return is_terminal and click.confirm(question, err=True)


def moment(backup: Backup) -> str:
    return render.when(backup.header.made_at) if backup.header else "?"


COMMANDS = {"backup": backup}
