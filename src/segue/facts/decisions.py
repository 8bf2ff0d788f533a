"""Decisions: what the user refused or approved, and the current plans of the user and of other agents."""

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
    """Record the user's answer to a call: to each of its questions, or to the call as a whole."""
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
    """Drop a refusal when the refused action is done now. A refusal to change a file with a reason stays, because
    the next change may differ. Writing and editing a file count as the same."""
    decided = tracker.facts.get("decision", {})
    alike = CHANGES if act.deed in CHANGES else (act.deed,)
    for deed in alike if decided else ():
        subject = begun(title_of(msgspec.structs.replace(act, deed=deed), tracker.folder), LONGEST_SUBJECT)
        fact = decided.get(subject)
        if fact and fact.value == Verdict.REFUSED and not (fact.note and act.deed in ON_FILES):
            del decided[subject]


def title_of(act: Act, folder: str) -> str:
    """Title of a call; of one on a file, with its action."""
    subject = act.subject.strip()
    if subject and act.deed in ON_FILES:
        return f"{act.deed} {file_states.relative(subject, folder) or subject}"
    return subject


# Plans


def add_plan(tracker: Tracker, text: str, entry: Entry, *, is_order: bool = False) -> None:
    """Record a plan: an order of another agent, or the agent's own plan that the user approved, which replaces all
    earlier ones. Its rules are separate facts because shortening would lose them first."""
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
    """Drop a plan when another is proposed and something was committed since. Its rules stay."""
    plan = tracker.facts.get("plan", {}).get("")
    if plan and tracker.committed > plan.n:
        del tracker.facts["plan"][""]
