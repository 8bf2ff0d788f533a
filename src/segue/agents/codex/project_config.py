"""Codex's configuration in a folder: AGENTS.md from the repository's root down, MCP servers, skills, sandbox.

One file of each folder counts: AGENTS.override.md, or AGENTS.md, or a fallback named in the settings. A project's own
settings count only if the user trusts the project (seen with 0.166).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from segue.agents.shared.settings import project_config
from segue.agents.shared.settings.project_config import Belongings, table
from segue.base import files

NAMES = ("AGENTS.override.md", "AGENTS.md")


def belongings(env: Mapping[str, str], project: Path) -> Belongings:
    home = env.get("HOME", "")
    own = Path(env.get("CODEX_HOME") or f"{home}/.codex")
    inside = project_config.folders(project)
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
        servers=project_config.names(*(_enabled(table(layer, "mcp_servers")) for layer in layers)),
        skills=project_config.names(project_config.skills_in(*(place / "skills" for place in places))),
        commands=project_config.names(project_config.named_by_files(own / "prompts", ".md")),
        agents=project_config.names(
            *(project_config.named_by_files(place / "agents", ".toml") for place in places)
        ),
        permissions=project_config.names(_permissions(layers)),
    )


def _instructions(own: Path, inside: list[Path], config: dict[str, Any]) -> Iterator[Path]:
    yield from project_config.instructions(own / name for name in NAMES)[:1]
    others = project_config.texts(config.get("project_doc_fallback_filenames"))
    for folder in inside:
        yield from project_config.instructions([folder / name for name in (*NAMES, *others)], inside[0])[:1]


def _settings(path: Path) -> dict[str, Any]:
    import tomllib  # lazy: slow to load, and reading transcripts doesn't need it

    try:
        return tomllib.loads(files.read_file(path, project_config.LARGEST).decode(errors="replace"))
    except (OSError, ValueError, RecursionError):  # invalid settings raise ValueError
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
