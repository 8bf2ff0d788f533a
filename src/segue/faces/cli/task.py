"""`segue task`: show and correct a session's task."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from segue.errors import BadInput
from segue.faces import render
from segue.faces.cli import editor
from segue.faces.cli.frame import Frame, answers, to_json
from segue.model.task import TaskEdit
from segue.ops.briefs import task as ops
from segue.ops.briefs.task import Shown

WIDTH = 200
LISTS = {
    "sub_goals": "Sub-goals",
    "constraints": "Constraints",
    "next_steps": "Next steps",
    "critical_context": "Critical context",
}


def task_screen(shown: Shown) -> str:
    task = shown.task
    rows = [
        ("Session", f"{shown.session}  {_line(shown.title)}"),
        (
            "Goal",
            _line(task.primary_goal) + _mark(shown, "primary_goal")
            if task.primary_goal
            else "not stated yet",
        ),
        ("Progress", f"{task.progress:.0%}" + _mark(shown, "progress")),
    ]
    lines = [render.table(rows)]
    for field, title in LISTS.items():
        if items := getattr(task, field):
            lines.append(title + _mark(shown, field))
            lines += [f"  - {_line(item)}" for item in items]
    return "\n".join(lines)


def edited_screen(shown: Shown) -> str:
    told = "To undo: segue undo" if shown.operation else "Nothing was changed."
    return f"{task_screen(shown)}\n{told}"


def _line(text: str) -> str:
    return render.clean(render.short(" ".join(text.split()), WIDTH))


def _mark(shown: Shown, field: str) -> str:
    return "  (edited)" if field in shown.edited else ""


def _share(_context: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    """'0.4' or '40%'."""
    if value is None:
        return None
    try:
        share = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise BadInput(
            what=f"Invalid progress '{value}': expected 0 to 1, or 0% to 100%.",
            next="segue task edit --progress 40%",
        )
    return share


def _said(items: Sequence[str]) -> tuple[str, ...] | None:
    """Items of a list option; None if it was not given. A single empty text empties the list."""
    return tuple(item.strip() for item in items if item.strip()) if items else None


@click.group()
def task() -> None:
    """Show or correct a session's task: goal, progress, constraints, next steps."""


@task.command("show")
@click.option("--session", "id", help="A session other than this folder's.")
@answers(task_screen)
def show(frame: Frame, id: str | None) -> Shown:
    """Show the task, derived from transcripts; your edits take precedence."""
    return ops.show(frame.desk, id)


@task.command("edit")
@click.option("--goal", help="The overall goal.")
@click.option(
    "--sub-goal", "sub_goals", multiple=True, help="A part of the goal; repeatable, replaces the list."
)
@click.option(
    "--constraint", "constraints", multiple=True, help="A constraint; repeatable, replaces the list."
)
@click.option("--progress", callback=_share, help="Share of the work that is done: 0.4 or 40%.")
@click.option("--next-step", "next_steps", multiple=True, help="A next step; repeatable, replaces the list.")
@click.option("--critical", multiple=True, help="Critical context; repeatable, replaces the list.")
@click.option("--reset", is_flag=True, help="Discard your earlier edits.")
@click.option("--session", "id", help="A session other than this folder's.")
@answers(edited_screen)
def edit(
    frame: Frame,
    goal: str | None,
    progress: float | None,
    critical: tuple[str, ...],
    reset: bool,
    id: str | None,
    **lists: Any,
) -> Shown:
    """Correct the task; without options, in $VISUAL or $EDITOR. An empty text empties a list."""
    said = TaskEdit(
        primary_goal=goal,
        progress=progress,
        critical_context=_said(critical),
        **{name: _said(items) for name, items in lists.items()},
    )
    if said.said() or reset:
        return ops.edit(frame.desk, said, id, anew=reset)
    written = _edited(frame, to_json(ops.show(frame.desk, id).task) + "\n")
    return ops.edit_whole(frame.desk, ops.parse(written), id)


def _edited(frame: Frame, text: str) -> str:
    """Let the user edit a text. Invalid text stays in its file, and the error names that file."""
    program = editor.chosen(
        frame, "segue task edit", "segue task edit --help (options work without an editor)"
    )
    handle, name = tempfile.mkstemp(prefix="segue-task-", suffix=".json")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    path = Path(name)
    try:
        code = subprocess.run([*program, name]).returncode
    except OSError as error:
        path.unlink()
        raise BadInput(
            what=f"The editor '{program[0]}' cannot be started: {error.strerror}.",
            next="segue task edit --help (options work without an editor)",
        ) from error
    if code:
        path.unlink()
        raise BadInput(
            what=f"The editor '{program[0]}' exited with code {code}; nothing was changed.",
            next="segue task edit",
        )
    try:
        written = path.read_text(encoding="utf-8")
        ops.parse(written)
    except (BadInput, OSError, UnicodeDecodeError) as error:
        what = str(error).rstrip(".")
        raise BadInput(
            what=f"{what}. Nothing was changed; your text is in {name}.", next="segue task edit"
        ) from error
    path.unlink()
    return written


COMMANDS = {"task": task}
