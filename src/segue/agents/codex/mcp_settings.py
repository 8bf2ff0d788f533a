"""Segue's MCP server in Codex's settings: a table that is added at the end of `config.toml` and removed by its heading.

Codex passes few environment variables to servers, so the ones with Segue's and the agents' folders are listed. The
server is not `required`: otherwise Codex would not start without Segue. So its first request may be sent before the
server is ready.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segue.agents.shared.settings import mcp_settings
from segue.agents.shared.settings.settings_patch import Piece, Reach, Settings
from segue.agents.shared.transcripts.coerce import dict_of, text_of

VARIABLES = (
    "SEGUE_HOME",
    "SEGUE_STORE",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
)
HEADING = re.compile(r"[ \t]*\[\[?")
OURS = re.compile(
    rf'[ \t]*\[\[?[ \t]*mcp_servers[ \t]*\.[ \t]*(?:{mcp_settings.NAME}|"{mcp_settings.NAME}")[ \t]*[.\]]'
)
LINE_OF_ITS_OWN = re.compile(r"[ \t]*(#|$)")


def file(env: Settings) -> Path:
    return Path(env.get("CODEX_HOME") or f"{env.get('HOME') or '/'}/.codex", "config.toml")


def has(text: str, reach: Reach) -> bool:
    return bool(_present(text) == entry(reach))


def add(text: str, reach: Reach) -> str:
    if _present(text) is not None:
        text = drop(text, reach)
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    lines = [f"[mcp_servers.{mcp_settings.NAME}]"]
    # TOML reads JSON's strings, numbers and lists.
    lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry(reach).items()]
    added = text + gap + newline.join(lines) + newline
    if _present(added) != entry(reach):
        raise ValueError("a table cannot be added at its end")
    return added


def entry(reach: Reach) -> dict[str, Any]:
    words = mcp_settings.command(reach)
    return {
        "command": words[0],
        "args": words[1:],
        "env_vars": list(VARIABLES),
        "startup_timeout_sec": mcp_settings.SECONDS,
    }


def drop(text: str, reach: Reach) -> str:
    """Remove our tables, those that Codex added below them, and the blank line before."""
    wanted = _tables(text)
    servers = dict_of(wanted.get("mcp_servers"))
    if not mcp_settings.is_ours(mcp_settings.words_of(servers.get(mcp_settings.NAME))):
        return text
    del servers[mcp_settings.NAME]
    if not servers:
        del wanted["mcp_servers"]
    for skipped in range(len(OURS.findall(text))):
        without = _without(text, skipped)
        if _says(without, wanted):
            return without
    raise ValueError(f"the server '{mcp_settings.NAME}' is not in a separate table: remove it by hand")


def _says(text: str, wanted: dict[str, Any]) -> bool:
    try:
        found = _tables(text)
    except ValueError:
        return False
    return {key: value for key, value in found.items() if key != "mcp_servers" or value} == wanted


def _without(text: str, skipped: int) -> str:
    """The text without the tables under our headings. The first `skipped` headings are kept: they may be text inside a
    string."""
    kept: list[str] = []
    aside: list[str] = []
    is_ours = False
    for line in text.splitlines(keepends=True):
        if HEADING.match(line):
            was_ours, is_ours = is_ours, bool(OURS.match(line))
            if is_ours and skipped:
                is_ours, skipped = False, skipped - 1
            if was_ours and not is_ours:
                kept += aside  # comments before another table belong to that table
            elif is_ours and not was_ours and kept and not kept[-1].strip():
                kept.pop()
            aside = []
        if not is_ours:
            kept.append(line)
        elif LINE_OF_ITS_OWN.match(line):
            aside.append(line)
        else:
            aside = []
    return "".join([*kept, *aside])


def _present(text: str) -> Any:
    found = dict_of(_tables(text).get("mcp_servers")).get(mcp_settings.NAME)
    if found is not None and not mcp_settings.is_ours(mcp_settings.words_of(found)):
        raise ValueError(mcp_settings.TAKEN)
    return found


def _tables(text: str) -> dict[str, Any]:
    import tomllib  # lazy: slow to load, and only setup needs it

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def tool_server() -> Piece:
    return Piece(purpose=mcp_settings.PURPOSE, file=file, has=has, add=add, drop=drop, empty="")


def caller_transcript(env: Mapping[str, str], meta: Mapping[str, Any]) -> str:
    """The conversation that calls. One server may serve several."""
    return text_of(meta.get("threadId"))
