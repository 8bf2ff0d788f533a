"""What results of Gemini CLI add to its calls: the content of a file, and the user's answer."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from segue.agents.shared.tool_calls.classify import acts_of_call
from segue.agents.shared.tool_calls.tool_arguments import decoded
from segue.agents.shared.transcripts.reader import dict_of, list_of, text_of
from segue.model import Entry, EntryKind
from segue.model.tool_action import Act, Answer, Deed, Verdict

_NEW = ("Successfully created and wrote to new file", "Created new file", "Successfully created")
_OLD = ("Successfully overwrote file", "Successfully modified file")
_DENIED = "[Operation Cancelled] Reason: User "
_FEEDBACK, _STORED = "Plan rejected. User feedback: ", "\n\nThe plan is stored at: "


def acts(entry: Entry, result: Entry | None) -> tuple[Act, ...] | None:
    if entry.kind is not EntryKind.CALL or result is None or result.is_error:
        return None
    return as_shown(entry, result, dict_of(_told(result).get("resultDisplay")))


def _told(result: Entry) -> dict[str, Any]:
    """What the program wrote about the call of a result."""
    calls = map(dict_of, list_of((result.native or {}).get("toolCalls")))
    return next((call for call in calls if result.call and call.get("id") == result.call), {})


def as_shown(entry: Entry, result: Entry, shown: dict[str, Any]) -> tuple[Act, ...]:
    """The actions of a call, completed with the file as the user saw it afterwards."""
    found = acts_of_call(entry.tool or "", entry.text)
    if len(found) != 1 or found[0].deed not in (Deed.WRITE, Deed.EDIT):
        return found
    act, after = found[0], shown.get("newContent")
    if isinstance(after, str):
        act = replace(act, content=after)
    if act.deed is Deed.WRITE and (shown.get("isNewFile") is False or result.text.startswith(_OLD)):
        act = replace(act, deed=Deed.EDIT)
    elif act.deed is Deed.EDIT and (shown.get("isNewFile") is True or result.text.startswith(_NEW)):
        act = replace(act, deed=Deed.WRITE)
    return (act,)


def answer(call: Entry, result: Entry) -> Answer | None:
    if refused := refusal(result):
        return refused
    match call.tool:
        case "ask_user":
            given = dict_of(dict_of(decoded(result.text)).get("answers"))
            words = "\n".join(filter(None, map(text_of, given.values())))
            return Answer(verdict=Verdict.ANSWERED if words else Verdict.REFUSED, text=words)
        case "exit_plan_mode" if result.text.startswith("Plan approved"):
            return Answer(verdict=Verdict.APPROVED)
        case "exit_plan_mode" if result.text.startswith("Plan rejected"):
            words = result.text.removeprefix(_FEEDBACK).rpartition(_STORED)[0]
            is_told = result.text.startswith(_FEEDBACK)
            return Answer(verdict=Verdict.REJECTED, text=words.strip() if is_told else "")
    return None


def refusal(result: Entry) -> Answer | None:
    """The user's refusal of a call. Its text is always the program's."""
    is_refused = result.is_error and result.text.startswith(_DENIED)
    return Answer(verdict=Verdict.REFUSED) if is_refused else None
