"""Arguments of tool calls, by normalized names.

Case, underscores and hyphens don't count: `file_path`, `filePath` and `filepath` are one. For other
differences there are lists of the names in use, the most common first.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from segue.agents.shared.transcripts.reader import decode_any, dict_of, list_of

Arguments = dict[str, Any]
"""Arguments by normalized names."""

PATH = (
    *("filepath", "path", "absolutepath", "notebookpath", "targetfile", "filename", "file", "dirpath"),
    *("relativepath", "pathinproject", "uri"),
)
PATHS = ("paths", "filepaths", "files", "include", "absolutepaths")
CONTENT = ("content", "filetext", "contents", "filecontent", "text", "codecontent")
OLD = ("oldstring", "oldstr", "oldtext", "oldcontent", "old", "search", "searchtext")
NEW = ("newstring", "newstr", "newtext", "newcontent", "new", "replace", "replacement", "replacementtext")
EVERYWHERE = ("replaceall", "allowmultiple", "isglobal")
EDITS = ("edits", "changes", "replacements")
PATCH = ("patchtext", "patch", "input", "diff", "unifieddiff")
COMMAND = ("command", "cmd", "commands", "script", "commandline")
FOLDER = ("workdir", "cwd", "directory", "dirpath", "dir", "workingdirectory")
PATTERN = ("pattern", "query", "regex", "globpattern", "searchterm", "namepattern", "filepattern")
ADDRESS = ("url", "uri", "urls", "query", "queries", "searchterm")
SOURCE = ("source", "sourcepath", "oldpath", "from", "src", "frompath")
TARGET = ("destination", "destinationpath", "newpath", "to", "dst", "target", "topath")
ITEMS = ("todos", "plan", "items", "todolist", "tasks")
ITEM = ("content", "step", "description", "text", "title", "task", "subject", "name")
ASKED = ("question", "prompt", "message", "text", "header")
OFFERED = ("options", "choices", "suggestions", "followup")
LABEL = ("label", "value", "text", "title")
PLAN = ("plan", "summary", "planpath", "planfilename", "planfilepath")
ERRAND = ("description", "prompt", "message", "task", "objective", "instructions", "taskname")
NOT_HERE = (
    *("owner", "repo", "reponame", "repository", "repofullname", "repositoryfullname"),
    *("projectid", "sha", "bucket"),
)
"""Arguments of tools whose paths are not on this machine."""

LONGEST_NAME = 80
"""No argument and no tool has a longer name."""


def decoded(text: str) -> Any:
    """The arguments of a call: JSON, or the text itself."""
    if text[:64].lstrip()[:1] not in ("{", "[", '"'):
        return text
    value = decode_any(text.encode("utf-8", "replace"))
    return text if value is None else value


def named(given: Any) -> Arguments:
    """Arguments by normalized names; empty if they have no names."""
    return {plain(key): value for key, value in dict_of(given).items() if len(key) <= LONGEST_NAME}


def plain(name: str) -> str:
    return _plain(name[:LONGEST_NAME])


@functools.lru_cache(4096)
def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()


def first(arguments: Arguments, names: Iterable[str]) -> str:
    """The first of some arguments that is a text; of a list, its first item. Empty if there is none."""
    for name in names:
        value = arguments.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, str) and value:
            return value
    return ""


def given(arguments: Arguments, names: Iterable[str]) -> str | None:
    """The first of some arguments that is a text, possibly empty; None if there is none."""
    return next((arguments[name] for name in names if isinstance(arguments.get(name), str)), None)


def has_any(arguments: Arguments, names: Iterable[str]) -> bool:
    return not arguments.keys().isdisjoint(names)


def texts_in(value: Any, names: Iterable[str] = ()) -> list[str]:
    """The texts in a list: its items, and those that its members have under one of some names."""
    found = (one if isinstance(one, str) else first(named(one), names) for one in list_of(value))
    return [text for text in found if text]


def offered_in(text: str) -> list[str]:
    """The answers that a question offers."""
    arguments = named(decoded(text))
    asked = [arguments, *map(named, list_of(arguments.get("questions")))]
    return [option for one in asked for name in OFFERED for option in texts_in(one.get(name), LABEL)]


def paths_in(arguments: Arguments) -> list[str]:
    if path := first(arguments, PATH):
        return [path]
    return next((found for name in PATHS if (found := texts_in(arguments.get(name), PATH))), [])


def id_of(value: Any) -> str:
    """An id: a text or a number."""
    is_number = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63
    return str(value) if is_number else value if isinstance(value, str) else ""
