"""Find Claude Code's transcripts. Usage totals use this module, so it loads nothing slow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from segue.agents.shared.transcripts.file_scan import Found, found, items_in

NAME = "claude"
_DEPTH = 4
"""How deep below a transcript's folder subagents are searched for."""


def files(env: Mapping[str, str]) -> Iterator[Found]:
    """Every transcript on this machine."""
    for root in folders(env):
        for project in items_in(os.path.join(root, "projects")):  # noqa: PTH118 - quick
            if not _is_folder(project, follow_symlinks=True):
                continue
            for item in items_in(project):
                if item.name.endswith(".jsonl"):
                    if one := found(NAME, item):
                        yield one
                elif _is_folder(item):
                    yield from _subagents(f"{item.path}/subagents", _DEPTH)


def folders(env: Mapping[str, str]) -> list[str]:
    """The configuration folders: those in CLAUDE_CONFIG_DIR, or both default ones."""
    home = env.get("HOME", "")
    named = [part.strip() for part in env.get("CLAUDE_CONFIG_DIR", "").split(",") if part.strip()]
    usual = [f"{home}/.config/claude", f"{home}/.claude"] if home else []
    kept: dict[str, str] = {}
    for part in named or usual:
        path = _tidy(home + part[1:] if part.startswith("~/") else part)
        kept.setdefault(os.path.realpath(path), path)
    return list(kept.values())


def _tidy(path: str) -> str:
    """Normalize a path without resolving links: transcripts are identified by path."""
    parts = "/".join(part for part in path.split("/") if part not in ("", "."))
    return f"/{parts}" if path.startswith("/") else parts


def _subagents(folder: str, depth: int) -> Iterator[Found]:
    for item in items_in(folder):
        if item.name.startswith("agent-") and item.name.endswith(".jsonl"):
            if one := found(NAME, item):
                yield one
        elif depth and _is_folder(item):
            yield from _subagents(item.path, depth - 1)


def _is_folder(item: os.DirEntry[str], follow_symlinks: bool = False) -> bool:
    try:
        return item.is_dir(follow_symlinks=follow_symlinks)
    except OSError:
        return False
