"""Undo takes back the person's last step, whatever was undone and redone before it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from segue.errors import Refused
from segue.model import HandoffState
from segue.ops import demo
from segue.ops.handoff import plan
from segue.ops.handoff.plan import Order
from segue.ops.work import sessions
from segue.store import HANDOFF
from tests.cli.test_demo import prepared
from tests.conftest import CommandLine


def status(cli: CommandLine) -> str:
    (work,) = json.loads(cli("session", "list", "--json").out)
    return str(work["session"]["status"])


def test_after_a_redo_the_redone_step_is_the_last_one(cli: CommandLine) -> None:
    cli("session", "create", "--title", "one")
    cli("session", "close", "s-000000000001")
    cli("undo")
    assert status(cli) == "open"
    assert cli("undo", "op-000000000003").code == 0
    assert status(cli) == "closed"
    assert cli("undo").code == 0
    assert status(cli) == "open"
    assert cli("undo").code == 0
    assert cli("session", "list").out.startswith("No sessions")
    assert cli("undo").code == 5
    assert cli("log", "verify").code == 0


def test_undo_leaves_others_alone(cli: CommandLine) -> None:
    cli("session", "create", "--title", "mine")
    cli("session", "create", "--title", "hers", SEGUE_USER_NAME="eve")
    assert cli("undo").code == 0
    assert "hers" in cli("session", "list").out and "mine" not in cli("session", "list").out


def test_what_was_changed_since_is_not_undone(cli: CommandLine) -> None:
    cli("session", "create", "--title", "one")
    cli("session", "close", "s-000000000001")
    refused = cli("undo", "op-000000000001")
    assert refused.code == 5 and "segue undo op-000000000002 first" in refused.err


def test_a_handoff_ends_as_rolled_back_and_its_session_stays(cli: CommandLine, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    cli("demo", "--keep", str(kept))
    home = {"SEGUE_HOME": str(kept), "SEGUE_USER_NAME": ""}
    undone = cli("undo", **home)
    assert undone.code == 0 and "its state is rolled back" in undone.out, undone
    refused = cli("undo", **home)
    assert refused.code == 5 and "cannot be undone" in refused.err
    assert cli("log", "verify", **home).code == 0


def test_reading_and_undoing_make_no_store(cli: CommandLine) -> None:
    for arguments in (["log", "show", "op-1"], ["undo", "op-1"], ["undo"], ["log"], ["session", "info", "x"]):
        assert cli(*arguments).code in (0, 1, 5)
    assert not cli.home.exists()


def test_a_closed_session_takes_no_handoff(tmp_path: Path) -> None:
    desk = demo.open_in(tmp_path / "home", tmp_path / "project")
    handoff = prepared(desk, tmp_path / "project")
    assert desk.shared.get(HANDOFF, handoff.id).state is HandoffState.PREPARED
    sessions.close(desk, handoff.session)
    order = Order(to=demo.TARGET, session=handoff.session)
    with pytest.raises(Refused, match="is closed"):
        plan.plan(desk, order)
    desk.close()
