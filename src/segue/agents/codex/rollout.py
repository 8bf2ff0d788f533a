"""Convert a rollout's records into entries.

A record becomes parts, each with the fields of one entry, which then get their ids and parents. Everything known about
earlier records is in the mark's state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from segue.agents.codex import code_mode
from segue.agents.codex import parts as codex_parts
from segue.agents.codex.calls import done_parts, ended, item_call, item_result
from segue.agents.codex.records import (
    CALLS,
    DONE,
    NOTES,
    RESULTS,
    Part,
    envelope,
    hash_of,
    image_parts,
    is_later,
    note,
    part,
    replayed,
)
from segue.agents.codex.usage_meter import Meter
from segue.agents.shared.tool_calls.tool_arguments import offered_in
from segue.agents.shared.transcripts.entry_links import remember
from segue.agents.shared.transcripts.limit_text import after
from segue.agents.shared.transcripts.reader import (
    INTERRUPT,
    Reading,
    count_of,
    dict_of,
    list_of,
    moment_of,
    status_of,
    text_of,
)
from segue.base.clock import Moment
from segue.model import Entry, EntryKind, Origin, Relation

_ASKING = "request_user_input"
_KNOWN_QUESTIONS = 8
_KNOWN_CALLS = 128
"""The minimum number of recent calls that are remembered."""
_KNOWN_SCRIPTS = 8
_NEAR = 8
"""The largest distance, in records, between an item and the event that repeats it."""
_BATCH_S = 1.0
"""The longest time to write the history at the start of a fork."""


class Rollout:
    """A rollout that is being read. Its state is in the reading's mark."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.state = reading.mark.state
        self.meter = Meter(reading)
        self.number = -1
        self.at: Moment | None = None

    def entries(self, record: dict[str, Any]) -> Iterator[Entry]:
        state = self.state
        self.number = state["n"] = state.get("n", -1) + 1
        self.at = moment_of(record.get("timestamp"))
        kind, payload = envelope(record)
        is_replay = self._is_replay(kind, payload, record.get("ordinal"))
        parts = self._parts(kind, payload)
        if is_replay:
            parts = [replayed(parts, text_of(payload.get("type")) or kind)]
        for position, found in enumerate(parts, 1):
            id = str(self.number) if position == len(parts) else f"{self.number}#{position}"
            parent = found.pop("parent", None) or state.get("last")
            state["last"] = id
            cwd, branch = state.get("cwd"), state.get("branch")
            yield Entry(id=id, parent=parent, at=self.at, cwd=cwd, branch=branch, native=record, **found)

    def _parts(self, kind: str, payload: dict[str, Any]) -> list[Part]:
        match kind:
            case "session_meta":
                return self._meta(payload)
            case "response_item":
                return self._item(payload)
            case "event_msg":
                return self._event(payload)
            case "turn_context":
                self._settle(payload)
                return [note(kind, model=self.state.get("model"))]
            case "compacted":
                return [part(EntryKind.SUMMARY, Origin.ASSISTANT, text_of(payload.get("message")))]
            case "token_usage_record":
                return [self.meter.used(payload, self.at)]
        return [self._other(kind)]

    def _other(self, kind: str, text: str = "", **more: Any) -> Part:
        """A note for a record without content. An unknown type is counted."""
        if kind not in NOTES:
            self.reading.unknown[kind or "(no type)"] += 1
        return note(kind, text, **more)

    # Session and turn

    def _meta(self, payload: dict[str, Any]) -> list[Part]:
        state, id = self.state, text_of(payload.get("id"))
        if "id" in state:
            if id != state["id"] and (self.number == 1 or state.get("replay")):
                state.update(replay=True, origin=id, turn_at=moment_of(payload.get("timestamp")))
            return [note("session_meta")]
        start = payload.get("subagent_history_start_ordinal")
        state.update(id=id, origin=id, began=self.at, starts=count_of(start), replay=bool(count_of(start)))
        state["paged"] = payload.get("history_mode") == "paginated"
        self._place(payload.get("cwd"))
        if branch := text_of(dict_of(payload.get("git")).get("branch")):
            state["branch"] = branch
        self._learn_from(payload)
        return [note("session_meta")]

    def _learn_from(self, payload: dict[str, Any]) -> None:
        learn, source = self.reading.learn, payload.get("source")
        if id := text_of(payload.get("id")):
            learn(id=id)
        if version := text_of(payload.get("cli_version")):
            learn(version=version)
        forked = text_of(payload.get("forked_from_id"))
        spawn = dict_of(dict_of(dict_of(source).get("subagent")).get("thread_spawn"))
        parent = text_of(spawn.get("parent_thread_id")) or text_of(payload.get("parent_thread_id")) or forked
        if "subagent" in dict_of(source) or payload.get("thread_source") == "subagent":
            self.state["is_subagent"] = True
            learn(relation=Relation.SUBAGENT, parent=parent)
        elif forked:
            learn(relation=Relation.FORK, parent=forked)

    def _is_replay(self, kind: str, payload: dict[str, Any], ordinal: Any) -> bool:
        """Whether a record belongs to the history at the start of a fork or a subagent."""
        state = self.state
        if not state.get("replay"):
            return False
        if state["starts"] and isinstance(ordinal, int):
            is_own = ordinal >= state["starts"]
        else:
            is_turn = kind == "turn_context" or payload.get("type") in ("task_started", "turn_started")
            is_own = is_turn and is_later(text_of(payload.get("turn_id")), state["id"])
            written = after(state["began"], _BATCH_S) if state["began"] else None
            is_own |= bool(self.at and written and self.at > written)
        if is_own:
            state["replay"] = False
        return not is_own

    def _settle(self, payload: dict[str, Any]) -> None:
        """Set the turn, model and folder for the following records."""
        if turn := text_of(payload.get("turn_id")):
            self.state["turn"] = turn
        if model := text_of(payload.get("model")):
            self.state["model"] = model
        self._place(payload.get("cwd"))

    def _place(self, cwd: Any) -> None:
        if text_of(cwd) and not self.state.get("replay"):
            self.state["cwd"] = cwd

    # Messages

    def _message(self, payload: dict[str, Any]) -> list[Part]:
        texts = codex_parts.texts_of(payload.get("content"))
        match payload.get("role"):
            case "user":
                return self._user_item(payload, texts)
            case "assistant" if not self._is_told("reply") and not self.state.get("paged"):
                self._show("reply", "\n".join(texts))
                return [self._reply("\n".join(texts))]
            case "assistant":
                return [note("message", origin=Origin.ASSISTANT)]
        return [note("message", "\n".join(texts))]

    def _user_item(self, payload: dict[str, Any], texts: list[str]) -> list[Part]:
        human = "\n".join(codex_parts.human_texts(payload))
        images = () if codex_parts.is_by_program(payload) else codex_parts.images_of(payload.get("content"))
        if not human.strip() and not images:
            return [note("message", "\n".join(texts))]
        if self._is_told("prompt"):
            return [note("message")]
        self._show("prompt", human)
        return self._prompt(human, images)

    def _user_event(self, kind: str, text: str, images: tuple[str, ...]) -> list[Part]:
        typed = codex_parts.typed(text)
        if self._is_double("prompt", typed):
            return [note(kind)]
        return self._prompt(typed, images)

    def _prompt(self, text: str, images: tuple[str, ...]) -> list[Part]:
        origin = Origin.ASSISTANT if self.state.get("is_subagent") else Origin.HUMAN
        self.state.pop("hit", None)
        return [*image_parts(images, origin), part(EntryKind.PROMPT, origin, text)]

    def _agent_event(self, kind: str, text: str) -> list[Part]:
        return [note(kind, origin=Origin.ASSISTANT) if self._is_double("reply", text) else self._reply(text)]

    def _reply(self, text: str) -> Part:
        return part(EntryKind.REPLY, Origin.ASSISTANT, text, model=self.state.get("model"))

    def _is_told(self, what: str) -> bool:
        """Whether events have reported prompts, or replies. From then on, events report all of them."""
        return what in self.state.get("told", ())

    def _show(self, what: str, text: str) -> None:
        self.state.setdefault("shown", {})[what] = [hash_of(text), self.number]

    def _is_double(self, what: str, text: str) -> bool:
        """Whether the first event repeats an item that was already reported."""
        if self._is_told(what) or self.state.get("replay"):
            return False
        self.state["told"] = [*self.state.get("told", ()), what]
        known, number = self.state.get("shown", {}).pop(what, ("", -_NEAR))
        distance = self.number - number
        if distance == 1 and what == "prompt":
            return True
        return bool(distance <= _NEAR and known == hash_of(text))

    # Response items

    def _item(self, payload: dict[str, Any]) -> list[Part]:
        kind = text_of(payload.get("type"))
        if kind == "message":
            return self._message(payload)
        if kind == "reasoning":
            thought = codex_parts.texts_of(payload.get("summary")) or codex_parts.texts_of(
                payload.get("content")
            )
            return [
                part(EntryKind.THOUGHT, Origin.ASSISTANT, "\n".join(thought), model=self.state.get("model"))
            ]
        if code_mode.is_script(kind, payload):
            return [self._script(payload)]
        if kind in CALLS:
            found = item_call(kind, payload, self.state.get("model"))
            self._know(found[0], f"{self.number}#1" if found[1:] else str(self.number))
            return found
        if kind in RESULTS:
            return self._result(kind, payload)
        if kind == "agent_message":
            return [self._between_agents(payload)]
        return [self._other(kind)]

    def _know(self, call: Part, id: str) -> None:
        name, tool = text_of(call["call"]), call["tool"]
        remember(self.state.setdefault("calls", {}), name, [id, tool], _KNOWN_CALLS)
        if tool == _ASKING:
            remember(self.state.setdefault("offered", {}), name, offered_in(call["text"]), _KNOWN_QUESTIONS)

    def _result(self, kind: str, payload: dict[str, Any]) -> list[Part]:
        call = text_of(payload.get("call_id"))
        if script := self.state.get("scripts", {}).pop(call, None):
            return self._script_result(call, script, payload)
        parent, tool = self.state.get("calls", {}).get(call, (None, None))
        images, result = item_result(kind, payload, tool)
        answers = self._answers(call, result["text"]) if tool == _ASKING else []
        parts = [*image_parts(images, Origin.TOOL), result, *answers]
        parts[0]["parent"] = parent
        return parts

    def _script(self, payload: dict[str, Any]) -> Part:
        """A script of code mode. Each of its actions is a call. A script without actions is itself a call."""
        text = text_of(payload.get("input"))
        script = {"text": text, "is_told": False}
        remember(
            self.state.setdefault("scripts", {}), text_of(payload.get("call_id")), script, _KNOWN_SCRIPTS
        )
        return part(
            EntryKind.THOUGHT, Origin.ASSISTANT, text, tool=code_mode.TOOL, model=self.state.get("model")
        )

    def _script_result(self, call: str, script: dict[str, Any], payload: dict[str, Any]) -> list[Part]:
        output, model = payload.get("output"), self.state.get("model")
        images, result = item_result("custom_tool_call_output", payload, code_mode.TOOL)
        shown = image_parts(images, Origin.TOOL)
        done = [] if self.state.get("paged") else code_mode.commands(script["text"], output)
        if done:
            items = ({**item, "id": f"{call}-{number}"} for number, item in enumerate(done, 1))
            return shown + [one for item in items for one in done_parts("CommandExecution", item, model)]
        if script["is_told"] or (self.state.get("paged") and code_mode.is_running(output)):
            return [*shown, note(code_mode.TOOL, result["text"], origin=Origin.TOOL)]
        asked = {"name": code_mode.TOOL, "call_id": call, "input": script["text"]}
        return [*item_call("custom_tool_call", asked, model), *shown, result]

    def _answers(self, call: str, output: str) -> list[Part]:
        """The user's answers to a question. Typed answers are prompts; a chosen option means nothing without its
        question, and is a note."""
        said = [words for answer in codex_parts.answers_in(output) for words in answer]
        offered = self.state.get("offered", {}).pop(call, ())
        chosen = "\n".join(words for words in said if words in offered)
        typed = "\n".join(words for words in said if words not in offered)
        notes = [note("answer", chosen, origin=Origin.HUMAN)] if chosen else []
        return notes + ([part(EntryKind.PROMPT, Origin.HUMAN, typed)] if typed else [])

    def _between_agents(self, payload: dict[str, Any]) -> Part:
        """A message from one agent to another. For a subagent it is the task."""
        text = "\n".join(codex_parts.texts_of(payload.get("content")))
        if self.state.get("is_subagent"):
            return part(EntryKind.PROMPT, Origin.ASSISTANT, text)
        return note("agent_message", text, origin=Origin.ASSISTANT)

    # Events

    def _event(self, payload: dict[str, Any]) -> list[Part]:
        kind = text_of(payload.get("type"))
        match kind:
            case "user_message":
                paths = [*list_of(payload.get("images")), *list_of(payload.get("local_images"))]
                images = tuple(codex_parts.image_reference(path) for path in paths if text_of(path))
                return self._user_event(kind, text_of(payload.get("message")), images)
            case "agent_message":
                return self._agent_event(kind, text_of(payload.get("message")))
            case "item_completed":
                return self._completed(dict_of(payload.get("item")))
            case "token_count":
                return self.meter.count(payload, self.at)
            case "turn_aborted":
                is_person = payload.get("reason") in (None, "interrupted")
                return [note(INTERRUPT if is_person else kind, text_of(payload.get("reason")))]
            case "error":
                return [self.meter.failed(kind, payload, self.at)]
        made, item = ended(kind, payload)
        return self._done(kind, made, item) if made else [self._bookkeeping(kind, payload)]

    def _bookkeeping(self, kind: str, payload: dict[str, Any]) -> Part:
        match kind:
            case "task_started" | "turn_started":
                return self._started(kind, payload)
            case "task_complete" | "turn_complete":
                return self.meter.finished(kind, payload, self.at)
            case "thread_settings_applied":
                self._settle(dict_of(payload.get("thread_settings")))
                return note(kind)
            case "thread_name_updated":
                if name := text_of(payload.get("thread_name")):
                    self.reading.learn(title=name)
                return note(kind, name)
        return self._other(
            kind, text_of(payload.get("message")), call=text_of(payload.get("call_id")) or None
        )

    def _started(self, kind: str, payload: dict[str, Any]) -> Part:
        self._settle(payload)
        self.state["has_tasks"] = True
        if started := moment_of(payload.get("started_at")):
            self.state["turn_at"] = started
        if window := count_of(payload.get("model_context_window")):
            self.reading.learn(context_window=window)
        return note(kind)

    def _completed(self, item: dict[str, Any]) -> list[Part]:
        """A completed item of the paginated history."""
        kind, content = text_of(item.get("type")), item.get("content")
        if kind == "UserMessage":
            return self._user_event(
                kind, "\n".join(codex_parts.texts_of(content)), codex_parts.images_of(content)
            )
        if kind == "AgentMessage":
            return self._agent_event(kind, "\n".join(codex_parts.texts_of(content)))
        if kind in DONE:
            return self._done(kind, kind, item)
        return [self._other(kind, text_of(item.get("text")))]

    def _done(self, native: str, kind: str, item: dict[str, Any]) -> list[Part]:
        """A completed action: one whose call was already reported, or one of a script in code mode."""
        call = text_of(item.get("id"))
        if call in self.state.get("calls", {}):
            return [note(native, call=call, status=status_of(item.get("exit_code")))]
        for script in self.state.get("scripts", {}).values():
            script["is_told"] |= "tools." in script["text"]
        return done_parts(kind, item, self.state.get("model"))
