"""What was decided: what the person refused or agreed to, and the plans that hold since, theirs and other agents'."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from segue.base.text import begun
from segue.facts import constraints, file_states
from segue.model import Entry
from segue.model.tool_action import ON_FILES, Act, Answer, Deed, Verdict

if TYPE_CHECKING:
    from segue.facts.tracker import Tracker

LONGEST_SUBJECT = 1000
CHANGES = (Deed.WRITE, Deed.EDIT)


def decide(tracker: Tracker, call: Entry, result: Entry, answer: Answer, acts: Sequence[Act]) -> None:
    """The person answered a call: each of its questions, or the call as a whole."""
    said = answer.text.split("\n")
    if answer.verdict is Verdict.ANSWERED and len(said) == len(acts):
        for act, words in zip(acts, said, strict=True):
            tracker.put(
                "decision", begun(act.subject.strip() or "A question", LONGEST_SUBJECT), words, result
            )
        return
    tracker.is_refused = answer.verdict in (Verdict.REFUSED, Verdict.REJECTED)
    if tracker.is_refused and any(act.deed is Deed.PROPOSE for act in acts):
        _end_plan(tracker)
    for act in acts[:1]:
        subject = begun(title_of(act, tracker.folder) or call.tool or "a call", LONGEST_SUBJECT)
        tracker.put("decision", subject, answer.verdict.value, result, note=answer.text)
        if answer.verdict is Verdict.ANSWERED and answer.text:
            tracker.put("decision", subject, answer.text, result)
        if answer.verdict is Verdict.APPROVED and act.deed is Deed.PROPOSE and act.subject:
            add_plan(tracker, act.subject, call)


def allow(tracker: Tracker, act: Act) -> None:
    """What was refused, and is done now, is refused no more; of files, only what was refused without a reason: the next
    change of a file may be another one. To write a file and to edit it is the same to the person who looks at it."""
    decided = tracker.facts.get("decision", {})
    alike = CHANGES if act.deed in CHANGES else (act.deed,)
    for deed in alike if decided else ():
        subject = begun(title_of(msgspec.structs.replace(act, deed=deed), tracker.folder), LONGEST_SUBJECT)
        fact = decided.get(subject)
        if fact and fact.value == Verdict.REFUSED and not (fact.note and act.deed in ON_FILES):
            del decided[subject]


def title_of(act: Act, folder: str) -> str:
    """What a call is told by: of one on a file, what it would do to it."""
    subject = act.subject.strip()
    if subject and act.deed in ON_FILES:
        return f"{act.deed} {file_states.relative(subject, folder) or subject}"
    return subject


# Plans


def add_plan(tracker: Tracker, text: str, entry: Entry, *, is_order: bool = False) -> None:
    """What the agent is to do, as other agents order it one after the other, or as it put it itself and the person
    agreed, which takes the place of all before. Its rules are told apart, as they are lost first when it is
    shortened."""
    if not is_order:
        tracker.facts.pop("plan", None)
        tracker.facts.pop("rule", None)
    tracker.put("plan", entry.id if is_order else "", text.strip(), entry)
    tracker.heat.said(text)
    for sentence in itertools.islice(constraints.rules(text), constraints.MOST_BINDING):
        tracker.put("rule", sentence, sentence, entry)
    for todo, state in constraints.todos_in(text):
        tracker.todos.note(todo, state, entry, tracker.n)


def _end_plan(tracker: Tracker) -> None:
    """Another one was proposed: the one before was worked off, if something was committed since. Its rules stay."""
    plan = tracker.facts.get("plan", {}).get("")
    if plan and tracker.committed > plan.n:
        del tracker.facts["plan"][""]
