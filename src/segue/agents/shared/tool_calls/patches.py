"""Patches as actions: the format that models are taught for `apply_patch`, and unified diffs.

Changes consist of whole lines: one per hunk, with its context lines and line ends. An empty old text means an
insertion at a place that the patch does not give.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import join

from segue.model.tool_action import Act, Change, Deed

BEGIN, END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE, _MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
_HEADERS = {_ADD: Deed.WRITE, _DELETE: Deed.DELETE, _UPDATE: Deed.EDIT}
_END_OF_FILE = "*** End of File"
_NO_NEWLINE = "\\"
NOTHING = "/dev/null"

_HUNK = re.compile(r"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_BEFORE = re.compile(
    r"\s*(?:cd\s+(?P<folder>'[^'\n]*'|\"[^\"\n]*\"|[^\s'\";&|]+)\s*(?:&&|;)\s*)?"
    r"apply_?patch\s*(?:<<-?\s*)?[\"']?(?P<word>\w*)[\"']?\s*\Z"
)
"""What stands before a patch in a command that does nothing but apply it."""
_LONGEST_BEFORE = 2000


def acts_in(text: str) -> tuple[Act, ...]:
    """The actions of a patch or a diff; none if the text is neither."""
    is_patch = BEGIN in text or text.lstrip().startswith(tuple(_HEADERS))
    return acts_in_patch(text) if is_patch else acts_in_diff(text)


# apply_patch


class _File:
    """What a patch does to one file, as far as it has been read."""

    def __init__(self, deed: Deed, path: str) -> None:
        self.deed, self.path, self.to = deed, path, ""
        self.hunks: list[_Hunk] = []

    def acts(self) -> Iterator[Act]:
        if self.deed is Deed.WRITE:
            yield Act(deed=Deed.WRITE, subject=self.path, content="".join(hunk.new for hunk in self.hunks))
            return
        if self.deed is Deed.DELETE:
            yield Act(deed=Deed.DELETE, subject=self.path)
            return
        changes = tuple(hunk.change() for hunk in self.hunks if hunk.is_change)
        if changes or not self.to:
            yield Act(deed=Deed.EDIT, subject=self.path, changes=changes)
        if self.to:
            yield Act(deed=Deed.MOVE, subject=self.path, to=self.to)


class _Hunk:
    """The lines of a hunk, before and after."""

    def __init__(self) -> None:
        self._old: list[str] = []
        self._new: list[str] = []
        self.is_change = False

    @property
    def new(self) -> str:
        return "".join(self._new)

    def add(self, line: str) -> None:
        """Add a line with its sign. A line without one is context whose blank was lost."""
        mark, rest = line[:1], line[1:] + "\n"
        if mark == "+":
            self._new.append(rest)
            self.is_change = True
        elif mark == "-":
            self._old.append(rest)
            self.is_change = True
        else:
            kept = rest if mark in (" ", "") else line + "\n"
            self._old.append(kept)
            self._new.append(kept)

    def end_without_newline(self, mark: str) -> None:
        """Remove the line end of the last line, which has this sign."""
        sides = {"+": (self._new,), "-": (self._old,)}.get(mark, (self._old, self._new))
        for side in sides:
            if side:
                side[-1] = side[-1].removesuffix("\n")

    def change(self) -> Change:
        return Change(old="".join(self._old), new=self.new)


def acts_in_patch(text: str) -> tuple[Act, ...]:
    """The actions of every patch in a text; the text around them is skipped. A patch without its first line
    is accepted."""
    found: list[Act] = []
    file: _File | None = None
    is_inside = BEGIN not in text
    for line in text.split("\n"):
        line = line.removesuffix("\r")
        start = line.rstrip()
        header = _header(start)
        is_begin, is_end = start.startswith(BEGIN), start.startswith(END)
        if is_begin or is_end or header:
            found += file.acts() if file else ()
            file = _File(*header) if header and is_inside else None
            is_inside = not is_end and (is_inside or is_begin)
        elif file and not file.hunks and file.deed is Deed.EDIT and start.startswith(_MOVE):
            file.to = start.removeprefix(_MOVE).strip()
        elif file and start != _END_OF_FILE:
            _take(file, line)
    found += file.acts() if file else ()
    return tuple(found)


def _header(line: str) -> tuple[Deed, str] | None:
    if line.startswith("*** "):
        for words, deed in _HEADERS.items():
            if line.startswith(words):
                return deed, line.removeprefix(words).strip()
    return None


def _take(file: _File, line: str) -> None:
    if line.startswith("@@") and file.deed is Deed.EDIT:
        file.hunks.append(_Hunk())
        return
    if file.deed is Deed.WRITE and not line.startswith("+"):
        return
    if not file.hunks:
        file.hunks.append(_Hunk())
    file.hunks[-1].add(line)


def acts_in_command(command: str, folder: str = "") -> tuple[tuple[Act, ...], bool]:
    """The actions of the patches that a shell command applies, and whether it does nothing else."""
    start = command.find(BEGIN)
    before = command[:start] if start > 0 else ""
    if "apply_patch" not in before and "applypatch" not in before:
        return (), False
    alone = _BEFORE.match(before) if len(before) < _LONGEST_BEFORE else None
    after = command[command.rfind(END) + len(END) :].strip().strip("\"'").strip()
    if alone and alone["folder"]:
        folder = join(folder, alone["folder"].strip("\"'"))
    acts = tuple(_moved(act, folder) for act in acts_in_patch(command[start:]))
    return acts, bool(acts and alone and END in command and after in ("", alone["word"]))


def _moved(act: Act, folder: str) -> Act:
    """The action with paths relative to the caller's folder."""
    if not folder:
        return act
    to = join(folder, act.to) if act.to else ""
    return Act(
        deed=act.deed, subject=join(folder, act.subject), to=to, content=act.content, changes=act.changes
    )


# Unified diffs


class _Diff:
    """What a diff does to one file, as far as it has been read."""

    def __init__(self, path: str = "") -> None:
        self.old = self.new = path
        self.is_new = self.is_deleted = self.is_binary = False
        self.hunks: list[_Hunk] = []

    def acts(self) -> Iterator[Act]:
        path = self.new if self.new not in ("", NOTHING) else self.old
        if path in ("", NOTHING):
            return
        if self.is_deleted or self.new == NOTHING:
            yield Act(deed=Deed.DELETE, subject=path)
            return
        if self.is_new or self.old == NOTHING:
            content = None if self.is_binary else "".join(hunk.new for hunk in self.hunks)
            yield Act(deed=Deed.WRITE, subject=path, content=content)
            return
        source = self.old or path
        if self.hunks or self.is_binary or source == path:
            yield Act(deed=Deed.EDIT, subject=source, changes=tuple(hunk.change() for hunk in self.hunks))
        if source != path:
            yield Act(deed=Deed.MOVE, subject=source, to=path)


def acts_in_diff(text: str, path: str = "") -> tuple[Act, ...]:
    """The actions of a diff. `path` is its file, if it does not say so itself."""
    found: list[Act] = []
    file = _Diff(path) if path else None
    old_left = new_left = 0
    last = ""
    for line in text.split("\n"):
        line = line.removesuffix("\r")
        if file and file.hunks and line.startswith(_NO_NEWLINE):
            file.hunks[-1].end_without_newline(last)
        elif file and (old_left > 0 or new_left > 0):
            last = line[:1]
            file.hunks[-1].add(line)
            old_left -= last != "+"
            new_left -= last != "-"
        elif hunk := _HUNK.match(line):
            if file:
                file.hunks.append(_Hunk())
                old_left, new_left = (int(count) if count else 1 for count in hunk.groups())
        elif line.startswith("diff --git ") or (line.startswith("--- ") and (not file or file.hunks)):
            found += file.acts() if file else ()
            file = _Diff()
            _describe(file, line)
        elif file:
            _describe(file, line)
    found += file.acts() if file else ()
    return tuple(found)


def _describe(file: _Diff, line: str) -> None:
    """Apply a header line of a diff."""
    if line.startswith("--- "):
        file.old = _path(line[4:], "a/")
    elif line.startswith("+++ "):
        file.new = _path(line[4:], "b/")
    elif line.startswith("diff --git a/"):
        old, _, new = line.removeprefix("diff --git a/").partition(" b/")
        file.old, file.new = old, new or old
    elif line.startswith(("rename from ", "copy from ")):
        file.old = line.partition(" from ")[2]
    elif line.startswith(("rename to ", "copy to ")):
        file.new = line.partition(" to ")[2]
    elif line.startswith("new file mode"):
        file.is_new = True
    elif line.startswith("deleted file mode"):
        file.is_deleted = True
    elif line.startswith(("Binary files ", "GIT binary patch")):
        file.is_binary = True


def _path(name: str, side: str) -> str:
    """A path in a diff's header, without the time that may follow it."""
    plain = name.partition("\t")[0].strip().strip('"')
    return plain.removeprefix(side)
