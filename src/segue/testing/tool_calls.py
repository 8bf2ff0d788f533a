"""Checks of actions: that they can be classified for any transcript, and are complete."""

from __future__ import annotations

from collections.abc import Iterable

from segue.agents import Reader
from segue.agents.shared.tool_calls import classify
from segue.model import Entry, EntryKind
from segue.model.tool_action import Act, Answer, Deed
from segue.testing.entries import is_writable
from segue.testing.sample import ensure

NAMELESS = (Deed.PLAN, Deed.PROPOSE, Deed.OTHER)
"""Actions without a subject: a list has items, and a plan may be elsewhere."""
OF_FILES = (Deed.WRITE, Deed.EDIT, Deed.READ)


def check_acts(reader: Reader, entries: Iterable[Entry]) -> None:
    """Check that each entry's actions can be classified, with its result and without, and the user's answer to it."""
    agent = reader.AGENT.name
    own = getattr(reader, "acts", None)
    calls: dict[str, Entry] = {}
    for entry in entries:
        check_told(entry, classify.acts_of(entry, agent))
        if callable(own):
            check_told(entry, own(entry, None) or ())
        if entry.kind is EntryKind.CALL and entry.call:
            calls[entry.call] = entry
        elif entry.kind is EntryKind.RESULT and entry.call in calls:
            _check_result(calls[entry.call], entry, agent)


def _check_result(call: Entry, result: Entry, agent: str) -> None:
    check_told(call, classify.acts_of(call, agent, result=result))
    answer = classify.answer_of(call, result, agent)
    ensure(answer is None or isinstance(answer, Answer), f"{call.id!r}: {answer!r:.80} is no answer")
    ensure(answer is None or is_writable(answer.text), f"{call.id!r}: an answer cannot be written as UTF-8")
    going = classify.going_of(call, result, agent)
    ensure(going is None or bool(going.handle), f"{call.id!r}: a background command has no handle")


def check_told(entry: Entry, acts: tuple[Act, ...]) -> None:
    for act in acts:
        where = f"{entry.id!r}: {act!r:.120}"
        texts = [act.subject, act.to, act.content or "", act.folder, *act.options]
        texts += [text for change in act.changes for text in (change.old, change.new)]
        texts += [text for todo in act.todos for text in (todo.text, todo.id)]
        ensure(all(map(is_writable, texts)), f"{where} cannot be written as UTF-8")
        ensure(bool(act.subject) or act.deed in NAMELESS, f"{where} has no subject")
        ensure(bool(act.to) == (act.deed is Deed.MOVE), f"{where}: only a move has a destination")
        ensure(act.content is None or act.deed in OF_FILES, f"{where} has the content of a file")
        ensure(not act.changes or act.deed is Deed.EDIT, f"{where} has changes and is no edit")
        ensure(not act.todos or act.deed is Deed.PLAN, f"{where} has items and is no plan")
        ensure(all(todo.text or todo.id for todo in act.todos), f"{where}: an item has neither text nor id")
