"""`segue init`: set up the agents on this machine, or undo that."""

from __future__ import annotations

import sys

import click

from segue.errors import BadInput
from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.ops.setup import install
from segue.ops.setup.install import Change, State

LEVELS = {State.DONE: "ok", State.ALREADY: "ok", State.UNDONE: "ok", State.SCRIPT: "ok"}
SENTENCES = (State.NOTHING, State.ONLY_TOOLS)
"""States whose text continues the agent's name."""
WIDEST, TAB = 160, 4
"""Lines of a settings diff are truncated: the start of a line shows the change."""


def screen(changes: tuple[Change, ...]) -> str:
    if not changes:
        return "Nothing was changed."
    lines = []
    for change in changes:
        lines.append(line_of(change))
        if change.backup:
            lines.append(render.dim(f"  Previous version: {render.clean(change.backup)}"))
        lines += [render.dim(f"  Note: {render.clean(note)}.") for note in change.notes]
    if any(change.state is State.DONE for change in changes):
        lines += [
            "",
            "Restart agents that are open now. To undo everything: segue init --undo",
        ]
    if all(change.state is State.NOT_HERE for change in changes):
        lines += ["", "Install an agent or put it on PATH, then run segue init again."]
    return "\n".join(lines)


def line_of(change: Change) -> str:
    """Format what was done to one file, or why nothing was."""
    path = f" ({render.clean(change.path)})" if change.path else ""
    sign = "" if change.state in SENTENCES else ":"
    said = f"{change.title}{sign} {change.state}" if change.title else change.state.capitalize()
    return f"{render.mark(LEVELS.get(change.state, 'note'))} {said}{path}"


def offer(due: list[Change], others: list[Change]) -> str:
    """Format the planned changes as diffs."""
    lines = []
    for change in due:
        lines.append(f"{change.title}:")
        lines += [f"  - {purpose}" for purpose in change.purposes]
        lines += [f"  {coloured(narrow(line))}" for line in change.diff.splitlines()]
    lines += [line_of(change) for change in others if change.state is not State.NOT_HERE]
    return "\n".join([*lines, "", summary([render.clean(change.path) for change in due if change.diff])])


def summary(paths: list[str]) -> str:
    if not paths:
        return "No settings would change; only the script that the hooks run is rewritten."
    each = "it" if len(paths) == 1 else "each"
    named = f"{render.plural(len(paths), 'file')}: {', '.join(paths)}"
    return f"{named}; segue init --undo restores {each}."


def narrow(line: str) -> str:
    return render.short(render.clean(line.expandtabs(TAB)), WIDEST)


def coloured(line: str) -> str:
    colour = {"+": "green", "-": "red"}.get(line[:1])
    return click.style(line, fg=colour) if colour else line


def confirmed() -> bool | None:
    """Ask on a terminal; None without one."""
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    return click.confirm("Apply these changes?", err=True) if is_terminal else None


@click.command()
@click.argument("names", nargs=-1, metavar="[AGENT...]")
@click.option(
    "--mcp", is_flag=True, help="Also register Segue as an MCP server, so that agents can query it."
)
@click.option(
    "--plugin", is_flag=True, help="Change no settings; only write the script that a plugin's hooks run."
)
@click.option("--undo", is_flag=True, help="Undo the setup: restore each file.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@answers(screen)
def init(
    frame: Frame, names: tuple[str, ...], mcp: bool, plugin: bool, undo: bool, yes: bool
) -> tuple[Change, ...]:
    """Set up the agents on this machine: hooks and a status line.

    The hooks report waiting handoffs and limits, and keep an agent out of a worktree that another agent has locked.
    Shows every change before it is made.
    """
    if undo:
        return install.undo(frame.desk, names)
    if plugin:
        return install.leave_script(frame.desk, names)
    planned = install.plan(frame.desk, names, tools=mcp)
    changes = [one.change for one in planned]
    due = [change for change in changes if change.state is State.DUE]
    if due and not yes:
        frame.say(offer(due, [change for change in changes if change not in due]))
        is_confirmed = confirmed()
        if is_confirmed is None:
            raise BadInput(
                what="Nothing was changed: there is no terminal to ask on.",
                next="segue init --yes",
            )
        if not is_confirmed:
            return ()
    return install.apply(frame.desk, planned)


COMMANDS = {"init": init}
