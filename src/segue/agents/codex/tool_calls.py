"""Codex's own formats of actions: changes by file, plans within a reply, answers, and background commands."""

from __future__ import annotations

import re
from typing import Any

from segue.agents.codex.parts import answers_in, texts_of
from segue.agents.shared.tool_calls import patches
from segue.agents.shared.tool_calls.tool_arguments import decoded, id_of
from segue.agents.shared.transcripts.reader import dict_of, text_of
from segue.model import Entry, EntryKind
from segue.model.tool_action import Act, Answer, Deed, End, Going, Verdict

_PLAN_START, _PLAN_END = "<proposed_plan>", "</proposed_plan>"
_REFUSALS = ("exec command rejected by user", "patch rejected by user", "rejected by user")
_RUNS = re.compile(r"^Process running with session ID (\d{1,18})\s*$", re.MULTILINE)
_GONE = "write_stdin failed: Unknown process"
_HEADER = 66_000
"""The largest size of an output's header, which may repeat the command."""


def acts(entry: Entry, result: Entry | None) -> tuple[Act, ...] | None:
    if entry.kind is EntryKind.REPLY:
        return _proposals(entry.text)
    if entry.kind is EntryKind.CALL and entry.tool == "apply_patch" and entry.text.startswith("{"):
        found = dict_of(decoded(entry.text))
        by_path = {path: dict_of(change) for path, change in found.items() if "type" in dict_of(change)}
        return tuple(act for path, change in by_path.items() for act in _changed(path, change)) or None
    return None


def _proposals(text: str) -> tuple[Act, ...]:
    """A plan that the model proposes within a reply."""
    if _PLAN_START not in text:
        return ()
    plan = text.rpartition(_PLAN_START)[2].partition(_PLAN_END)[0].strip()
    return (Act(deed=Deed.PROPOSE, subject=plan),) if plan else ()


def _changed(path: str, change: dict[str, Any]) -> tuple[Act, ...]:
    """The completed change of a file."""
    content, diff = change.get("content"), text_of(change.get("unified_diff"))
    match change.get("type"):
        case "add":
            if not isinstance(content, str):
                made = patches.acts_in_diff(diff, path)
                content = made[0].changes[0].new if made and made[0].changes else None
            return (Act(deed=Deed.WRITE, subject=path, content=content),)
        case "delete":
            return (Act(deed=Deed.DELETE, subject=path),)
        case "update":
            found = patches.acts_in_diff(diff, path) if diff else ()
            to = text_of(change.get("move_path"))
            return (*found, Act(deed=Deed.MOVE, subject=path, to=to)) if to and to != path else found
    return ()


def answer(call: Entry, result: Entry) -> Answer | None:
    if call.tool == "request_user_input":
        words = "\n".join(", ".join(said) for said in answers_in(result.text))
        return Answer(verdict=Verdict.ANSWERED, text=words) if words else None
    # A command that prints this text has an exit status.
    is_refused = result.status is None and result.text[:80].strip() in _REFUSALS
    return Answer(verdict=Verdict.REFUSED) if is_refused else None


def going(call: Entry, result: Entry) -> Going | None:
    is_follower = call.tool == "write_stdin"
    if not is_follower and (call.tool != "exec_command" or result.status is not None):
        return None
    output = dict_of((result.native or {}).get("payload")).get("output")
    text = "".join(texts_of(output))
    header = text[: min(_HEADER, text.find("\nOutput:") % (_HEADER + 1))]
    found = _RUNS.search(header)
    if is_follower:
        handle = id_of(dict_of(decoded(call.text)).get("session_id"))
        return _followed(handle, result, is_running=found is not None) if handle else None
    return Going(handle=found[1]) if found else None


def _followed(handle: str, result: Entry, *, is_running: bool) -> Going:
    """The state of a job that a call checked. A failed call shows at most that the job no longer exists."""
    if result.is_error and result.status is None:
        is_gone = result.text.startswith(_GONE)
        return Going(handle=handle, is_over=is_gone, end=End.STOPPED if is_gone else None)
    return Going(handle=handle, is_over=not is_running)
