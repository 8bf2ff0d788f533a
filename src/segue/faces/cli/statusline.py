"""`segue statusline`, for the lists of commands and for who calls it in another way than an agent does: an agent's
call is answered by `faces/statusline.py` before any of this is loaded."""

from __future__ import annotations

import sys

import click

from segue.faces import fast_statusline as quick
from segue.faces.cli.frame import Frame


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--quiet", is_flag=True, help="Print only what your own status line prints.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND ARGUMENTS...]")
@click.pass_obj
def statusline(frame: Frame, quiet: bool, command: tuple[str, ...]) -> None:
    """A status line for an agent that gives its state as JSON on standard input. It shows how near the limits are
    and records them; a COMMAND of your own is run with the same input and shown above it."""
    stdin = getattr(sys.stdin, "buffer", None)
    content = stdin.read() if stdin and not sys.stdin.isatty() else b""
    arguments = ["--quiet"] * quiet + (["--", *command] if command else [])
    frame.exit_code = quick.main(arguments, content, frame.env)


COMMANDS = {"statusline": statusline}
