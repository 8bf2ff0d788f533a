"""Provenance of transcripts: the user's own, or a file that anyone who commits to a repository could have written.

A transcript in an agent's default folder belongs to the user. One inside a project folder may have come with the
project. It is used only after the user has confirmed this agent's transcripts in this folder, and never while git
tracks it. Totals need this module, so it imports nothing slow.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from segue import agents
from segue.agents.shared.transcripts import file_scan

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` is slow to import
    from segue.model import Source
    from segue.ops.common.desk import Desk

TRACKED = "git tracks it, so anyone who commits to that repository could have written it"
UNKNOWN = "git did not answer whether it tracks the file"
UNCONFIRMED = "it is inside a project folder, and you have not confirmed that it is yours"
LINKED = "a link to it leads into a project folder, and you have not confirmed that it is yours"
CONFIRMABLE = (UNCONFIRMED, LINKED)
UNTRACK = "git rm --cached FILE stops tracking it, if it is yours"

Doubt = tuple[str, str]
"""A transcript's project folder, and why the transcript is not used."""


def doubts(desk: Desk, found: Iterable[tuple[str, str]]) -> dict[str, Doubt]:
    """The transcripts, given as (agent, path), that must not be used, by path."""
    folders = _folders(desk)
    inside = folders.inside(found)
    if not inside:
        return {}
    git = _Tracked(desk, folders)
    git.ask(inside)
    result: dict[str, Doubt] = {}
    for path, (agent, project) in inside.items():
        is_tracked = git.tracks(path)
        if is_tracked:
            result[path] = project, TRACKED
        elif not folders.is_default(path) and not any(
            is_confirmed(desk, place, agent) for place in (project, file_of(path))
        ):
            is_linked = not os.path.abspath(path).startswith(f"{project}/")  # noqa: PTH100 - follows no links
            result[path] = project, LINKED if is_linked else UNCONFIRMED
        elif not folders.is_default(path) and is_tracked is None:
            result[path] = project, UNKNOWN
    return result


def may_be_doubted(desk: Desk, found: Iterable[tuple[str, str]]) -> bool:
    """Whether any of these is inside a project. Only folders are checked, neither git nor a store."""
    return bool(_folders(desk).inside(found))


def _folders(desk: Desk) -> _Folders:
    here = str(desk.project)
    projects = {*(desk.index.projects() if desk.has_index else ()), here}
    if not os.path.exists(f"{here}/.git"):  # noqa: PTH110 - quick
        # Without a repository the project's root is unknown: an unpacked archive may start at any parent.
        projects.update(_above(here))
    return _Folders(desk.env, projects, str(desk.places.data))


def _above(folder: str) -> Iterator[str]:
    """All parent folders, without pathlib, which is slow to import."""
    while (above := os.path.dirname(folder)) != folder:  # noqa: PTH120 - quick
        yield (folder := above)


def is_confirmed(desk: Desk, project: str, agent: str) -> bool:
    return desk.has_local and desk.local.confirms(project, agent)


def confirm_own(desk: Desk, source: Source) -> None:
    """Confirm a transcript that a handoff from this machine started: this file only. A database also holds other
    conversations, so the user confirms it."""
    _project, why = doubts(desk, [(source.agent, source.path)]).get(source.path, ("", ""))
    if why in CONFIRMABLE and not source.part:
        desk.local.confirm(file_of(source.path), source.agent, desk.clock())


def file_of(path: str) -> str:
    """The path that a single file is confirmed under, without a compression suffix: its agent may compress it later."""
    return os.path.realpath(path).removesuffix(file_scan.COMPRESSED)


def project_of(desk: Desk, path: str) -> str:
    """The project folder of a file; empty if there is none."""
    return _folders(desk).project_of(path)


class _Folders:
    """Finds the project folder of a path."""

    def __init__(self, env: Mapping[str, str], projects: Iterable[str], *defaults: str) -> None:
        home = env.get("HOME", "")
        usual = [place for places in agents.PLACES.values() for place in places]
        below_home = [place for place in usual if home and not place.startswith(("$", "./"))]
        homes = {home, os.path.realpath(home)} if home else {""}
        places = [f"{one}/{place}" for one in homes for place in below_home]
        self.defaults = tuple(f"{place}/" for place in (*places, *defaults, *map(os.path.realpath, defaults)))
        known = {each for one in projects for each in (one, os.path.realpath(one))}
        # The home folder and its parents are no projects: they contain the agents' default folders.
        self.projects = {
            one for one in known if not any(f"{home}/".startswith(one.rstrip("/") + "/") for home in homes)
        }
        self.roots: dict[str, str] = {}
        self.known: dict[str, list[str]] = {}
        """The spellings of each folder: resolved, and as written."""

    def inside(self, found: Iterable[tuple[str, str]]) -> dict[str, tuple[str, str]]:
        """The files inside a project: (agent, project folder) by path."""
        return {path: (agent, project) for agent, path in found if (project := self.project_of(path))}

    def is_default(self, path: str) -> bool:
        """Whether a path is in an agent's default folder, also after following links."""
        return all(one.startswith(self.defaults) for one in self.spellings(path))

    def spellings(self, path: str) -> list[str]:
        """A file's path with links followed, and as written, if that differs."""
        folder, name = os.path.split(path)
        if folder not in self.known:
            self.known[folder] = [*{os.path.realpath(folder): 0, os.path.abspath(folder): 0}]  # noqa: PTH100 - quick
        found = [f"{one}/{name}" for one in self.known[folder]]
        # Few files are links: resolving every file's folders again would be slow.
        return [os.path.realpath(path), *found] if os.path.islink(path) else found  # noqa: PTH114 - as above

    def project_of(self, path: str) -> str:
        """The project folder of a file, with links followed or as written; empty if there is none."""
        return next(filter(None, map(self._around, self.spellings(path))), "")

    def _around(self, path: str) -> str:
        """The repository or known project that contains a path; empty if there is none."""
        folder = os.path.dirname(path)  # noqa: PTH120 - quick
        if root := self.root_of(folder):
            return root
        if path.startswith(self.defaults):
            return ""
        while folder not in self.projects:
            folder, below = os.path.dirname(folder), folder  # noqa: PTH120 - as above
            if folder == below:
                return ""
        return folder

    def root_of(self, folder: str) -> str:
        """The root of a folder's repository; empty if there is none."""
        if folder not in self.roots:
            above = os.path.dirname(folder)  # noqa: PTH120 - as above
            if os.path.exists(f"{folder}/.git"):  # noqa: PTH110 - as above
                self.roots[folder] = folder
            else:
                self.roots[folder] = self.root_of(above) if above != folder else ""
        return self.roots[folder]


class _Tracked:
    """Which files git tracks. Each repository is asked once."""

    def __init__(self, desk: Desk, folders: _Folders) -> None:
        self.env, self.folders = desk.env, folders
        self.names: dict[str, list[tuple[str, str]]] = {}
        """Each file's repositories and its name in each, as written and with links followed."""
        self.known: dict[str, set[str] | None] = {}

    def ask(self, paths: Iterable[str]) -> None:
        from pathlib import Path  # lazy: most transcripts are outside of projects

        from segue.ops.common import git  # lazy: as above

        wanted: dict[str, set[str]] = {}
        for path in paths:
            self.names[path] = []
            for spelling in self.folders.spellings(path):
                root = self.folders.root_of(os.path.dirname(spelling))  # noqa: PTH120 - as above
                if root:
                    name = os.path.relpath(spelling, root)
                    self.names[path].append((root, name.casefold()))
                    wanted.setdefault(root, set()).add(name.partition("/")[0])
        for root, names in wanted.items():
            told = git.tracked(Path(root), sorted(names), self.env)
            self.known[root] = None if told is None else {name.casefold() for name in told}

    def tracks(self, path: str) -> bool | None:
        """Whether a repository tracks a file or a link in its path; None if git does not answer."""
        answers = []
        for root, name in self.names[path]:
            known = self.known[root]
            parts = name.split("/")
            above = {"/".join(parts[:n]) for n in range(1, len(parts) + 1)}
            answers.append(None if known is None else not known.isdisjoint(above))
        return True if True in answers else None if None in answers else False
