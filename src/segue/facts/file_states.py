"""State of files at the end of a transcript: what was done to each, and its content if it can be replayed."""

from __future__ import annotations

import functools
import hashlib
import posixpath

import msgspec
from msgspec import Struct

from segue.base.lazy_regex import lazy_pattern
from segue.facts.relevance import Spot, heat_of
from segue.model import Entry, Fact, Origin
from segue.model.tool_action import Act, Deed

DRIVE = lazy_pattern(r"[A-Za-z]:[\\/]")
MOUNTED = lazy_pattern(r"/([A-Za-z])/")
LONGEST = 4 << 20
"""Maximum length of a content that is tracked."""
LONGEST_TOLD = 40_000
"""Maximum length of a content in a brief: longer files can be read on disk."""


class File(Struct):
    """State of a file, its source, and its content as far as known."""

    state: str
    entry: str
    origin: Origin
    n: int
    first: int = 0
    """Number of the entry that changed it first."""
    is_new: bool = False
    """Whether it was created in this transcript."""
    was: str = ""
    """Its previous name."""
    moved_to: str = ""
    """New name of a file that was moved."""
    content: str | None = None


class Files(Struct):
    known: dict[str, File] = {}

    def add(self, act: Act, path: str, entry: Entry, n: int, folder: str) -> None:
        """Apply an action to a file, or to all known files below a folder."""
        if not path:
            return
        if act.deed is Deed.MOVE:
            target = relative(act.to, folder)
            for old in [path, *self._below(path)]:
                self._move(old, target + old[len(path) :] if target else "", entry, n)
        elif act.deed is Deed.DELETE:
            for old in [*self._below(path)] or [path]:
                before = self.known.pop(old, None)
                first, is_new = (before.first, before.is_new) if before else (0, False)
                self.known[old] = File("deleted", entry.id, entry.origin, n, first, is_new)
        else:
            self.known[path] = _changed(act, self.known.pop(path, None), entry, n)
            self._uncover(path)

    def make(self, folder: str) -> None:
        """Record that a folder exists; its contents are unknown."""
        self._uncover(f"{folder}/")

    def _uncover(self, path: str) -> None:
        """The folders above an existing path exist."""
        for at in [at for at, char in enumerate(path) if char == "/"]:
            above = self.known.get(path[:at])
            if above is not None and above.state == "deleted":
                del self.known[path[:at]]

    def _below(self, folder: str) -> list[str]:
        return [path for path in self.known if path.startswith(folder.rstrip("/") + "/")]

    def _move(self, path: str, target: str, entry: Entry, n: int) -> None:
        before = self.known.pop(path, None)
        if before is None and self._below(path):
            return  # a folder: its files are moved
        self.known[path] = File("deleted", entry.id, entry.origin, n, moved_to=target)
        if not target:
            return
        moved = before or File("edited", entry.id, entry.origin, n)
        was = moved.was or path
        self.known.pop(target, None)
        self.known[target] = msgspec.structs.replace(
            moved,
            state="renamed" if was != target else "created" if moved.is_new else "edited",
            was=was if was != target else "",
            entry=entry.id,
            n=n,
        )
        self._uncover(target)

    def restore(self, path: str, committed: int) -> None:
        """Reset a file to its committed state: changes since the commit are gone."""
        file = self.known.get(path)
        if file is None:
            return
        is_back = file.state == "deleted" and not file.first
        if is_back or (file.first > committed and not file.is_new):
            del self.known[path]
            return
        file.content = None
        if file.state == "deleted":
            file.state = "created" if file.is_new else "edited"

    def forget(self) -> None:
        """Forget all contents: a command changed files without naming them."""
        for file in self.known.values():
            file.content = None

    def facts(self) -> list[Fact]:
        return [
            Fact(
                kind="file",
                subject=path,
                value=file.state,
                entry=file.entry,
                origin=file.origin,
                n=file.n,
                note=f"was {file.was}" if file.was else "",
                hash=_hash(file.content),
            )
            for path, file in self.known.items()
            # A renamed file is reported by its new name.
            if not (file.moved_to and file.moved_to in self.known)
        ]

    def lacks(self, path: str, name: str) -> bool:
        """Whether a file with known content no longer contains a name."""
        file = self.known.get(path)
        return file is not None and file.content is not None and name.rpartition("/")[2] not in file.content

    def contents(self, folder: str, spots: dict[str, Spot]) -> list[Fact]:
        """Current contents of the files, as far as known."""
        return [
            Fact(
                kind="content",
                subject=path,
                value=file.content,
                entry=file.entry,
                origin=file.origin,
                n=file.n,
                weight=heat_of(path, folder, spots),
            )
            for path, file in self.known.items()
            if file.content and len(file.content) <= LONGEST_TOLD
        ]


def _changed(act: Act, before: File | None, entry: Entry, n: int) -> File:
    was_there = before is not None and before.state != "deleted"
    content = before.content if before and was_there else None
    if act.content is not None:
        content = act.content
    elif act.deed is Deed.WRITE or not act.changes:
        content = None
    else:
        for change in act.changes:
            content = _replaced(content, change.old, change.new, change.is_everywhere)
    if content is not None and len(content) > LONGEST:
        content = None
    is_new = bool(before and was_there and before.is_new) or (act.deed is Deed.WRITE and not was_there)
    return File(
        state="created" if is_new else "edited",
        entry=entry.id,
        origin=entry.origin,
        n=n,
        first=before.first if before and was_there else n,
        is_new=is_new,
        was=before.was if before and was_there else "",
        content=content,
    )


def _replaced(content: str | None, old: str, new: str, is_everywhere: bool) -> str | None:
    if content is None:
        return None
    if not old:
        return new if not content else None
    if old not in content:
        return None
    return content.replace(old, new) if is_everywhere else content.replace(old, new, 1)


def _hash(content: str | None) -> str | None:
    return None if content is None else hashlib.sha256(content.encode(errors="replace")).hexdigest()


@functools.lru_cache(maxsize=1 << 12)
def relative(path: str, folder: str) -> str:
    """A path relative to the folder of the work, if it is inside."""
    path = path.strip()
    if not path or "\n" in path or len(path) > 1000:
        return ""
    path, folder = _slashed(path, folder), _slashed(folder, folder)
    path = posixpath.normpath(path)
    return path.removeprefix(folder.rstrip("/") + "/") if folder else path


def _slashed(path: str, folder: str) -> str:
    """One form of a Windows path, which has three: native (`D:\\app\\a.py`), with slashes, and git's
    (`/d/app/a.py`)."""
    if not (DRIVE.match(folder) or DRIVE.match(path)):
        return path
    path = path.replace("\\", "/")
    if mounted := MOUNTED.match(path):
        path = f"{mounted[1]}:/{path[mounted.end() :]}"
    return path[0].upper() + path[1:] if DRIVE.match(path) else path
