"""The command line. It knows commands by name only and loads the one that is called."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import click
from msgspec import Struct

from segue import __version__
from segue.errors import BadInput, NotBuiltYet, SegueError
from segue.faces.cli import report
from segue.faces.cli.frame import Frame

FIRST_SCREEN = """\
segue            each agent's limits, and the latest session in this folder
segue to AGENT   continue this work in another agent
segue back       return to the previous agent; checks the work done meanwhile first
segue run TASK   work unattended; switch agents at a limit, return at the reset
segue show       what was passed, what was not, and why
segue undo       undo Segue's last operation (never your code)
Set up: segue init · Check: segue doctor · All commands: segue help --all"""


class Listed(Struct, frozen=True):
    """Topic, one-line summary and module of a command; a planned command has no module."""

    topic: str
    summary: str
    module: str | None = None


COMMANDS = {
    "demo": Listed("Start here", "watch one handoff from end to end, in a scratch folder", "demo"),
    "help": Listed("Start here", "this list, or one command's own help", "help"),
    "version": Listed("Start here", "the version", "version"),
    "completion": Listed("Start here", "completion for bash, zsh or fish", "completion"),
    "to": Listed("Hand over", "continue this work in another agent", "to"),
    "back": Listed("Hand over", "return to the previous agent; checks the work done meanwhile first", "back"),
    "run": Listed("Hand over", "work unattended; switch agents at a limit, return at the reset", "run"),
    "verify": Listed("Hand over", "check an agent's claims; exits non-zero if one fails", "verify"),
    "handoff": Listed(
        "Hand over", "hand over step by step: prepare, execute, validate; models and settings", "handoff"
    ),
    "history": Listed("Hand over", "the latest handoffs and their outcomes", "history"),
    "save": Listed("Hand over", "save the state of this work as a JSON file", "save"),
    "load": Listed("Hand over", "print the latest saved state, or one by its id", "load"),
    "list": Listed("Hand over", "list all saved states", "saved_list"),
    "init": Listed("Hand over", "set up agents: hooks and a status line; --undo removes them", "init"),
    "mcp": Listed("Hand over", "serve Segue's tools to agents over MCP", "mcp"),
    "status": Listed(
        "Limits and usage", "the same screen as `segue`: limits, this folder, next step", "status"
    ),
    "watch": Listed("Limits and usage", "the same screen, refreshed", "watch"),
    "check": Listed("Limits and usage", "is a handoff due? exits 10 if it is", "check"),
    "usage": Listed("Limits and usage", "tokens and cost by day, week, block, session or model", "usage"),
    "statusline": Listed(
        "Limits and usage", "an agent's status line: shows and records its limits", "statusline"
    ),
    "transcripts": Listed("Work", "list, search and read agents' transcripts on this machine", "transcripts"),
    "session": Listed("Work", "list, create, link and close sessions", "session"),
    "pack": Listed("Work", "turn a transcript into a brief for the next agent", "pack"),
    "show": Listed("Work", "what was passed, what was not, and why", "show"),
    "diff": Listed("Work", "compare two briefs, handoffs or moments", "diff"),
    "task": Listed("Work", "show a session's task; correct it", "task"),
    "rate": Listed("Work", "rate this folder's latest handoff from 1 to 5", "rate"),
    "protocol": Listed(
        "Work", "check handoff documents, reduce them to a narrower tier, print their schema", "protocol"
    ),
    "redact": Listed("Work", "print a file with its secrets replaced by placeholders", "redact"),
    "log": Listed("History", "list operations: what changed, when, by whom; verify the log", "log"),
    "undo": Listed("History", "undo Segue's last operation (never your code)", "undo"),
    "config": Listed("Settings", "read and change settings", "config"),
    "trust": Listed("Settings", "trust this project's settings file", "trust"),
    "doctor": Listed("Maintenance", "check settings, stores and agents, and suggest fixes", "doctor"),
    "backup": Listed("Maintenance", "make, list and restore backups of the store", "backup"),
    "subagent": Listed("Planned (not implemented yet)", "run a helper agent on part of a task"),
    "consult": Listed("Planned (not implemented yet)", "ask another model a question"),
    "delegate": Listed("Planned (not implemented yet)", "give a part of the work to another model"),
    "ping": Listed("Planned (not implemented yet)", "send a message from one model to another"),
    "chat": Listed("Planned (not implemented yet)", "chat in a session that hands itself over at a limit"),
    "give": Listed("Planned (not implemented yet)", "hand this work, code included, to a colleague"),
    "take": Listed("Planned (not implemented yet)", "accept work that was handed to you"),
}


class CommandLine(click.Group):
    """The top-level group: loads a command when it is called, suggests the closest name for an unknown one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, entry in COMMANDS.items() if entry.module]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None or entry.module is None:
            return None
        module = importlib.import_module(f"segue.faces.cli.{entry.module}")
        command: click.Command = module.COMMANDS[cmd_name]
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        refuse_planned(name)
        if name not in COMMANDS:
            import difflib  # lazy: only a mistake needs it

            close = difflib.get_close_matches(name, COMMANDS, n=1)
            next_step = f"segue {close[0]}" if close else "segue help --all"
            raise BadInput(what=f"Unknown command '{name}'.", next=next_step)
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        return FIRST_SCREEN


def refuse_planned(name: str) -> None:
    if name in COMMANDS and COMMANDS[name].module is None:
        raise NotBuiltYet(command=f"segue {name}", summary=COMMANDS[name].summary)


@click.group(
    cls=CommandLine,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Override a setting for this run.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option("--version", "-V", is_flag=True, help="Print the version.")
@click.pass_context
def command_line(
    context: click.Context, pairs: tuple[str, ...], as_json: bool, debug: bool, version: bool
) -> None:
    """Hand work from one AI coding agent to the next without losing context."""
    frame: Frame = context.obj
    frame.flags, frame.debug, frame.as_json = pairs, debug, as_json
    if version:
        click.echo(f"segue {__version__}")
    elif context.invoked_subcommand is None:
        from segue.faces.cli.status import status  # lazy: most runs are of another command

        context.invoke(status)


def refuse_no_text(arguments: Sequence[str]) -> None:
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise BadInput(
                what=f"The argument '{argument}' is not valid UTF-8.", next="segue help --all"
            ) from None


def main(argv: Sequence[str] | None = None, frame: Frame | None = None) -> int:
    """Run one command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    frame = frame or Frame()
    frame.make_streams_forgiving()
    as_json = "--json" in arguments
    try:
        code = _run(arguments, frame)
    except SegueError as error:
        code = report.failed(frame, error, as_json)
    except click.ClickException as error:
        code = report.failed(frame, report.from_click(error), as_json)
    except (click.Abort, KeyboardInterrupt):
        code = report.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - last resort: no traceback reaches a user
        code = report.failed(frame, report.from_output(frame, error) or error, as_json)
    finally:
        frame.close()
    return code


def _run(arguments: list[str], frame: Frame) -> int:
    try:
        refuse_no_text(arguments)
        # Always "segue", whatever name the program was called by: completion derives its variable from it.
        command_line.main(arguments, prog_name="segue", standalone_mode=False, obj=frame)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        # A group without a command shows its help.
        frame.print(error.format_message())
        return BadInput.exit_code
    return frame.exit_code
