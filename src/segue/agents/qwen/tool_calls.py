"""What results of Qwen Code add to its calls."""

from __future__ import annotations

from segue.agents.gemini.tool_calls import as_shown, refusal
from segue.agents.shared.tool_calls.classify import between
from segue.agents.shared.tool_calls.tool_arguments import decoded
from segue.agents.shared.transcripts.reader import dict_of, list_of, text_of
from segue.model import Entry, EntryKind
from segue.model.tool_action import Act, Answer, Verdict

_ANSWERS = "User has provided the following answers:"


def acts(entry: Entry, result: Entry | None) -> tuple[Act, ...] | None:
    if entry.kind is not EntryKind.CALL or result is None or result.is_error:
        return None
    return as_shown(entry, result, _shown(result))


def _shown(result: Entry) -> dict[str, object]:
    return dict_of(dict_of((result.native or {}).get("toolCallResult")).get("resultDisplay"))


def answer(call: Entry, result: Entry) -> Answer | None:
    if refused := refusal(result):
        return refused
    match call.tool:
        case "ask_user_question":
            words = "\n".join(filter(None, _answers(call, result)))
            is_asked = bool(words) or result.text.startswith("User declined")
            verdict = Verdict.ANSWERED if words else Verdict.REFUSED
            return Answer(verdict=verdict, text=words) if is_asked else None
        case "exit_plan_mode" if result.text.startswith("User has approved"):
            return Answer(verdict=Verdict.APPROVED)
        case "exit_plan_mode" if result.text.startswith("Plan execution was not approved"):
            return Answer(verdict=Verdict.REJECTED)
    return None


def _answers(call: Entry, result: Entry) -> list[str]:
    """The answers as the program lists them, or from its text, in which each follows the header of its question."""
    if listed := list_of(_shown(result).get("answers")):
        return [text_of(dict_of(one).get("answer")) for one in listed]
    if not result.text.startswith(_ANSWERS):
        return []
    questions = list_of(dict_of(decoded(call.text)).get("questions"))
    return between(result.text, [f"\n**{text_of(dict_of(one).get('header'))}**: " for one in questions])
