"""The packages that a lock file pins. Pure.

Only packages added to an otherwise unchanged lock file are new: an upgrade may bring in packages of its own.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from segue.base.lazy_regex import lazy_pattern
from segue.prohibitions.manifests import UNREADABLE, plain

NODE_MODULES = "node_modules/"
YARN = lazy_pattern(
    r'^"?(@?[^@\s"]+)@(?!(?:workspace|link|portal|file):)[^\n]*:\n\s+version:? "?([^\s"]+)', re.MULTILINE
)
PNPM = lazy_pattern(r"^  '?/?(@?[^@\s'(]+)[@/](\d[^:'(\s]*)", re.MULTILINE)
BUN = lazy_pattern(r'^\s+"[^"]+": \["(@?[^"@]+)@(?!workspace:)([^"]+)"', re.MULTILINE)
GEMS = lazy_pattern(r"^ {4}([\w.-]+) \(([^)\s]+)\)$", re.MULTILINE)
GEMS_BESIDE = lazy_pattern(r"^PATH\n(?: .*\n)*", re.MULTILINE)
PATTERNS = {"yarn.lock": YARN, "pnpm-lock.yaml": PNPM, "bun.lock": BUN, "Gemfile.lock": GEMS}
LOCAL = {"editable", "virtual", "path", "directory", "workspace", "file"}
TOML = ("uv.lock", "poetry.lock", "pdm.lock", "Cargo.lock")
JSON = ("package-lock.json", "npm-shrinkwrap.json", "composer.lock", "Pipfile.lock")


def is_lock_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name in PATTERNS or name in TOML or name in JSON


def new_names(path: str, before: bytes, after: bytes) -> list[str]:
    """The packages that were added; none if another package changed or was removed, or the file cannot be parsed."""
    name = path.rpartition("/")[2]
    try:
        known, now = set(_pinned(name, before.decode())), set(_pinned(name, after.decode()))
    except UNREADABLE:
        return []
    if known - now:
        return []
    return sorted({name for name, _ in now} - {name for name, _ in known})


def names(path: str, content: bytes) -> set[str]:
    """The packages in a lock file; none if it is not one, or cannot be parsed."""
    if not is_lock_file(path):
        return set()
    try:
        return {plain(name) for name, _ in _pinned(path.rpartition("/")[2], content.decode())}
    except UNREADABLE:
        return set()


def _pinned(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Names with versions (a name can be pinned more than once), without the project's own packages."""
    if name in PATTERNS:
        yield from PATTERNS[name].findall(GEMS_BESIDE.sub("", text))
    elif name in TOML:
        for one in tomllib.loads(text).get("package", ()):
            if not _is_local(one, name):
                yield one["name"], one.get("version", "")
    else:
        yield from _pinned_in_json(json.loads(text))


def _is_local(package: dict[str, Any], name: str) -> bool:
    source = package.get("source")
    if isinstance(source, dict):
        return bool(LOCAL & source.keys()) or source.get("type") in LOCAL
    return name == "Cargo.lock" and not source


def _pinned_in_json(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for path, one in data.get("packages", {}).items() if isinstance(data.get("packages"), dict) else ():
        # Optional packages are mostly for one platform. npm on another machine pins more of them.
        if NODE_MODULES in path and not one.get("link") and not one.get("optional"):
            yield path.rpartition(NODE_MODULES)[2], one.get("version", "")
    for part in ("packages", "packages-dev"):
        for one in data[part] if isinstance(data.get(part), list) else ():
            if one.get("dist", {}).get("type") != "path":
                yield one["name"], one.get("version", "")
    for part in ("dependencies", "default", "develop"):  # npm before version 7; Pipfile
        for name, one in data.get(part, {}).items():
            if not one.get("optional") and not one.get("path"):
                yield name, one.get("version", "")
