"""Project configuration of Gemini CLI: GEMINI.md from the root of the repository down, MCP servers, skills,
approvals.

Settings may name other files, which are loaded next to GEMINI.md. Skills, commands and settings count only in
the working folder, not above it (seen with 0.61).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from segue.agents.shared.settings import project_config
from segue.agents.shared.settings.project_config import Belongings, table

MODES = {
    "auto_edit": project_config.EDITS,
    "autoEdit": project_config.EDITS,
    "yolo": "nothing is asked for",
    "plan": project_config.PLANS,
}


def belongings(env: Mapping[str, str], project: Path) -> Belongings:
    home = env.get("GEMINI_CLI_HOME") or env.get("HOME", "")
    own, here = Path(home, ".gemini"), project / ".gemini"
    layers = [project_config.settings_in(place / "settings.json") for place in (own, here)]
    places = [own, Path(home, ".agents"), here, project / ".agents"]
    return Belongings(
        instructions=tuple(_instructions(own, project, layers, home)),
        servers=project_config.names(_servers(layers, own)),
        skills=project_config.names(project_config.skills_in(*(place / "skills" for place in places))),
        commands=project_config.names(
            *(project_config.named_by_files(place / "commands", ".toml") for place in (own, here))
        ),
        agents=project_config.names(
            *(project_config.named_by_files(place / "agents", ".md") for place in (own, here))
        ),
        permissions=project_config.names(_permissions(layers)),
    )


def _instructions(own: Path, project: Path, layers: list[dict[str, Any]], home: str) -> Iterator[Path]:
    chosen: list[str] = []
    for layer in layers:
        chosen = (
            project_config.texts(table(layer, "context").get("fileName") or layer.get("contextFileName"))
            or chosen
        )
    names = dict.fromkeys([*chosen, "GEMINI.md"])
    inside = project_config.folders(project)
    yield from project_config.with_imports(
        project_config.instructions(own / name for name in names), None, home
    )
    theirs = project_config.instructions((folder / name for folder in inside for name in names), inside[0])
    yield from project_config.with_imports(theirs, inside[0])


def _servers(layers: list[dict[str, Any]], own: Path) -> Iterator[str]:
    excluded = {
        name for layer in layers for name in project_config.texts(table(layer, "mcp").get("excluded"))
    }
    layers = [
        *layers,
        *(
            project_config.settings_in(path)
            for path in project_config.files_in(own / "extensions", "gemini-extension.json", depth=1)
        ),
    ]
    for layer in layers:
        yield from (name for name in table(layer, "mcpServers") if name not in excluded)


def _permissions(layers: list[dict[str, Any]]) -> Iterator[str]:
    modes = [table(layer, "general").get("defaultApprovalMode") for layer in layers]
    told = [MODES[mode] for mode in modes if isinstance(mode, str) and mode in MODES]
    yield from told[-1:]
    if any(table(layer, "tools").get("sandbox") for layer in layers):
        yield "sandbox"
    count = sum(len(project_config.texts(table(layer, "tools").get("allowed"))) for layer in layers)
    if count:
        yield "1 rule that allows calls" if count == 1 else f"{count} rules that allow calls"
