"""The names of the dependencies that a project's manifest lists. Pure.

A name that is new counts; another version, order or white space does not.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

from segue.patterns import lazy_pattern

REQUIREMENT = lazy_pattern(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
GO = lazy_pattern(r"^\s*(?:require\s+)?([\w.-]+\.[\w.-]+/\S+)\s+v\d\S*\s*(//\s*indirect)?", re.MULTILINE)
GEM = lazy_pattern(r"^\s*gem\s+['\"]([\w.-]+)['\"]", re.MULTILINE)
REQUIREMENTS = lazy_pattern(r"requirements[\w.-]*\.(?:txt|in)")
TABLES = ("dependencies", "dev-dependencies", "build-dependencies")
OBJECTS = (
    "dependencies",
    "devDependencies",
    "peerDependencies",
    "optionalDependencies",
    "require",
    "require-dev",
)
NAMES = ("pyproject.toml", "package.json", "composer.json", "Cargo.toml", "go.mod", "Gemfile")


def is_manifest(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in NAMES or REQUIREMENTS.fullmatch(name) is not None


def new_names(path: str, before: bytes, after: bytes) -> list[str]:
    """The dependencies that a manifest lists now and did not list before; none where it cannot be read."""
    known, now = names(path, before), names(path, after)
    if known is None or now is None:
        return []
    if path.endswith("go.mod"):  # what was needed indirectly is not new
        known |= {found[1] for found in GO.finditer(before.decode())}
    return sorted(now - known - {"python"})


def names(path: str, content: bytes) -> set[str] | None:
    """What a manifest lists; None where it is no manifest, or cannot be read."""
    if not is_manifest(path):
        return None
    try:
        return {plain(name) for name in _names(path, content.decode())}
    except (ValueError, AttributeError, TypeError):
        return None


def plain(name: str) -> str:
    """A name as all ways to write it have in common."""
    return re.sub(r"[-_.]+", "-", name).lower() if "/" not in name else name


def _names(path: str, text: str) -> Iterator[str]:
    match path.rpartition("/")[2]:
        case "pyproject.toml":
            yield from _python(tomllib.loads(text))
        case "package.json" | "composer.json":
            data = json.loads(text)
            for key in OBJECTS:
                yield from data.get(key) or {}
        case "Cargo.toml":
            yield from _cargo(tomllib.loads(text))
        case "go.mod":
            yield from (found[1] for found in GO.finditer(text) if not found[2])
        case "Gemfile":
            yield from GEM.findall(text)
        case _:
            lines = (line.partition("#")[0] for line in text.splitlines())
            yield from _required(line for line in lines if not line.lstrip().startswith("-"))


def _required(lines: Iterable[Any]) -> Iterator[str]:
    for line in lines:
        if isinstance(line, str) and (found := REQUIREMENT.match(line)):
            yield found[1]


def _python(data: dict[str, Any]) -> Iterator[str]:
    project, tool = data.get("project", {}), data.get("tool", {})
    yield from _required(project.get("dependencies", ()))
    for group in (project.get("optional-dependencies", {}), data.get("dependency-groups", {})):
        for lines in group.values():
            yield from _required(lines)
    poetry = tool.get("poetry", {})
    yield from poetry.get("dependencies", {})
    yield from poetry.get("dev-dependencies", {})
    for part in poetry.get("group", {}).values():
        yield from part.get("dependencies", {})


def _cargo(data: dict[str, Any]) -> Iterator[str]:
    for place in (data, data.get("workspace", {}), *data.get("target", {}).values()):
        for table in TABLES:
            yield from place.get(table, {})
