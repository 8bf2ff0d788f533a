"""One transcript that cannot be read: every command works, and the first screen and the doctor name it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from segue.agents.opencode import reader as opencode
from tests.agents.opencode.test_reader import EXPORT, Database, error
from tests.conftest import CommandLine
from tests.world import Conversation

COMMANDS = (
    (),
    ("usage", "--json"),
    ("usage",),
    ("transcripts",),
    ("session", "list"),
    ("check",),
    ("pack",),
    ("doctor",),
)


@pytest.fixture
def database(cli: CommandLine) -> Iterator[Database]:
    talk = Conversation(cli.folder, cli.cwd, "6f0c1a52-0000-4000-8000-000000000001")
    talk.prompt("Our invoices are a cent off. Find out why.")
    talk.reply("I will look at it.")
    made = Database(cli.folder / ".local" / "share" / "opencode")
    with closing(made.connection):
        yield made


@pytest.mark.parametrize("minutes", ["NaN", "inf", "1e400", 1e400, float("nan"), 10**400], ids=range(6))
def test_a_number_that_makes_no_sense_stops_no_command(
    cli: CommandLine, database: Database, minutes: object
) -> None:
    export: dict[str, Any] = json.loads(EXPORT.read_text())
    failed = error(429, "slow down")
    failed["data"]["responseHeaders"] = {"x-codex-primary-window-minutes": minutes}
    export["messages"][-1]["info"]["error"] = failed
    database.fill(export)
    for command in COMMANDS:
        ran = cli(*command)
        assert ran.code in (0, 1) and "not read" not in ran.out + ran.err, (command, ran)
    assert "2 transcripts known" in cli("doctor").out


def test_a_reader_that_fails_stops_no_command_and_its_source_is_named(
    cli: CommandLine, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.fill(json.loads(EXPORT.read_text()))

    def fail(*_arguments: object) -> None:
        raise ValueError("cannot convert float NaN to integer")

    monkeypatch.setattr(opencode, "read", fail)
    for command in COMMANDS:
        ran = cli(*command)
        assert ran.code in (0, 1), (command, ran)
    cause = "cannot be read (ValueError: cannot convert float NaN to integer)"
    assert "not read: OpenCode: /ada/.local/share/opencode/opencode.db" in cli().out
    told = " ".join(cli("doctor").out.split())
    assert "opencode.db" in told and cause in told, told
    assert "invoices are a cent off" in cli("pack").out
