"""Actions of aider. It has no calls: a reply holds the edits, and its output says which were applied and committed."""

from __future__ import annotations

import re

from segue.agents.shared.tool_calls import patches
from segue.model import Entry, EntryKind
from segue.model.tool_action import Act, Change, Deed

_SEARCH = re.compile(r"<{5,9} SEARCH>?\s*")
_DIVIDER = re.compile(r"={5,9}\s*")
_REPLACE = re.compile(r">{5,9} REPLACE\s*")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})\s*([\w+-]{0,40})\s*")
_APPLIED = "Applied edit to "
_RUN = re.compile(r"(?:/run|/test|!)\s*(\S.*)", re.DOTALL)
_COMMIT = re.compile(r"Commit ([0-9a-f]{6,40} [^\n]*)")
_LONGEST_NAME = 400


def acts(entry: Entry, result: Entry | None) -> tuple[Act, ...] | None:
    match entry.kind:
        case EntryKind.REPLY:
            return edits_in(entry.text)
        case EntryKind.RESULT if entry.text.startswith(_APPLIED):
            path = entry.text.removeprefix(_APPLIED).partition("\n")[0].strip()
            deed = Deed.WRITE if entry.tool == "create" else Deed.EDIT
            return (Act(deed=deed, subject=path),) if path else ()
        case EntryKind.RESULT if entry.tool == "commit":
            made = _COMMIT.match(entry.text)
            return (Act(deed=Deed.COMMIT, subject=made[1].strip()),) if made else ()
        case EntryKind.PROMPT:
            run = _RUN.fullmatch(entry.text.strip())
            return (Act(deed=Deed.RUN, subject=run[1].strip()),) if run else ()
    return None


def edits_in(text: str) -> tuple[Act, ...]:
    """The edits in a reply: search/replace blocks, or diffs."""
    if "SEARCH" not in text and "+++ " not in text:
        return ()
    found: list[Act] = []
    lines, path, at = text.split("\n"), "", 0
    while at < len(lines):
        fence = _FENCE.fullmatch(lines[at])
        if _SEARCH.fullmatch(lines[at]):
            path = _name_above(lines, at) or path
            change, at = _block(lines, at + 1)
            if change and path:
                found.append(_edit(path, change))
        elif fence and fence[2] == "diff":
            end = _end_of(lines, at + 1, fence[1])
            found += patches.acts_in_diff("\n".join(lines[at + 1 : end]))
            at = end + 1
        else:
            at += 1
    return tuple(found)


def _edit(path: str, change: Change) -> Act:
    if not change.old.strip():
        return Act(deed=Deed.WRITE, subject=path, content=change.new)
    return Act(deed=Deed.EDIT, subject=path, changes=(change,))


def _block(lines: list[str], at: int) -> tuple[Change | None, int]:
    """The block that starts at a line, and where it ends; None if it is malformed."""
    old: list[str] = []
    new: list[str] = []
    side = old
    for number in range(at, len(lines)):
        line = lines[number]
        if side is old and _DIVIDER.fullmatch(line):
            side = new
        elif side is new and _REPLACE.fullmatch(line):
            return Change(old=_text(old), new=_text(new)), number + 1
        elif _SEARCH.fullmatch(line):
            return None, number
        else:
            side.append(line)
    return None, len(lines)


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _name_above(lines: list[str], at: int) -> str:
    """The file name in the lines before a block: directly above it, or above its fence."""
    for line in reversed(lines[max(0, at - 3) : at]):
        if _FENCE.fullmatch(line) or not line.strip():
            continue
        name = line.strip().strip("`*").rstrip(":").strip()
        is_name = len(name) < _LONGEST_NAME and not _REPLACE.fullmatch(line) and " " not in name
        return name if is_name else ""
    return ""


def _end_of(lines: list[str], at: int, fence: str) -> int:
    return next((n for n in range(at, len(lines)) if lines[n].strip() == fence), len(lines))
