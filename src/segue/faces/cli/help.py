"""`segue help`: the first screen, all commands (--all), or one command's help."""

from __future__ import annotations

from typing import Any

import click

from segue.errors import BadInput
from segue.faces import cli, render
from segue.faces.cli.frame import Frame, answers


def every_command() -> list[tuple[str, str, str]]:
    """Topic, command line and summary of every command and subcommand; planned ones last."""
    found = [("Start here", "segue", "each agent's limits, and the latest session in this folder")]
    context = click.Context(cli.command_line, info_name="segue", **cli.command_line.context_settings)
    for name, entry in cli.COMMANDS.items():
        found.append((entry.topic, f"segue {name}", entry.summary))
        command = cli.command_line.get_command(context, name)
        if isinstance(command, click.Group):
            for inner, under in command.commands.items():
                short = under.get_short_help_str(120).rstrip(".")
                found.append((entry.topic, f"segue {name} {inner}", short[:1].lower() + short[1:]))
    return found


def screen(value: Any) -> str:
    if isinstance(value, str):
        return value
    lines: list[str] = []
    for topic in dict.fromkeys(row["topic"] for row in value):
        rows = [(row["command"], row["summary"]) for row in value if row["topic"] == topic]
        lines += [render.bold(topic), render.table(rows, indent="  "), ""]
    lines.append(
        "All commands take --help, nearly all take --json. Override a setting for one run: segue --set KEY=VALUE ..."
    )
    return "\n".join(lines)


def complete_name(_context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    return [name for name in cli.COMMANDS if name.startswith(start)]


@click.command("help")
@click.argument("names", nargs=-1, shell_complete=complete_name)
@click.option("--all", "show_all", is_flag=True, help="List every command by topic.")
@answers(screen)
def help_command(frame: Frame, names: tuple[str, ...], show_all: bool) -> Any:
    """Show the first screen, all commands (--all), or one command's help."""
    if show_all:
        return [
            {"topic": topic, "command": command, "summary": summary}
            for topic, command, summary in every_command()
        ]
    context = click.Context(cli.command_line, info_name="segue", **cli.command_line.context_settings)
    command: click.Command = cli.command_line
    for name in names:
        found = command.get_command(context, name) if isinstance(command, click.Group) else None
        if found is None:
            cli.refuse_planned(name)
            raise BadInput(what=f"Unknown command '{' '.join(names)}'.", next="segue help --all")
        command, context = found, click.Context(found, info_name=name, parent=context)
    if not names:
        planned = [name for name, entry in cli.COMMANDS.items() if entry.module is None]
        frame.say(f"note: not implemented yet: {', '.join(planned)}")
    return command.get_help(context)


COMMANDS = {"help": help_command}
