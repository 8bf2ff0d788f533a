"""Decisions of the user: refusals, answers, plans, and how long each one counts."""

from __future__ import annotations

import msgspec
import pytest

from segue.facts.tracker import MAY_BE_OVER, NOT_BEGUN, REFUSED
from segue.model import Entry, EntryKind, Origin
from segue.model.tool_action import Act, Answer, Deed, Verdict
from tests.pure.facts.test_tracker import (
    called,
    done,
    edited,
    facts,
    noted,
    ran,
    replied,
    said,
    values,
    written,
)


def test_what_the_person_refused_is_decided_with_the_reason() -> None:
    call = called(Act(deed=Deed.RUN, subject="rm -rf build"))
    answer = msgspec.json.encode(Answer(verdict=Verdict.REFUSED, text="keep the artefacts")).decode()
    result = Entry(
        id="r", call=call.id, kind=EntryKind.RESULT, origin=Origin.TOOL, text=answer, is_error=True
    )
    (fact,) = [fact for fact in facts(call, result) if fact.kind == "decision"]
    assert (fact.subject, fact.value, fact.note) == ("rm -rf build", "refused", "keep the artefacts")


def test_an_answer_to_a_call_is_no_answer_to_what_was_said_before_it() -> None:
    asked = called(Act(deed=Deed.ASK, subject="Which store?"))
    entries = [replied("Shall I go on?"), asked, said("SQLite")]
    assert values(entries, "decision") == {}


def test_what_the_person_refused_last_is_not_what_comes_next() -> None:
    call = called(Act(deed=Deed.PROPOSE, subject="# Rewrite it all"))
    answer = msgspec.json.encode(Answer(verdict=Verdict.REJECTED, text="")).decode()
    result = Entry(
        id="r", call=call.id, kind=EntryKind.RESULT, origin=Origin.TOOL, text=answer, is_error=True
    )
    entries = [said("Plan it."), replied("Let me write the plan."), call, result]
    assert list(values(entries, "next step").values()) == [REFUSED]
    assert list(values([*entries, said("Only the parser.")], "next step").values()) == [NOT_BEGUN]


def test_a_plan_after_which_something_was_committed_may_be_over() -> None:
    plan = said("1. Mend the parser.\n2. Mend the lexer.", origin=Origin.ASSISTANT)
    committed = ran("git commit -m 'Mend it'", "[main 1a2b3c4] Mend it\n 1 file changed")
    assert noted([*committed, plan, said("Go.")], "plan") == [""]
    assert noted([plan, said("Go."), *committed], "plan") == [MAY_BE_OVER]


def test_each_of_several_questions_has_its_own_answer() -> None:
    call = called(Act(deed=Deed.ASK, subject="Which port?"), Act(deed=Deed.ASK, subject="Which host?"))
    answer = msgspec.json.encode(Answer(verdict=Verdict.ANSWERED, text="8080\nlocalhost")).decode()
    result = Entry(id="r", call=call.id, kind=EntryKind.RESULT, origin=Origin.TOOL, text=answer)
    assert values([call, result], "decision") == {"Which port?": "8080", "Which host?": "localhost"}


def test_a_yes_is_a_decision() -> None:
    entries = [said("Go."), replied("Shall I drop the table?"), said("yes")]
    assert values(entries, "decision") == {"Shall I drop the table?": "yes"}


def ordered(text: str) -> Entry:
    return said(text, origin=Origin.ASSISTANT)


def agreed(plan: str) -> list[Entry]:
    answer = Answer(verdict=Verdict.APPROVED, text="")
    return done(Act(deed=Deed.PROPOSE, subject=plan), output=msgspec.json.encode(answer).decode())


def test_what_other_agents_order_one_after_the_other_holds_together() -> None:
    entries = [ordered("You work on the parser. Never touch the lexer."), ordered("First the numbers.")]
    found = facts(*entries)
    assert [fact.value for fact in found if fact.kind == "plan"] == [entry.text for entry in entries]
    assert [fact.value for fact in found if fact.kind == "rule"] == ["Never touch the lexer."]


def test_a_plan_that_the_person_agreed_to_takes_the_place_of_what_was_planned_before() -> None:
    found = facts(*agreed("# One\nNever touch the lexer."), *agreed("# Two\nNever touch the parser."))
    assert [fact.value for fact in found if fact.kind == "plan"] == ["# Two\nNever touch the parser."]
    assert [fact.value for fact in found if fact.kind == "rule"] == ["Never touch the parser."]


@pytest.mark.parametrize(
    ("said_last", "asked"),
    [
        ("Shall I commit?", ["Shall I commit?"]),
        ("It works with `?debug=true` in the address", []),
        ("Open http://localhost:3000/?page=2 to see it", []),
        ("It reads `a?.b` now", []),
        ("???", []),
    ],
)
def test_a_mark_in_code_or_in_an_address_asks_nothing(said_last: str, asked: list[str]) -> None:
    assert list(values([said("Go on"), replied(said_last)], "question").values()) == asked
    assert list(values([said("Go on"), replied(said_last), said("It is slow")], "decision")) == asked


def test_a_long_answer_is_reported_by_how_it_begins() -> None:
    found = values([said("Go on"), replied("Shall I?"), said("Yes, " + "and more " * 30)], "decision")
    assert len(found["Shall I?"]) <= 101


def test_a_choice_by_letter_is_decided_with_what_it_chose() -> None:
    offered = replied("Which store?\n\n- **A. SQLite** - a file\n- **B. PostgreSQL** - a server")
    assert values([offered, said("b")], "decision") == {"Which store?": "b (PostgreSQL)"}


def refused(act: Act, reason: str = "use pnpm") -> list[Entry]:
    answer = Answer(verdict=Verdict.REFUSED, text=reason)
    return done(act, output=msgspec.json.encode(answer).decode(), status=1)


def test_what_the_person_refused_did_not_fail() -> None:
    entries = refused(Act(deed=Deed.RUN, subject="npm install"))
    assert not values(entries, "command")
    assert values(entries, "decision") == {"npm install": "refused"}


def test_a_refused_edit_is_reported_as_one() -> None:
    entries = [said("Go on"), *refused(written("/work/app/src/a.py", "x"))]
    assert values(entries, "decision") == {"write src/a.py": "refused"}


def test_a_refusal_without_a_reason_ends_when_the_same_is_done_after_all() -> None:
    edit, other = edited("/work/app/a.py", "1", "2"), edited("/work/app/b.py", "1", "2")
    entries = [said("Go on"), *refused(edit, ""), said("Hm. Well, do it.")]
    assert values(entries, "decision") == {"edit a.py": "refused"}
    assert values([*entries, *done(other)], "decision") == {"edit a.py": "refused"}
    assert values([*entries, *done(edit)], "decision") == {}
    assert values([*entries, *done(written("/work/app/a.py", "2"))], "decision") == {}
    assert values([*entries, *done(edit, status=1)], "decision") == {"edit a.py": "refused"}
    with_reason = [said("Go on"), *refused(edit), *done(edit)]
    assert values(with_reason, "decision") == {"edit a.py": "refused"}


def test_calls_that_are_refused_together_are_each_refused() -> None:
    then = refused(Act(deed=Deed.RUN, subject="git push --force"), "")
    first = refused(Act(deed=Deed.RUN, subject="rm -rf a"), "")
    together = [said("Go on"), first[0], then[0], first[1], then[1]]
    assert values(together, "decision") == {"rm -rf a": "refused", "git push --force": "refused"}


def test_what_is_said_to_the_program_neither_asks_nor_answers() -> None:
    entries = [said("Ship it."), replied("Shall I deploy it?"), said("/cost")]
    assert list(values(entries, "question").values()) == ["Shall I deploy it?"]
    assert values([*entries, said("yes")], "decision") == {"Shall I deploy it?": "yes"}
