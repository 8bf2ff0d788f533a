"""What is special to Copilot CLI: a todo list kept in SQL, the user's answers, and background commands."""

from __future__ import annotations

import re

from segue.agents.shared.tool_calls.tool_arguments import decoded
from segue.agents.shared.tool_calls.tool_table import state_of
from segue.agents.shared.transcripts.reader import dict_of, text_of
from segue.model import Entry, EntryKind
from segue.model.tool_action import Act, Answer, Deed, End, Going, Todo, TodoState, Verdict

_ANSWER = re.compile(r"User (?:responded|selected): (.+)\Z", re.DOTALL)
_REFUSED = "The user rejected this tool call."
_FEEDBACK = "User feedback:"
_AFTERWARDS = "\n\nPlease update the plan based on this feedback"
_STARTED = re.compile(r"<command started in background with shellId: (\S{1,80})>")
_STOPPER = "stop_bash"
_FOLLOWERS = ("read_bash", "write_bash", _STOPPER)
_OVER = re.compile(
    r"<(?:command with id: \S{1,80} (?:stopped|completed)|shellId: \S{1,80} completed|exited)\b"
)


def acts(entry: Entry, result: Entry | None) -> tuple[Act, ...] | None:
    if entry.kind is not EntryKind.CALL or entry.tool != "sql":
        return None
    todos = todos_in(text_of(dict_of(decoded(entry.text)).get("query"))[:LONGEST_QUERY])
    return (Act(deed=Deed.PLAN, todos=todos),) if todos else None


# Todos in SQL

LONGEST_QUERY = 200_000
_WORDS = re.compile(r"'(?:[^']|'')*'|[A-Za-z_]\w*|[^\sA-Za-z_']|'")
Words = list[str]


def todos_in(query: str) -> tuple[Todo, ...]:
    """The items that statements insert into the table `todos`, or update there."""
    found: list[Todo] = []
    statement: Words = []
    for word in [*_WORDS.findall(query), ";"]:
        if word != ";":
            statement.append(word)
            continue
        found += _inserted(statement) or _updated(statement) or _deleted(statement)
        statement = []
    return tuple(found)


def _inserted(words: Words) -> list[Todo]:
    lower = [word.lower() for word in words]
    if "insert" not in lower[:1] or "todos" not in lower[:6] or "values" not in lower:
        return []
    at = lower.index("values")
    columns = [word for word in lower[lower.index("todos") + 1 : at] if word.isidentifier()]
    found = []
    for row in _rows(words[at + 1 :]):
        item = dict(zip(columns, row, strict=False))
        if text := item.get("title") or item.get("content") or item.get("description", ""):
            found.append(Todo(text=text, state=state_of(item.get("status")), id=item.get("id", "")))
    return found


def _rows(words: Words) -> list[Words]:
    """The values between brackets, row by row; of a function in a row, its name."""
    rows: list[Words] = []
    depth = 0
    for word in words:
        depth += (word == "(") - (word == ")")
        if word == "(" and depth == 1:
            rows.append([])
        elif depth == 1 and word not in (",", ")"):
            rows[-1].append(_plain(word))
    return rows


def _updated(words: Words) -> list[Todo]:
    lower = [word.lower() for word in words]
    if lower[:3] != ["update", "todos", "set"] or "where" not in lower:
        return []
    at = lower.index("where")
    changed = {
        name: _plain(value)
        for name, sign, value in zip(lower, lower[1:], words[2:at], strict=False)
        if sign == "="
    }
    state = state_of(changed["status"]) if "status" in changed else None
    text = changed.get("title", "")
    return [Todo(text=text, state=state, id=id) for id in _ids(lower, words, at)] if state or text else []


def _deleted(words: Words) -> list[Todo]:
    lower = [word.lower() for word in words]
    if lower[:3] != ["delete", "from", "todos"] or "where" not in lower:
        return []
    return [Todo(text="", state=TodoState.DROPPED, id=id) for id in _ids(lower, words, lower.index("where"))]


def _ids(lower: Words, words: Words, at: int) -> list[str]:
    """The items that a condition selects, if it does so by their ids alone."""
    if lower[at + 1 : at + 2] != ["id"] or lower[at + 2 : at + 3] not in (["="], ["in"]):
        return []
    rest = words[at + 3 :]
    is_plain = all(word in ("(", ")", ",") or word.startswith("'") or word.isdigit() for word in rest)
    return [_plain(word) for word in rest if word not in ("(", ")", ",")] if is_plain else []


def _plain(word: str) -> str:
    return word[1:-1].replace("''", "'") if len(word) > 1 and word.startswith("'") else word


# The user's answers


def answer(call: Entry, result: Entry) -> Answer | None:
    if result.is_error:
        return _refusal(call, result)
    text = result.text
    if call.tool == "ask_user":
        said = _ANSWER.match(text)
        return Answer(verdict=Verdict.ANSWERED, text=said[1].strip()) if said else None
    if call.tool == "exit_plan_mode" and text.startswith("Plan approved"):
        return Answer(verdict=Verdict.APPROVED)
    if call.tool == "exit_plan_mode" and text.startswith("Plan not approved"):
        return Answer(verdict=Verdict.REJECTED, text=_feedback(text))
    return None


def _refusal(call: Entry, result: Entry) -> Answer | None:
    error = dict_of(dict_of((result.native or {}).get("data")).get("error"))
    is_refused = error.get("code") in ("rejected", "denied") and result.text.startswith(_REFUSED)
    verdict = Verdict.REJECTED if call.tool == "exit_plan_mode" else Verdict.REFUSED
    return Answer(verdict=verdict, text=_feedback(result.text)) if is_refused else None


def _feedback(text: str) -> str:
    return text.partition(_FEEDBACK)[2].partition(_AFTERWARDS)[0].strip()


# Background commands


def going(call: Entry, result: Entry) -> Going | None:
    if call.tool in _FOLLOWERS:
        handle = text_of(dict_of(decoded(call.text)).get("shellId"))
        if not handle or answer(call, result):
            return None  # the user refused the call
        if call.tool == _STOPPER or result.is_error:
            return Going(handle=handle, is_over=True, end=End.STOPPED)
        is_over = result.status is not None or bool(_OVER.search(result.text[-400:]))
        return Going(handle=handle, is_over=is_over)
    found = _STARTED.search(result.text, 0, 2000) if call.tool == "bash" else None
    return Going(handle=found[1]) if found else None
