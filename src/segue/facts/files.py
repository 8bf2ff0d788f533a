"""Files as a transcript leaves them: what was done to each, and its content where that can be replayed."""

from __future__ import annotations

import hashlib
import posixpath

import msgspec
from msgspec import Struct

from segue.acts import Act, Deed
from segue.facts.heat import Spot, heat_of
from segue.model import Entry, Fact, Origin

LONGEST = 4 << 20
"""A content beyond this is not followed."""
LONGEST_TOLD = 40_000
"""A content beyond this is no part of a brief: the file itself is there to be read."""


class File(Struct):
    """One file: how it stands, who says so, and what is in it as far as that is known."""

    state: str
    entry: str
    origin: Origin
    n: int
    is_new: bool = False
    """Whether it was created here."""
    was: str = ""
    """Its older name."""
    content: str | None = None
    snippet: str = ""
    """What the last edit put there."""
    times: int = 1


class Files(Struct):
    known: dict[str, File] = {}

    def add(self, act: Act, path: str, entry: Entry, n: int, folder: str) -> None:
        """Do to the file what was done."""
        if not path:
            return
        before = self.known.pop(path, None)
        if act.deed is Deed.DELETE:
            self.known[path] = File("deleted", entry.id, entry.origin, n)
        elif act.deed is Deed.MOVE:
            target = relative(act.to, folder)
            moved = before or File("renamed", entry.id, entry.origin, n)
            self.known[target] = msgspec.structs.replace(
                moved, state="renamed", was=moved.was or path, entry=entry.id, n=n
            )
            self.known[path] = File("deleted", entry.id, entry.origin, n, was=target)
        else:
            self.known[path] = _changed(act, before, entry, n)

    def facts(self) -> list[Fact]:
        return [
            Fact(
                kind="file",
                subject=path,
                value=file.state,
                entry=file.entry,
                origin=file.origin,
                n=file.n,
                note=f"was {file.was}" if file.state == "renamed" else "",
                hash=_hash(file.content),
            )
            for path, file in self.known.items()
            # What was made and thrown away again is of no further interest.
            if not (file.state == "deleted" and file.was in self.known)
        ]

    def contents(self, spots: dict[str, Spot]) -> list[Fact]:
        """What is in the files whose content is known, as it now stands."""
        return [
            Fact(
                kind="content",
                subject=path,
                value=file.content,
                entry=file.entry,
                origin=file.origin,
                n=file.n,
                weight=heat_of(path, spots),
            )
            for path, file in self.known.items()
            if file.content and len(file.content) <= LONGEST_TOLD
        ]


def _changed(act: Act, before: File | None, entry: Entry, n: int) -> File:
    was_there = before is not None and before.state != "deleted"
    content = before.content if before and was_there else None
    snippet = ""
    if act.content is not None:
        content = act.content
    elif act.deed is Deed.WRITE:
        content = None
    else:
        for change in act.changes:
            content = _replaced(content, change.old, change.new, change.is_everywhere)
            snippet = change.new
    if content is not None and len(content) > LONGEST:
        content = None
    is_new = bool(before and was_there and before.is_new) or (act.deed is Deed.WRITE and not was_there)
    return File(
        state="created" if is_new else "edited",
        entry=entry.id,
        origin=entry.origin,
        n=n,
        is_new=is_new,
        was=before.was if before and was_there else "",
        content=content,
        snippet=snippet[:2000],
        times=(before.times if before else 0) + 1,
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


def relative(path: str, folder: str) -> str:
    """A path as seen from the folder of the work, where it is inside."""
    path = path.strip()
    if not path or "\n" in path or len(path) > 1000:
        return ""
    if folder and path.startswith(folder.rstrip("/") + "/"):
        path = path[len(folder.rstrip("/")) + 1 :]
    return posixpath.normpath(path.removeprefix("./")) if not path.startswith("/") else path
