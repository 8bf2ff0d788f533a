"""One transcript that cannot be read: every command works, and the first screen and the doctor name it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from segue.agents.opencode import reader as opencode
from segue.agents.shared.transcripts import entries_file
from segue.agents.shared.transcripts.reader import Reading
from segue.model import Entry
from tests.agents.opencode.test_reader import EXPORT, Database, error
from tests.cli.test_back import agents as agents
from tests.cli.test_back import away as away
from tests.cli.test_run import Agents
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
    assert "2 transcripts indexed" in cli("doctor").out


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


def test_a_handoff_whose_transcript_cannot_be_read_stops_neither_verify_nor_back(
    away: CommandLine, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = json.loads(away("handoff", "list", "--json").out)[0]["id"]

    def fail(reading: Reading, **more: Any) -> Iterator[Entry]:
        if "received" in reading.source.path:
            raise ValueError("cannot convert float NaN to integer")
        yield from entries(reading, **more)

    entries = entries_file._entries
    monkeypatch.setattr(entries_file, "_entries", fail)
    cause = "cannot be read (ValueError: cannot convert float NaN to integer)"
    checked = away("verify", "--since", first)
    assert checked.code == 11 and "Not checked: Demonstration agent: " in checked.out, checked
    assert cause in " ".join(checked.out.split()), checked
    agents.do("done I know.")
    assert away("back", "--headless").code == 0
    shown = away("transcripts", "show", str(next(away.cwd.glob("received*"))))
    assert shown.code == 6 and cause in shown.err and "next: segue doctor" in shown.err, shown
