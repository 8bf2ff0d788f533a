"""`segue pack`, `show`, `diff` and the Python interface: what a person types and gets."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

import segue
from segue.base import files
from segue.model import Brief, Tier
from segue.ops.briefs import context
from segue.store import blobs
from tests.conftest import CommandLine
from tests.pure.briefs.test_containment import tool
from tests.world import Conversation

TEXT = "Mend the totals. Never touch src/legacy.py."


@pytest.fixture
def talk(cli: CommandLine) -> Conversation:
    way = Conversation(cli.folder, cli.cwd, "aaaa")
    way.prompt(TEXT)
    tool(way, "Edit", {"file_path": f"{cli.cwd}/a.py", "old_string": "1", "new_string": "2"}, "edited")
    tool(
        way,
        "Bash",
        {"command": "pytest -q"},
        "FAILED tests/test_a.py::test_sum - boom\n1 failed",
        is_error=True,
    )
    way.reply("Next: mend test_sum.")
    return way


def test_a_brief_goes_to_stdout_and_talk_to_stderr(cli: CommandLine, talk: Conversation) -> None:
    result = cli("pack", "aaaa")
    assert result.code == 0
    assert "Never touch src/legacy.py." in result.out and "a.py: edited" in result.out
    assert "facts passed" in result.err and "facts passed" not in result.out


def test_without_a_name_it_is_this_folders_last_one(cli: CommandLine, talk: Conversation) -> None:
    assert cli("pack").out == cli("pack", "aaaa").out == cli("pack", str(talk.path)).out


def test_the_same_transcript_gives_the_same_brief(cli: CommandLine, talk: Conversation) -> None:
    first, second = (cli("pack", "aaaa", "--json").out for _ in range(2))
    assert first == second
    assert msgspec.json.decode(first, type=Brief).tier is Tier.SELECTIVE


def test_a_brief_follows_its_transcript(cli: CommandLine, talk: Conversation) -> None:
    before = cli("pack", "aaaa").out
    talk.prompt("Only use the standard library.")
    after = cli("pack", "aaaa").out
    assert "standard library" not in before and "Only use the standard library." in after


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["pack", "aaaa", "--budget", "0"], "the minimum is"),
        (["pack", "aaaa", "--budget", "-5"], "the minimum is"),
        (["pack", "aaaa", "--budget", "9" * 4000], "the maximum is"),
        (["pack", "aaaa", "--json", "--markdown"], "cannot be combined"),
        (["pack", "aaaa", "--tier", "SECRET"], "SECRET"),
        (["pack", "aaaa", "--for", "nobody"], "nobody"),
        (["pack", "bbbb"], "bbbb"),
        (["pack", "notes.txt"], "notes.txt"),
        (["show", "b-0000"], "b-0000"),
        (["diff", "aaaa@yesterdayish", "aaaa"], "yesterdayish"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(
    cli: CommandLine, talk: Conversation, arguments: list[str], says: str
) -> None:
    (cli.cwd / "notes.txt").write_text("hello")
    result = cli(*arguments)
    assert result.code in (1, 2) and says in result.err and result.out == ""
    assert not list(cli.folder.rglob("*.brief"))


def test_lines_that_cannot_be_read_are_told_and_a_mark_before_the_first_hides_nothing(
    cli: CommandLine, talk: Conversation
) -> None:
    talk.path.write_bytes(b"\xef\xbb\xbf" + talk.path.read_bytes() + b'{"type": "user", "mess\n{}{}\n')
    result = cli("pack", "aaaa")
    assert "2 unreadable lines of the transcript" in result.err
    assert "Never touch src/legacy.py." in result.out


def test_a_name_at_the_end_of_the_words_makes_no_secret_of_the_fence(
    cli: CommandLine, talk: Conversation
) -> None:
    talk.reply("Now I will run echo $STRIPE_API_KEY")
    assert cli("pack", "aaaa").code == 0


def test_a_long_message_stays_whole_where_there_is_room(cli: CommandLine, talk: Conversation) -> None:
    words = " ".join(f"Step {number} is to look at part {number}." for number in range(150))
    talk.prompt(words)
    assert words in cli("pack", "aaaa", "--budget", "4000").out
    assert words not in cli("pack", "aaaa", "--budget", "800").out


def test_what_was_passed_can_be_looked_at_later(cli: CommandLine, talk: Conversation) -> None:
    cli("pack", "aaaa")
    (id,) = [one["id"] for one in msgspec.json.decode(cli("show", "--json").out)]
    kept = msgspec.json.decode(cli("show", id, "--json").out)["preservation"]
    assert (
        set(kept["attempted"]) == {*kept["successful"], *kept["failed"]}
        and 0 < kept["preservation_score"] <= 1
    )
    shown = cli("show", id, "--facts").out
    assert "Preserved: 100%" in shown
    assert "passed       constraint: Never touch src/legacy.py." in shown
    assert cli("show", id[:6]).code == 0


def test_two_moments_can_be_compared(cli: CommandLine, talk: Conversation) -> None:
    moment = msgspec.json.decode(cli("transcripts", "--json").out)["transcripts"][0]["transcript"][
        "updated_at"
    ]
    tool(talk, "Bash", {"command": "pytest -q"}, "1 passed")
    talk.minutes += 10
    talk.prompt("Do not push.")
    found = cli("diff", f"aaaa@{moment}", "aaaa").out
    assert "constraint: Do not push." in found
    assert cli("diff", "aaaa", "aaaa").out.endswith("No differences.\n")


def test_two_briefs_can_be_compared(cli: CommandLine, talk: Conversation) -> None:
    cli("pack", "aaaa")
    talk.prompt("Do not push.")
    cli("pack", "aaaa")
    new, old = [one["id"] for one in msgspec.json.decode(cli("show", "--json").out)]
    assert "constraint: Do not push." in cli("diff", old, new).out


def test_what_a_person_says_of_the_task_binds_the_next_agent(cli: CommandLine, talk: Conversation) -> None:
    cli("task", "edit", "--goal", "Totals to the cent", "--constraint", "Ask before adding files.")
    brief = cli("pack").out
    words = brief.partition("<<<data")[0]
    assert "The goal: Totals to the cent" in words and "Ask before adding files." in words


def test_the_whole_context_goes_into_a_file_and_comes_back(cli: CommandLine, talk: Conversation) -> None:
    result = cli("pack", "aaaa", "--package", "all.context")
    assert "Context packaged (" in result.err
    whole = context.unpacked(cli.cwd / "all.context")
    assert TEXT in [entry.text for entry in whole.conversation_history]
    assert "Never touch src/legacy.py." in whole.current_task.constraints
    assert whole.preservation_level == "standard"
    assert cli("pack", "aaaa", "--package", "all.context").code == 2
    assert cli("pack", "aaaa", "--tier", "full", "--package", "full.context").code == 0
    assert context.unpacked(cli.cwd / "full.context").preservation_level == "complete"


def test_python_gives_the_same_brief(
    cli: CommandLine, talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in cli.env.items():
        monkeypatch.setenv(name, value)
    text = segue.brief("aaaa", project=cli.cwd).text.replace(str(cli.folder), "/ada")
    assert text.rstrip("\n") == cli("pack", "aaaa").out.rstrip("\n")
    assert segue.brief("aaaa", project=cli.cwd, tier="minimal").brief.tier is Tier.MINIMAL
    assert "Never touch src/legacy.py." in segue.current_task(cli.cwd).constraints
    assert {fact.kind for fact in segue.transcript_facts("aaaa", cli.cwd)} >= {"file", "command", "test"}


def test_a_kept_tracker_that_is_damaged_is_made_anew(
    cli: CommandLine, talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segue.ops.index.tracked_transcript.WORTH_KEEPING", 0)
    first = cli("pack", "aaaa").out
    (kept,) = Path(cli.folder).rglob("*.tracker")
    kept.write_bytes(b"\0" * 100)
    assert cli("pack", "aaaa").out == first


def test_a_brief_is_printed_where_there_is_no_room_to_keep_it(
    cli: CommandLine, talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segue.ops.index.tracked_transcript.WORTH_KEEPING", 0)
    first = cli("pack", "aaaa").out
    for kept in [*cli.folder.rglob("*.tracker"), *cli.folder.rglob("*.tail"), *cli.folder.rglob("*.brief")]:
        kept.unlink()
    write_file = files.write_file

    def full(path: Path, *arguments: Any, **more: Any) -> None:
        if path.suffix in (".tracker", ".tail", ".brief"):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write_file(path, *arguments, **more)

    monkeypatch.setattr(files, "write_file", full)
    result = cli("pack", "aaaa")
    assert (result.code, result.out) == (0, first)
    assert "could not be stored" in result.err and "segue doctor" in result.err


def test_what_was_left_out_can_be_looked_up_by_its_pointer(cli: CommandLine, talk: Conversation) -> None:
    for number in range(80):
        tool(talk, "Bash", {"command": f"make part-{number} --with some --more flags"}, "ok")
    cli("pack", "aaaa", "--budget", "600")
    (made,) = msgspec.json.decode(cli("show", "--json").out)
    receipt = msgspec.json.decode(cli("show", made["id"], "--json").out)["receipt"]
    line = next(line for line in receipt["lines"] if line["fate"] == "recoverable")
    assert line["hash"]
    assert len(cli("transcripts", "show", line["pointer"], "--json").out.splitlines()) == 1


def test_the_demonstration_transcript_can_be_packed(cli: CommandLine) -> None:
    cli("demo", "--keep", str(cli.folder / "kept"))
    (path,) = (
        path for path in (cli.folder / "kept").rglob("*.demo.jsonl") if not path.name.startswith("received")
    )
    assert "ROUND_HALF_EVEN" in cli("pack", str(path)).out


def test_a_difference_shows_no_secret(cli: CommandLine, talk: Conversation) -> None:
    secret = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"
    cli("pack", "aaaa")
    (made,) = msgspec.json.decode(cli("show", "--json").out)
    talk.prompt(f"Push with {secret}, never force.")
    result = cli("diff", made["id"], "aaaa", "--json")
    assert result.code == 0 and secret not in result.out and "[secret:" in result.out


def test_a_file_with_an_at_in_its_path_is_no_moment(cli: CommandLine, talk: Conversation) -> None:
    folder = cli.cwd / "me@work"
    folder.mkdir()
    (folder / "t.jsonl").write_bytes(talk.path.read_bytes())
    assert cli("diff", "me@work/t.jsonl", "aaaa").code == 0


def test_a_message_that_says_done_is_passed(cli: CommandLine, talk: Conversation) -> None:
    talk.prompt("done")
    assert "] done" in cli("pack", "aaaa").out


def test_a_transcript_that_was_emptied_is_forgotten(
    cli: CommandLine, talk: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segue.ops.index.tracked_transcript.WORTH_KEEPING", 0)
    content = talk.path.read_bytes()
    assert "legacy" in cli("pack", str(talk.path)).out
    talk.path.write_bytes(content.splitlines(keepends=True)[0].replace(b"legacy", b"other!"))
    assert "legacy" not in cli("pack", str(talk.path)).out


def test_a_pipe_is_refused_and_not_waited_for(cli: CommandLine, talk: Conversation) -> None:
    os.mkfifo(cli.cwd / "pipe")
    for arguments in (["pack", "./pipe"], ["redact", "pipe"], ["protocol", "check", "pipe"]):
        result = cli(*arguments)
        assert result.code == 2 and "not a regular file" in result.err


def test_a_kept_brief_that_is_damaged_counts_as_missing(cli: CommandLine, talk: Conversation) -> None:
    cli("pack", "aaaa")
    (kept,) = cli.folder.rglob("*.brief")
    kept.write_bytes(blobs.pack(b"[1, 2]"))
    assert cli("show").code == 0
    assert cli("show", kept.stem).code == 1


def test_a_name_that_no_file_can_have_is_bad_input(cli: CommandLine, talk: Conversation) -> None:
    assert cli("pack", "x" * 5000).code == 1
    assert cli("diff", "aaaa@0001-01-01T00:00:00+14:00", "aaaa").code == 2
