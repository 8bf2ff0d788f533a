"""Project configuration of an agent that another agent may lack: instructions, MCP servers, skills, permissions.

Each agent's `belongings(env, project)` lists what it has in a folder. Here is what they share, and how configuration
is passed on. Instructions are passed as files. Everything else is named, and never by value, because settings hold
secrets.

A project from a stranger must not pass on files that are not its own: its instructions count only if they lead to a
file inside the project, by any link or import.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from segue import agents
from segue.base import files, paths
from segue.base.fence import one_line
from segue.model import Value

LARGEST = 200_000
"""A larger file of instructions is not passed on."""
LARGEST_SETTINGS = 16 << 20
MOST = 100
"""How many names of a kind are listed, and how many files count."""
LONGEST_NAME = 60
DEEPEST = 4
"""How deep imports, and folders of rules and commands, are followed."""
EDITS = "edits accepted by itself"
PLANS = "plans only"


class Belongings(Value, frozen=True):
    """An agent's project configuration in one folder."""

    instructions: tuple[Path, ...] = ()
    """The files that it loads by itself, in its order."""
    servers: tuple[str, ...] = ()
    """The names of its MCP servers."""
    skills: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    """Its sub-agents."""
    permissions: tuple[str, ...] = ()
    """What it may do without asking, or not at all, in a few words each."""


KINDS = {"servers": "MCP servers", "skills": "skills", "commands": "commands", "agents": "sub-agents"}


def of(name: str, env: Mapping[str, str], project: Path) -> Belongings:
    """An agent's project configuration in a folder; empty if unknown."""
    tell = agents.load(name).belongings
    found: Belongings = tell(env, project) if tell else Belongings()
    return found


def travelling(
    source: str, target: str, env: Mapping[str, str], project: Path
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The instruction files that the target does not load by itself, and one line for each kind of
    configuration that cannot be passed on."""
    return compared(of(source, env, project), of(target, env, project), agents.get(target).title)


def compared(source: Belongings, target: Belongings, title: str) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    loaded = {_same(content(path)) for path in target.instructions} | {""}
    files: list[Path] = []
    lost: list[str] = []
    for path in source.instructions:
        if _size(path) > LARGEST:
            lost.append(
                f"instructions: {one_line(path.name, LONGEST_NAME)} is larger than {LARGEST // 1000} kB"
            )
        elif (text := _same(content(path))) not in loaded:
            loaded.add(text)
            files.append(path)
    for field, kind in KINDS.items():
        own, theirs = getattr(source, field), set(getattr(target, field))
        if set(own) - theirs:
            lost.append(_line(kind, own, title, [name for name in own if name in theirs]))
    if set(source.permissions) - set(target.permissions):
        lost.append(_line("permissions", source.permissions, title, target.permissions))
    return tuple(files), tuple(lost)


def content(path: Path) -> str:
    """The text of an instruction file; empty if it cannot be read or is too large."""
    try:
        return files.read_file(path, LARGEST).decode(errors="replace")
    except OSError:
        return ""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _same(text: str) -> str:
    """Text for comparison: equal for two files that differ only in white space."""
    return "\n".join(line.rstrip() for line in text.strip("\ufeff \r\n\t").splitlines())


def _line(kind: str, own: Sequence[str], title: str, theirs: Sequence[str]) -> str:
    has = f" ({title} has: {_listed(theirs)})" if theirs else ""
    return f"{kind}: {_listed(own)}{has}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more


# For the agents' own files


def folders(project: Path, *, beyond: bool = False) -> list[Path]:
    """The folders from the root of the repository down to a folder; with `beyond`, from the root of the file system."""
    top = Path(project.anchor) if beyond else paths.find_project(project)
    upwards = itertools.takewhile(lambda folder: folder != top.parent or folder == top, _upwards(project))
    return list(upwards)[::-1]


def _upwards(folder: Path) -> Iterator[Path]:
    yield folder
    yield from folder.parents


def instructions(paths: Iterable[Path], within: Path | None = None) -> list[Path]:
    """The paths that are files, each once. A project's files (`within`) count only if they don't lead out of
    it. Files in folders above it count only if they don't lead out of those, and belong to no other user."""
    found: dict[str, Path] = {}
    for path in paths:
        if len(found) < MOST and is_file(path) and (within is None or _is_own(path, within)):
            found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def _is_own(path: Path, project: Path) -> bool:
    if path.is_relative_to(project):
        return _is_inside(path, project)
    folder = path.parent.parent if path.parent.name.startswith(".") else path.parent
    return _is_inside(path, folder) and path.stat().st_uid in (0, os.getuid())


def _is_inside(path: Path, folder: Path) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(folder).rstrip("/") + "/")


def is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


_IMPORT = re.compile(r"(?:^|(?<=\s))@((?:[^\s\\@`]|\\ ){1,300})")
_CODE = re.compile(r"`[^`\n]{1,300}`")
FENCES = ("```", "~~~")


def with_imports(paths: Sequence[Path], within: Path | None, home: str = "") -> list[Path]:
    """Files, each followed by its imports (`@docs/style.md`), at any depth. What a project imports must be in it."""
    found: dict[str, Path] = {}
    for path in paths:
        waiting = [(path, 0)]
        while waiting and len(found) < MOST:
            one, depth = waiting.pop(0)
            if found.setdefault(os.path.realpath(one), one) is not one or depth == DEEPEST:
                continue
            for name in itertools.islice(_imports(content(one)), MOST):
                is_mine = name.startswith("~/") and home
                imported = Path(os.path.normpath(Path(home, name[2:]) if is_mine else one.parent / name))
                if is_file(imported) and (within is None or _is_inside(imported, within)):
                    waiting.append((imported, depth + 1))
    return list(found.values())


def _imports(text: str) -> Iterator[str]:
    """The paths that a text imports. Code does not count."""
    fence = ""
    for line in text.splitlines():
        start = line.strip()[:3]
        if fence or start in FENCES:
            fence = start if not fence else "" if start == fence else fence
            continue
        for name in _IMPORT.findall(_CODE.sub(" ", line)):
            name = name.replace("\\ ", " ").split("#")[0]
            yield name
            if name[-1:] in tuple(".,;:!?)"):
                yield name.rstrip(".,;:!?)")


def settings_in(path: Path) -> dict[str, Any]:
    """A JSON file, with or without comments; empty if it is missing, invalid or too large."""
    try:
        text = files.read_file(path, LARGEST_SETTINGS)
        try:
            found = msgspec.json.decode(text)
        except msgspec.DecodeError:
            found = msgspec.json.decode(_plain(text.decode(errors="replace")))
    except (OSError, ValueError, msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


_NO_JSON = re.compile(r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*[}\]])', re.DOTALL)
"""A whole string (which may contain what looks like a comment), or what JSON does not have."""


def _plain(text: str) -> str:
    """JSON without comments and trailing commas."""
    for _ in range(2):  # a comma may come before a comment
        text = _NO_JSON.sub(lambda found: found.group(1) or "", text)
    return text


def table(value: Any, *keys: str) -> dict[str, Any]:
    """The table under nested keys; empty if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def texts(value: Any) -> list[str]:
    """A text or a list of texts, as a list."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str)]


def names(*found: Iterable[str]) -> tuple[str, ...]:
    """Names fit for the screen, each once."""
    shown = (one_line(name, LONGEST_NAME) for name in itertools.chain(*found) if isinstance(name, str))
    return tuple(itertools.islice(dict.fromkeys(filter(None, shown)), MOST))


def skills_in(*places_of_skills: Path) -> Iterator[str]:
    """The names of folders that contain a SKILL.md."""
    for place in places_of_skills:
        for name in _listing(place):
            if is_file(place / name / "SKILL.md"):
                yield name


def files_in(place: Path, ending: str, depth: int = DEEPEST) -> Iterator[Path]:
    """The files below a folder with an ending, in order."""
    for name in _listing(place):
        path = place / name
        if name.endswith(ending) and is_file(path):
            yield path
        elif depth and _is_folder(path):
            yield from files_in(path, ending, depth - 1)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir() and not path.is_symlink()
    except OSError:
        return False


def named_by_files(place: Path, ending: str) -> Iterator[str]:
    """Names by path: `git/commit.md` is git:commit."""
    for path in itertools.islice(files_in(place, ending), MOST):
        yield path.relative_to(place).as_posix().removesuffix(ending).replace("/", ":")


def _listing(place: Path) -> list[str]:
    try:
        return sorted(path.name for path in itertools.islice(place.iterdir(), 1000) if path.name[:1] != ".")
    except (OSError, ValueError):
        return []
