"""Events: what is recorded of a handoff is measured, and what nothing tells stays open."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segue.briefs import goals, probes, select
from segue.model import (
    Fact,
    Fate,
    Handoff,
    HandoffState,
    Origin,
    Package,
    Receipt,
    ReceiptLine,
    Tier,
    Trigger,
    TriggerType,
    Urgency,
)
from segue.ops.handoff import events
from tests.pure.briefs.test_probes import WORK, fact, facts, packed

HANDOFF = Handoff(
    id="h1",
    session="s1",
    source="demo",
    target="other",
    tier=Tier.SELECTIVE,
    state=HandoffState.PREPARED,
    reason="the afternoon is over",
    package=Package(context=None, size=0, stored=0, brief="b"),
    receipt="r",
    created_at="2026-05-01T10:00:00.000000Z",
    updated_at="2026-05-01T11:00:00.000000Z",
)
RECEIPT = packed(WORK)[1]
EVENT = events.begin(HANDOFF, None, RECEIPT)


def todo(text: str, value: str) -> Fact:
    return fact("todo", text, value)


def run(name: str, value: str) -> Fact:
    return fact("test", name, value)


# When it is made


def test_what_a_person_asked_for_is_certain_and_in_their_words() -> None:
    assert EVENT.trigger.type == "user_request"
    assert EVENT.trigger.confidence == 1.0
    assert EVENT.trigger.reasoning == "the afternoon is over"


def test_a_reason_nobody_gave_is_not_made_up() -> None:
    silent = msgspec.structs.replace(HANDOFF, reason="  ")
    assert events.begin(silent, None, RECEIPT).trigger.reasoning == events.ASKED_FOR


def test_a_trigger_is_recorded_as_it_was() -> None:
    trigger = Trigger(
        type=TriggerType.USAGE_LIMIT, confidence=0.85, reasoning="85% used", urgency=Urgency.HIGH
    )
    cause = events.begin(HANDOFF, trigger, RECEIPT).trigger
    assert (cause.type, cause.confidence, cause.reasoning, cause.urgency) == (
        "usage_limit",
        0.85,
        "85% used",
        "high",
    )


def test_an_event_tells_who_when_and_how_much_was_kept() -> None:
    small = select.preservation(RECEIPT)
    assert (EVENT.id, EVENT.session_id, EVENT.source, EVENT.target) == ("h1", "s1", "demo", "other")
    assert EVENT.timestamp == HANDOFF.created_at
    assert EVENT.context_preservation.attempted == small.attempted
    assert EVENT.context_preservation.preservation_score == pytest.approx(small.preservation_score, abs=1e-4)
    assert EVENT.outcome == type(EVENT.outcome)()


def test_in_json_an_event_has_the_names_that_others_know() -> None:
    known = msgspec.json.decode(msgspec.json.encode(events.rated(EVENT, 0.5)))
    assert known["sessionId"] == "s1" and known["outcome"]["userSatisfaction"] == 0.5
    assert "preservationScore" in known["contextPreservation"]


# How it went


def test_what_nothing_tells_stays_open() -> None:
    outcome = events.finish(EVENT, RECEIPT).outcome
    assert outcome == EVENT.outcome


def test_what_was_known_before_stays() -> None:
    first = events.finish(events.rated(EVENT, 0.7), RECEIPT, held=0.5, tokens=10, whole=100)
    again = events.finish(first, RECEIPT, held=0.8)
    assert again.outcome.efficiency == 0.9 and again.outcome.user_satisfaction == 0.7
    assert again.outcome.context_continuity == 0.8


@pytest.mark.parametrize(
    ("tokens", "whole", "share"),
    [(8000, 160_000, 0.95), (160_000, 160_000, 0), (200_000, 160_000, 0), (0, 100, None), (10, None, None)],
)
def test_efficiency_is_what_the_target_did_not_have_to_read(
    tokens: int, whole: int | None, share: float | None
) -> None:
    assert events.efficiency(tokens, whole) == share


def test_proved_answers_count_before_what_a_transcript_shows() -> None:
    due = probes.questions(RECEIPT)
    nothing = probes.grade(due, "")
    outcome = events.finish(EVENT, RECEIPT, report=nothing, held=1.0).outcome
    assert outcome.context_continuity == 0.0
    assert events.finish(EVENT, RECEIPT, held=0.75).outcome.context_continuity == 0.75
    unasked = probes.grade((), "")
    assert events.finish(EVENT, RECEIPT, report=unasked).outcome.context_continuity is None


def test_each_correction_after_the_handoff_costs_continuity() -> None:
    after = (
        fact("correction", value="You forgot the tax."),
        fact("correction", value="That's not right either."),
    )
    event = events.finish(EVENT, RECEIPT, facts_after=after, held=1.0)
    assert event.outcome.context_continuity == 0.8
    assert "the user corrected the target 2 times" in event.lessons


def test_a_correction_from_before_does_not_count_again() -> None:
    after = (fact("correction", value="[3] No, that's the wrong rounding."),)
    event = events.finish(EVENT, RECEIPT, facts_after=after, held=1.0)
    assert event.outcome.context_continuity == 1.0 and event.lessons == ()


def test_only_a_person_can_correct() -> None:
    said = msgspec.structs.replace(fact("correction", value="You forgot the tax."), origin=Origin.TOOL)
    assert events.finish(EVENT, RECEIPT, facts_after=(said,), held=1.0).outcome.context_continuity == 1.0


# How far the task got

BEFORE = (todo("Mend the totals", "open"), todo("Write it down", "active"), todo("Read", "done"))


@pytest.mark.parametrize(
    ("after", "share"),
    [
        ((), None),
        ((todo("Mend the totals", "done"), todo("write it  down", "done")), 1.0),
        ((todo("Mend the totals", "done"),), 0.5),
        ((todo("Mend the totals", "done"), todo("Write it down", "dropped")), 1.0),
        ((todo("Mend the totals", "done"), todo("Write it down", "open"), todo("More", "open")), 0.3333),
        ((todo("In words of its own", "done"), todo("And another", "open")), 0.5),
        ((todo("Read", "done"),), None),
    ],
)
def test_completion_is_the_share_of_the_open_tasks_that_are_done(
    after: tuple[Fact, ...], share: float | None
) -> None:
    assert events.completion(BEFORE, after) == share


@pytest.mark.parametrize(
    ("after", "share"),
    [
        ((run("tests/test_a.py::test_sum", "passing"),), goals.UNSURE),
        ((run("test_a.py::test_sum", "passing"),), goals.UNSURE),
        ((run("tests/test_a.py::test_sum", "failing"),), 0.0),
        ((run("tests/test_a.py::test_sum", "passing"), run("tests/test_b.py::test_x", "failing")), 0.5),
        ((run("tests/test_b.py::test_x", "passing"),), 0.0),
        ((), None),
    ],
)
def test_completion_counts_the_tests_that_failed_or_fail(
    after: tuple[Fact, ...], share: float | None
) -> None:
    assert events.completion((run("tests/test_a.py::test_sum", "failing"),), after) == share


def test_no_whole_is_claimed_while_something_fails() -> None:
    after = (*(todo(one.subject, "done") for one in BEFORE), fact("error", "E", "open"))
    assert events.completion(BEFORE, after) == goals.UNSURE


def test_tests_alone_never_prove_the_whole() -> None:
    assert events.completion((), (run("t::a", "passing"),)) == goals.UNSURE
    assert events.completion((), (fact("file", "a.py", "edited"),)) is None


# What a transcript shows


def test_a_brief_that_arrived_whole_shows_every_fact() -> None:
    text, receipt = packed(WORK)
    assert events.shown(receipt, text) == 1.0
    assert events.shown(receipt, "") == 0.0
    assert events.shown(Receipt(lines=()), text) is None


@given(facts(), st.data())
@settings(deadline=None)
def test_what_is_cut_off_shows_as_missing(found: list[Fact], data: st.DataObject) -> None:
    text, receipt = packed(found, budget=20_000)
    whole = events.shown(receipt, text)
    assert whole == 1.0
    part = events.shown(receipt, text[: data.draw(st.integers(0, len(text)))])
    assert part is not None and 0 <= part <= whole


# What is to be learned


def test_what_had_to_be_sent_again_is_a_lesson() -> None:
    due = probes.questions(RECEIPT)
    first = probes.grade(due, "")
    last = probes.grade(due, probes.right_reply(due))
    lessons = events.finish(EVENT, RECEIPT, first=first, report=last).lessons
    assert lessons[0] == "3 constraints had to be sent again"
    assert all(lesson.endswith("had to be sent again") for lesson in lessons)


def test_what_the_target_could_not_tell_in_the_end_is_a_lesson() -> None:
    due = tuple(probe for probe in probes.questions(RECEIPT) if probe.kind in ("branch", "test"))
    lessons = events.finish(EVENT, RECEIPT, report=probes.grade(due, "")).lessons
    assert lessons == ("the target could not recall 1 failing test", "the target could not recall 1 branch")


def test_a_constraint_that_was_said_twice_is_a_lesson() -> None:
    after = (fact("constraint", value="Never touch src/legacy.py!"), fact("constraint", value="Never push."))
    assert events.finish(EVENT, RECEIPT, facts_after=after).lessons == (
        "the user had to repeat 1 constraint",
    )


def test_a_question_that_had_been_answered_is_a_lesson() -> None:
    decided = fact("decision", "Shall I round half up?", "yes")
    receipt = Receipt(lines=(ReceiptLine(fact=decided, fate=Fate.PASSED),))
    after = (fact("question", value="Shall I round half up?"), fact("decision", "Which colour?", "red"))
    assert events.lessons_of(receipt, after) == ("the target asked again: Shall I round half up?",)


def test_what_did_not_fit_is_a_lesson() -> None:
    lines = [ReceiptLine(fact=WORK[0], fate=Fate.NOT_PASSED, reason="over budget")]
    lines += [ReceiptLine(fact=one, fate=Fate.RECOVERABLE, reason="over budget") for one in BEFORE[:2]]
    assert events.lessons_of(Receipt(lines=tuple(lines))) == (
        "2 open tasks did not fit into the brief",
        "1 branch did not fit into the brief",
    )


def test_where_all_went_well_there_is_nothing_to_learn() -> None:
    due = probes.questions(RECEIPT)
    event = events.finish(EVENT, RECEIPT, report=probes.grade(due, probes.right_reply(due)))
    assert event.lessons == () and event.outcome.context_continuity == 1.0


@given(facts(), facts())
@settings(deadline=None)
def test_whatever_happened_the_figures_stay_between_0_and_1(before: list[Fact], after: list[Fact]) -> None:
    _, receipt = packed(before, budget=20_000)
    event = events.finish(events.rated(EVENT, 7), receipt, facts_after=after, held=0.9, tokens=5, whole=3)
    told = msgspec.structs.asdict(event.outcome).values()
    assert all(value is None or 0 <= value <= 1 for value in told)
    assert len(event.lessons) <= events.MOST_LESSONS
    assert msgspec.json.decode(msgspec.json.encode(event), type=type(event)) == event
