"""The command line. This file knows the commands by name only and loads the one that is called."""

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
segue            what each agent has left, and what this folder was doing
segue to AGENT   continue this work in another agent
segue back       return to the agent you came from; the work done meanwhile is checked first
segue run TASK   work unattended; move on at a limit, return at the reset
segue give WHO   hand this work, code included, to a colleague
segue take       accept what was handed to you
segue show       what was passed, what was not, and why
segue undo       take back Segue's last step (never your code)
Set up: segue init · Check: segue doctor · Everything: segue help --all"""


class Listed(Struct, frozen=True):
    """A command: the topic it is listed under, one line on it, and the file it is in (none: planned)."""

    topic: str
    summary: str
    module: str | None = None


COMMANDS = {
    "demo": Listed("Start here", "watch one handoff from end to end, in a scratch folder", "demo"),
    "help": Listed("Start here", "this list, or one command's own help", "help"),
    "version": Listed("Start here", "the version", "version"),
    "completion": Listed("Start here", "completion for bash, zsh or fish", "completion"),
    "to": Listed("Hand over", "continue this work in another agent", "to"),
    "back": Listed(
        "Hand over", "return to the agent you came from; the work done meanwhile is checked first", "back"
    ),
    "run": Listed("Hand over", "work unattended; move on at a limit, return at the reset", "run"),
    "verify": Listed("Hand over", "check what an agent says it did; the exit code tells", "verify"),
    "handoff": Listed("Hand over", "step by step: prepare, execute, validate; models, settings", "handoff"),
    "history": Listed("Hand over", "the last handoffs, and how they went", "history"),
    "save": Listed("Hand over", "save the state of this work as a JSON file", "save"),
    "load": Listed("Hand over", "what was saved last, or under an id", "load"),
    "list": Listed("Hand over", "everything that was saved", "saved_list"),
    "init": Listed("Hand over", "set up agents: hooks and a status line, or --undo", "init"),
    "mcp": Listed("Hand over", "Segue's tools for agents, over MCP", "mcp"),
    "status": Listed(
        "Limits and usage", "what `segue` alone shows: limits, this folder, what to do", "status"
    ),
    "watch": Listed("Limits and usage", "the same, kept up to date", "watch"),
    "check": Listed("Limits and usage", "whether to hand over now; the exit code tells", "check"),
    "usage": Listed("Limits and usage", "tokens and money by day, week, block, session, model", "usage"),
    "statusline": Listed(
        "Limits and usage", "a status line for an agent: shows and records its limits", "statusline"
    ),
    "transcripts": Listed("Work", "what agents left on this machine: list, search, read", "transcripts"),
    "session": Listed("Work", "the pieces of work that handoffs belong to", "session"),
    "pack": Listed("Work", "make a brief of a transcript: what the next agent needs", "pack"),
    "show": Listed("Work", "what was passed, what was not, and why", "show"),
    "diff": Listed("Work", "compare two briefs, handoffs or moments", "diff"),
    "task": Listed("Work", "what a session is about; say it yourself where it is wrong", "task"),
    "rate": Listed("Work", "rate this folder's last handoff from 1 to 5", "rate"),
    "protocol": Listed("Work", "handoff documents: check, reduce to a narrower tier, schema", "protocol"),
    "redact": Listed("Work", "a file with a placeholder for every secret in it", "redact"),
    "log": Listed("History", "what was changed, by whom and when; verify that it is whole", "log"),
    "undo": Listed("History", "take back Segue's last step (never your code)", "undo"),
    "config": Listed("Settings", "read and change settings", "config"),
    "trust": Listed("Settings", "let this project's own settings file do more than narrow", "trust"),
    "doctor": Listed(
        "Keeping it well", "check settings, stores and agents, and say how to mend them", "doctor"
    ),
    "backup": Listed("Keeping it well", "make, list and restore backups of the store", "backup"),
    "subagent": Listed("Not in this version yet", "helpers for parts of a task"),
    "consult": Listed("Not in this version yet", "ask another model a question"),
    "delegate": Listed("Not in this version yet", "give a part of the work to another model"),
    "ping": Listed("Not in this version yet", "a message from one model to another"),
    "chat": Listed("Not in this version yet", "a session that hands itself over"),
    "give": Listed("Not in this version yet", "hand this work to a colleague"),
    "take": Listed("Not in this version yet", "accept what was handed to you"),
}


class CommandLine(click.Group):
    """The top group: commands are loaded when they are called, unknown ones get the nearest name."""

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
            raise BadInput(what=f"There is no command '{name}'.", next=next_step)
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        return FIRST_SCREEN


def refuse_planned(name: str) -> None:
    """Say of a command that is on the first screen and not there yet that it is so."""
    if name in COMMANDS and COMMANDS[name].module is None:
        raise NotBuiltYet(command=f"segue {name}", summary=COMMANDS[name].summary)


@click.group(
    cls=CommandLine,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting for this run alone.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.option("--debug", is_flag=True, help="Show the traceback of what goes wrong.")
@click.option("--version", "-V", is_flag=True, help="The version.")
@click.pass_context
def command_line(
    context: click.Context, pairs: tuple[str, ...], as_json: bool, debug: bool, version: bool
) -> None:
    """Hands work from one AI coding agent to the next without losing the thread."""
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
                what=f"'{argument}' is not UTF-8, and Segue could not keep it.", next="segue help --all"
            ) from None


def main(argv: Sequence[str] | None = None, frame: Frame | None = None) -> int:
    """Run one command line; the exit code."""
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
    except Exception as error:  # noqa: BLE001 - the last resort: no traceback reaches a person
        code = report.failed(frame, report.from_output(frame, error) or error, as_json)
    finally:
        frame.close()
    return code


def _run(arguments: list[str], frame: Frame) -> int:
    try:
        refuse_no_text(arguments)
        # One name, whichever of the two the program was called by: completion finds its variable by it.
        command_line.main(arguments, prog_name="segue", standalone_mode=False, obj=frame)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        # A group that was named alone: what it can do is the best answer.
        frame.print(error.format_message())
        return BadInput.exit_code
    return frame.exit_code
