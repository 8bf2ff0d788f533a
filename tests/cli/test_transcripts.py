"""`segue transcripts`: everything that agents left, found, searched and read."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from segue import agents
from segue.ops.common.desk import open_desk
from segue.ops.work import transcripts
from tests.conftest import CommandLine
from tests.world import Conversation


def listed(cli: CommandLine, *more: str) -> list[dict[str, Any]]:
    result = cli("transcripts", "--json", *more)
    assert result.code == 0, result.err
    return list(json.loads(result.out)["transcripts"])


def ids(cli: CommandLine, *more: str) -> list[str]:
    return [item["transcript"]["id"] for item in listed(cli, *more)]


@pytest.fixture
def talks(cli: CommandLine) -> dict[str, Conversation]:
    """Four conversations: one that ended, one that died at a limit, one that broke off, one that goes on."""
    found = {}
    for number, (id, title) in enumerate(
        [
            ("ended", "Mend the invoices"),
            ("limit", "Add a tax rate"),
            ("broken", "Write docs"),
            ("live", "Now"),
        ]
    ):
        talk = found[id] = Conversation(cli.folder, cli.cwd, id)
        talk.minutes = number * 20
        talk.prompt(title)
        talk.reply("I look at src/ledger.py", output_tokens=100)
        talk.age(60 - number * 10)
    found["limit"].limit()
    found["broken"].prompt("And now the index")
    for id in ("limit", "broken"):
        found[id].age(30)
    found["live"].age(0.5)
    return found


def test_the_newest_comes_first_with_state_turns_and_tokens(
    cli: CommandLine, talks: dict[str, Conversation]
) -> None:
    found = [
        (item["transcript"]["id"], item["state"], item["transcript"]["turns"], item["tokens"]["output"])
        for item in listed(cli)
    ]
    assert found == [
        ("live", "live", 1, 100),
        ("broken", "interrupted", 2, 100),
        ("limit", "died at a limit", 1, 100),
        ("ended", "ended", 1, 100),
    ]


def test_they_can_be_narrowed_by_agent_project_and_time(
    cli: CommandLine, talks: dict[str, Conversation]
) -> None:
    other = Conversation(cli.folder, Path("/elsewhere"), "other")
    other.prompt("Elsewhere")
    assert "other" in ids(cli) and "other" not in ids(cli, "--project", ".")
    assert ids(cli, "--project", "/elsewhere") == ["other"]
    assert ids(cli, "--project", "../nothing-there") == []
    (cli.cwd / ".git").mkdir()
    (cli.cwd.parent / "beside").mkdir()
    Conversation(cli.folder, cli.cwd.parent / "beside", "next-door").prompt("Beside")
    assert ids(cli, "--project", "../beside") == ["next-door"]
    assert ids(cli, "--agent", "codex") == []
    assert ids(cli, "--since", "2026-11-16T08:50:00+00:00") == ["live"]
    assert ids(cli, "--until", "2026-11-16T08:05:00+00:00") == ["ended", "other", "next-door"]
    assert cli("transcripts", "--agent", "nobody").code == 1


def test_they_can_be_searched_by_what_was_said(cli: CommandLine, talks: dict[str, Conversation]) -> None:
    assert ids(cli, "--text", "INVOICES") == ["ended"]
    assert ids(cli, "--text", "ledger.py") == ["live", "broken", "limit", "ended"]
    assert ids(cli, "--text", "nonsense") == []
    talks["live"].prompt("Something about elephants")
    assert ids(cli, "--text", "elephants") == ["live"]
    refused = cli("transcripts", "--text", "!?")
    assert refused.code == 2 and "no word" in refused.err


def test_what_is_gone_is_not_found_by_its_words_any_more(
    cli: CommandLine, talks: dict[str, Conversation]
) -> None:
    assert ids(cli, "--text", "invoices") == ["ended"]
    talks["ended"].path.unlink()
    Conversation(cli.folder, cli.cwd, "new").prompt("About giraffes")
    assert ids(cli, "--text", "giraffes") == ["new"]
    assert ids(cli, "--text", "invoices") == []
    talks["limit"].path.write_text("")
    talks["limit"].prompt("Other words altogether")
    assert ids(cli, "--text", "tax") == [] and ids(cli, "--text", "altogether") == ["limit"]


def test_subagents_are_counted_with_their_parent_and_listed_on_request(
    cli: CommandLine, talks: dict[str, Conversation]
) -> None:
    helper = Conversation(cli.folder, cli.cwd, "ended", agent="h1")
    helper.reply("found", output_tokens=11)
    helper.age(60)
    by_id = {item["transcript"]["id"]: item for item in listed(cli)}
    assert "agent-h1" not in by_id
    assert by_id["ended"]["tokens"]["output"] == 111 and by_id["ended"]["subagents"] == 1
    assert "agent-h1" in ids(cli, "--subagents")


def test_only_what_changed_is_touched(
    cli: CommandLine, talks: dict[str, Conversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    from segue.ops.index import refresh

    read: list[str] = []
    original = refresh.work

    def spy(job: refresh.Job) -> refresh.Done:
        read.append(f"{Path(job.source.path).stem} {job.what} {job.mark.offset if job.mark else 0}")
        return original(job)

    monkeypatch.setattr(refresh, "work", spy)
    listed(cli)
    assert {entry.split()[0] for entry in read} == set(talks)
    read.clear()
    listed(cli)
    assert read == []
    size = talks["live"].path.stat().st_size
    talks["live"].prompt("More")
    listed(cli)
    assert {entry.split()[0] for entry in read} == {"live"}
    assert all(entry.endswith(f" {size}") for entry in read)


def test_one_can_be_read_by_the_start_of_its_id_or_by_its_file(
    cli: CommandLine, talks: dict[str, Conversation]
) -> None:
    by_id, by_file = cli("transcripts", "show", "ende"), cli("transcripts", "show", str(talks["ended"].path))
    assert "Mend the invoices" in by_id.out and "I look at src/ledger.py" in by_id.out
    assert by_file.out == by_id.out
    entries = [json.loads(line) for line in cli("transcripts", "show", "ended", "--json").out.splitlines()]
    assert [entry["kind"] for entry in entries] == ["prompt", "reply"]
    assert entries[0]["native"]["type"] == "user"


def test_what_cannot_be_shown_says_why(
    cli: CommandLine, talks: dict[str, Conversation], tmp_path: Path
) -> None:
    assert "no transcript 'nonsense'" in cli("transcripts", "show", "nonsense").err
    Conversation(cli.folder, cli.cwd, "ended-too").prompt("x")
    ambiguous = cli("transcripts", "show", "ende")
    assert ambiguous.code == 2 and "2 transcripts start with 'ende'" in ambiguous.err
    foreign = tmp_path / "notes.txt"
    foreign.write_text("just notes")
    assert "is not a transcript of any agent" in cli("transcripts", "show", str(foreign)).err
    assert "cannot be read" in cli("transcripts", "show", str(tmp_path / "missing.jsonl")).err
    assert "is not a regular file" in cli("transcripts", "show", str(tmp_path)).err


def test_hostile_text_cannot_move_the_cursor(cli: CommandLine) -> None:
    talk = Conversation(cli.folder, cli.cwd, "hostile")
    talk.prompt("\x1b[2J\x1b]0;owned\x07 title\r\nsecond \u202eline")
    for arguments in (
        ("transcripts",),
        ("transcripts", "show", "hostile", "--full"),
        ("session", "list"),
        (),
    ):
        shown = cli(*arguments).out
        assert "\x1b" not in shown and "\x07" not in shown and "\r" not in shown and "\u202e" not in shown


def test_a_live_one_is_followed(cli: CommandLine, talks: dict[str, Conversation]) -> None:
    desk = open_desk(env=cli.env, cwd=cli.cwd, clock=cli.clock)
    shown = transcripts.find(desk, "live")
    stop = threading.Event()
    seen: list[str] = []
    try:
        for entry in transcripts.follow(shown, last=1, goes_on=lambda: not stop.is_set()):
            seen.append(entry.text)
            if len(seen) == 1:
                talks["live"].prompt("One more thing")
            elif len(seen) == 2:
                line = '{"type":"user","uuid":"u9","timestamp":"2026-11-16T09:40:00.000Z","message":{"role":"user",'
                talks["live"].write(line)
                threading.Timer(1.2, talks["live"].write, ['"content":"half and half"}}\n']).start()
            else:
                stop.set()
    finally:
        desk.close()
    assert seen == ["I look at src/ledger.py", "One more thing", "half and half"]


def test_broken_lines_are_counted_and_told(cli: CommandLine, talks: dict[str, Conversation]) -> None:
    talks["ended"].write('{"type":"user", nonsense\n\x00\x00\n')
    talks["ended"].reply("still here")
    (item,) = [item for item in listed(cli) if item["transcript"]["id"] == "ended"]
    assert item["transcript"]["broken"] == 2
    assert "2 lines in these could not be read and were skipped" in cli("transcripts").out


@pytest.mark.parametrize("name", [name for name in agents.NAMES if name != "demo"])
def test_an_agent_that_has_left_something_is_loaded_and_no_other(name: str, tmp_path: Path) -> None:
    nobody = {"HOME": str(tmp_path / "home")}
    project = tmp_path / "project"
    project.mkdir()
    assert agents.names_here(nobody, [project]) == []
    for place in agents.PLACES[name]:
        if place.startswith("$"):
            variable, _, below = place[1:].partition("/")
            env, made = {**nobody, variable: str(tmp_path / "named")}, tmp_path / "named" / below
        else:
            env = nobody
            made = (project if place.startswith("./") else tmp_path / "home") / place.removeprefix("./")
        made.mkdir(parents=True, exist_ok=True)
        assert name in agents.names_here(env, [project])
        made.rmdir()


def test_no_transcript_is_ever_written_to(cli: CommandLine, talks: dict[str, Conversation]) -> None:
    before = {talk.path: (talk.path.read_bytes(), talk.path.stat().st_mtime_ns) for talk in talks.values()}
    for arguments in (
        ("transcripts", "--text", "x"),
        ("usage",),
        ("transcripts", "show", "live"),
        ("check",),
        (),
    ):
        cli(*arguments)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before} == before


def test_two_that_start_from_nothing_at_once_come_to_the_same(
    cli: CommandLine, talks: dict[str, Conversation]
) -> None:
    results: list[list[str]] = []
    env = dict(cli.env)

    def look() -> None:
        desk = open_desk(env=env, cwd=cli.cwd)
        results.append(
            [item.transcript.id for item in transcripts.listing(desk, transcripts.Wanted()).transcripts]
        )
        desk.close()

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(sorted(result) == sorted(talks) for result in results)


def test_an_index_in_a_folder_that_cannot_be_written_is_done_without(
    cli: CommandLine, talks: dict[str, Conversation]
) -> None:
    cli.home.mkdir()
    (cli.home / "data").write_text("a file in the way")
    assert len(listed(cli)) == 4
    (cli.home / "data").unlink()
