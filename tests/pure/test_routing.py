"""What a run does next, and when it has had enough."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue import routing
from segue.base import clock
from segue.model import Limit, Scope
from segue.model.exit_reason import Stop, Why
from segue.routing import Caps, Do, Leg, Move, Run, RunState, Spent

NOW = "2026-03-01T12:00:00.000000Z"
LATER = "2026-03-01T15:00:00.000000Z"
CHAIN = ("one:large", "one:small", "two")


def run(*legs: Leg, **more: object) -> Run:
    values = {
        "id": "r-1",
        "task": "Mend it",
        "chain": CHAIN,
        "project": "/p",
        "created_at": NOW,
        "updated_at": NOW,
    }
    return msgspec.convert({**values, **more, "legs": legs}, Run, strict=False)


def leg(
    target: str,
    why: Why | None = None,
    *,
    tries: int = 1,
    limit: Limit | None = None,
    transcript: str | None = None,
) -> Leg:
    stop = Stop(why=why, said="said so", limit=limit) if why else None
    known = f"t-{target}" if transcript is None else transcript
    return Leg(target=target, started_at=NOW, ended_at=NOW, tries=tries, stop=stop, transcript=known)


def hit(
    scope: Scope = Scope.ACCOUNT, resets_at: str | None = LATER, model: str = "", window: str = "5h"
) -> Limit:
    return Limit(window=window, scope=scope, used_percent=100.0, resets_at=resets_at, model=model)


def next_move(one: Run, told: dict[str, list[Limit]] | None = None, now: str = NOW) -> Move:
    return routing.decide(one, routing.bars(one, told or {}, now))


def test_it_begins_with_the_preferred_agent() -> None:
    assert next_move(run()) == Move(do=Do.START, target="one:large")


def test_it_begins_with_the_first_that_is_not_at_its_limit() -> None:
    told = {"one:large": [hit(Scope.MODEL, model="large")], "one:small": [hit(Scope.MODEL, model="large")]}
    assert next_move(run(), told) == Move(do=Do.START, target="one:small")


def test_at_the_limit_of_one_model_another_of_the_same_agent_is_next() -> None:
    stopped = run(leg("one:large", Why.LIMIT, limit=hit(Scope.MODEL, model="large")))
    assert next_move(stopped) == Move(do=Do.HAND_OVER, target="one:small")


def test_at_the_limit_of_the_account_its_other_models_are_passed_over() -> None:
    assert next_move(run(leg("one:large", Why.LIMIT, limit=hit()))) == Move(do=Do.HAND_OVER, target="two")


def test_with_nobody_left_the_first_reset_is_waited_for() -> None:
    soon = clock.later(NOW, 600)
    both = run(
        leg("one:large", Why.LIMIT, limit=hit()),
        leg("two", Why.LIMIT, limit=hit(resets_at=soon)),
    )
    move = next_move(both)
    assert (move.do, move.target, move.until) == (Do.WAIT, "two", soon)
    assert next_move(both, now=soon) == Move(do=Do.AGAIN, target="two")
    assert next_move(both, now=LATER) == Move(do=Do.RETURN, target="one:large")


def test_who_is_refused_again_at_the_reset_is_not_asked_again_at_once() -> None:
    early = run(leg("two", Why.LIMIT, limit=hit(resets_at=NOW)), chain=("two",))
    move = next_move(early)
    assert (move.do, move.until) == (Do.WAIT, clock.later(NOW, routing.PAUSE_SECONDS))


def test_a_limit_that_does_not_tell_its_end_ends_the_run_where_nobody_is_left() -> None:
    alone = run(leg("two", Why.LIMIT, limit=hit(resets_at=None)), chain=("two",))
    move = next_move(alone)
    assert move.state is RunState.FAILED and "did not report the reset" in move.why


def test_a_crash_is_tried_again_and_not_for_ever() -> None:
    for tries in range(1, routing.MOST_TRIES):
        assert next_move(run(leg("one:large", Why.CRASHED, tries=tries))).do is Do.AGAIN
    given_up = next_move(run(leg("one:large", Why.CRASHED, tries=routing.MOST_TRIES)))
    assert given_up == Move(do=Do.HAND_OVER, target="one:small")


def test_an_overloaded_vendor_is_left_alone_for_a_while_before_the_work_moves_on() -> None:
    first = run(leg("one:large", Why.OVERLOADED))
    move = next_move(first)
    assert move.do is Do.WAIT and move.until == clock.later(NOW, routing.PAUSE_SECONDS)
    assert next_move(first, now=str(move.until)) == Move(do=Do.AGAIN, target="one:large")
    last = run(leg("one:large", Why.OVERLOADED, tries=routing.MOST_TRIES))
    assert next_move(last) == Move(do=Do.HAND_OVER, target="one:small")


def test_what_hangs_is_passed_over_and_alone_it_gets_another_chance() -> None:
    assert next_move(run(leg("one:large", Why.HUNG))) == Move(do=Do.HAND_OVER, target="one:small")
    assert next_move(run(leg("two", Why.HUNG), chain=("two",))) == Move(do=Do.AGAIN, target="two")


def test_agents_that_hang_in_turn_are_given_up() -> None:
    hanging = [leg(target, Why.HUNG) for _ in range(routing.MOST_TRIES) for target in ("one:large", "two")]
    both = run(*hanging, chain=("one:large", "two"))
    move = next_move(both)
    assert move.state is RunState.FAILED and "hung 3 times" in move.why


def test_an_overloaded_vendor_that_is_alone_is_asked_again_after_a_rest() -> None:
    tired = run(leg("two", Why.OVERLOADED, tries=routing.MOST_TRIES), chain=("two",))
    move = next_move(tired)
    assert (move.do, move.until) == (Do.WAIT, clock.later(NOW, routing.REST_SECONDS))
    assert next_move(tired, now=str(move.until)) == Move(do=Do.AGAIN, target="two")


def test_a_reset_that_is_known_does_not_come_sooner_because_a_person_goes_on() -> None:
    limited = run(leg("two", Why.LIMIT, limit=hit()), chain=("two",), taken_up_at=clock.later(NOW, 60))
    assert next_move(limited, now=clock.later(NOW, 61)).until == LATER


def test_a_full_context_goes_to_the_next_and_alone_begins_anew() -> None:
    assert next_move(run(leg("one:large", Why.CONTEXT))) == Move(do=Do.HAND_OVER, target="one:small")
    assert next_move(run(leg("two", Why.CONTEXT), chain=("two",))) == Move(do=Do.HAND_OVER, target="two")
    again = [leg("two", Why.CONTEXT) for _ in range(routing.MOST_TRIES)]
    assert next_move(run(*again, chain=("two",))).state is RunState.FAILED, "it gets nowhere"


def test_what_nobody_has_begun_is_begun_by_the_next() -> None:
    refused = run(leg("one:large", Why.REFUSED, transcript=""))
    assert next_move(refused) == Move(do=Do.START, target="one:small")


def test_what_was_refused_is_tried_again_once_a_person_lets_it_go_on() -> None:
    refused = run(leg("two", Why.REFUSED), chain=("two",))
    assert next_move(refused).state is RunState.FAILED
    taken_up = msgspec.structs.replace(refused, taken_up_at=LATER)
    assert routing.bars(taken_up, {}, LATER) == {}


def test_done_is_done_unless_the_preferred_agent_is_to_have_the_last_word() -> None:
    away = (leg("one:large", Why.LIMIT, limit=hit()), leg("two"))
    assert next_move(run(*away)).state is RunState.DONE
    waiting = next_move(run(*away, returns=True))
    assert (waiting.do, waiting.until) == (Do.WAIT, LATER)
    assert next_move(run(*away, returns=True), now=LATER) == Move(do=Do.RETURN, target="one:large")
    back = run(*away, leg("one:large"), returns=True)
    assert next_move(back, now=LATER).state is RunState.DONE


def test_without_a_way_back_the_work_is_done_all_the_same() -> None:
    away = (leg("one:large", Why.LIMIT, limit=hit(resets_at=None)), leg("two"))
    move = next_move(run(*away, returns=True))
    assert move.state is RunState.DONE and "did not get the work back" in move.why


def test_an_agent_is_left_alone_from_its_share_of_the_week_on() -> None:
    week = Limit(window="week", scope=Scope.ACCOUNT, used_percent=61.0, resets_at=LATER)
    told = {"one:large": [week], "one:small": [week]}
    assert next_move(run(), told) == Move(do=Do.START, target="two")
    assert next_move(run(caps=Caps(week=70)), told) == Move(do=Do.START, target="one:large")
    assert next_move(run(), told, now=LATER) == Move(do=Do.START, target="one:large")


def test_what_a_person_stopped_is_stopped() -> None:
    assert next_move(run(leg("one:large", Why.ASKED))).state is RunState.STOPPED


def test_a_task_that_only_changes_hands_ends() -> None:
    many = [
        leg(CHAIN[number % 3], Why.LIMIT, limit=hit(resets_at=NOW)) for number in range(routing.MOST_LEGS)
    ]
    assert "changed hands" in next_move(run(*many), now=LATER).why
    assert next_move(run(*many, taken_up_at=LATER), now=LATER).state is None


@pytest.mark.parametrize(
    ("caps", "spent", "said"),
    [
        (Caps(usd=1.0), Spent(usd=1.0), "$1.00"),
        (Caps(tokens=10), Spent(tokens=11), "11 of 10 tokens"),
        (Caps(seconds=60.0), Spent(seconds=60.0), "time is over"),
        (Caps(usd=1.0, tokens=10), Spent(usd=0.99, tokens=9), ""),
        (Caps(), Spent(usd=1e9, tokens=10**12, seconds=1e9), ""),
    ],
)
def test_a_cap_is_reached_when_it_is_used_up(caps: Caps, spent: Spent, said: str) -> None:
    found = routing.over(caps, spent)
    assert (said in found) if said else found == ""


moments = st.sampled_from([None, NOW, clock.later(NOW, 30), LATER, clock.later(LATER, 86_400)])
limits = st.builds(
    Limit,
    window=st.sampled_from(["5h", "week", "", "spend"]),
    scope=st.sampled_from(list(Scope)),
    used_percent=st.sampled_from([None, 10.0, 61.0, 100.0]),
    resets_at=moments,
    model=st.sampled_from(["", "large", "small"]),
)
stops = st.none() | st.builds(Stop, why=st.sampled_from(list(Why)), limit=st.none() | limits)
legs = st.builds(
    Leg,
    target=st.sampled_from(CHAIN),
    started_at=st.just(NOW),
    ended_at=st.just(NOW),
    tries=st.integers(1, 5),
    stop=stops,
    transcript=st.sampled_from(["", "t-1", "t-2"]),
)


@given(
    st.lists(legs, max_size=6),
    st.dictionaries(st.sampled_from(CHAIN), st.lists(limits, max_size=3)),
    st.booleans(),
)
def test_whatever_happens_the_next_move_can_be_made(
    done: list[Leg], told: dict[str, list[Limit]], returns: bool
) -> None:
    one = run(*done, returns=returns)
    barred = routing.bars(one, told, NOW)
    move = routing.decide(one, barred)
    match move.do:
        case Do.WAIT:
            assert move.until is not None and move.until > NOW, "waiting ends"
        case Do.END:
            assert move.state is not None
            assert move.state is not RunState.FAILED or move.why, "whoever gives up says why"
        case Do.HAND_OVER | Do.RETURN:
            assert one.is_begun and move.target in CHAIN
            assert move.target not in barred
        case Do.START:
            assert not one.is_begun and move.target not in barred
        case Do.AGAIN:
            assert move.target == done[-1].target
