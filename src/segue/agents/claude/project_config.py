"""Claude Code's configuration in a folder: CLAUDE.md files, MCP servers, skills, commands, permissions.

It loads the files of the working folder and every folder above. AGENTS.md counts only if none of those folders has a
CLAUDE.md, .claude/CLAUDE.md or CLAUDE.local.md; the user's own CLAUDE.md does not matter (seen with 2.1.325).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from segue.agents.shared.settings import project_config
from segue.agents.shared.settings.project_config import Belongings, table

MODES = {
    "acceptEdits": project_config.EDITS,
    "bypassPermissions": "nothing is asked for",
    "dontAsk": "calls that are not allowed are refused",
    "auto": "calls are judged by a model",
    "plan": project_config.PLANS,
}


def belongings(env: Mapping[str, str], project: Path) -> Belongings:
    home = env.get("HOME", "")
    named = env.get("CLAUDE_CONFIG_DIR", "").split(",")[0].strip()
    own = Path(named or f"{home}/.claude")
    config = project_config.settings_in(Path(named or home, ".claude.json"))
    inside = project_config.folders(project)
    layers = [
        *(
            project_config.settings_in(project / ".claude" / name)
            for name in ("settings.local.json", "settings.json")
        ),
        project_config.settings_in(own / "settings.json"),
    ]
    places = [own, *(folder / ".claude" for folder in inside)]
    return Belongings(
        instructions=tuple(_instructions(own, project, home)),
        servers=project_config.names(
            table(config, "mcpServers"),
            *(table(config, "projects", str(folder), "mcpServers") for folder in inside),
            *(table(project_config.settings_in(folder / ".mcp.json"), "mcpServers") for folder in inside),
        ),
        skills=project_config.names(project_config.skills_in(*(place / "skills" for place in places))),
        commands=project_config.names(
            *(project_config.named_by_files(place / "commands", ".md") for place in places)
        ),
        agents=project_config.names(
            *(project_config.named_by_files(place / "agents", ".md") for place in places)
        ),
        permissions=project_config.names(_permissions(layers)),
    )


def _instructions(own: Path, project: Path, home: str) -> Iterator[Path]:
    mine = project_config.instructions([own / "CLAUDE.md", *_rules(own / "rules")])
    everywhere = project_config.folders(project, beyond=True)
    root = project_config.folders(project)[0]
    found: list[Path] = []
    has_own = False
    for folder in everywhere:
        # The user's configuration folder may be one of those above.
        place = folder / ".claude" if folder / ".claude" != own else None
        before = [folder / "CLAUDE.md", *([place / "CLAUDE.md"] if place else [])]
        marked = project_config.instructions([*before, folder / "CLAUDE.local.md"], root)
        rules = project_config.instructions(_rules(place / "rules"), root) if place else []
        has_own = has_own or bool(marked)
        found += [path for path in marked if path in before]
        found += [*rules, *(path for path in marked if path not in before)]
    if not has_own:
        found += project_config.instructions((folder / "AGENTS.md" for folder in everywhere), root)
    yield from project_config.with_imports(mine, None, home)
    # It asks before it imports files from outside the working folder.
    yield from project_config.with_imports(found, project)


def _rules(folder: Path) -> Iterator[Path]:
    """Rules that always count: not those for certain paths."""
    for path in project_config.files_in(folder, ".md"):
        first, *lines = project_config.content(path)[:5000].splitlines() or [""]
        front = (
            itertools.takewhile(lambda line: line.strip() != "---", lines) if first.strip() == "---" else ()
        )
        if not any(line.startswith("paths:") for line in front):
            yield path


def _permissions(layers: list[dict[str, Any]]) -> Iterator[str]:
    found = [table(layer, "permissions") for layer in layers]
    mode = next((one["defaultMode"] for one in found if isinstance(one.get("defaultMode"), str)), "")
    if mode in MODES:
        yield MODES[mode]
    for key, one, more in (
        ("allow", "allows calls", "allow calls"),
        ("deny", "denies calls", "deny calls"),
        ("ask", "asks before calls", "ask before calls"),
    ):
        count = sum(len(project_config.texts(layer.get(key))) for layer in found)
        if count:
            yield f"1 rule that {one}" if count == 1 else f"{count} rules that {more}"
