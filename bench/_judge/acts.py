"""What a call does, told from its tool's name and arguments: the judge's own reading, apart from the packer's."""

from __future__ import annotations

import re
import shlex
from typing import Any

from msgspec import Struct

from bench._judge.records import Raw, Record

SHELLS = {
    "bash", "shell", "exec", "exec_command", "execcommand", "run_shell_command", "local_shell", "execute_command",
    "run_terminal_cmd", "terminal", "run_command", "container.exec", "powershell",
}  # fmt: skip
WRITES = {"write", "write_file", "create_file", "create", "writefile"}
EDITS = {
    "edit", "multiedit", "replace", "str_replace", "str_replace_editor", "str_replace_based_edit_tool",
    "edit_file", "notebookedit", "search_replace",
}  # fmt: skip
DELETES = {"delete_file", "remove_file", "deletefile"}
PATHS = ("file_path", "filePath", "path", "absolute_path", "notebook_path", "target_file", "filename")
PATCH_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)


class Act(Struct, frozen=True):
    """One deed of a call."""

    deed: str
    """run, create, write, edit, delete, move, or other."""
    subject: str = ""
    """The command or the path."""
    to: str = ""
    old: str = ""
    new: str = ""


def acts(call: Record) -> list[Act]:
    name = call.tool.lower().rpartition("__")[2]
    given = call.arguments
    patch = given.get("patchText") or given.get("patch") or given.get("input")
    if isinstance(patch, str) and "*** Begin Patch" in patch:
        return patched(patch)
    if name in SHELLS:
        command = command_of(given)
        inside = [] if "*** Begin Patch" not in command else patched(command)
        return inside or ([Act("run", command), *_moved(command)] if command else [])
    path = next((str(given[key]) for key in PATHS if isinstance(given.get(key), str)), "")
    if name == "file_change":
        return _changes(given.get("changes"))
    if not path:
        return []
    if name in WRITES or given.get("command") == "create":
        return [Act("write", path, new=str(given.get("content") or given.get("file_text") or ""))]
    if name in EDITS and given.get("command") != "view":
        return _edits(path, given)
    if name in DELETES:
        return [Act("delete", path)]
    return []


def command_of(given: Raw) -> str:
    """The command line of a shell call, without the shell that was to run it."""
    command: Any = given.get("command") or given.get("cmd") or given.get("script") or ""
    if isinstance(command, list):
        words = [str(word) for word in command]
        if (
            len(words) > 2
            and words[0].rpartition("/")[2] in ("bash", "sh", "zsh")
            and words[1].startswith("-")
        ):
            return " ".join(words[2:]).strip()
        return " ".join(words).strip()
    return str(command).strip()


def _edits(path: str, given: Raw) -> list[Act]:
    several = given.get("edits")
    parts = several if isinstance(several, list) else [given]
    made = []
    for part in parts:
        if isinstance(part, dict):
            old = part.get("old_string") or part.get("oldString") or part.get("old_str") or ""
            new = part.get("new_string") or part.get("newString") or part.get("new_str") or ""
            made.append(Act("edit", path, old=str(old), new=str(new)))
    return made


def _changes(changes: Any) -> list[Act]:
    deeds = {"add": "create", "delete": "delete", "update": "edit"}
    if not isinstance(changes, dict):
        return []
    return [
        Act(deeds.get(str(change.get("type")), "edit"), str(path))
        for path, change in changes.items()
        if isinstance(change, dict)
    ]


def patched(patch: str) -> list[Act]:
    """The files of a patch in the form '*** Update File: …'."""
    made: list[Act] = []
    deed = path = ""
    old: list[str] = []
    new: list[str] = []
    target = ""

    def close() -> None:
        if path and target:
            made.append(Act("move", path, to=target))
        if path and (deed != "edit" or old or new):
            made.append(Act(deed, target or path, old="\n".join(old), new="\n".join(new)))

    for line in patch.split("\n"):
        match = PATCH_FILE.match(line)
        if match and match.group(3):
            target = match.group(3).strip()
        elif match:
            close()
            deed = {"Add": "create", "Update": "edit", "Delete": "delete"}[match.group(1)]
            path, target, old, new = match.group(2).strip(), "", [], []
        elif line.startswith("*** End Patch"):
            break
        elif path and line.startswith("+"):
            new.append(line[1:])
        elif path and line.startswith("-"):
            old.append(line[1:])
    close()
    return made


def _moved(command: str) -> list[Act]:
    """Files that a plain `rm` or `mv` takes away."""
    made: list[Act] = []
    for part in re.split(r"&&|;|\n|\|\|", command[:4000]):
        words = _split(part)
        if words[:1] == ["git"]:
            words = words[1:]
        names = [word for word in words[1:] if not word.startswith("-")]
        if any(set("*$`<>(){}") & set(name) for name in names):
            continue
        if words[:1] == ["rm"]:
            made += [Act("delete", name) for name in names]
        elif words[:1] == ["mv"] and len(names) == 2:
            made.append(Act("move", names[0], to=names[1]))
    return made


def _split(part: str) -> list[str]:
    try:
        return shlex.split(part)
    except ValueError:
        return []
