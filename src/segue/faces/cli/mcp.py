"""`segue mcp`: serve Segue's tools over MCP on stdin and stdout."""

from __future__ import annotations

import sys

import click

from segue.errors import ExtraMissing
from segue.faces import mcp as face
from segue.faces.cli.frame import Frame

LIBRARY = ("mcp", "mcp_types", "anyio", "pydantic")


@click.command()
@click.pass_obj
def mcp(frame: Frame) -> None:
    """Serve Segue's tools to an agent over MCP on stdin and stdout.

    Register it with `segue init --mcp`; the agent then starts it. The tools only read, and only in the agent's
    folder, unless the setting mcp.allow lets them prepare or offer handoffs.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        frame.say(
            "Agents start this server themselves (register it: segue init --mcp). Press Ctrl-D to end it."
        )
    try:
        server = face.make(frame.env, frame.cwd, frame.flags)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in LIBRARY:
            raise
        raise ExtraMissing(command="segue mcp", library="the MCP library", extra="mcp") from error
    server.run("stdio")


COMMANDS = {"mcp": mcp}
