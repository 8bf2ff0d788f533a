"""`segue mcp`: answer an agent's questions over MCP, on standard input and output."""

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
    """Serve Segue's tools to an agent, over MCP on standard input and output.

    An agent starts this by itself once it is registered: `segue init --mcp` does that. The tools read only, of the
    folder that the agent works in, unless the setting mcp.allow lets them prepare or offer handoffs.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        frame.say("An agent starts this by itself (segue init --mcp registers it). Ctrl-D ends it.")
    try:
        server = face.make(frame.env, frame.cwd, frame.flags)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in LIBRARY:
            raise
        raise ExtraMissing(command="segue mcp", library="the MCP library", extra="mcp") from error
    server.run("stdio")


COMMANDS = {"mcp": mcp}
