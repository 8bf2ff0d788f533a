"""Project configuration of OpenCode: AGENTS.md, or else CLAUDE.md, up to the root of the repository; the
files that its settings name; MCP servers, its own and other agents' skills, and permissions.

Without a repository, it looks in every folder above (seen with 1.18).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from segue.agents.shared.settings import project_config
from segue.agents.shared.settings.project_config import Belongings, table
from segue.base import paths

NAMES = ("AGENTS.md", "CLAUDE.md", "CONTEXT.md")
"""The first of these names that any folder has is the one that counts."""
SETTINGS = ("config.json", "opencode.json", "opencode.jsonc")


def belongings(env: Mapping[str, str], project: Path) -> Belongings:
    home = env.get("HOME", "")
    own = Path(env.get("XDG_CONFIG_HOME") or f"{home}/.config", "opencode")
    inside = project_config.folders(
        project, beyond=not paths.is_there(project_config.folders(project)[0] / ".git")
    )
    mine = [own / name for name in SETTINGS]
    if env.get("OPENCODE_CONFIG"):
        mine.append(Path(env["OPENCODE_CONFIG"]))
    theirs = [
        place / name for folder in inside for place in (folder, folder / ".opencode") for name in SETTINGS[1:]
    ]
    layers = [project_config.settings_in(path) for path in (*mine, *theirs)]
    places = [own, Path(home, ".opencode"), *(folder / ".opencode" for folder in inside)]
    others = [Path(home), *inside]
    return Belongings(
        instructions=tuple(_instructions(own, home, inside, layers[: len(mine)], layers[len(mine) :])),
        servers=project_config.names(*(_enabled(table(layer, "mcp")) for layer in layers)),
        skills=project_config.names(
            project_config.skills_in(*(place / name for place in places for name in ("skills", "skill"))),
            project_config.skills_in(
                *(one / name / "skills" for one in others for name in (".claude", ".agents"))
            ),
        ),
        commands=project_config.names(
            *(
                project_config.named_by_files(place / name, ".md")
                for place in places
                for name in ("command", "commands")
            ),
            *(table(layer, "command") for layer in layers),
        ),
        agents=project_config.names(
            *(
                project_config.named_by_files(place / name, ".md")
                for place in places
                for name in ("agent", "agents")
            ),
            *(table(layer, "agent") for layer in layers),
        ),
        permissions=project_config.names(_permissions(layers)),
    )


def _instructions(
    own: Path, home: str, inside: list[Path], mine: list[dict[str, Any]], theirs: list[dict[str, Any]]
) -> Iterator[Path]:
    yield from project_config.instructions([own / "AGENTS.md", Path(home, ".claude", "CLAUDE.md")])[:1]
    root = inside[0] if len(inside[0].parts) > 1 else inside[-1]
    for name in NAMES:
        found = project_config.instructions((folder / name for folder in reversed(inside)), root)
        if found:
            yield from found
            break
    yield from project_config.instructions(_named(mine, home, inside))
    # A project may name only files inside it.
    yield from (
        path
        for path in project_config.instructions(_named(theirs, "", inside), root)
        if path.resolve().is_relative_to(root.resolve())
    )


def _named(layers: list[dict[str, Any]], home: str, inside: list[Path]) -> Iterator[Path]:
    """The files that settings name, also by patterns. Not files on the web, nor patterns that match everything."""
    for pattern in itertools.chain(*(project_config.texts(layer.get("instructions")) for layer in layers)):
        if "://" in pattern or "**" in pattern or "\0" in pattern:
            continue
        if pattern.startswith("~/"):
            starts = [(Path(home), pattern[2:])] if home else []
        elif pattern.startswith("/"):
            starts = [(Path("/"), pattern.lstrip("/"))]
        else:
            starts = [(folder, pattern) for folder in inside]
        for folder, rest in starts:
            try:
                yield from sorted(itertools.islice(folder.glob(rest), project_config.MOST))
            except (
                OSError,
                ValueError,
                NotImplementedError,
            ):  # an invalid pattern, or a folder that is not readable
                continue


def _enabled(servers: dict[str, Any]) -> Iterator[str]:
    for name in servers:
        if table(servers, name).get("enabled") is not False:
            yield name


def _permissions(layers: list[dict[str, Any]]) -> Iterator[str]:
    merged: dict[str, Any] = {}
    for layer in layers:
        told = layer.get("permission")
        merged |= {"*": told} if isinstance(told, str) else table(layer, "permission")
    for key, value in merged.items():
        word = value if value in ("allow", "ask", "deny") else "by rules"
        yield f"{'all' if key == '*' else key}: {word}"
