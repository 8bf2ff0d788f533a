"""Messages of Gemini CLI, which may be written several times, with more content each time.

A message first gets its thoughts and text, and later, written again under the same id, its tool calls. A
resumed or compressed conversation writes the whole history that the model is to see. Entries never change:
each is given once, with an id made of the message's id and its position, and what is added later becomes
further entries. What the model no longer sees is not taken back: it happened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from segue.agents.gemini import parts
from segue.agents.shared.transcripts.entry_links import bare, note, placed
from segue.agents.shared.transcripts.reader import Reading, dict_of, list_of, moment_of, text_of
from segue.base.clock import Moment
from segue.model import Entry, EntryKind, Origin, Spend, Tokens

ANSWERS = ("gemini", "qwen")
REPORTS = ("info", "error", "warning")
CANCELLED_TEXT = "Request cancelled."
ACKNOWLEDGED = ("Got it. Thanks for the context!", "Got it. Thanks for the additional context!")
"""The model's answer to a context or summary, inserted by the program before a conversation."""
LATE_TOKENS = "tokens"
"""The note with the tokens of an answer whose text was given earlier."""
SPENT = "spent"

_PLAIN = re.compile(r"[\w.-]{1,200}")

Piece = tuple[str, Entry]
"""An entry without its place, and what follows the message's id in its id."""


class Conversation:
    """Makes entries of messages. Its state is in the reading's mark."""

    def __init__(self, reading: Reading, *, is_appended: bool, writer: Origin = Origin.HUMAN) -> None:
        self.reading = reading
        self.state = reading.mark.state
        self.is_appended = is_appended
        """Whether earlier versions of a message are still in the file, or were replaced."""
        self.writer = writer
        self.known: dict[str, list[Any]] = self.state.setdefault("messages", {})
        """For each message: the entry before it, its last entry, and a hash of each of its pieces."""
        self.calls: dict[str, str] = self.state.setdefault("calls", {})
        self.results: dict[str, str] = self.state.setdefault("results", {})
        self.visited: set[str] = set()
        """The ids that this read has met. A second entry with such an id gets another one."""

    # Records around the messages

    def note(self, tool: str, record: dict[str, Any], text: str = "", at: Moment | None = None) -> Entry:
        """A record that is not a message. It is not linked into the conversation."""
        entry = note(tool, text)
        return placed(entry, id=self.fresh(), parent=self.state.get("tail"), at=at, native=record)

    def fresh(self) -> str:
        self.state["records"] = self.state.get("records", 0) + 1
        return f"record:{self.state['records']}"

    def rewind(self, message: str) -> None:
        """Continue from before a message. For an unknown message there is nothing to continue from."""
        known = self.known.get(plain_id(message))
        self.state["tail"] = known[0] if known else None

    def history(self, messages: list[Any]) -> Iterator[Entry]:
        """What the model sees from here on. Only new content makes entries."""
        last, is_new = self.state.get("tail"), False
        for message in messages:
            if not isinstance(message, dict):
                continue
            key = plain_id(text_of(message.get("id")))
            if key in self.known:
                last = self.known[key][1]
            elif not self._is_replay(message):
                is_new = True
                yield from self.message(message)
        if not is_new:
            self.state["tail"] = last

    def _is_replay(self, message: dict[str, Any]) -> bool:
        """Whether it only repeats known results, as every resumed conversation does."""
        found = parts.part_list(message.get("content"))
        answers = [dict_of(part.get("functionResponse")) for part in found]
        return bool(answers) and all(text_of(answer.get("id")) in self.results for answer in answers)

    # Messages

    def message(self, message: dict[str, Any], name: str = "") -> Iterator[Entry]:
        """The entries of a message; `name` is for a message without id."""
        at = moment_of(message.get("timestamp"))
        kind = text_of(message.get("type"))
        key = plain_id(text_of(message.get("id"))) or name or self.fresh()
        if kind in ANSWERS:
            pieces = self._answer(key, message, at)
        elif kind == "user":
            pieces = self._user(key, message)
        else:
            pieces = self._report(kind, message, at)
        yield from self._place(key, pieces, message, at)

    def _place(
        self, key: str, pieces: list[Piece], message: dict[str, Any], at: Moment | None
    ) -> Iterator[Entry]:
        tail = self.state.get("tail")
        known = self.known.setdefault(key, [tail, tail, {}])
        is_tail = not self.is_appended or not known[2] or tail == known[1]
        if not self.is_appended:
            known[0] = tail
        parent, model = known[0], text_of(message.get("model")) or None
        for suffix, piece in pieces:
            place, is_new = self._free(key, suffix, piece, parent)
            if is_new:
                answered = self.calls.get(piece.call or "") if piece.kind is EntryKind.RESULT else None
                entry = placed(
                    piece,
                    id=key + place,
                    parent=answered or parent,
                    at=piece.at or at,
                    model=model,
                    native=message,
                )
                self._remember(entry)
                yield entry
            parent = key + place
        known[1] = parent
        if is_tail:
            self.state["tail"] = parent

    def _free(self, key: str, suffix: str, piece: Entry, parent: str | None) -> tuple[str, bool]:
        """The id of a piece, and whether it is new."""
        given = self.known[key][2]
        spend = None if self.is_appended and piece.tool != LATE_TOKENS else piece.spend
        around = (spend, None if self.is_appended else parent)
        content = parts.short(piece.kind, piece.text, piece.tool, piece.status, piece.is_error, *around)
        place, count = suffix, 1
        while place in given and given[place] != content:
            if not self.is_appended and key + place not in self.visited:
                break  # from before the file was rewritten
            count += 1
            place = f"{suffix}~{count}"
        if not self.is_appended:
            self.visited.add(key + place)
        if given.get(place) == content:
            return place, False
        given[place] = content
        if piece.spend:
            given[SPENT] = parts.short(piece.spend)
        return place, True

    def _remember(self, entry: Entry) -> None:
        if entry.call and entry.kind is EntryKind.CALL:
            self.calls[entry.call] = entry.id
        if entry.call and entry.kind is EntryKind.RESULT:
            self.results[entry.call] = entry.id
            self.calls.pop(entry.call, None)

    # Kinds of messages

    def _user(self, key: str, message: dict[str, Any]) -> list[Piece]:
        content = parts.part_list(message.get("content"))
        typed = self._typed(message, content)
        found = list(parts.other_parts(content, Origin.HUMAN))
        pieces = [piece for piece in found if not self._is_given(key, piece)]
        if any(isinstance(part.get("text"), str) for part in content):
            pieces += parts.user_texts(content, typed, self.writer)
        prompt = next((piece.text for piece in pieces if piece.kind is EntryKind.PROMPT), None)
        if prompt is not None:
            self.state["stopped"] = False
            self.state["typed"] = [parts.short(prompt), parts.short("".join(parts.apart(content)[0]))]
        return numbered(pieces or [note("functionResponse" if found else "user")])

    def _typed(self, message: dict[str, Any], content: list[dict[str, Any]]) -> str | None:
        """What the program says the user typed. It says so only if that differs from what was sent, which
        also contains what a hook put before it. With its own prompts to continue, it repeats what was typed
        earlier: then nothing was typed."""
        if message.get("displayContent") is None:
            return None
        shown = parts.part_list(message["displayContent"])
        if parts.text_in(shown) == parts.text_in(content):
            return parts.text_in(shown)  # written by Segue, which says that all of it was typed
        typed, text = ("".join(parts.apart(found)[0]) for found in (shown, content))
        before, meant = self.state.get("typed") or ("", "")
        is_repeated = parts.short(typed) == before and parts.short(text) != meant
        return "" if is_repeated and not text.startswith(typed) else typed

    def _is_given(self, key: str, piece: Entry) -> bool:
        """Whether another message gave this result: the message with the call contains it too."""
        given = self.results.get(piece.call or "") if piece.kind is EntryKind.RESULT else None
        return given is not None and re.split("[#~]", given)[0] != key

    def _answer(self, key: str, message: dict[str, Any], at: Moment | None) -> list[Piece]:
        model = text_of(message.get("model"))
        if model:
            self.state["model"] = model
        self.state["stopped"] = False
        content = parts.part_list(message.get("content"))
        thoughts = [
            entry for thought in list_of(message.get("thoughts")) if (entry := thought_entry(thought))
        ]
        spoken = [part for part in content if not is_call(part) and not (thoughts and part.get("thought"))]
        said = [*thoughts, *parts.answer_parts(spoken)]
        if parts.text_in(content).strip() in ACKNOWLEDGED:
            said = [note("acknowledgement", parts.text_in(content))]
        words = numbered(said or [note("answer")])
        suffix, main = words[-1]
        spend = self._spend(key, message, at)
        given = self.known[key][2] if key in self.known else {}
        if spend is None or (self.is_appended and suffix in given):
            pieces = words
        else:
            pieces = [*words[:-1], (suffix, placed(main, spend=spend))]
        if spend and pieces is words and given.get(SPENT) != parts.short(spend):
            pieces = [*words, ("#tokens", placed(note(LATE_TOKENS), spend=spend))]
        calls = [part["functionCall"] for part in content if is_call(part)]
        return [*pieces, *self._calls(key, calls, list_of(message.get("toolCalls")))]

    def _spend(self, key: str, message: dict[str, Any], at: Moment | None) -> Spend | None:
        found = dict_of(message.get("tokens"))
        session = text_of(dict_of(self.state.get("session")).get("sessionId"))
        name = text_of(message.get("id")) or f"{session}:{key}"
        tokens = parts.tokens_of(
            prompt=found.get("input"),
            answer=found.get("output"),
            cached=found.get("cached"),
            thoughts=found.get("thoughts"),
            tool=found.get("tool"),
            total=found.get("total"),
        )
        if tokens == Tokens():
            return None
        model = text_of(message.get("model")) or text_of(self.state.get("model"))
        return Spend(key=f"{self.reading.source.agent}:{name}", model=model, tokens=tokens, at=at)

    def _calls(self, key: str, words: list[dict[str, Any]], calls: list[Any]) -> Iterator[Piece]:
        """The calls, which may be in the text, in a separate list with their results, or in both."""
        done = [call for call in calls if isinstance(call, dict)]
        listed = {call["id"] for call in done if isinstance(call.get("id"), str)}
        given = self.known[key][2] if key in self.known else {}
        for number, call in enumerate(words, 1):
            name = text_of(call.get("id"))
            suffix = f"#call:{plain_id(name) or f'word-{number}'}"
            is_elsewhere = name in self.results and suffix not in given
            if name not in listed and not is_elsewhere:
                yield suffix, parts.call_entry(call)
        cancelled = ""
        for number, call in enumerate(done, 1):
            at, name = moment_of(call.get("timestamp")), plain_id(text_of(call.get("id"))) or str(number)
            yield f"#call:{name}", placed(parts.call_entry(call), at=at)
            for index, piece in enumerate(tool_results(call), 1):
                yield f"#result:{name}" + (f".{index}" if index > 1 else ""), placed(piece, at=at)
            if call.get("status") == parts.CANCELLED:
                cancelled = text_of(call.get("resultDisplay")) or "A tool call was cancelled."
        if cancelled:
            self.state["stopped"] = True
            yield "#stop", parts.interruption(cancelled)

    def _report(self, kind: str, message: dict[str, Any], at: Moment | None) -> list[Piece]:
        content = parts.part_list(message.get("content"))
        text = parts.text_in(content)
        others = list(parts.other_parts(content, Origin.SYSTEM))
        if kind not in REPORTS:
            self.reading.unknown[kind or "message"] += 1
            return numbered([*others, note(kind or "message", text)])
        if text.strip() == CANCELLED_TEXT and not self.state.get("stopped"):
            self.state["stopped"] = True
            return numbered([*others, parts.interruption(text)])
        limit = parts.limit_entry(text, at, text_of(self.state.get("model")))
        return numbered([*others, limit or note(kind, text)])


def plain_id(name: str) -> str:
    """The prefix of the ids of a message's entries."""
    return name if not name or _PLAIN.fullmatch(name) else "message." + parts.short(name)


def numbered(pieces: list[Entry]) -> list[Piece]:
    """The pieces with their suffixes. The last one has the message's own id."""
    return [(f"#{number}", piece) for number, piece in enumerate(pieces[:-1], 1)] + [("", pieces[-1])]


def is_call(part: dict[str, Any]) -> bool:
    return isinstance(part.get("functionCall"), dict)


def thought_entry(thought: Any) -> Entry | None:
    found = dict_of(thought)
    said = [text_of(found.get("subject")), text_of(found.get("description"))]
    text = "\n".join(filter(None, said)) or text_of(thought)
    at = moment_of(found.get("timestamp"))
    return bare(EntryKind.THOUGHT, Origin.ASSISTANT, text, at=at) if text else None


def tool_results(call: dict[str, Any]) -> Iterator[Entry]:
    """The result of a finished call, and images that came with it."""
    name, status, found = text_of(call.get("name")), text_of(call.get("status")), call.get("result")
    if not found and status not in ("success", *parts.FAILED):
        return
    pieces = parts.part_list(found)
    responses = [
        part["functionResponse"] for part in pieces if isinstance(part.get("functionResponse"), dict)
    ]
    entry = parts.result_entry(responses[0], status=status) if responses else None
    text = entry.text if entry else parts.text_in(pieces) or text_of(call.get("resultDisplay"))
    failed = entry.is_error if entry else status in parts.FAILED
    yield parts.result(name, text_of(call.get("id")), text, failed=failed)
    for part in pieces:
        if isinstance(part.get("inlineData"), dict) or isinstance(part.get("fileData"), dict):
            yield bare(EntryKind.IMAGE, Origin.TOOL, parts.picture(part))
