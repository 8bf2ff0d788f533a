"""Usage: every answer once, wherever it stands; summed by whatever one asks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from segue.usage import prices
from segue.usage.ledger import CLASSES
from tests.conftest import CommandLine
from tests.world import Conversation

COUNTS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def report(cli: CommandLine, by: str = "daily", *more: str) -> dict[str, Any]:
    result = cli("usage", by, "--json", *more)
    assert result.code == 0, result.err
    found: dict[str, Any] = json.loads(result.out)
    return found


def totals(cli: CommandLine) -> dict[str, int]:
    tokens = report(cli)["total"]["tokens"]
    return {name: tokens[name] for name in COUNTS}


def counted_by_hand(home: Path) -> dict[str, int]:
    """The same from the raw files, by other means: the last record of each answer."""
    answers: dict[tuple[str, str], dict[str, int]] = {}
    for path in sorted(home.glob(".claude/projects/**/*.jsonl")):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            message = record.get("message", {})
            if record["type"] == "assistant" and message["model"] != "<synthetic>":
                answers[message["id"], record["requestId"]] = message["usage"]
    return {name: sum(usage.get(field, 0) for usage in answers.values()) for name, field in COUNTS.items()}


def work(cli: CommandLine, id: str = "aaaa", **more: Any) -> Conversation:
    return Conversation(cli.folder, cli.cwd, id, **more)


def test_an_answer_in_many_records_counts_once_with_its_last_figures(cli: CommandLine) -> None:
    talk = work(cli)
    talk.prompt("Go")
    for output in (1, 5, 90):
        talk.reply("part", message="msg_1", output_tokens=output, minutes=0)
    talk.reply("next", message="msg_2", output_tokens=7)
    talk.reply("late", message="msg_1", output_tokens=91)
    assert totals(cli) == counted_by_hand(cli.folder)
    assert totals(cli)["output"] == 98


def test_forks_resumes_and_subagents_are_not_counted_twice(cli: CommandLine) -> None:
    first = work(cli, "aaaa")
    first.prompt("Go")
    first.reply("one", message="msg_1", cache_read_input_tokens=1000)
    fork = work(cli, "bbbb")
    fork.write(first.path.read_text())
    fork.reply("two", message="msg_2", cache_creation_input_tokens=300)
    helper = work(cli, "aaaa", agent="x1")
    helper.reply("found it", message="msg_3", model="claude-haiku-4-5-20251001")
    assert totals(cli) == counted_by_hand(cli.folder)
    models = {line["name"]: line["answers"] for line in report(cli, "models")["lines"]}
    assert models == {"claude-opus-4-5-20251101": 2, "claude-haiku-4-5-20251001": 1}


def test_a_subagents_answers_that_are_only_reported_inline_count(cli: CommandLine) -> None:
    talk = work(cli)
    inner = {
        "type": "assistant",
        "requestId": "req_9",
        "uuid": "u9",
        "timestamp": "2026-11-16T08:03:00.000Z",
        "message": {"id": "msg_9", "model": "claude-haiku-4-5", "role": "assistant", "content": [],
                    "usage": {"input_tokens": 3, "output_tokens": 4}},
    }  # fmt: skip
    for _ in range(2):
        talk.put("progress", data={"type": "agent_progress", "agentId": "a1", "message": inner})
    assert totals(cli)["output"] == 4


@pytest.mark.parametrize(
    ("second", "total"),
    [
        ({"message": "msg_1", "output_tokens": 50}, 50),
        ({"message": "msg_1", "output_tokens": 0, "input_tokens": 0}, 100),
    ],
)
def test_the_last_line_that_tells_something_counts(
    cli: CommandLine, second: dict[str, Any], total: int
) -> None:
    talk = work(cli)
    talk.reply("one", message="msg_1", output_tokens=100)
    talk.reply("two", **second)
    assert totals(cli)["output"] == total


def test_a_broken_copy_of_a_line_costs_nothing(cli: CommandLine) -> None:
    talk = work(cli)
    talk.reply("one", message="msg_1", output_tokens=100)
    talk.write(talk.path.read_text()[:-30] + "\n")
    talk.prompt("Go on")
    assert totals(cli)["output"] == 100


def test_two_requests_for_one_message_are_two_answers(cli: CommandLine) -> None:
    talk = work(cli)
    talk.reply("one", message="msg_1", output_tokens=100)
    line = talk.path.read_text()
    talk.write(line.replace("req_msg_1", "req_other").replace('"output_tokens":100', '"output_tokens":50'))
    assert totals(cli)["output"] == 150


def test_a_line_without_end_is_passed_over(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    from segue.agents.shared.transcripts import file_scan

    monkeypatch.setattr(file_scan, "LONGEST_LINE", 3 << 20)
    talk = work(cli)
    talk.reply("one", message="msg_1", output_tokens=5)
    talk.write('{"type":"assistant","x":"' + "y" * (9 << 20) + '"}\n')
    talk.reply("two", message="msg_2", output_tokens=7)
    assert totals(cli)["output"] == 12


def test_only_what_was_added_is_read_again(cli: CommandLine) -> None:
    talk = work(cli)
    talk.reply("one", message="msg_1", output_tokens=5)
    talk.prompt("Go on")
    assert totals(cli)["output"] == 5
    # What is spoilt behind our back before the mark is not looked at again.
    content = talk.path.read_bytes()
    talk.path.write_bytes(content.replace(b'"output_tokens":5', b'"output_tokens":9'))
    talk.reply("two", message="msg_2", output_tokens=7)
    assert totals(cli)["output"] == 12


def test_a_half_written_line_counts_when_it_is_whole(cli: CommandLine) -> None:
    talk = work(cli)
    talk.reply("one", message="msg_1", output_tokens=5)
    whole = talk.path.read_text()
    talk.reply("two", message="msg_2", output_tokens=7)
    line = talk.path.read_text().removeprefix(whole)
    talk.path.write_text(whole + line[: len(line) // 2])
    assert totals(cli)["output"] == 5
    talk.path.write_text(whole + line)
    assert totals(cli)["output"] == 12


def test_a_file_that_was_replaced_is_read_anew_and_a_lost_one_forgotten(cli: CommandLine) -> None:
    talk = work(cli)
    talk.reply("one", message="msg_1", output_tokens=5)
    other = work(cli, "bbbb")
    other.reply("two", message="msg_2", output_tokens=7)
    assert totals(cli)["output"] == 12
    talk.path.write_text("")
    talk.reply("three", message="msg_3", output_tokens=100)
    talk.reply("four", message="msg_4", output_tokens=1000)
    assert totals(cli)["output"] == 1107
    other.path.unlink()
    assert totals(cli)["output"] == 1100


def test_days_weeks_and_blocks(cli: CommandLine) -> None:
    talk = work(cli)
    for hours in (0, 1, 6, 24 * 3, 24 * 8):
        talk.minutes = hours * 60
        talk.reply("on it", output_tokens=100, minutes=0)
    days = {line["name"]: line["answers"] for line in report(cli, "daily")["lines"]}
    assert days == {"2026-11-16": 3, "2026-11-19": 1, "2026-11-24": 1}
    weeks = {line["name"]: line["answers"] for line in report(cli, "weekly")["lines"]}
    assert weeks == {"2026-11-16": 4, "2026-11-23": 1}
    blocks = [(line["name"][:13], line["answers"]) for line in report(cli, "blocks")["lines"]]
    assert blocks == [("2026-11-16T08", 2), ("2026-11-16T14", 1), ("2026-11-19T08", 1), ("2026-11-24T08", 1)]
    assert [line["is_active"] for line in report(cli, "blocks")["lines"]] == [True, False, False, False]
    some = report(cli, "daily", "--since", "2026-11-17", "--until", "2026-11-20")
    assert [line["name"] for line in some["lines"]] == ["2026-11-19"]


def test_a_block_begins_where_it_begins_whatever_is_asked_for(cli: CommandLine) -> None:
    talk = work(cli)
    for hours in (0, 4, 6):
        talk.minutes = hours * 60
        talk.reply("on it", minutes=0)
    whole = [line["name"] for line in report(cli, "blocks")["lines"]]
    assert len(whole) == 2
    assert [
        line["name"] for line in report(cli, "blocks", "--since", "2026-11-16T11:00:00+00:00")["lines"]
    ] == whole
    later = report(cli, "blocks", "--since", "2026-11-16T13:30:00+00:00")
    assert [line["name"] for line in later["lines"]] == whole[1:]


@pytest.mark.parametrize("when", ["9999-12-31T23:59:59.000Z", "0001-01-01T00:00:00.000Z", "tomorrow", ""])
def test_a_time_that_cannot_be_breaks_no_screen(
    cli: CommandLine, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    talk = work(cli)
    talk.prompt("Go")
    talk.put("assistant", timestamp=when, requestId="r1", message={
        "id": "msg_1", "model": "m", "role": "assistant", "content": [{"type": "text", "text": "x"}],
        "usage": {"input_tokens": 1, "output_tokens": 2}})  # fmt: skip
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    for arguments in (
        *(("usage", by) for by in ("daily", "weekly", "blocks", "sessions", "models")),
        ("transcripts",),
        ("transcripts", "show", "aaaa"),
        ("session", "list"),
        ("session", "info"),
        ("check",),
        (),
    ):
        assert cli(*arguments).code == 0, arguments


def test_another_folder_for_one_run_costs_the_index_nothing(cli: CommandLine, tmp_path: Path) -> None:
    talk = work(cli)
    talk.reply("one", message="msg_1", output_tokens=5)
    talk.prompt("more")
    assert totals(cli)["output"] == 5
    (tmp_path / "other").mkdir()
    elsewhere = json.loads(cli("usage", "--json", CLAUDE_CONFIG_DIR=str(tmp_path / "other")).out)
    assert elsewhere["lines"] == []
    # It is still known where the last read ended: what is before that is not read again.
    content = talk.path.read_bytes()
    talk.path.write_bytes(content.replace(b'"output_tokens":5', b'"output_tokens":9'))
    talk.reply("two", message="msg_2", output_tokens=7)
    assert totals(cli)["output"] == 12


def test_what_another_process_changed_meanwhile_is_not_added_to(cli: CommandLine) -> None:
    from segue.ops.common.desk import open_desk
    from segue.ops.index import count_tokens, refresh
    from segue.store.index.usage_index import ID

    talk = work(cli)
    talk.reply("one", message="msg_1", output_tokens=5)
    assert totals(cli)["output"] == 5
    talk.reply("two", message="msg_2", output_tokens=7)
    desk = open_desk(env=cli.env, cwd=cli.cwd)
    known = desk.index.known()
    jobs = count_tokens.jobs_of(desk, refresh._countable(refresh.find(desk, [])), known)
    done = [(job, count_tokens.work(job)) for job in jobs]
    assert done and not any(is_anew for _, (*_, is_anew, _) in done)
    with desk.index.changing():
        desk.index.drop([row[ID] for row in known.values()])
    with desk.index.changing():
        count_tokens.keep(desk.index, done)
    desk.close()
    assert totals(cli)["output"] == 12


@pytest.mark.parametrize("command", [("usage", "--json"), ("transcripts",), ("check",), ("doctor",), ()])
def test_a_damaged_index_is_made_anew_by_whoever_meets_it(cli: CommandLine, command: tuple[str, ...]) -> None:
    for number in range(40):
        talk = work(cli, f"talk-{number}")
        talk.prompt("Some words " * 50)
        talk.reply("one", output_tokens=5)
    cli("transcripts", "--text", "words")
    path = cli.home / "data" / "index.db"
    content = bytearray(path.read_bytes())
    for start in range(4096, len(content), 4096):
        content[start : start + 64] = b"\xff" * 64
    path.write_bytes(bytes(content))
    first = cli(*command)
    assert first.code in (0, 1, 4), first
    assert "bug" not in first.err.lower()
    assert cli("usage").code == 0
    assert totals(cli)["output"] == 200


def test_a_full_disk_costs_the_index_not_the_answer(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlite3

    from segue.store.index.index_file import IndexFile

    work(cli).reply("one", output_tokens=5)
    original = IndexFile._run_all

    def full(self: IndexFile, query: str, rows: Any) -> None:
        if not self.is_in_memory and query == "bucket_add":
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorname = "SQLITE_FULL"
            raise self._failed(error) from error
        original(self, query, rows)

    monkeypatch.setattr(IndexFile, "_run_all", full)
    assert totals(cli)["output"] == 5


def test_a_day_is_one_of_the_machines_time_zone(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    talk = work(cli)
    talk.minutes = 15.5 * 60  # 23:30 UTC
    talk.reply("late", minutes=0)
    assert [line["name"] for line in report(cli)["lines"]] == ["2026-11-16"]
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    assert [line["name"] for line in report(cli)["lines"]] == ["2026-11-17"]


def test_by_project_agent_session_and_transcript(cli: CommandLine) -> None:
    main = work(cli, "aaaa")
    main.prompt("Mend the invoices")
    main.reply("one", output_tokens=5)
    work(cli, "aaaa", agent="x1").reply("helper", output_tokens=6)
    elsewhere = Conversation(cli.folder, Path("/elsewhere"), "cccc")
    elsewhere.prompt("Other work")
    elsewhere.reply("two", output_tokens=7)
    outputs = {
        by: [(line["name"], line["title"], line["tokens"]["output"]) for line in report(cli, by)["lines"]]
        for by in ("projects", "agents", "sessions", "transcripts")
    }
    assert outputs["projects"] == [("/ada/project", "", 11), ("/elsewhere", "", 7)]
    assert outputs["agents"] == [("Claude Code", "", 18)]
    assert sorted(line[1:] for line in outputs["sessions"]) == [("Mend the invoices", 11), ("Other work", 7)]
    assert sorted(line[0] for line in outputs["transcripts"]) == ["aaaa", "agent-x1", "cccc"]


def test_money_is_by_list_prices_and_a_model_without_one_is_named(cli: CommandLine) -> None:
    talk = work(cli)
    talk.reply("a", model="claude-opus-4-5-20251101", input_tokens=1_000_000, output_tokens=0)
    talk.reply("b", model="claude-of-tomorrow-99", input_tokens=5, output_tokens=5)
    found = report(cli)
    price = prices.look_up("claude-opus-4-5-20251101", "2026-11-16T08:00:00.000000Z")
    assert price is not None
    assert found["total"]["cost_usd"] == pytest.approx(price.rates(1_000_000).input)
    assert "claude-of-tomorrow-99" in found["notice"] and "genai-prices" in found["notice"]


def test_every_size_at_which_a_price_changes_is_a_class_of_the_index() -> None:
    models = [model for provider in prices._data().providers for model in provider.models]
    steps = {step for model in models for period in model.prices for step in prices._steps(period)}
    assert steps and steps <= {0, *CLASSES}


def test_nothing_used_yet_is_said_in_words(cli: CommandLine) -> None:
    assert "No usage recorded yet" in cli("usage").out


def test_an_unreadable_transcript_is_named_and_the_rest_counts(cli: CommandLine) -> None:
    talk = work(cli)
    talk.reply("one", output_tokens=5)
    (talk.path.parent / "bbbb.jsonl").mkdir()
    fifo = talk.path.parent / "cccc.jsonl"
    import os

    os.mkfifo(fifo)
    assert totals(cli)["output"] == 5


@pytest.mark.parametrize("when", ["tomorrowish", "2026-13-45", "9" * 30 + "d"])
def test_a_time_that_is_none_is_refused_with_the_forms_there_are(cli: CommandLine, when: str) -> None:
    result = cli("usage", "--since", when)
    assert result.code == 2 and "Invalid time" in result.err
