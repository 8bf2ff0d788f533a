"""`segue config`: read and change settings."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import click

from segue.base import paths
from segue.errors import BadInput
from segue.faces import render
from segue.faces.cli import editor
from segue.faces.cli.frame import Frame, answers
from segue.ops import settings_file as settings
from segue.ops.settings_file import Changed, Place, Shown
from segue.settings import MODEL_LIMIT, PERCENT, SETTINGS, setting_for


def plain(key: str, value: Any) -> str:
    """A value as the user would type it."""
    if value is None:
        return "not set"
    if setting_for(key, key).kind is PERCENT:
        return f"{value}%"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return ", ".join(value) or "(none)"
    return render.clean(value) or "(none)"


def one_screen(shown: Shown) -> str:
    first = f"{shown.key} = {plain(shown.key, shown.value)}"
    return f"{first}\n  from {render.clean(shown.source)}\n  {shown.about}; expects {shown.takes}"


def list_screen(every: list[Shown]) -> str:
    return render.table([(shown.key, plain(shown.key, shown.value), shown.source) for shown in every])


def changed_screen(changes: list[Changed]) -> str:
    lines = []
    for change in changes:
        if change.before is None and change.after is None:
            lines.append(f"{change.key} is not set in {render.clean(change.path)}; nothing was removed")
            continue
        what = "removed" if change.after is None else f"= {plain(change.key, change.after)}"
        lines.append(
            f"{change.key} {what}  (was {plain(change.key, change.before)}; in {render.clean(change.path)})"
        )
        if change.overridden_by:
            lines.append(f"  but {render.clean(change.overridden_by)} overrides it")
    return "\n".join(lines)


def paths_screen(found: list[Place]) -> str:
    return render.table(
        [(place.layer, place.path, "" if place.exists else "(missing)", place.note) for place in found]
    )


def complete_key(_context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    keys = [setting.key if setting.key != "limits.models" else MODEL_LIMIT for setting in SETTINGS]
    return [key for key in keys if key.startswith(start)]


@click.group()
def config() -> None:
    """Read and change settings."""


@config.command("get")
@click.argument("key", shell_complete=complete_key)
@answers(one_screen)
def get(frame: Frame, key: str) -> Shown:
    """Show one setting and where its value comes from."""
    return settings.show(frame.desk, key)


@config.command("list")
@answers(list_screen)
def list_all(frame: Frame) -> list[Shown]:
    """Show all settings and where their values come from."""
    return settings.show_all(frame.desk)


@config.command("set")
@click.argument("key", shell_complete=complete_key)
@click.argument("value")
@click.option("--project", "in_project", is_flag=True, help="Change this project's file instead of yours.")
@answers(changed_screen)
def set_value(frame: Frame, key: str, value: str, in_project: bool) -> list[Changed]:
    """Change one setting."""
    return settings.change(frame.desk, {key: value}, in_project=in_project)


@config.command("unset")
@click.argument("key", shell_complete=complete_key)
@click.option("--project", "in_project", is_flag=True, help="Change this project's file instead of yours.")
@answers(changed_screen)
def unset(frame: Frame, key: str, in_project: bool) -> list[Changed]:
    """Remove one setting from the file."""
    return settings.change(frame.desk, {key: None}, in_project=in_project)


@config.command("edit")
@answers(lambda path: f"{render.clean(path)} is saved and valid.")
def edit(frame: Frame) -> str:
    """Open your settings in $VISUAL or $EDITOR; invalid settings are not applied."""
    program = editor.chosen(frame, "segue config edit", "segue config set KEY VALUE")

    def run(path: Path) -> None:
        try:
            code = subprocess.run([*program, str(path)]).returncode
        except OSError as error:
            raise BadInput(
                what=f"The editor '{program[0]}' cannot be started: {error.strerror}.",
                next="EDITOR=nano segue config edit, or segue config set KEY VALUE",
            ) from error
        if code:
            raise BadInput(
                what=f"The editor '{program[0]}' exited with code {code}; your settings are unchanged.",
                next="segue config edit (reopens your unsaved text)",
            )

    return str(settings.edit(paths.find(frame.env), run))


@config.command("path")
@answers(paths_screen)
def path(frame: Frame) -> list[Place]:
    """Show the paths of settings files and of Segue's data."""
    return settings.paths(paths.find(frame.env), frame.cwd, Path(frame.env.get("HOME") or "/"))


COMMANDS = {"config": config}
