"""What each tool does with its arguments: one table for all agents.

A handler takes the arguments by normalized names, and the bare text where the call has no named arguments. It
returns no actions if they don't fit: an unrelated tool may have the same name.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from typing import Any

from segue.agents.shared.tool_calls import patches, tool_arguments
from segue.agents.shared.tool_calls.tool_arguments import (
    Arguments,
    first,
    given,
    id_of,
    named,
    paths_in,
    plain,
    texts_in,
)
from segue.agents.shared.transcripts.reader import list_of, text_of
from segue.base.lazy_regex import lazy_pattern
from segue.model.tool_action import Act, Change, Deed, Todo, TodoState

Handler = Callable[[Arguments, str], tuple[Act, ...]]
Acts = tuple[Act, ...]


# Commands

SHELLS = ("sh", "bash", "zsh", "dash", "fish", "ksh")
WINDOWS_SHELLS = ("powershell", "pwsh", "cmd")


def command_of(value: Any) -> str:
    """A command as typed: of a list that starts a shell, the shell's argument."""
    if isinstance(value, str):
        return value.strip()
    words = texts_in(value)
    if not words:
        return ""
    shell = re.split(r"[/\\]", words[0][-200:])[-1].removesuffix(".exe")
    if shell in SHELLS:
        for number, word in enumerate(words[1:-1], 1):
            if word.startswith("-") and word.endswith("c"):
                return words[number + 1].strip()
    if shell in WINDOWS_SHELLS and words[-2:-1] and words[-2].lower() in ("-command", "-c", "/c"):
        return words[-1].strip()
    return shlex.join(words)


def run(arguments: Arguments, raw: str) -> Acts:
    value = next((arguments[name] for name in tool_arguments.COMMAND if arguments.get(name)), None)
    command, folder = command_of(value) or raw.strip(), first(arguments, tool_arguments.FOLDER)
    if not command:
        return ()
    ran = Act(deed=Deed.RUN, subject=command, folder=folder)
    if patches.BEGIN not in command:
        return (ran,)
    applied, is_all = patches.acts_in_command(command, folder)
    return applied if is_all else (ran, *applied)


# Files


def write(arguments: Arguments, raw: str) -> Acts:
    path, content = first(arguments, tool_arguments.PATH), given(arguments, tool_arguments.CONTENT)
    if not path or content is None:
        return ()
    return (Act(deed=Deed.WRITE, subject=path, content=content),)


def edit(arguments: Arguments, raw: str) -> Acts:
    path = first(arguments, tool_arguments.PATH)
    listed = next((list_of(arguments[name]) for name in tool_arguments.EDITS if name in arguments), [])
    if arguments.get("dryrun") is True:
        return read(arguments, raw)
    if not path:
        return _edits_by_path(map(named, listed)) if listed else patch(arguments, raw)
    changes = [change for one in (arguments, *map(named, listed)) if (change := _change(one))]
    if not changes:
        diff = first(arguments, tool_arguments.PATCH)
        return patches.acts_in_diff(diff, path) if diff else (Act(deed=Deed.EDIT, subject=path),)
    if len(changes) == 1 and given(arguments, tool_arguments.OLD) == "":
        # Without an old text, nearly all of these tools create the file.
        return (Act(deed=Deed.WRITE, subject=path, content=changes[0].new),)
    return (Act(deed=Deed.EDIT, subject=path, changes=tuple(changes)),)


def _change(arguments: Arguments) -> Change | None:
    old, new = given(arguments, tool_arguments.OLD), given(arguments, tool_arguments.NEW)
    if old is None and new is None:
        return None
    times = arguments.get("expectedreplacements")
    is_everywhere = any(arguments.get(name) is True for name in tool_arguments.EVERYWHERE)
    is_everywhere |= isinstance(times, int) and times > 1
    return Change(old=old or "", new=new or "", is_everywhere=is_everywhere)


def _edits_by_path(edits: Iterable[Arguments]) -> Acts:
    found: dict[str, list[Change]] = {}
    for one in edits:
        path, change = first(one, tool_arguments.PATH), _change(one)
        if path and change:
            found.setdefault(path, []).append(change)
    return tuple(Act(deed=Deed.EDIT, subject=path, changes=tuple(changes)) for path, changes in found.items())


LARGEST_REPLAY = 1 << 28


def edited(before: str, changes: tuple[Change, ...]) -> str | None:
    """A file's content after some changes; None if they don't fit."""
    if len(before) * len(changes) > LARGEST_REPLAY:
        return None
    for change in changes:
        if not change.old or change.old not in before:
            return None
        before = before.replace(change.old, change.new, -1 if change.is_everywhere else 1)
    return before


def insert(arguments: Arguments, raw: str) -> Acts:
    """Text inserted at a line, or in place of a cell or a symbol. What it replaces is unknown."""
    path = first(arguments, tool_arguments.PATH)
    new = given(arguments, ("newsource", "inserttext", "body", *tool_arguments.NEW, *tool_arguments.CONTENT))
    changes = (Change(old="", new=new),) if new else ()
    return (Act(deed=Deed.EDIT, subject=path, changes=changes),) if path else ()


def patch(arguments: Arguments, raw: str) -> Acts:
    text = first(arguments, tool_arguments.PATCH) or command_of(arguments.get("command")) or raw
    return patches.acts_in(text) if text else ()


def editor(arguments: Arguments, raw: str) -> Acts:
    """One tool for everything that is done to a file: an argument says what."""
    ways = {"view": read, "create": write, "strreplace": edit, "insert": insert, "undoedit": insert}
    handler = ways.get(plain(text_of(arguments.get("command"))))
    return handler({**arguments, "command": ""}, "") if handler else ()


def delete(arguments: Arguments, raw: str) -> Acts:
    return tuple(Act(deed=Deed.DELETE, subject=path) for path in paths_in(arguments))


def move(arguments: Arguments, raw: str) -> Acts:
    source, target = first(arguments, tool_arguments.SOURCE), first(arguments, tool_arguments.TARGET)
    return (Act(deed=Deed.MOVE, subject=source, to=target),) if source and target else ()


def read(arguments: Arguments, raw: str) -> Acts:
    return tuple(Act(deed=Deed.READ, subject=path) for path in paths_in(arguments))


def search(arguments: Arguments, raw: str) -> Acts:
    folder = next(iter(paths_in(arguments)), "")
    pattern = first(arguments, tool_arguments.PATTERN) or folder
    return (Act(deed=Deed.SEARCH, subject=pattern, folder=folder),) if pattern else ()


# The web

_ADDRESS = lazy_pattern(r"https?://[^\s<>\"'`]{1,2000}")
_SEEN = 20_000
"""How much of a text is searched for an address."""


def fetch(arguments: Arguments, raw: str) -> Acts:
    subject = first(arguments, tool_arguments.ADDRESS)
    if not subject and (told := first(arguments, ("prompt",))):
        found = _ADDRESS.search(told[:_SEEN])
        subject = found[0] if found else told
    return (Act(deed=Deed.FETCH, subject=subject),) if subject else ()


# Todo lists

STATES = {
    **dict.fromkeys(("inprogress", "active", "doing", "started", "current", "running"), TodoState.ACTIVE),
    **dict.fromkeys(("completed", "complete", "done", "finished", "closed"), TodoState.DONE),
    **dict.fromkeys(
        ("cancelled", "canceled", "deleted", "dropped", "skipped", "removed", "abandoned"), TodoState.DROPPED
    ),
}
_TICKED = lazy_pattern(r"\s{0,40}(?:(?:[-*+]|\d{1,4}[.)])\s{1,8})?\[([ xX~/\-])\]\s{1,8}(\S.*)")
_MARKS = {" ": TodoState.OPEN, "x": TodoState.DONE, "X": TodoState.DONE}


def state_of(word: Any) -> TodoState:
    """The state of a todo in any agent's words. Unknown words mean open."""
    return STATES.get(plain(text_of(word)), TodoState.OPEN)


def ticked(text: str) -> tuple[Todo, ...]:
    """The items of a Markdown list with checkboxes. A half-ticked one is in progress."""
    found = (_TICKED.match(line) for line in text.split("\n"))
    return tuple(
        Todo(text=one[2].strip(), state=_MARKS.get(one[1], TodoState.ACTIVE)) for one in found if one
    )


def todos(arguments: Arguments, raw: str) -> Acts:
    """The whole list."""
    for name in tool_arguments.ITEMS:
        value = arguments.get(name)
        if isinstance(value, list):
            found = tuple(todo for one in value if (todo := _todo(one)))
        elif isinstance(value, str):
            found = ticked(value)
        else:
            continue
        if found or not value:
            return (Act(deed=Deed.PLAN, todos=found, is_whole=True),)
    found = ticked(raw)
    return (Act(deed=Deed.PLAN, todos=found, is_whole=True),) if found else ()


def _todo(value: Any) -> Todo | None:
    item = {"text": value} if isinstance(value, str) else named(value)
    text = first(item, tool_arguments.ITEM)
    is_done = item.get("done", item.get("completed")) is True
    state = TodoState.DONE if is_done else state_of(item.get("status", item.get("state")))
    return Todo(text=text, state=state, id=id_of(item.get("id"))) if text else None


def new_todo(arguments: Arguments, raw: str) -> Acts:
    text = first(arguments, ("subject", "title", *tool_arguments.ITEM))
    todo = Todo(text=text, state=state_of(arguments.get("status")))
    return (Act(deed=Deed.PLAN, todos=(todo,)),) if text else ()


def changed_todo(arguments: Arguments, raw: str) -> Acts:
    id = id_of(arguments.get("taskid", arguments.get("id")))
    text, status = first(arguments, ("subject", "content", "title")), text_of(arguments.get("status"))
    if not id or not (text or status):
        return ()
    todo = Todo(text=text, state=state_of(status) if status else None, id=id)
    return (Act(deed=Deed.PLAN, todos=(todo,)),)


# The user, and other agents


def ask(arguments: Arguments, raw: str) -> Acts:
    """One action for each question."""
    listed = list_of(arguments.get("questions"))
    asked = [{"question": one} if isinstance(one, str) else named(one) for one in listed] or [arguments]
    return tuple(act for one in asked if (act := _question(one)))


def _question(arguments: Arguments) -> Act | None:
    text = first(arguments, tool_arguments.ASKED)
    offered = next((arguments[name] for name in tool_arguments.OFFERED if name in arguments), None)
    options = tuple(texts_in(offered, tool_arguments.LABEL))
    return Act(deed=Deed.ASK, subject=text, options=options) if text else None


def propose(arguments: Arguments, raw: str) -> Acts:
    return (Act(deed=Deed.PROPOSE, subject=first(arguments, tool_arguments.PLAN) or raw.strip()),)


def delegate(arguments: Arguments, raw: str) -> Acts:
    errand = first(arguments, tool_arguments.ERRAND) or "\n".join(texts_in(arguments.get("items"), ("text",)))
    return (Act(deed=Deed.DELEGATE, subject=errand),) if errand else ()


# The table


def _table(*rows: tuple[Handler, str]) -> dict[str, Handler]:
    return {name: handler for handler, names in rows for name in names.split()}


TOOLS: dict[str, Handler] = _table(
    (run, "bash shell execcommand shellcommand localshell runshellcommand runcommand executecommand"),
    (run, "runterminalcmd runinterminal terminal execute powershell containerexec monitor"),
    (write, "write writefile create createfile writetofile savefile"),
    (edit, "edit editfile multiedit replace strreplace searchreplace searchandreplace replaceinfile"),
    (insert, "notebookedit insert inserttext editnotebook"),
    (patch, "applypatch patch applydiff"),
    (editor, "strreplaceeditor strreplacebasededittool texteditor"),
    (delete, "delete deletefile removefile"),
    (move, "move movefile rename renamefile"),
    (read, "read readfile readmanyfiles readmultiplefiles readfiles view viewfile viewimage notebookread"),
    (search, "grep glob rg ls list listdirectory listdir listfiles searchfilecontent grepsearch ripgrep"),
    (search, "codesearch codebasesearch semanticsearch filesearch findfiles searchfiles find"),
    (fetch, "webfetch websearch googlewebsearch fetch fetchurl urlfetch"),
    (todos, "todowrite writetodos updateplan updatetodo updatetodolist managetodolist todo todos"),
    (new_todo, "taskcreate trackercreatetask"),
    (changed_todo, "taskupdate trackerupdatetask"),
    (ask, "askuserquestion askuser requestuserinput question askfollowupquestion askquestion"),
    (propose, "exitplanmode planexit"),
    (delegate, "task agent spawnagent delegatetoagent invokeagent newtask runsubagent codebaseinvestigator"),
)


# Unknown tools

_SHELL = lazy_pattern(r"shell|bash|exec|terminal|command|process|run")


def by_shape(name: str, arguments: Arguments, raw: str) -> Acts:
    """What an unknown tool obviously does, by its name and arguments."""
    if raw:
        return patches.acts_in_patch(raw) if raw.lstrip().startswith(patches.BEGIN) else ()
    if tool_arguments.has_any(arguments, tool_arguments.NOT_HERE):
        return ()
    if any(patches.BEGIN in text for text in arguments.values() if isinstance(text, str)):
        return patch(arguments, raw)
    if tool_arguments.has_any(arguments, tool_arguments.PATH):
        return _of_file(name, arguments)
    if "move" in name or "rename" in name:
        return move(arguments, raw)
    if "read" in name:
        return read(arguments, raw)
    if text_of(arguments.get("url")).startswith("http") and ("fetch" in name or "navigate" in name):
        return fetch(arguments, raw)
    if _SHELL.search(name) and tool_arguments.has_any(arguments, ("command", "cmd")):
        return run(arguments, raw)
    return ()


def _of_file(name: str, arguments: Arguments) -> Acts:
    is_replacing = tool_arguments.has_any(arguments, tool_arguments.OLD) and tool_arguments.has_any(
        arguments, tool_arguments.NEW
    )
    if is_replacing or isinstance(arguments.get("edits"), list):
        return edit(arguments, "")
    ways: tuple[tuple[Handler, tuple[str, ...]], ...] = (
        (write, ("write", "create", "save")),
        (insert, ("replace", "insert", "edit")),
        (delete, ("delete", "remove")),
        (move, ("move", "rename")),
        (search, ("search", "find", "grep", "list", "tree")),
        (read, ("read", "view", "open")),
    )
    for handler, verbs in ways:
        if any(verb in name for verb in verbs):
            return handler(arguments, "")
    return ()
