"""The short name under which Gemini CLI keeps a project's files, found as the program finds it.

Each name belongs to one folder: a list of all names says which, and so does a small file next to the data.
Another folder's name is never used: its sessions would appear there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from pathlib import Path

from segue.agents.shared.transcripts.reader import decode_any, dict_of, items_in
from segue.base import files

KEPT = ("tmp", "history")
"""Folders with one subfolder per name."""
OWNER = ".project_root"
LARGEST = 1 << 20
MOST = 1000
"""How many folders may share a base name."""

_SLUG = re.compile(r"[a-z0-9-]+")


def claim(root: Path, project: Path) -> str:
    """The name of a folder. A new name is marked as this folder's, so that the program accepts it."""
    owner = str(project)
    listed = _listed(root)
    name = listed.get(owner, "")
    if not name or not _may_have(root, name, owner):
        name = _marked(root, owner) or _free(root, owner, set(listed.values()))
    marker = root / KEPT[0] / name / OWNER
    if _owner(marker) is None:
        files.make_private_folder(marker.parent)
        files.write_file(marker, os.fsencode(owner))
    return name


def _listed(root: Path) -> dict[str, str]:
    """The names in the list. Like the program, ignores a list with anything else in it."""
    with contextlib.suppress(OSError):
        found = dict_of(dict_of(decode_any(files.read_file(root / "projects.json", LARGEST))).get("projects"))
        if all(isinstance(name, str) and _SLUG.fullmatch(name) for name in found.values()):
            return found
    return {}


def _may_have(root: Path, name: str, owner: str) -> bool:
    return all(_owner(root / place / name / OWNER) in (None, owner) for place in KEPT)


def _owner(marker: Path) -> str | None:
    """The folder that owns a name; None if it is not marked."""
    try:
        return os.fsdecode(files.read_file(marker, LARGEST)).strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return ""  # an unknown owner's


def _marked(root: Path, owner: str) -> str | None:
    for place in KEPT:
        for item in items_in(root / place):
            if _SLUG.fullmatch(item.name) and _owner(Path(item.path, OWNER)) == owner:
                return item.name
    return None


def _free(root: Path, owner: str, taken: set[str]) -> str:
    base = re.sub("[^a-z0-9]+", "-", Path(owner).name.lower()).strip("-") or "project"
    for number in range(MOST):
        name = f"{base}-{number}" if number else base
        if name not in taken and _may_have(root, name, owner):
            return name
    raise OSError(errno.EEXIST, "all names for this folder are taken", owner)
