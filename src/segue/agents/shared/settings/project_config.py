"""What an agent has around it that another may lack: instructions that it loads, servers, skills, permissions.

Each agent's own file tells what it has in a folder (`belongings(env, project)`); here is what they share, and what of
it travels. Instructions travel as files. All else cannot: it is told by name, and never by value, as settings hold
secrets. A stranger's project must not send along what is not its own: a project's instructions count only where they
lead to a file inside of it, whatever link or import names them.
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
"""A file with instructions that is larger does not travel."""
LARGEST_SETTINGS = 16 << 20
MOST = 100
"""How many names of a kind are told, and how many files count."""
LONGEST_NAME = 60
DEEPEST = 4
"""How far imports lead on, and how far folders of rules and commands are gone into."""
EDITS = "edits accepted by itself"
PLANS = "plans only"


class Belongings(Value, frozen=True):
    """What an agent has in one folder."""

    instructions: tuple[Path, ...] = ()
    """The files that it loads by itself, in its order."""
    servers: tuple[str, ...] = ()
    """The names of its MCP servers."""
    skills: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    """Its sub-agents."""
    permissions: tuple[str, ...] = ()
    """What it may do without asking, or may not do at all, in a few words each."""


KINDS = {"servers": "MCP servers", "skills": "skills", "commands": "commands", "agents": "sub-agents"}


def of(name: str, env: Mapping[str, str], project: Path) -> Belongings:
    """What an agent has in a folder; nothing where Segue does not know."""
    tell = agents.load(name).belongings
    found: Belongings = tell(env, project) if tell else Belongings()
    return found


def travelling(
    source: str, target: str, env: Mapping[str, str], project: Path
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The files that the target does not load by itself, and what cannot travel, a line for each kind."""
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
    """What is in a file with instructions; nothing where it cannot be read or is too large."""
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
    """What two files have in common that say the same."""
    return "\n".join(line.rstrip() for line in text.strip("\ufeff \r\n\t").splitlines())


def _line(kind: str, own: Sequence[str], title: str, theirs: Sequence[str]) -> str:
    has = f" ({title} has: {_listed(theirs)})" if theirs else ""
    return f"{kind}: {_listed(own)}{has}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(names[:10]) + more


# What the agents' own files use


def folders(project: Path, *, beyond: bool = False) -> list[Path]:
    """From the root of the repository down to a folder; with `beyond`, from the root of the file system."""
    top = Path(project.anchor) if beyond else paths.find_project(project)
    upwards = itertools.takewhile(lambda folder: folder != top.parent or folder == top, _upwards(project))
    return list(upwards)[::-1]


def _upwards(folder: Path) -> Iterator[Path]:
    yield folder
    yield from folder.parents


def instructions(paths: Iterable[Path], within: Path | None = None) -> list[Path]:
    """Those that are files, each once. Those of a project (`within`) count only where they do not lead out of it; those
    in folders above it, where they do not lead out of these and are no other user's."""
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
    """Files, each followed by those that it imports (`@docs/style.md`), however many steps away. What a project
    imports must be in it."""
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
    """What a text imports; what stands in code is none."""
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
    """A file of JSON, with comments or without; nothing where it is missing, broken or too large."""
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
"""A string (whole, as what looks like a comment in it is none), or what JSON does not have."""


def _plain(text: str) -> str:
    """JSON without comments and without commas that nothing follows."""
    for _ in range(2):  # a comma may stand before a comment
        text = _NO_JSON.sub(lambda found: found.group(1) or "", text)
    return text


def table(value: Any, *keys: str) -> dict[str, Any]:
    """What is under some keys, each inside the one before; empty where that is no table."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def texts(value: Any) -> list[str]:
    """A text, or a list of texts, as a list."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str)]


def names(*found: Iterable[str]) -> tuple[str, ...]:
    """Names as they can be shown, each once."""
    shown = (one_line(name, LONGEST_NAME) for name in itertools.chain(*found) if isinstance(name, str))
    return tuple(itertools.islice(dict.fromkeys(filter(None, shown)), MOST))


def skills_in(*places_of_skills: Path) -> Iterator[str]:
    """Folders with a SKILL.md in them."""
    for place in places_of_skills:
        for name in _listing(place):
            if is_file(place / name / "SKILL.md"):
                yield name


def files_in(place: Path, ending: str, depth: int = DEEPEST) -> Iterator[Path]:
    """The files below a folder whose names end so, in order."""
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
    """The names that such files give: `git/commit.md` is git:commit."""
    for path in itertools.islice(files_in(place, ending), MOST):
        yield path.relative_to(place).as_posix().removesuffix(ending).replace("/", ":")


def _listing(place: Path) -> list[str]:
    try:
        return sorted(path.name for path in itertools.islice(place.iterdir(), 1000) if path.name[:1] != ".")
    except (OSError, ValueError):
        return []
