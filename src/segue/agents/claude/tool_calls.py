"""Complete Claude Code's tool calls from their results: the ids and states of tasks, whether a file existed before, its
new content, and the user's answers."""

from __future__ import annotations

import html
import re
from typing import Any

from msgspec.structs import replace

from segue.agents.claude.user_text import ASSIGNMENT, is_typed, words_in_result
from segue.agents.shared.tool_calls.classify import acts_of_call, answers_in
from segue.agents.shared.tool_calls.tool_arguments import decoded, id_of
from segue.agents.shared.tool_calls.tool_table import edited, state_of
from segue.agents.shared.transcripts.reader import dict_of, list_of, text_of
from segue.model import Entry, EntryKind
from segue.model.tool_action import Act, Answer, Change, Deed, End, Going, Todo, Verdict

_CREATED = re.compile(r"Task #(\S{1,80}) created")
_LISTED = re.compile(r"#(\S{1,80}) \[(\w{1,40})\] (.+?)(?: \[blocked by [^\[\]]*\])?$")
_SHOWN = re.compile(r"Task #(\S{1,80}): ([^\n]*)\nStatus: (\w{1,40})")
_REFUSALS = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
)
_STARTED = re.compile(r"Command running in background with ID: (\w{1,80})|Monitor started \(task (\w{1,80})")
_STARTERS = ("Bash", "Monitor")
_LAUNCHED = re.compile(
    r"(?:Async agent launched|Spawned) successfully\.?\s{1,9}agent(?:Id|_id): ([\w@.-]{1,80})"
)
_DELEGATES = ("Agent", "Task")
_TRAILER = re.compile(r"\n?agentId: \w{1,80}\b[^\n]{0,400}(?:\n<usage>.{0,2000})?\Z", re.DOTALL)
"""The text that the program adds to a subagent's report."""
_LONGEST_TRAILER = 3000
_STOPPERS = ("KillShell", "KillBash", "TaskStop")
_FOLLOWERS = ("BashOutput", "TaskOutput", "AgentOutputTool", *_STOPPERS)
_NOTICES = ("task-notification", "background-task-notification")
_HEAD = 2000
"""The part of a text that may contain state tags: the rest is output of the command."""
_PRINTED = re.compile(r"<(?:output|stdout|stderr|result|event)>")
_TASK = re.compile(r"<task-id>\s*(\w{1,80})\s*</task-id>")
_STATE = re.compile(r"<status>\s*(\w{1,40})\s*</status>")
_EXIT = re.compile(r"<exit_code>\s*(-?\d{1,9})\s*</exit_code>|\bexit code (-?\d{1,9})\)?\s*</summary>")
_GOES_ON = ("running", "in_progress", "pending")
_MCP = "mcp__"


def acts(entry: Entry, result: Entry | None) -> tuple[Act, ...] | None:
    if entry.kind is EntryKind.NOTE and entry.tool == ASSIGNMENT:
        return _assigned(dict_of(decoded(entry.text)))
    if entry.kind is not EntryKind.CALL or result is None or result.is_error:
        return None
    found = acts_of_call(entry.tool or "", entry.text)
    if len(found) != 1:
        return found
    [act], outcome = found, _outcome(result)
    match entry.tool:
        case "TaskCreate":
            return (_numbered(act, outcome, result.text),)
        case "TaskList":
            return (_listed(outcome, result),)
        case "TaskGet":
            return _shown(outcome, result.text)
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


def _listed(outcome: dict[str, Any], result: Entry) -> Act:
    """The complete list of tasks; for a member of a team, only its own."""
    text, name = result.text, text_of(dict_of(result.native).get("agentName"))
    told = [dict_of(task) for task in list_of(outcome.get("tasks"))]
    tasks = [_task(task) for task in told if not name or task.get("owner") == name]
    if not told:
        tasks = [_todo(*found.groups()) for line in text.split("\n") if (found := _LISTED.match(line))]
    todos = tuple(task for task in tasks if task.id and task.text)
    is_whole = not name and (bool(tasks) or text.startswith("No tasks"))
    return Act(deed=Deed.PLAN, todos=todos, is_whole=is_whole)


def _shown(outcome: dict[str, Any], text: str) -> tuple[Act, ...] | None:
    found = _SHOWN.match(text)
    task = _task(dict_of(outcome.get("task")))
    if not task.id and found:
        id, subject, state = found.groups()
        task = _todo(id, state, subject)
    return (Act(deed=Deed.PLAN, todos=(task,)),) if task.id and task.text else None


def _assigned(task: dict[str, Any]) -> tuple[Act, ...] | None:
    """A task that was assigned to the agent. Its state is unknown."""
    todo = Todo(text=text_of(task.get("subject")), state=None, id=id_of(task.get("taskId")))
    return (Act(deed=Deed.PLAN, todos=(todo,)),) if todo.id and todo.text else None


def _task(task: dict[str, Any]) -> Todo:
    return _todo(id_of(task.get("id")), text_of(task.get("status")), text_of(task.get("subject")))


def _todo(id: str, state: str, text: str) -> Todo:
    return Todo(text=text.strip(), state=state_of(state), id=id)


def _whole(outcome: dict[str, Any]) -> str | None:
    """The content of a file, if all of it was read."""
    file = dict_of(outcome.get("file"))
    content, lines = file.get("content"), file.get("numLines")
    is_whole = file.get("startLine") == 1 and lines is not None and lines == file.get("totalLines")
    return content if is_whole and isinstance(content, str) else None


def _completed(act: Act, outcome: dict[str, Any]) -> Act:
    """The actual change of a file: the user may have edited it before allowing it."""
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


# The user's answers


def answer(call: Entry, result: Entry) -> Answer | None:
    if result.is_error:
        return _refusal(call, result)
    match call.tool:
        case "AskUserQuestion":
            words = _answers(call, result)
            return Answer(verdict=Verdict.ANSWERED, text=words) if words else None
        case "ExitPlanMode" if result.text.startswith("User has approved"):
            return Answer(verdict=Verdict.APPROVED, text=_words(call, result))
    return None


def _answers(call: Entry, result: Entry) -> str:
    """The answers, chosen or typed, one line for each question."""
    given = dict_of(_outcome(result).get("answers"))
    told = [_answer(given.get(act.subject)) for act in acts_of_call(call.tool or "", call.text)]
    if told and all(told):
        return "\n".join(told)
    return _words(call, result) or "\n".join(answers_in(result.text, call))


def _answer(given: Any) -> str:
    return ", ".join(map(text_of, given)) if isinstance(given, list) else text_of(given)


def _refusal(call: Entry, result: Entry) -> Answer | None:
    words = _words(call, result)
    if not result.text.startswith(_REFUSALS) and not words:
        return None
    if call.tool == "AskUserQuestion" and words:
        return Answer(verdict=Verdict.ANSWERED, text=words)
    if (call.tool or "").startswith(_MCP):  # an error of an MCP server may read the same
        words = ""
    return Answer(verdict=Verdict.REJECTED if call.tool == "ExitPlanMode" else Verdict.REFUSED, text=words)


def _words(call: Entry, result: Entry) -> str:
    found = words_in_result(call.tool, result.text, result.native or {}, result.is_error)
    return "\n".join(piece.text for piece in found if is_typed(piece))


# Background jobs


def going(call: Entry, result: Entry) -> Going | None:
    if call.kind is EntryKind.NOTE:
        return _noticed(call) if call.tool in _NOTICES else None
    if call.tool in _FOLLOWERS:
        return _followed(call, result)
    if call.tool in _DELEGATES:
        return _delegated(result)
    found = _STARTED.match(result.text) if call.tool in _STARTERS else None
    handle = text_of(_outcome(result).get("backgroundTaskId")) or (found[1] or found[2] if found else "")
    return Going(handle=handle) if handle else None


def _delegated(result: Entry) -> Going | None:
    """The work of a subagent, in the foreground or in the background."""
    launched = _LAUNCHED.match(result.text)
    told = text_of(_outcome(result).get("agentId")) or (launched[1] if launched else "")
    handle = told or result.call or result.id
    if launched:
        return Going(handle=handle)
    added = _TRAILER.search(result.text, max(0, len(result.text) - _LONGEST_TRAILER))
    report = result.text[: added.start()] if added else result.text
    return Going(handle=handle, is_over=True, report=report.strip())


def _followed(call: Entry, result: Entry) -> Going | None:
    """The state of a job that a call checked or stopped."""
    given = dict_of(decoded(call.text))
    keys = ("bash_id", "task_id", "shell_id")
    handle = next((found for key in keys if (found := text_of(given.get(key)))), "")
    if not handle or answer(call, result):
        return None  # the user refused the call
    if call.tool in _STOPPERS or result.is_error:
        return Going(handle=handle, is_over=True, end=End.STOPPED)
    return _told(handle, result.text) or Going(handle=handle, is_over=True)


def _noticed(note: Entry) -> Going | None:
    """The program's notice that a job has ended."""
    found = _TASK.search(note.text, 0, _HEAD)
    going = _told(found[1], note.text) if found else None
    report = note.text.partition("<result>")[2].rpartition("</result>")[0]
    if going and report:
        going = replace(going, report=html.unescape(report.strip()))
    return going if going and going.is_over else None


def _told(handle: str, text: str) -> Going | None:
    """The state of a job, from the tags before its output."""
    printed = _PRINTED.search(text, 0, _HEAD)
    head = text[: printed.start() if printed else _HEAD]
    state, code = _STATE.search(head), _EXIT.search(head)
    if state is None or state[1] in _GOES_ON:
        return Going(handle=handle) if state else None
    status = int(code[1] or code[2]) if code else None
    if state[1] not in ("completed", "failed"):
        return Going(handle=handle, is_over=True, end=End.STOPPED, status=status)
    is_passed = state[1] == "completed" and not status
    return Going(handle=handle, is_over=True, end=End.PASSED if is_passed else End.FAILED, status=status)
