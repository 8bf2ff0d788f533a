"""Segue's MCP server in the settings of an agent: one entry under one name. It is started with this
environment's own Python, so it works without anything on PATH.

Three of the agents keep such entries in JSON; their patch is made here. Each agent's own file says where, and
in what form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from segue.agents.shared.settings import json_edit
from segue.agents.shared.settings.settings_patch import Piece, Reach, Settings
from segue.agents.shared.transcripts.coerce import dict_of, list_of

NAME = "segue"
PURPOSE = "Segue's tools for the model, over MCP; read-only, limited to the folder that it works in"
TAKEN = f"another MCP server is called '{NAME}' there"
SECONDS = 30
"""How long the server may take to start. The library alone takes a second, more on a busy machine."""


def command(reach: Reach) -> list[str]:
    return [*reach.program, "mcp"]


def is_ours(words: Sequence[object]) -> bool:
    """Whether a command starts Segue's server, in any environment or version."""
    return len(words) > 1 and words[-1] == "mcp" and str(words[-2]).rpartition("/")[2] == NAME


def words_of(entry: Any) -> list[object]:
    """The command of an entry: a list, or a program and its arguments."""
    told = dict_of(entry).get("command")
    return list_of(told) if isinstance(told, list) else [told, *list_of(dict_of(entry).get("args"))]


def json_piece(
    file: Callable[[Settings], Path],
    table: str,
    entry: Callable[[list[str]], dict[str, Any]],
    *,
    parse: Callable[[str], Any] = json_edit.parse,
) -> Piece:
    """The patch that puts the entry into a table of a JSON file."""

    def present(text: str) -> Any:
        found = dict_of(dict_of(parse(text)).get(table)).get(NAME)
        if found is not None and not is_ours(words_of(found)):
            raise ValueError(TAKEN)
        return found

    def has(text: str, reach: Reach) -> bool:
        return bool(present(text) == entry(command(reach)))

    def add(text: str, reach: Reach) -> str:
        present(text)
        return json_edit.put(text, (table, NAME), entry(command(reach)))

    def drop(text: str, reach: Reach) -> str:
        try:
            is_there = present(text) is not None
        except ValueError:
            parse(text)  # raises if it is no JSON; another server's entry stays
            is_there = False
        return json_edit.remove(text, (table, NAME)) if is_there else text

    return Piece(purpose=PURPOSE, file=file, has=has, add=add, drop=drop)
