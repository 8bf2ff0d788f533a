"""The dependencies in a project's manifest. Pure.

Only new names count. Changes of versions, order or white space do not.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

from segue.base.lazy_regex import lazy_pattern

REQUIREMENT = lazy_pattern(
    r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)(?<!\.whl)(?<!\.zip)(?<!\.gz)\s*(?:$|[\[(;,<>=!~@\\])"
)
"""A requirement with a name. URLs and paths have none."""
GO = lazy_pattern(r"([\w.-]+\.[\w.-]+/\S+)\s+v\d\S*\s*(//\s*indirect)?")
GEM = lazy_pattern(r"^\s*gem\s+['\"]([\w.-]+)['\"](?!.*\bpath(?::|\s*=>))", re.MULTILINE)
GEM_COMMENT = lazy_pattern(r"^=begin\b.*?^=end\b", re.MULTILINE | re.DOTALL)
MAJOR = lazy_pattern(r"/v\d+$")
LOCAL = ("workspace:", "file:", "link:", "portal:", ".", "/")
"""Prefixes of the version of a package that is a folder of the same project."""
UNREADABLE = (ValueError, AttributeError, TypeError, KeyError, RecursionError)
REQUIREMENTS = lazy_pattern(r"requirements[\w.-]*\.(?:txt|in)")
TABLES = ("dependencies", "dev-dependencies", "build-dependencies")
OBJECTS = (
    "dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "require", "require-dev"
)  # fmt: skip
NAMES = ("pyproject.toml", "package.json", "composer.json", "Cargo.toml", "go.mod", "Gemfile")


def is_manifest(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in NAMES or REQUIREMENTS.fullmatch(name) is not None


def new_names(path: str, before: bytes, after: bytes) -> list[str]:
    """The dependencies that a manifest lists now and did not list before; none if it cannot be parsed."""
    try:
        now = {plain(name) for name in _names(path, after.decode())}
        return sorted(now - _known(path, before.decode()) - {"python"})
    except UNREADABLE:
        return []


def names(path: str, content: bytes) -> set[str] | None:
    """The dependencies and the project's own name; None if it is not a manifest, or cannot be parsed."""
    if not is_manifest(path):
        return None
    try:
        return _known(path, content.decode())
    except UNREADABLE:
        return None


def plain(name: str) -> str:
    """The normalized name: one spelling, and without the major version in Go."""
    return MAJOR.sub("", name) if "/" in name else re.sub(r"[-_.]+", "-", name).lower()


def _known(path: str, text: str) -> set[str]:
    """All listed names, including indirect dependencies."""
    return {plain(name) for name in _names(path, text, is_before=True)}


def _names(path: str, text: str, *, is_before: bool = False) -> Iterator[str]:
    match path.rpartition("/")[2]:
        case "pyproject.toml":
            data = tomllib.loads(text)
            yield from _python(data, is_before=is_before)
        case "package.json" | "composer.json" as name:
            data = json.loads(text)
            for key in OBJECTS:
                for one, version in (data.get(key) or {}).items():
                    # In composer.json, a name without a vendor is PHP itself or an extension.
                    if not str(version).startswith(LOCAL) and (name == "package.json" or "/" in one):
                        yield one
            if is_before and data.get("name"):
                yield data["name"]
        case "Cargo.toml":
            data = tomllib.loads(text)
            yield from _cargo(data)
        case "go.mod":
            yield from _go(text, is_before=is_before)
        case "Gemfile":
            yield from GEM.findall(GEM_COMMENT.sub("", text))
        case _:
            yield from _required(line.partition("#")[0] for line in text.splitlines())


def _go(text: str, *, is_before: bool) -> Iterator[str]:
    """The modules of each `require`, as a line or as a block."""
    block = ""
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        if rest.strip() == "(":
            block = word
        elif word == ")":
            block = ""
        elif "require" in (block, word):
            found = GO.match(line.strip().removeprefix("require").lstrip())
            if found and (is_before or not found[2]):
                yield found[1]


def _required(lines: Iterable[Any]) -> Iterator[str]:
    for line in lines:
        if isinstance(line, str) and (found := REQUIREMENT.match(line)):
            yield found[1]


def _python(data: dict[str, Any], *, is_before: bool) -> Iterator[str]:
    project, tool = data.get("project", {}), data.get("tool", {})
    poetry = tool.get("poetry", {})
    own = {plain(str(one["name"])) for one in (project, poetry) if one.get("name")}
    own |= {plain(name) for name in _local(tool.get("uv", {}).get("sources", {}))}
    listed = [*_required(project.get("dependencies", ()))]
    for group in (project.get("optional-dependencies", {}), data.get("dependency-groups", {})):
        for lines in group.values():
            listed += _required(lines)
    for part in (poetry, *poetry.get("group", {}).values()):
        for table in (part.get("dependencies", {}), part.get("dev-dependencies", {})):
            listed += set(table) - set(_local(table))
    yield from own if is_before else ()
    yield from (name for name in listed if is_before or plain(name) not in own)


def _cargo(data: dict[str, Any]) -> Iterator[str]:
    for place in (data, data.get("workspace", {}), *data.get("target", {}).values()):
        for table in TABLES:
            listed = place.get(table, {})
            yield from set(listed) - set(_local(listed))


def _local(table: dict[str, Any]) -> Iterator[str]:
    """The dependencies that are folders of the same project."""
    for name, one in table.items():
        if isinstance(one, dict) and ("path" in one or one.get("workspace")):
            yield name
