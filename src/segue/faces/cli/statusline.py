"""`segue statusline`, listed as a command. `segue.__main__` answers an agent's call with `fast_statusline` before
this is loaded."""

from __future__ import annotations

import sys

import click

from segue.faces import fast_statusline as quick
from segue.faces.cli.frame import Frame


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--quiet", is_flag=True, help="Print only COMMAND's output.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND ARGUMENTS...]")
@click.pass_obj
def statusline(frame: Frame, quiet: bool, command: tuple[str, ...]) -> None:
    """Show an agent's limits as its status line, and record them.

    Reads the agent's state as JSON from stdin. COMMAND, your own status line, gets the same input and is shown above.
    """
    stdin = getattr(sys.stdin, "buffer", None)
    content = stdin.read() if stdin and not sys.stdin.isatty() else b""
    arguments = ["--quiet"] * quiet + (["--", *command] if command else [])
    frame.exit_code = quick.main(arguments, content, frame.env)


COMMANDS = {"statusline": statusline}
