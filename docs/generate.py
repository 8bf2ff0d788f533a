"""Writes the pages that follow from the code: commands.md, settings.md and the agents in README.md.

    ./dev docs

A test compares what is written here with what stands in the files.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click

from segue import agents, errors
from segue.errors import Bug, SegueError
from segue.faces import cli
from segue.faces.cli import report
from segue.settings import SETTINGS, environment_names

ROOT = Path(__file__).parent.parent


def commands_page() -> str:
    lines = ["# Commands", "", "Generated from the program by `./dev docs`.", ""]
    lines += ["```", cli.FIRST_SCREEN, "```", ""]
    context = click.Context(cli.command_line, info_name="segue", **cli.command_line.context_settings)
    for topic in dict.fromkeys(entry.topic for entry in cli.COMMANDS.values() if entry.module):
        lines += [f"## {topic}", ""]
        for name, entry in cli.COMMANDS.items():
            if entry.topic == topic:
                lines += _command(context, name)
    lines += ["## Exit codes", "", "| code | when |", "|---|---|", "| 0 | it went well |"]
    lines += [f"| {code} | {when} |" for code, when in exit_codes()]
    return "\n".join(lines) + "\n"


def _command(context: click.Context, name: str) -> list[str]:
    assert isinstance(context.command, click.Group)
    command = context.command.get_command(context, name)
    assert command is not None
    inner = click.Context(command, info_name=name, parent=context, terminal_width=100, max_content_width=100)
    lines = [f"### {inner.command_path}", "", "```", command.get_help(inner), "```", ""]
    if isinstance(command, click.Group):
        for under in command.list_commands(inner):
            lines += _command(inner, under)
    return lines


def exit_codes() -> list[tuple[int, str]]:
    """Each code with the errors that lead to it."""
    kinds: dict[int, list[str]] = {}
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, SegueError) and kind not in (SegueError, Bug):
            kinds.setdefault(kind.exit_code, []).append(name)
    what = {
        1: "there is no such thing, or a check found something (`log verify`, `doctor`, `demo`)",
        2: "the command line was not understood, or the command is not in this version",
        3: "the settings cannot be used",
        4: "the store cannot be used",
        5: "it could be done, but must not be",
        6: "an agent failed",
    }
    found = [(code, f"{what[code]}: {', '.join(sorted(kinds[code]))}") for code in sorted(kinds)]
    return [*found, (Bug.exit_code, "a bug in Segue"), (report.INTERRUPTED, "interrupted")]


def settings_page() -> str:
    lines = [
        "# Settings",
        "",
        "Generated from the program by `./dev docs`.",
        "",
        "Later ones win: defaults, your file, a trusted project's `.segue.toml`, environment, `--set KEY=VALUE`,",
        "the organisation's policy file. `segue config path` shows where the files are; `segue config list` shows",
        "every value and where it came from. A project's file that you have not trusted (`segue trust`) may only",
        "narrow: what would widen is left out, with a note.",
        "",
        "| setting | takes | default | variable | what it is |",
        "|---|---|---|---|---|",
    ]
    variables = {key: name for name, key in environment_names().items()}
    for setting in SETTINGS:
        is_table = setting.key == "limits.models"
        key = setting.key + (".NAME" if is_table else "")
        default = (
            "" if is_table else _shown(setting.default, "%" if "percentage" in setting.kind.takes else "")
        )
        variable = "SEGUE_LIMITS_MODELS_NAME" if is_table else variables[setting.key]
        lines.append(f"| `{key}` | {setting.kind.takes} | {default} | `{variable}` | {setting.about} |")
    lines += [
        "",
        "`SEGUE_HOME` puts everything (settings, stores, log) under one folder. The flags of",
        "`segue handoff config --opus-limit 80% --auto-switch true --auto true --preserve complete` write the same",
        "settings.",
    ]
    return "\n".join(lines) + "\n"


def _shown(value: object, unit: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value}{unit}" if value not in ("", ()) else ""


def agents_table() -> str:
    lines = [
        "| agent | vendor | found by `segue doctor` | read | handed to | tested with |",
        "|---|---|---|---|---|---|",
    ]
    for name in agents.NAMES:
        agent = agents.get(name)
        found = "yes" if agent.program else "ships with Segue"
        can = "yes" if agents.can_be_handed_work(name) else "not yet"
        lines.append(f"| {agent.title} | {agent.vendor} | {found} | {can} | {can} | {agent.tested} |")
    return "\n".join(lines)


def readme() -> str:
    text = (ROOT / "README.md").read_text()
    marks = r"(<!-- agents: .*? -->\n).*?(\n<!-- end -->)"
    return re.sub(
        marks, lambda match: match.group(1) + agents_table() + match.group(2), text, flags=re.DOTALL
    )


def pages() -> dict[Path, str]:
    return {
        ROOT / "docs" / "commands.md": commands_page(),
        ROOT / "docs" / "settings.md": settings_page(),
        ROOT / "README.md": readme(),
    }


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
        print(path.relative_to(ROOT))
