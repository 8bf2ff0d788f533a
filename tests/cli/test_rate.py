"""Ratings: each belongs to the handoff that it followed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from segue.model import HandoffState
from segue.ops.handoff import outcome
from tests.cli.test_to import DEMO
from tests.cli.test_to import worked as worked
from tests.conftest import CommandLine


def satisfactions(cli: CommandLine) -> dict[str, Any]:
    """The rating of each handoff, by its target."""
    found = json.loads(cli("history", "show", "--json").out)
    return {one["target"]: one["event"]["outcome"]["userSatisfaction"] for one in found}


def test_a_rating_is_in_the_event_of_the_handoff_at_once(worked: CommandLine) -> None:
    assert worked(*DEMO).code == 0
    rated = worked("rate", "4")
    assert rated.code == 0 and "h-000000000001  claude → demo" in rated.out, rated
    assert satisfactions(worked) == {"demo": 0.75}
    assert "75%" in worked("history", "show").out
    assert "Rating       4 of 5" in worked("session", "info").out
    assert worked("log", "verify").code == 0


def test_the_next_handoff_starts_without_a_rating(worked: CommandLine) -> None:
    assert worked(*DEMO).code == 0
    assert worked("rate", "1").code == 0
    assert worked("handoff", "execute", "--to", "demo:other").code == 0
    assert satisfactions(worked) == {"demo": 0.0, "demo:other": None}
    assert "Rating       not rated" in worked("session", "info").out
    assert worked("rate", "5").code == 0
    assert satisfactions(worked) == {"demo": 0.0, "demo:other": 1.0}


def test_a_session_that_was_rated_before_its_first_handoff_rates_no_handoff(worked: CommandLine) -> None:
    assert worked("rate", "2").code == 0
    assert "Rating       2 of 5" in worked("session", "info").out
    assert worked(*DEMO).code == 0
    assert satisfactions(worked) == {"demo": None}


def test_a_rating_does_not_outlive_its_handoff_in_what_is_recommended(worked: CommandLine) -> None:
    assert worked("rate", "1").code == 0
    assert worked(*DEMO).code == 0
    usage = json.loads(worked("--json").out)["standing"]["usage"]
    assert usage["user_satisfaction"] is None
    assert worked("rate", "2").code == 0
    usage = json.loads(worked("--json").out)["standing"]["usage"]
    assert usage["user_satisfaction"] == 0.25


def test_a_rating_that_was_given_while_the_target_ran_stays(
    worked: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = outcome.of

    def rated_meanwhile(*arguments: Any) -> Any:
        told = finish(*arguments)
        assert worked("rate", "3").code == 0
        return told

    monkeypatch.setattr(outcome, "of", rated_meanwhile)
    assert worked(*DEMO).code == 0
    assert satisfactions(worked) == {"demo": 0.5}


def test_undo_takes_back_the_rating_and_not_the_handoff(worked: CommandLine) -> None:
    assert worked(*DEMO).code == 0
    assert worked("rate", "4").code == 0
    undone = worked("undo")
    assert undone.code == 0 and "handoff.rated" in undone.out, undone
    assert satisfactions(worked) == {"demo": None}
    (handoff,) = json.loads(worked("handoff", "list", "--json").out)
    assert handoff["state"] == HandoffState.COMPLETED
    again = undone.out.partition("segue undo ")[2].split()[0]
    assert worked("undo", again).code == 0 and satisfactions(worked) == {"demo": 0.75}
    assert worked("undo").code == 0 and worked("undo").code == 0
    (handoff,) = json.loads(worked("handoff", "list", "--json").out)
    assert handoff["state"] == HandoffState.ROLLED_BACK
