"""The MCP server: what an agent asks Segue by itself. `segue mcp` runs it; the protocol is on stdin and stdout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from segue.faces.mcp.server import Server


def make(env: Mapping[str, str], cwd: Path, flags: Sequence[str] = ()) -> Server:
    """The server for a folder, with all its tools."""
    from segue.faces.mcp.server import Server  # lazy: the SDK takes a second to load, and need not be there
    from segue.faces.mcp.tools import add_tools  # lazy: as above

    server = Server(env, cwd, flags)
    add_tools(server)
    return server
