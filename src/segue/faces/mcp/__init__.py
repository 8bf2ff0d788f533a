"""The MCP server that agents query. `segue mcp` runs it on stdin and stdout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from segue.faces.mcp.server import Server


def make(env: Mapping[str, str], cwd: Path, flags: Sequence[str] = ()) -> Server:
    """Build the server of a folder, with its tools."""
    from segue.faces.mcp.server import Server  # lazy: the SDK is slow to load, and optional
    from segue.faces.mcp.tools import add_tools  # lazy: as above

    server = Server(env, cwd, flags)
    add_tools(server)
    return server
