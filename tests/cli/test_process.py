"""On a terminal the keys are the agent's, from its start to the end of the command, and Segue's again after that."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from segue.model.delivery import Mode
from segue.ops.common import process
from segue.ops.common.desk import open_desk


def test_keys_are_not_heard_until_the_command_ends(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    desk = open_desk(env={"SEGUE_HOME": str(tmp_path / "home")}, cwd=tmp_path)
    for _ in range(2):
        desk.until_closed.enter_context(process.undisturbed(Mode.OPEN))
        signal.raise_signal(signal.SIGINT)
    desk.close()
    assert signal.getsignal(signal.SIGINT) is before


def test_without_a_terminal_they_are_heard(tmp_path: Path) -> None:
    desk = open_desk(env={"SEGUE_HOME": str(tmp_path / "home")}, cwd=tmp_path)
    desk.until_closed.enter_context(process.undisturbed(Mode.HEADLESS))
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    desk.close()


def test_they_are_heard_again_though_a_store_does_not_close(tmp_path: Path) -> None:
    class Stuck:
        def close(self) -> None:
            raise OSError("disk full")

    before = signal.getsignal(signal.SIGINT)
    desk = open_desk(env={"SEGUE_HOME": str(tmp_path / "home")}, cwd=tmp_path)
    desk.__dict__["local"] = Stuck()
    desk.until_closed.enter_context(process.undisturbed(Mode.OPEN))
    with pytest.raises(OSError, match="disk full"):
        desk.close()
    assert signal.getsignal(signal.SIGINT) is before
