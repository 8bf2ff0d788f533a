"""What results of OpenCode add to its calls: the content of a file, and the user's answer."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from segue.agents.shared.tool_calls.classify import acts_of_call, answers_in
from segue.agents.shared.transcripts.reader import dict_of, list_of, text_of
from segue.model import Entry, EntryKind
from segue.model.tool_action import Act, Answer, Deed, Verdict

_REFUSED = "The user rejected permission to use this specific tool call"
_REASON = f"{_REFUSED} with the following feedback: "
_DISMISSED = "The user dismissed this question"
_OWN = (
    *("bash", "edit", "write", "read", "grep", "glob", "list"),
    *("patch", "apply_patch", "multiedit", "webfetch", "todowrite"),
)
"""Its own tools: another's error may read like a refusal."""


def acts(entry: Entry, result: Entry | None) -> tuple[Act, ...] | None:
    if entry.kind is not EntryKind.CALL or result is None or result.is_error:
        return None
    found = acts_of_call(entry.tool or "", entry.text)
    told = _told(result)
    if len(found) == 1 and entry.tool in ("write", "edit", "multiedit"):
        return (_completed(found[0], told),)
    if entry.tool == "apply_patch":
        after = {text_of(file.get("filePath")): file for file in map(dict_of, list_of(told.get("files")))}
        return tuple(_with_content(act, after.get(act.subject, {})) for act in found)
    return found


def _told(result: Entry) -> dict[str, Any]:
    return dict_of(dict_of((result.native or {}).get("state")).get("metadata"))


def _completed(act: Act, told: dict[str, Any]) -> Act:
    if act.deed is Deed.WRITE and told.get("exists") is True:
        act = replace(act, deed=Deed.EDIT)
    return _with_content(act, dict_of(told.get("filediff")))


def _with_content(act: Act, file: dict[str, Any]) -> Act:
    after = file.get("after")
    is_change = act.deed in (Deed.WRITE, Deed.EDIT) and isinstance(after, str)
    return replace(act, content=after) if is_change else act


def answer(call: Entry, result: Entry) -> Answer | None:
    text = result.text
    if result.is_error and text.startswith((_REFUSED, _DISMISSED)):
        is_told = call.tool in _OWN and text.startswith(_REASON)
        return Answer(verdict=Verdict.REFUSED, text=text.removeprefix(_REASON).strip() if is_told else "")
    if result.is_error:
        return None
    if call.tool == "question":
        said = [text_of(one) for given in list_of(_told(result).get("answers")) for one in list_of(given)]
        words = "\n".join(filter(None, said or answers_in(text, call)))
        return Answer(verdict=Verdict.ANSWERED, text=words) if words else None
    if call.tool == "plan_exit" and text.startswith("User approved"):
        return Answer(verdict=Verdict.APPROVED)
    return None
