"""What Codex has in a folder: AGENTS.md from the root of the repository down, MCP servers, skills, its sandbox.

Of each folder one file counts: AGENTS.override.md, else AGENTS.md, else what its settings name in their place. A
project's own settings count only where the person trusts the project (seen with 0.166).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from segue import disk
from segue.agents import belongings as shared
from segue.agents.belongings import Belongings, table

NAMES = ("AGENTS.override.md", "AGENTS.md")


def belongings(env: Mapping[str, str], project: Path) -> Belongings:
    home = env.get("HOME", "")
    own = Path(env.get("CODEX_HOME") or f"{home}/.codex")
    inside = shared.folders(project)
    config = _settings(own / "config.toml")
    trusted = [table(config, "projects", str(folder)).get("trust_level") for folder in (inside[0], project)]
    layers = [config]
    if "trusted" in trusted:
        layers += [_settings(folder / ".codex" / "config.toml") for folder in inside]
    places = [
        own,
        Path(home, ".agents"),
        *(folder / name for folder in inside for name in (".codex", ".agents")),
    ]
    return Belongings(
        instructions=tuple(_instructions(own, inside, config)),
        servers=shared.names(*(_enabled(table(layer, "mcp_servers")) for layer in layers)),
        skills=shared.names(shared.skills_in(*(place / "skills" for place in places))),
        commands=shared.names(shared.named_by_files(own / "prompts", ".md")),
        agents=shared.names(*(shared.named_by_files(place / "agents", ".toml") for place in places)),
        permissions=shared.names(_permissions(layers)),
    )


def _instructions(own: Path, inside: list[Path], config: dict[str, Any]) -> Iterator[Path]:
    yield from shared.instructions(own / name for name in NAMES)[:1]
    others = shared.texts(config.get("project_doc_fallback_filenames"))
    for folder in inside:
        yield from shared.instructions([folder / name for name in (*NAMES, *others)], inside[0])[:1]


def _settings(path: Path) -> dict[str, Any]:
    import tomllib  # lazy: takes long to load, and what is read of this agent is told without it

    try:
        return tomllib.loads(disk.read_file(path, shared.LARGEST).decode(errors="replace"))
    except (OSError, ValueError, RecursionError):  # broken settings are ValueErrors
        return {}


def _enabled(servers: dict[str, Any]) -> Iterator[str]:
    for name in servers:
        if table(servers, name).get("enabled") is not False:
            yield name


def _permissions(layers: list[dict[str, Any]]) -> Iterator[str]:
    for key, what in (("sandbox_mode", "sandbox"), ("approval_policy", "approvals")):
        told = [layer[key] for layer in layers if isinstance(layer.get(key), str)]
        if told:
            yield f"{what}: {told[-1]}"
