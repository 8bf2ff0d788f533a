"""Generate commands.md, settings.md, and the agents table and two screens in README.md.

    ./dev docs

A test compares the files with the generated text.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import click

from docs import prices
from segue import agents, errors
from segue.errors import Bug, SegueError
from segue.faces import cli
from segue.faces.cli import report
from segue.model import EntryKind, Limit, Source
from segue.ops.common import redaction
from segue.ops.usage import folder_status
from segue.ops.verify import verify
from segue.settings import SETTINGS, environment_names
from tests.conftest import CommandLine
from tests.machine import furnish
from tests.samples import samples

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
    lines += ["## Exit codes", "", "| code | when |", "|---|---|", "| 0 | success |"]
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
    """Exit codes with their errors."""
    kinds: dict[int, list[str]] = {}
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, SegueError) and kind not in (SegueError, Bug):
            kinds.setdefault(kind.exit_code, []).append(name)
    what = {
        1: "not found, or a check found a problem (`log verify`, `doctor`, `demo`)",
        2: "invalid command line, or the command is not implemented yet",
        3: "invalid settings",
        4: "the store is unusable",
        5: "refused",
        6: "an agent failed",
    }
    found = [(code, f"{what[code]}: {', '.join(sorted(kinds[code]))}") for code in sorted(kinds)]
    return [
        *found,
        (folder_status.DUE, "a handoff is due (`segue check`)"),
        (
            verify.FOUND_UNSUPPORTED,
            "a claim could not be confirmed (`segue verify`, `segue run`), or a call of a run was refused",
        ),
        (verify.FOUND_VIOLATION, "something you forbade was done (`segue verify`, `segue run`)"),
        (Bug.exit_code, "a bug in Segue"),
        (report.INTERRUPTED, "interrupted"),
    ]


def settings_page() -> str:
    lines = [
        "# Settings",
        "",
        "Generated from the program by `./dev docs`.",
        "",
        "Later sources override earlier ones: defaults, your file, a trusted project's `.segue.toml`, environment, `--set KEY=VALUE`,",
        "the organisation's policy file. `segue config path` shows where the files are; `segue config list` shows",
        "every value and its source. A project's file that you have not trusted (`segue trust`) may only restrict",
        "settings: other values are ignored, with a note.",
        "",
        "| setting | value | default | variable | meaning |",
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
        "`SEGUE_HOME` moves everything (settings, stores, log) into one folder. The flags of",
        "`segue handoff config --opus-limit 80% --auto-switch true --auto true --preserve complete` change the same",
        "settings.",
    ]
    return "\n".join(lines) + "\n"


def _shown(value: object, unit: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value}{unit}" if value not in ("", ()) else ""


def agents_table() -> str:
    lines = [
        "| agent | vendor | read | reports limits | handed to | tested with |",
        "|---|---|---|---|---|---|",
    ]
    for name in agents.NAMES:
        agent = agents.get(name)
        can_be_read = agents.can_be_read(name)
        is_read = "yes" if can_be_read else "not yet"
        limits = limits_told(name) if can_be_read else "–"
        is_started = "yes" if agents.can_be_handed_work(name) else "not yet"
        tested = agent.tested or ("samples" if can_be_read else "–")
        lines.append(f"| {agent.title} | {agent.vendor} | {is_read} | {limits} | {is_started} | {tested} |")
    return "\n".join(lines)


def limits_told(name: str) -> str:
    """When an agent reports its limits, according to the tests' samples."""
    if not agents.get(name).program:
        return "none"
    told = list(_limits_in_samples(name))
    words = []
    if agents.load(name).limits_of_status:
        words.append("in its status line")
    if any(limit.used_percent is not None and 0 < limit.used_percent < 100 for _kind, limit in told):
        words.append("while it works")
    if any(kind is EntryKind.LIMIT for kind, _limit in told):
        words.append("when one is hit")
    return ", ".join(words) or "not in the samples"


def _limits_in_samples(name: str) -> Iterator[tuple[EntryKind, Limit]]:
    for sample in samples(name):
        source = Source(agent=name, path=str(sample.path), part=sample.part, size=sample.path.stat().st_size)
        for entry in agents.reader(name).read(source):
            for limit in entry.limits:
                yield entry.kind, limit


def screens() -> tuple[str, str]:
    """Output of `segue` and `segue pack` on the tests' fictitious machine."""
    with tempfile.TemporaryDirectory() as folder, _in_utc():
        machine = furnish(CommandLine(Path(folder) / "ada"))
        # The fence's number depends on the machine's key.
        key = machine.home / "data" / redaction.KEY_FILE
        key.write_bytes(bytes(redaction.KEY_BYTES))
        key.chmod(0o600)
        first, brief = machine().out, machine("pack").out
        return f"```\n{first}```", f"```markdown\n{brief}```"


@contextlib.contextmanager
def _in_utc() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()


def readme() -> str:
    text = (ROOT / "README.md").read_text()
    first, brief = screens()
    for name, made in (("agents", agents_table()), ("screen", first), ("brief", brief)):
        text = _filled(text, name, made)
    return text


def _filled(text: str, name: str, made: str) -> str:
    """Replace the text between a pair of marks."""
    marks = rf"(<!-- {name}: [^\n]*-->\n)(?:(?!<!-- end).)*(<!-- end -->)"
    text, count = re.subn(
        marks, lambda match: f"{match.group(1)}{made}\n{match.group(2)}", text, flags=re.DOTALL
    )
    assert count == 1, f"the page has no place for {name}"
    return text


def pages() -> dict[Path, str]:
    return {
        ROOT / "docs" / "commands.md": commands_page(),
        ROOT / "docs" / "settings.md": settings_page(),
        ROOT / "README.md": readme(),
        prices.PATH: prices.snapshot(),
    }


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
        print(path.relative_to(ROOT))
