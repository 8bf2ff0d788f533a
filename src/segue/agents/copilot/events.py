"""Entries from Copilot CLI's events, with the state of those before."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from segue.agents.copilot import usage as copilot_usage
from segue.agents.shared.tool_calls.tool_arguments import offered_in
from segue.agents.shared.transcripts.entry_links import is_known, remember, unused
from segue.agents.shared.transcripts.reader import (
    INTERRUPT,
    Reading,
    compact,
    count_of,
    dict_of,
    list_of,
    moment_of,
    records,
    status_of,
    text_of,
)
from segue.base.clock import Moment
from segue.model import Entry, EntryKind, Limit, Origin, Relation

Part = dict[str, Any]

_NOTES = frozenset(
    (
        "assistant.turn_start", "assistant.turn_end", "assistant.idle", "assistant.intent", "assistant.usage",
        "assistant.reasoning", "hook.start", "hook.end", "permission.requested", "permission.completed",
        "session.info", "session.warning", "session.mode_changed", "session.plan_changed", "session.idle",
        "session.permissions_changed", "session.task_complete", "session.usage_checkpoint",
        "session.truncation", "session.compaction_start", "session.context_cleared", "session.handoff",
        "session.snapshot_rewind", "session.workspace_file_changed", "session.todos_changed",
        "session.tools_updated", "session.skills_loaded", "session.mcp_servers_loaded",
        "session.auto_mode_resolved", "session.background_tasks_changed", "session.custom_agents_updated",
        "session.extensions_loaded", "session.binary_asset", "session.session_limits_changed",
        "session.remote_steerable_changed", "session.custom_notification",
        "session.autopilot_objective_changed", "session.usage_info", "skill.invoked", "system.message",
        "system.notification", "tool.user_requested", "command.execute", "command.queued", "command.completed",
        "subagent.started", "subagent.completed", "subagent.failed", "subagent.selected", "subagent.deselected",
        "user_input.requested", "user_input.completed", "elicitation.requested", "elicitation.completed",
        "exit_plan_mode.requested", "exit_plan_mode.completed", "external_tool.requested",
        "external_tool.completed", "pending_messages.modified", "tool.execution_progress",
        "tool.execution_partial_result", "tool_search.activated", "auto_mode_switch.completed",
        "session_limits_exhausted.completed"
    )
)  # fmt: skip
_BY_PERSON = ("user_initiated", "user_abort", "remote_command", "")
_ANSWER = re.compile(r"User (?:responded|selected): (.+)\Z", re.DOTALL)
_STATUS = re.compile(r"<(?:shellId: [^<>\n]{1,80} completed|exited) with exit code (-?\d{1,9})>\s*\Z")
_ASKING = "ask_user"
_KNOWN_QUESTIONS = 8
_KNOWN_CALLS = 128
"""How many of the latest calls are remembered at least."""


def entries(reading: Reading) -> Iterator[Entry]:
    events: Events | None = None
    for record in records(reading):
        # Made after the first record: a replaced file starts with an empty state.
        events = events or Events(reading)
        yield from events.entries(record)


class Events:
    """One pass over the events. All its state is in the reading's mark."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.state = reading.mark.state
        self.at: Moment | None = None
        self.id = ""

    def entries(self, record: dict[str, Any]) -> Iterator[Entry]:
        state, data = self.state, dict_of(record.get("data"))
        self.at = moment_of(record.get("timestamp"))
        native = text_of(record.get("parentId"))
        parent = native if native and is_known(state, native) else state.get("last")
        self.id = unused(state, text_of(record.get("id")).replace("#", "_") or "event")
        subagent = text_of(record.get("agentId")) or text_of(data.get("parentToolCallId")) or None
        parts = self._parts(text_of(record.get("type")), data, subagent)
        for position, part in enumerate(parts, 1):
            id = self.id if position == len(parts) else f"{self.id}#{position}"
            parent = part.pop("parent", None) or parent
            cwd, branch = state.get("cwd"), state.get("branch")
            entry = {"cwd": cwd, "branch": branch, "subagent": subagent, "native": record, **part}
            state["last"] = id
            yield Entry(id=id, parent=parent, at=self.at, **entry)
            parent = id

    def _parts(self, kind: str, data: dict[str, Any], subagent: str | None) -> list[Part]:
        match kind:
            case "user.message":
                return self._user(data, subagent)
            case "assistant.message":
                return self._assistant(data, subagent)
            case "tool.execution_start":
                return [self._start(kind, data)]
            case "tool.execution_complete":
                return self._complete(data, subagent)
            case "session.compaction_complete":
                return [self._compacted(kind, data)]
            case "session.usage_record":
                return [self._record(kind, data)]
            case "session.shutdown":
                return self._shutdown(kind, data)
            case "abort" | "session.error" | "model.call_failure":
                return [self._broken_off(kind, data)]
            case "auto_mode_switch.requested" | "session_limits_exhausted.requested":
                return [self._at_limit(kind, data)]
        return [self._other(kind, data)]

    # Bookkeeping

    def _other(self, kind: str, data: dict[str, Any]) -> Part:
        if kind in ("session.start", "session.resume", "session.context_changed"):
            self._begin(kind, data)
        elif kind == "session.model_change":
            self._use(data.get("newModel"))
        elif kind == "session.title_changed":
            if title := text_of(data.get("title")):
                self.reading.learn(title=title)
        elif kind == "session.task_complete" and data.get("success") is not False:
            return part(EntryKind.REPLY, Origin.ASSISTANT, text_of(data.get("summary")), tool=kind)
        elif kind not in _NOTES:
            self.reading.unknown[kind or "(no type)"] += 1
        text = next(
            (
                text
                for name in ("content", "message", "summary", "title")
                if (text := text_of(data.get(name)))
            ),
            "",
        )
        if limit := count_of(data.get("tokenLimit")):
            self.reading.learn(context_window=limit)
        return note(kind, text, status=status_of(dict_of(data.get("kind")).get("exitCode")))

    def _begin(self, kind: str, data: dict[str, Any]) -> None:
        learn, state = self.reading.learn, self.state
        context = data if kind == "session.context_changed" else dict_of(data.get("context"))
        for name in ("cwd", "branch"):
            if value := text_of(context.get(name)):
                state[name] = value
        self._use(data.get("selectedModel"))
        if kind != "session.start":
            return
        if id := text_of(data.get("sessionId")):
            learn(id=id)
        if version := text_of(data.get("copilotVersion")):
            learn(version=version)
        if parent := text_of(data.get("detachedFromSpawningParentSessionId")):
            learn(parent=parent, relation=Relation.SUBAGENT)

    def _use(self, model: Any) -> None:
        if text_of(model):
            self.state["model"] = model

    # What was said

    def _user(self, data: dict[str, Any], subagent: str | None) -> list[Part]:
        source, text = text_of(data.get("source")), text_of(data.get("content"))
        images = [part(EntryKind.IMAGE, Origin.HUMAN, found) for found in _attached(data.get("attachments"))]
        is_agent = bool(subagent) or source.startswith("agent-")
        is_person = source in ("", "user") and data.get("isAutopilotContinuation") is not True
        if is_agent:
            return [part(EntryKind.PROMPT, Origin.ASSISTANT, text)]
        if not is_person or not (text.strip() or images):
            return [note("user.message", text or text_of(data.get("transformedContent")))]
        return [*images, part(EntryKind.PROMPT, Origin.HUMAN, text)]

    def _assistant(self, data: dict[str, Any], subagent: str | None) -> list[Part]:
        """An answer: its thoughts, its text and its calls."""
        self._use(None if subagent else data.get("model"))
        model = text_of(data.get("model")) or self.state.get("model")
        text, thought = text_of(data.get("content")), text_of(data.get("reasoningText"))
        parts = []
        if thought or data.get("reasoningOpaque") or data.get("encryptedContent"):
            parts.append(part(EntryKind.THOUGHT, Origin.ASSISTANT, thought, model=model))
        requests = [dict_of(request) for request in list_of(data.get("toolRequests"))]
        if text.strip() or not (parts or requests):
            parts.append(part(EntryKind.REPLY, Origin.ASSISTANT, text, model=model))
        before = len(parts)
        parts += [call(text_of(one.get("name")), one, model) for one in requests]
        for position, one in enumerate(parts[before:], before + 1):
            self._know(one, self.id if position == len(parts) else f"{self.id}#{position}")
        if spend := copilot_usage.answer(self.state, data, self.at):
            parts[-1]["spend"] = spend
            self.reading.learn(context_tokens=None)  # unknown: only the output is counted
        return parts

    # What was done

    def _know(self, asked: Part, entry: str) -> None:
        id = asked["call"] or ""
        remember(self.state.setdefault("calls", {}), id, [entry, asked["tool"]], _KNOWN_CALLS)
        if asked["tool"] == _ASKING:
            remember(self.state.setdefault("offered", {}), id, offered_in(asked["text"]), _KNOWN_QUESTIONS)

    def _start(self, kind: str, data: dict[str, Any]) -> Part:
        """The start of a call: new only if no answer contained it."""
        id, tool = text_of(data.get("toolCallId")), text_of(data.get("toolName"))
        if id in self.state.get("calls", {}):
            return note(kind, call=id)
        found = call(tool, data, self.state.get("model"))
        self._know(found, self.id)
        return found

    def _complete(self, data: dict[str, Any], subagent: str | None) -> list[Part]:
        self._use(None if subagent else data.get("model"))
        id = text_of(data.get("toolCallId"))
        parent, tool = self.state.get("calls", {}).get(id, (None, None))
        result, error = dict_of(data.get("result")), dict_of(data.get("error"))
        text = text_of(result.get("content")) or text_of(error.get("message")) or text_of(data.get("error"))
        status = _told_status(data, result, text)
        found = part(EntryKind.RESULT, Origin.TOOL, text, call=id or None, tool=tool, status=status)
        found["is_error"] = data.get("success") is False or bool(error)
        said = _ANSWER.match(text) if tool == _ASKING else None
        answers = [self._answer(id, said[1].strip())] if said else []
        parts = [*_images(result), found, *answers]
        parts[0]["parent"] = parent
        return parts

    def _answer(self, id: str, words: str) -> Part:
        """The user's answer to a question. A choice alone means nothing without the question."""
        if words in self.state.get("offered", {}).pop(id, ()):
            return part(EntryKind.NOTE, Origin.HUMAN, words, tool="answer")
        return part(EntryKind.PROMPT, Origin.HUMAN, words)

    def _compacted(self, kind: str, data: dict[str, Any]) -> Part:
        if limit := count_of(data.get("tokenLimit")):
            self.reading.learn(context_window=limit)
        if data.get("success") is False:
            return note(kind, text_of(data.get("error")), is_error=True)
        return part(EntryKind.SUMMARY, Origin.ASSISTANT, text_of(data.get("summaryContent")))

    # Ends and limits

    def _record(self, kind: str, data: dict[str, Any]) -> Part:
        usage = dict_of(data.get("usage"))
        self.reading.learned.pop("context_tokens", None)
        if window := count_of(usage.get("maxPromptTokens")):
            self.reading.learn(context_window=window)
        spend = copilot_usage.record(self.state, data, self.id, self.at)
        return note(
            kind, spend=spend, model=spend and spend.model, limits=copilot_usage.quotas(usage, self.at)
        )

    def _shutdown(self, kind: str, data: dict[str, Any]) -> list[Part]:
        spends = copilot_usage.run(self.state, data, self.id, self.at)
        if (filled := copilot_usage.filled(data)) or spends:
            self.reading.learn(context_tokens=filled)
        text = text_of(data.get("errorReason"))
        return [note(kind, text, spend=spend, model=spend.model) for spend in spends] or [note(kind, text)]

    def _broken_off(self, kind: str, data: dict[str, Any]) -> Part:
        reason = text_of(data.get("reason"))
        if kind == "abort":
            if reason == "autopilot_credit_limit":
                return self._limit(kind, reason, copilot_usage.credits_spent(self.at))
            return note(INTERRUPT if reason in _BY_PERSON else kind, reason)
        text = text_of(data.get("message")) or text_of(data.get("errorMessage"))
        if kind == "session.error":
            model = text_of(self.state.get("model"))
            if limits := copilot_usage.hit(data, model, self.at):
                return self._limit(kind, text, limits)
        # A failed call may be retried; an error of the session is final.
        return note(kind, text, is_error=True, limits=copilot_usage.quotas(data, self.at))

    def _at_limit(self, kind: str, data: dict[str, Any]) -> Part:
        if kind.startswith("session_limits"):
            return self._limit(kind, "", copilot_usage.credits_spent(self.at))
        return note(kind, text_of(data.get("errorCode")), limits=copilot_usage.wait(data, self.at))

    def _limit(self, kind: str, text: str, limits: tuple[Limit, ...]) -> Part:
        return part(EntryKind.LIMIT, Origin.SYSTEM, text, tool=kind, limits=limits)


# Parts


def part(kind: EntryKind, origin: Origin, text: str, **more: Any) -> Part:
    return {"kind": kind, "origin": origin, "text": text, **more}


def note(tool: str, text: str = "", **more: Any) -> Part:
    return part(EntryKind.NOTE, Origin.SYSTEM, text, tool=tool, **more)


def call(tool: str, data: dict[str, Any], model: str | None) -> Part:
    arguments = data.get("arguments")
    text = arguments if isinstance(arguments, str) else compact(arguments)
    id = text_of(data.get("toolCallId")) or None
    return part(EntryKind.CALL, Origin.ASSISTANT, text, tool=tool, call=id, model=model)


def _attached(attachments: Any) -> Iterator[str]:
    """References to the images that came with a message."""
    for one in map(dict_of, list_of(attachments)):
        kind = text_of(one.get("mimeType"))
        if kind.startswith("image/"):
            yield text_of(one.get("path")) or _reference(kind, one)


def _images(result: dict[str, Any]) -> list[Part]:
    """References to the images in a result."""
    found = [
        dict_of(one) for name in ("contents", "binaryResultsForLlm") for one in list_of(result.get(name))
    ]
    pictures = [one for one in found if one.get("type") == "image"]
    return [
        part(EntryKind.IMAGE, Origin.TOOL, _reference(text_of(one.get("mimeType")) or "image", one))
        for one in pictures
    ]


def _reference(kind: str, one: dict[str, Any]) -> str:
    size, asset, data = count_of(one.get("byteLength")), text_of(one.get("assetId")), text_of(one.get("data"))
    size = size or len(data) * 3 // 4
    name = asset or (f"base64 sha256:{hashlib.sha256(data.encode()).hexdigest()[:16]}" if data else "")
    return ", ".join(filter(None, (kind[:80], f"{size:,} bytes" if size else "", name[:100])))


def _told_status(data: dict[str, Any], result: dict[str, Any], text: str) -> int | None:
    places = (dict_of(data.get("shellExecution")), *map(dict_of, list_of(result.get("contents"))))
    for place in places:
        if (status := status_of(place.get("exitCode"))) is not None:
            return status
    told = _STATUS.search(text, max(0, len(text) - 200))
    return int(told[1]) if told else None
