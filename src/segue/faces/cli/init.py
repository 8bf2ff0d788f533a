"""`segue init`: set up the agents on this machine, and take that back."""

from __future__ import annotations

import sys

import click

from segue.errors import BadInput
from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.ops import setup as ops
from segue.ops.setup import Change, State

LEVELS = {State.DONE: "ok", State.ALREADY: "ok", State.UNDONE: "ok"}


def screen(changes: tuple[Change, ...]) -> str:
    lines = []
    for change in changes:
        path = f" ({render.clean(change.path)})" if change.path else ""
        sign = "" if change.state is State.NOTHING else ":"
        lines.append(
            f"{render.mark(LEVELS.get(change.state, 'note'))} {change.title}{sign} {change.state}{path}"
        )
        if change.backup:
            lines.append(render.dim(f"  The file as it was before: {render.clean(change.backup)}"))
        lines += [render.dim(f"  But {render.clean(note)}.") for note in change.notes]
    if any(change.state is State.DONE for change in changes):
        lines += [
            "",
            "An agent that is open now may have to be started anew. segue init --undo takes it all back.",
        ]
    return "\n".join(lines)


def offer(changes: list[Change]) -> str:
    """What would be changed, line by line."""
    lines = []
    for change in changes:
        lines.append(f"{change.title}:")
        lines += [f"  - {purpose}" for purpose in change.purposes]
        lines += [f"  {coloured(render.clean(line))}" for line in change.diff.splitlines()]
    return "\n".join(lines)


def coloured(line: str) -> str:
    colour = {"+": "green", "-": "red"}.get(line[:1])
    return click.style(line, fg=colour) if colour else line


def confirmed() -> bool:
    """Ask on a terminal; without one the answer is no."""
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    return is_terminal and click.confirm("Change that?", err=True)


@click.command()
@click.argument("names", nargs=-1, metavar="[AGENT...]")
@click.option("--mcp", is_flag=True, help="Let the agents ask Segue by themselves too, as a tool server.")
@click.option("--plugin", is_flag=True, help="Change no settings: only leave what the hooks of a plugin run.")
@click.option("--undo", is_flag=True, help="Take back what was set up: each file is as it was before.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@answers(screen)
def init(
    frame: Frame, names: tuple[str, ...], mcp: bool, plugin: bool, undo: bool, yes: bool
) -> tuple[Change, ...]:
    """Set up the agents on this machine: hooks and a status line. The hooks tell of waiting handoffs and of limits, and
    keep an agent off a worktree that another one holds. What would change is shown first; nothing else is touched."""
    if undo:
        return ops.undo(frame.desk, names)
    if plugin:
        return ops.leave_script(frame.desk, names)
    planned = ops.plan(frame.desk, names, tools=mcp)
    due = [one.change for one in planned if one.change.state is State.DUE]
    if due and not yes:
        frame.say(offer(due))
        if not confirmed():
            raise BadInput(what="Nothing was changed: it was not confirmed.", next="segue init --yes")
    return ops.apply(frame.desk, planned)


COMMANDS = {"init": init}
