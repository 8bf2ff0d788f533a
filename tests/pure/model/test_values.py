"""The pure parts: nouns, moments, errors, lifecycle, thresholds, chains."""

from __future__ import annotations

import inspect
import re
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue import errors, model
from segue.base import clock
from segue.errors import NoSuchStep, SegueError
from segue.model import HandoffState, Operation, Tier, Urgency, Usage, Value
from segue.model.handoff import ENDS, STEPS, Event, transition
from segue.store import chain
from segue.usage import budget
from segue.usage.budget import Thresholds

NOUNS = [value for _, value in inspect.getmembers(model, inspect.isclass) if issubclass(value, Value)]


@pytest.mark.parametrize("noun", NOUNS)
def test_every_noun_is_frozen(noun: type[Value]) -> None:
    assert noun.__struct_config__.frozen and noun.__doc__ is not None


def test_a_tier_goes_down_and_never_up() -> None:
    order = list(Tier)
    for one in order:
        assert [other for other in order if one.allows(other)] == order[order.index(one) :]


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9000, 1, 1)), st.floats(0, 1e9))
def test_moments_sort_as_the_times_they_stand_for(when: datetime, seconds: float) -> None:
    first = clock.moment(when.replace(tzinfo=UTC))
    second = clock.later(first, seconds)
    assert clock.parse(first) == when.replace(tzinfo=UTC)
    assert len(first) == len(second) == 27
    assert (first <= second) == (clock.parse(first) <= clock.parse(second))


# Errors


def every_error(root: type[SegueError] = SegueError) -> list[type[SegueError]]:
    return [root, *(inner for child in root.__subclasses__() for inner in every_error(child))]


ERRORS = [error for error in every_error() if error.__module__ == "segue.errors"]


def test_the_tree_at_the_top_of_the_file_is_the_tree() -> None:
    drawn = re.findall(r"^ {4}[│├└─ ]*([A-Z]\w+)", errors.__doc__ or "", re.MULTILINE)
    assert sorted(drawn) == sorted(error.__name__ for error in ERRORS)


def test_the_exit_codes_in_the_tree_are_the_ones_that_are_used() -> None:
    assert len(re.findall(r"── (\w+) +(\d+)\b", errors.__doc__ or "")) == 9
    for name, code in re.findall(r"── (\w+) +(\d+)\b", errors.__doc__ or ""):
        assert getattr(errors, name).exit_code == int(code)


@pytest.mark.parametrize("error", ERRORS)
def test_every_error_says_what_happened_and_names_the_next_step(error: type[SegueError]) -> None:
    words = set(re.findall(r"{(\w+)}", f"{error.__doc__} {error.hint}"))
    raised = error(**{word: f"<{word}>" for word in words})
    assert str(raised).strip() and raised.next_step.strip()
    assert "{" not in str(raised) + raised.next_step
    assert str(raised).endswith((".", "?", ">"))


# Lifecycle


@given(st.sampled_from(HandoffState), st.sampled_from(Event))
def test_a_handoff_moves_only_along_the_table(state: HandoffState, event: Event) -> None:
    if (state, event) in STEPS:
        assert transition(state, event) is STEPS[state, event]
    else:
        with pytest.raises(NoSuchStep):
            transition(state, event)


def test_what_has_ended_stays_ended_but_for_a_rollback() -> None:
    leaving = {(state, event) for state, event in STEPS if state in ENDS}
    assert leaving == {(state, Event.ROLL_BACK) for state in (HandoffState.VALIDATED, HandoffState.FAILED)}


# Thresholds


def usage(used: int, limit: int = 200_000) -> Usage:
    return Usage(at="2026-11-16T09:30:00.000000Z", tokens_used=used, tokens_limit=limit)


@pytest.mark.parametrize(
    ("used", "urgency"),
    [
        (0, None),
        (149_999, None),
        (150_000, Urgency.MEDIUM),
        (179_999, Urgency.MEDIUM),
        (180_000, Urgency.HIGH),
    ],
)
def test_a_handoff_is_recommended_from_75_and_urgent_from_90_per_cent(
    used: int, urgency: Urgency | None
) -> None:
    trigger = budget.trigger_for(usage(used), Thresholds())
    assert (trigger.urgency if trigger else None) is urgency


def test_a_model_can_have_a_threshold_of_its_own() -> None:
    thresholds = Thresholds(models={"opus": 50})
    assert budget.trigger_for(usage(100_000), thresholds, "opus") is not None
    assert budget.trigger_for(usage(100_000), thresholds, "sonnet") is None


@given(st.integers(0, 10**7), st.integers(-5, 10**7))
def test_any_usage_gives_a_sound_trigger_or_none(used: int, limit: int) -> None:
    trigger = budget.trigger_for(usage(used, limit), Thresholds())
    assert trigger is None or (0 < trigger.confidence <= 1 and f"{used:,}" in trigger.reasoning)


# Chains


def a_chain(length: int) -> tuple[list[Operation], chain.Head]:
    links: list[Operation] = []
    prev = ""
    for n in range(1, length + 1):
        at = clock.later("2026-11-16T09:30:00.000000Z", n)
        link = Operation(
            id=f"op-{n}",
            chain="s-1",
            kind="k",
            subject="session:s-1",
            actor="ada",
            at=at,
            after=f'"{n}"',
            n=n,
            prev=prev,
        )
        links.append(chain.sealed(link))
        prev = links[-1].hash
    return links, chain.Head("s-1", length, prev, links[-1].at)


@given(st.integers(1, 8))
def test_a_chain_as_it_was_made_has_no_flaw(length: int) -> None:
    links, head = a_chain(length)
    assert chain.flaws_in("s-1", links, head) == []


@given(st.integers(1, 8), st.data())
def test_any_change_of_any_field_shows(length: int, data: st.DataObject) -> None:
    links, head = a_chain(length)
    index = data.draw(st.integers(0, length - 1))
    field = data.draw(st.sampled_from(Operation.__struct_fields__))
    old = getattr(links[index], field)
    new = data.draw((st.integers(0, 99) if field == "n" else st.text(max_size=70)).filter(lambda v: v != old))
    links[index] = msgspec.structs.replace(links[index], **{field: new})
    assert chain.flaws_in("s-1", links, head) != []


@given(st.integers(1, 8), st.data())
def test_any_missing_doubled_or_swapped_link_shows(length: int, data: st.DataObject) -> None:
    links, head = a_chain(length)
    one, other = data.draw(st.integers(0, length - 1)), data.draw(st.integers(0, length - 1))
    without = links[:one] + links[one + 1 :]
    doubled = [*links[: one + 1], *links[one:]]
    assert chain.flaws_in("s-1", without, head) != []
    assert chain.flaws_in("s-1", doubled, head) != []
    if one != other:
        links[one], links[other] = links[other], links[one]
        assert chain.flaws_in("s-1", links, head) != []
