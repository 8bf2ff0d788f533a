"""What the results of Claude Code add to its calls: the ids of new tasks, whether a file was there before, what it
holds now, and what the person said."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from segue.acts import Act, Answer, Change, Deed, Going, Verdict
from segue.agents.acting import acts_of_call, answers_in
from segue.agents.arguments import decoded
from segue.agents.claude.text import is_typed, words_in_result
from segue.agents.deeds import edited
from segue.agents.reading import dict_of, text_of
from segue.model import Entry, EntryKind

_CREATED = re.compile(r"Task #(\S{1,80}) created")
_REFUSALS = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
)
_STARTED = re.compile(r"Command running in background with ID: (\w{1,80})")
_FOLLOWERS = ("BashOutput", "TaskOutput", "AgentOutputTool", "KillShell", "TaskStop")
_GOES_ON = re.compile(r"<status>(?:running|in_progress|pending)</status>")
_MCP = "mcp__"


def acts(entry: Entry, result: Entry | None) -> tuple[Act, ...] | None:
    if entry.kind is not EntryKind.CALL or result is None or result.is_error:
        return None
    found = acts_of_call(entry.tool or "", entry.text)
    if len(found) != 1:
        return found
    [act], outcome = found, _outcome(result)
    match entry.tool:
        case "TaskCreate":
            return (_numbered(act, outcome, result.text),)
        case "ExitPlanMode" if not act.subject:
            return (replace(act, subject=text_of(outcome.get("plan"))),)
        case "Read":
            return (replace(act, content=_whole(outcome)),)
        case "Write" | "Edit" | "MultiEdit" | "NotebookEdit" if _is_of(act, outcome):
            return (_completed(act, outcome),)
    return found


def _outcome(result: Entry) -> dict[str, Any]:
    native = result.native or {}
    return dict_of(native.get("toolUseResult", native.get("tool_use_result")))


def _is_of(act: Act, outcome: dict[str, Any]) -> bool:
    return act.subject in (outcome.get("filePath"), outcome.get("notebook_path"))


def _numbered(act: Act, outcome: dict[str, Any], text: str) -> Act:
    found = _CREATED.match(text)
    id = text_of(dict_of(outcome.get("task")).get("id")) or (found[1] if found else "")
    return replace(act, todos=tuple(replace(todo, id=id) for todo in act.todos)) if id else act


def _whole(outcome: dict[str, Any]) -> str | None:
    """The content of a file that was read from its first line to its last."""
    file = dict_of(outcome.get("file"))
    content, lines = file.get("content"), file.get("numLines")
    is_whole = file.get("startLine") == 1 and lines is not None and lines == file.get("totalLines")
    return content if is_whole and isinstance(content, str) else None


def _completed(act: Act, outcome: dict[str, Any]) -> Act:
    """A change to a file as it came to be: the person may have altered it before they let it through."""
    if act.deed is Deed.WRITE:
        content = outcome.get("content")
        content = content if isinstance(content, str) else act.content
        is_old = outcome.get("type") == "update" or bool(outcome.get("originalFile"))
        return replace(act, deed=Deed.EDIT if is_old else Deed.WRITE, content=content)
    old, new = outcome.get("oldString"), outcome.get("newString")
    if len(act.changes) == 1 and isinstance(old, str) and isinstance(new, str):
        act = replace(act, changes=(Change(old=old, new=new, is_everywhere=act.changes[0].is_everywhere),))
    after = outcome.get("updated_file")
    if isinstance(after, str):
        return replace(act, content=after)
    before = outcome.get("originalFile", outcome.get("originalFileContents"))
    return replace(act, content=edited(before, act.changes)) if isinstance(before, str) else act


# What the person said


def answer(call: Entry, result: Entry) -> Answer | None:
    if result.is_error:
        return _refusal(call, result)
    match call.tool:
        case "AskUserQuestion":
            words = _words(call, result) or "\n".join(answers_in(result.text, call))
            return Answer(verdict=Verdict.ANSWERED, text=words) if words else None
        case "ExitPlanMode" if result.text.startswith("User has approved"):
            return Answer(verdict=Verdict.APPROVED, text=_words(call, result))
    return None


def _refusal(call: Entry, result: Entry) -> Answer | None:
    words = _words(call, result)
    if not result.text.startswith(_REFUSALS) and not words:
        return None
    if call.tool == "AskUserQuestion" and words:
        return Answer(verdict=Verdict.ANSWERED, text=words)
    if (call.tool or "").startswith(_MCP):  # a server's own error may read the same: nobody's words
        words = ""
    return Answer(verdict=Verdict.REJECTED if call.tool == "ExitPlanMode" else Verdict.REFUSED, text=words)


def _words(call: Entry, result: Entry) -> str:
    found = words_in_result(call.tool, result.text, result.native or {}, result.is_error)
    return "\n".join(piece.text for piece in found if is_typed(piece))


# Commands that go on


def going(call: Entry, result: Entry) -> Going | None:
    if call.tool in _FOLLOWERS:
        given = dict_of(decoded(call.text))
        handle = next((text_of(given[key]) for key in ("bash_id", "task_id", "shell_id") if key in given), "")
        return Going(handle=handle, is_over=not _GOES_ON.search(result.text, 0, 2000)) if handle else None
    outcome = _outcome(result)
    found = _STARTED.match(result.text) if call.tool == "Bash" else None
    handle = text_of(outcome.get("backgroundTaskId")) or (found[1] if found else "")
    return Going(handle=handle) if handle else None
