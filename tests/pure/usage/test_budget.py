"""Thresholds, triggers and forecasts: what is said of a limit follows from its figures, and from nothing else."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.base import clock
from segue.model import Limit, Scope, Transcript, Trigger, TriggerType, Urgency, Usage
from segue.usage import budget
from segue.usage.budget import (
    Thresholds,
    complexity,
    satisfaction,
    sentence,
    should_handoff,
    trigger_for,
    window_minutes,
)
from segue.usage.forecast import Forecast, Sample, context_samples, forecast

NOW = "2026-11-16T09:30:00.000000Z"
OPUS = "claude-opus-4-5-20251101"
SONNET = "claude-sonnet-4-6"


def later(minutes: float) -> str:
    return clock.later(NOW, 60 * minutes)


def usage(used: int = 0, limit: int = 0, *limits: Limit, **more: Any) -> Usage:
    return Usage(at=NOW, tokens_used=used, tokens_limit=limit, limits=limits, **more)


def account(percent: float | None, window: str = "5h", **more: Any) -> Limit:
    return Limit(window=window, scope=Scope.ACCOUNT, used_percent=percent, **more)


def due(*args: Any, **more: Any) -> Trigger:
    trigger = trigger_for(*args, **more)
    assert trigger is not None
    return trigger


# Thresholds


@pytest.mark.parametrize(
    ("model", "share"),
    [
        ("opus", 80),
        (OPUS, 80),
        ("anthropic/claude-opus-4.1", 85),
        ("CLAUDE-OPUS-4-1-20250805", 85),
        ("claude-opus-4-10", 80),
        ("gpt-4o-2024-08-06", 60),
        ("gpt-4o-mini", 61),
        ("gpt-4omni", 75),
        ("magnum-opuscule", 75),
        (SONNET, 75),
        ("", 75),
    ],
)
def test_a_share_for_a_family_holds_for_its_models_and_the_longest_name_wins(model: str, share: int) -> None:
    thresholds = Thresholds(models={"opus": 80, "opus-4.1": 85, "gpt4o": 60, "gpt-4o-mini": 61, "-": 1})
    assert thresholds.recommend_for(model) == share


def test_a_share_under_the_exact_name_wins_over_every_family() -> None:
    thresholds = Thresholds(models={"x": 10, "x.y.z": 20, "X-Y-Z": 30})
    assert thresholds.recommend_for("X-Y-Z") == 30


def test_what_a_person_set_for_a_model_is_not_called_urgent_before_it_is_reached() -> None:
    thresholds = Thresholds(models={"opus": 95})
    assert trigger_for(usage(92, 100), thresholds, OPUS) is None
    assert due(usage(95, 100), thresholds, OPUS).urgency is Urgency.HIGH


@pytest.mark.parametrize(
    ("tokens", "firm", "warning"),
    [
        (0, (False, "normal"), (False, "normal")),
        (149_999, (False, "normal"), (False, "normal")),
        (150_000, (True, "approaching_limit"), (False, "warning_threshold_reached")),
        (179_999, (True, "approaching_limit"), (False, "warning_threshold_reached")),
        (180_000, (True, "auto_switch_threshold_reached"), (True, "auto_switch_threshold_reached")),
        (10**400, (True, "auto_switch_threshold_reached"), (True, "auto_switch_threshold_reached")),
    ],
)
def test_should_handoff_gives_its_four_reasons_at_their_boundaries(
    tokens: int, firm: tuple[bool, str], warning: tuple[bool, str]
) -> None:
    assert should_handoff(tokens, 200_000, Thresholds()) == firm
    assert should_handoff(tokens, 200_000, Thresholds(), warning_only=True) == warning


@given(st.integers(0, 10**7), st.integers(-5, 10**6), st.integers(1, 100), st.integers(1, 100))
def test_should_handoff_and_the_trigger_agree(used: int, limit: int, recommend: int, urgent: int) -> None:
    thresholds = Thresholds(recommend, urgent)
    trigger = trigger_for(usage(used, limit), thresholds)
    is_due, reason = should_handoff(used, limit, thresholds)
    assert is_due == (trigger is not None)
    assert (reason == "auto_switch_threshold_reached") == (
        trigger is not None and trigger.urgency is Urgency.HIGH
    )


# Limits as triggers


def test_the_worst_limit_decides() -> None:
    limits = account(20.0), account(91.0, "week"), account(80.0, "month")
    trigger = due(usage(50, 100, *limits), Thresholds())
    assert (trigger.type, trigger.urgency, trigger.confidence) == (
        TriggerType.USAGE_LIMIT,
        Urgency.HIGH,
        0.91,
    )
    assert trigger.reasoning.startswith("91% of the week limit of the account used")


def test_a_context_fuller_than_every_limit_decides() -> None:
    trigger = due(usage(190_000, 200_000, account(91.0)), Thresholds())
    assert trigger.reasoning == "190,000 of 200,000 tokens used (95%), past the urgent threshold of 90%"


def test_at_an_accounts_limit_another_of_its_models_is_said_to_be_no_way_out() -> None:
    trigger = due(usage(0, 0, account(100.0, resets_at=later(90))), Thresholds())
    assert trigger.reasoning == (
        "100% of the 5h limit of the account used until 2026-11-16 11:00 UTC, past the urgent threshold of 90%; "
        "switching models won't help: the limit covers the whole account"
    )


def test_at_a_models_limit_another_model_is_a_way_out() -> None:
    limit = Limit(window="week", scope=Scope.MODEL, used_percent=77.0, model="opus")
    trigger = due(usage(0, 0, limit), Thresholds(), OPUS)
    assert trigger.reasoning == (
        "77% of the week limit of opus used, past the threshold of 75%; another model is not affected"
    )


def test_a_limit_of_another_model_does_not_count() -> None:
    limit = Limit(window="week", scope=Scope.MODEL, used_percent=100.0, model="opus")
    assert trigger_for(usage(0, 0, limit), Thresholds(), SONNET) is None
    assert trigger_for(usage(0, 0, limit), Thresholds()) is not None


def test_a_limit_whose_window_has_ended_does_not_count_any_more() -> None:
    assert trigger_for(usage(0, 0, account(100.0, resets_at=NOW)), Thresholds()) is None
    assert trigger_for(usage(0, 0, account(100.0, resets_at=later(1))), Thresholds()) is not None


@pytest.mark.parametrize("percent", [None, math.nan, math.inf])
def test_a_limit_without_a_figure_recommends_nothing(percent: float | None) -> None:
    assert trigger_for(usage(0, 0, account(percent)), Thresholds()) is None


def test_an_estimate_is_less_sure_and_says_so() -> None:
    sure, unsure = (due(usage(0, 0, account(80.0, is_estimate=flag)), Thresholds()) for flag in (False, True))
    assert unsure.confidence < sure.confidence
    assert unsure.reasoning.startswith("about 80%") and "about" not in sure.reasoning


def test_a_family_with_a_lower_share_of_its_own_is_due_before_a_fuller_limit() -> None:
    limits = Limit(window="week", scope=Scope.MODEL, used_percent=60.0, model="opus"), account(70.0)
    trigger = due(usage(0, 0, *limits), Thresholds(models={"opus": 50}))
    assert trigger.reasoning.startswith("60% of the week limit of opus")


@given(
    st.integers(-(10**20), 10**20),
    st.integers(-(10**20), 10**20),
    st.lists(st.builds(account, st.none() | st.floats(), st.text(max_size=9), is_estimate=st.booleans())),
    st.text(max_size=9),
    st.none() | st.booleans(),
    st.none() | st.floats(0, 1),
    st.none() | st.floats(0, 1),
)
def test_whatever_is_reported_a_trigger_is_sound(
    used: int,
    limit: int,
    limits: list[Limit],
    model: str,
    is_small: bool | None,
    score: float | None,
    content: float | None,
) -> None:
    given = usage(used, limit, *limits, complexity_score=score, user_satisfaction=content, cost_usd=9.0)
    trigger = trigger_for(given, Thresholds(), model, is_small=is_small)
    assert trigger is None or (0 < trigger.confidence <= 1 and trigger.reasoning.strip())
    assert sentence("It", given, Thresholds(), model).startswith("It usage: ")


# Other triggers


def test_what_a_person_asks_for_comes_before_everything() -> None:
    trigger = due(usage(60, 100, user_satisfaction=0.0), Thresholds(), request="  move\nto another ")
    assert (trigger.type, trigger.confidence, trigger.urgency) == (
        TriggerType.USER_REQUEST,
        1.0,
        Urgency.MEDIUM,
    )
    assert trigger.reasoning == "the user asked for it: move to another"
    assert due(usage(95, 100), Thresholds(), request="now").urgency is Urgency.HIGH


def test_a_long_request_is_cut_and_an_empty_one_is_none() -> None:
    assert len(due(usage(), Thresholds(), request="x" * 9000).reasoning) < 250
    assert trigger_for(usage(), Thresholds(), request="  ") is None


def test_hard_work_on_a_small_model_is_a_mismatch_and_on_a_large_one_is_not() -> None:
    hard = usage(complexity_score=0.7)
    trigger = due(hard, Thresholds(), is_small=True)
    assert (trigger.type, trigger.urgency) == (TriggerType.COMPLEXITY_MISMATCH, Urgency.MEDIUM)
    assert "0.70" in trigger.reasoning
    assert trigger_for(hard, Thresholds(), is_small=False) is None
    assert trigger_for(hard, Thresholds(), is_small=None) is None


def test_a_person_who_keeps_stepping_in_is_a_mismatch_on_any_model() -> None:
    assert due(usage(user_satisfaction=0.39), Thresholds()).type is TriggerType.COMPLEXITY_MISMATCH
    assert trigger_for(usage(user_satisfaction=0.4), Thresholds()) is None


def test_both_signs_of_a_mismatch_make_it_urgent() -> None:
    trigger = due(usage(complexity_score=0.9, user_satisfaction=0.1), Thresholds(), is_small=True)
    assert trigger.urgency is Urgency.HIGH and trigger.confidence == 0.9


def test_simple_work_that_cost_much_on_a_large_model_can_be_had_for_less() -> None:
    simple = usage(complexity_score=0.1, cost_usd=12.5, session_duration=1200.0)
    trigger = due(simple, Thresholds(), is_small=False)
    assert (trigger.type, trigger.urgency, trigger.confidence) == (
        TriggerType.OPTIMIZATION,
        Urgency.LOW,
        0.8,
    )
    assert "0.10 after 20 minutes" in trigger.reasoning and "$12.50" in trigger.reasoning


@pytest.mark.parametrize(
    "change",
    [
        {"complexity_score": 0.25},
        {"complexity_score": None},
        {"cost_usd": 4.99},
        {"cost_usd": None},
        {"session_duration": 599.0},
    ],
)
def test_nothing_is_said_of_thrift_while_one_sign_is_missing(change: dict[str, float | None]) -> None:
    simple = usage(complexity_score=0.1, cost_usd=12.5, session_duration=1200.0)
    assert trigger_for(msgspec.structs.replace(simple, **change), Thresholds(), is_small=False) is None


def test_a_limit_comes_before_a_mismatch_and_a_mismatch_before_thrift() -> None:
    signs = {"complexity_score": 0.1, "cost_usd": 50.0, "session_duration": 9000.0, "user_satisfaction": 0.1}
    with_limit, without = usage(80, 100, **signs), usage(10, 100, **signs)
    assert due(with_limit, Thresholds(), is_small=False).type is TriggerType.USAGE_LIMIT
    assert due(without, Thresholds(), is_small=False).type is TriggerType.COMPLEXITY_MISMATCH


# The line for a person


@pytest.mark.parametrize(
    ("percent", "line"),
    [
        (40.0, "Opus usage: 40% - Continue"),
        (74.6, "Opus usage: 74% - Continue"),
        (75.0, "Opus usage: 75% - Handoff recommended"),
        (85.0, "Opus usage: 85% - Handoff recommended"),
        (89.9, "Opus usage: 89% - Handoff recommended"),
        (90.0, "Opus usage: 90% - Handoff urgent"),
        (91.7, "Opus usage: 92% - Handoff urgent"),
        (99.7, "Opus usage: 99% - Handoff urgent"),
        (104.0, "Opus usage: 104% - Handoff urgent"),
        (None, "Opus usage: not reported yet"),
    ],
)
def test_the_line_recommends_what_its_figure_says(percent: float | None, line: str) -> None:
    assert sentence("Opus", usage(0, 0, account(percent)), Thresholds(), OPUS) == line


def test_without_any_usage_the_line_says_so() -> None:
    assert sentence("Opus", None, Thresholds()) == "Opus usage: not reported yet"


# Complexity and satisfaction


def transcript(**fields: Any) -> Transcript:
    return Transcript(id="t", agent="demo", path="t.jsonl", **fields)


COUNTS = st.integers(0, 10**12)
EFFORTS = st.fixed_dictionaries(
    {"calls": COUNTS, "errors": COUNTS, "turns": COUNTS, "context_tokens": st.none() | COUNTS}
)


@given(EFFORTS, st.sampled_from(["calls", "errors", "turns", "context_tokens"]), st.integers(1, 10**12))
def test_more_of_anything_never_makes_work_less_complex(counts: dict[str, Any], more: str, by: int) -> None:
    before = complexity(transcript(**counts))
    after = complexity(transcript(**{**counts, more: (counts[more] or 0) + by}))
    assert 0 <= before <= after <= 1


@given(st.floats(0, 1e7), st.floats(0, 1e7))
def test_longer_work_is_never_less_complex(minutes: float, more: float) -> None:
    short, long = (
        complexity(transcript(started_at=NOW, updated_at=later(m))) for m in (minutes, minutes + more)
    )
    assert 0 <= short <= long <= 0.15


def test_the_parts_of_complexity_add_up_to_one_and_each_counts_half_at_its_half() -> None:
    assert sum(weight for weight, _ in budget.HALVES.values()) == pytest.approx(1)
    halves = transcript(
        calls=60, errors=5, turns=8, context_tokens=100_000, started_at=NOW, updated_at=later(60)
    )
    assert complexity(halves) == pytest.approx(0.5)
    assert complexity(transcript()) == 0


def test_a_transcript_that_ends_before_it_begins_is_no_complex_one() -> None:
    assert complexity(transcript(started_at=later(60), updated_at=NOW)) == 0


def test_what_a_person_rated_wins() -> None:
    assert satisfaction(transcript(turns=9, corrections=9), 0.8) == 0.8
    assert satisfaction(transcript(), 7.0) == 1.0


def test_satisfaction_is_unknown_with_fewer_than_three_turns() -> None:
    assert satisfaction(transcript(turns=2, corrections=2)) is None
    assert satisfaction(transcript(turns=3)) == 1.0


def test_two_steppings_in_among_five_turns_are_just_not_low_and_three_are() -> None:
    assert satisfaction(transcript(turns=5, corrections=1, interruptions=1)) == budget.LOW_SATISFACTION
    three = satisfaction(transcript(turns=5, corrections=2, interruptions=1))
    assert three is not None and three < budget.LOW_SATISFACTION


@given(st.integers(3, 1000), COUNTS, COUNTS)
def test_satisfaction_is_a_share_and_falls_with_corrections(turns: int, one: int, more: int) -> None:
    few = satisfaction(transcript(turns=turns, corrections=one))
    many = satisfaction(transcript(turns=turns, corrections=one, interruptions=more))
    assert few is not None and many is not None and 0 <= many <= few <= 1


# Forecasts


def steady(start: float, per_hour: float, minutes: int, every: int = 10) -> list[Sample]:
    """Samples of a constant pace that end now."""
    ages = range(minutes, -1, -every)
    return [Sample(at=later(-age), used_percent=start + per_hour * (minutes - age) / 60) for age in ages]


@given(st.floats(0, 30), st.floats(0.1, 20), st.integers(1, 20))
def test_a_constant_pace_gives_the_exact_answer(start: float, per_hour: float, tens: int) -> None:
    samples = steady(start, per_hour, tens * 10)
    found = forecast(account(samples[-1].used_percent, at=NOW), samples, NOW)
    assert found.burn_per_hour == pytest.approx(per_hour)
    assert found.minutes_left == pytest.approx((100 - samples[-1].used_percent) / per_hour * 60)


def test_a_limit_that_resets_in_time_does_not_run_out_first() -> None:
    samples = steady(50, 10, 120)
    soon, late = (
        forecast(account(70.0, at=NOW, resets_at=later(minutes)), samples, NOW) for minutes in (100, 200)
    )
    assert soon.minutes_left == pytest.approx(180) and late.minutes_left == pytest.approx(180)
    assert (soon.resets_in_minutes, soon.runs_out_first) == (100, False)
    assert (late.resets_in_minutes, late.runs_out_first) == (200, True)


def test_where_nothing_is_used_nothing_runs_out() -> None:
    found = forecast(account(50.0, at=NOW), steady(50, 0, 60), NOW)
    assert (found.minutes_left, found.burn_per_hour, found.runs_out_first) == (None, 0.0, False)


@pytest.mark.parametrize(
    "samples",
    [
        [],
        [Sample(at=NOW, used_percent=50.0)],
        [Sample(at=later(-4.9), used_percent=10.0), Sample(at=NOW, used_percent=50.0)],
    ],
)
def test_a_single_figure_or_a_few_minutes_make_no_pace(samples: list[Sample]) -> None:
    found = forecast(account(50.0, at=NOW), samples, NOW)
    assert found.burn_per_hour is None and found.minutes_left is None


def test_samples_from_before_the_last_reset_do_not_count() -> None:
    before = [Sample(at=later(-200), used_percent=10.0), Sample(at=later(-130), used_percent=95.0)]
    found = forecast(account(20.0, at=NOW), [*before, *steady(0, 10, 120)], NOW)
    assert found.burn_per_hour == pytest.approx(10)


def test_a_small_dip_is_noise_and_not_a_reset() -> None:
    samples = [
        Sample(at=later(-60), used_percent=30.0),
        Sample(at=later(-40), used_percent=29.0),
        Sample(at=NOW, used_percent=40.0),
    ]
    assert forecast(account(40.0, at=NOW), samples, NOW).burn_per_hour == pytest.approx(10)


def test_samples_older_than_the_window_do_not_count() -> None:
    old = Sample(at=later(-301), used_percent=0.0)
    found = forecast(account(20.0, at=NOW), [old, *steady(10, 10, 60)], NOW)
    assert found.burn_per_hour == pytest.approx(10)
    started = account(20.0, at=NOW, resets_at=later(240))
    earlier = Sample(at=later(-61), used_percent=0.0)
    assert forecast(started, [earlier, *steady(10, 10, 60)], NOW).burn_per_hour == pytest.approx(10)


def test_samples_need_no_order_and_those_from_the_future_do_not_count() -> None:
    samples = [*reversed(steady(10, 10, 60)), Sample(at=later(30), used_percent=90.0)]
    assert forecast(account(20.0, at=NOW), samples, NOW).burn_per_hour == pytest.approx(10)


def test_a_sample_newer_than_the_limits_own_figure_is_believed() -> None:
    found = forecast(account(15.0, at=later(-30)), steady(10, 10, 60), NOW)
    assert found.minutes_left == pytest.approx(8 * 60)


def test_a_limit_that_is_reached_has_no_minutes_left() -> None:
    found = forecast(account(100.0, at=NOW, resets_at=later(45)), [], NOW)
    assert (found.minutes_left, found.resets_in_minutes, found.runs_out_first) == (0.0, 45, True)


def test_of_a_window_that_has_ended_only_that_is_known() -> None:
    limit = account(100.0, at=later(-90), resets_at=later(-1), is_estimate=True)
    assert forecast(limit, steady(10, 10, 60), NOW) == Forecast(
        limit=limit, resets_in_minutes=0.0, is_estimate=True
    )


def test_a_context_fills_in_tokens_per_hour_and_a_compaction_starts_it_anew() -> None:
    counts = [(later(-90), 150_000), (later(-60), 20_000), (later(-30), 40_000), (NOW, 60_000)]
    samples = context_samples(counts, 200_000)
    found = forecast(account(30.0, "context", at=NOW), samples, NOW)
    assert found.tokens_per_hour(200_000) == pytest.approx(40_000)
    assert found.minutes_left == pytest.approx(140_000 / 40_000 * 60)
    assert context_samples(counts, 0) == ()


@pytest.mark.parametrize(
    ("window", "minutes"),
    [
        ("5h", 300),
        ("90m", 90),
        ("day", 1440),
        ("week", 10_080),
        ("2w", 20_160),
        ("month", 44_640),
        ("context", None),
        ("spend", None),
        ("999999w", None),
        ("0m", None),
        ("", None),
    ],
)
def test_a_window_says_how_long_it_is(window: str, minutes: int | None) -> None:
    assert window_minutes(window) == minutes


@given(
    st.none() | st.floats(),
    st.sampled_from(["5h", "week", "month", "context", "spend", "999999w", "?"]),
    st.none() | st.floats(-1e6, 1e6),
    st.none() | st.floats(-1e6, 1e6),
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats())),
)
def test_a_forecast_is_never_negative(
    percent: float | None,
    window: str,
    at: float | None,
    resets: float | None,
    samples: list[tuple[float, float]],
) -> None:
    limit = account(
        percent,
        window,
        at=None if at is None else later(at),
        resets_at=None if resets is None else later(resets),
    )
    found = forecast(limit, [Sample(at=later(m), used_percent=share) for m, share in samples], NOW)
    for number in (found.minutes_left, found.burn_per_hour, found.resets_in_minutes):
        assert number is None or number >= 0
    assert not found.runs_out_first or found.minutes_left is not None
