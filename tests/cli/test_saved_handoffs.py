"""Saved handoffs: the file holds what it is to hold and no secret, none is lost or overwritten, and the screens and exit
codes are those that other tools know."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.errors import BadInput
from segue.faces.cli.save import _spread
from segue.ops.briefs import saved_handoffs
from segue.ops.common.desk import Desk, open_desk
from tests.conftest import CommandLine, StillClock
from tests.world import Conversation

FIELDS = [
    *("handoff_id", "timestamp", "reason", "session_id", "token_usage", "conversation_history"),
    *("current_task", "files_being_worked_on", "next_steps", "context", "resumption_instructions"),
]
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def desk(cli: CommandLine) -> Iterator[Desk]:
    opened = open_desk(env=cli.env, cwd=cli.cwd, clock=cli.clock, new_id=cli.new_id)
    yield opened
    opened.close()


def folder(cli: CommandLine) -> Path:
    return cli.home / "data" / "handoffs"


def newest(cli: CommandLine) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder(cli) / "latest_handoff.json").read_text())
    return found


def talk(cli: CommandLine, messages: int = 1) -> Conversation:
    made = Conversation(cli.folder, cli.cwd, "aaaa-bbbb")
    for n in range(messages):
        made.prompt(f"Question {n}")
        made.reply(f"Answer {n}", input_tokens=0, output_tokens=0, cache_read_input_tokens=150_000 + n)
    return made


# The commands


def test_a_saved_handoff_has_the_fields_that_other_tools_know(cli: CommandLine) -> None:
    talk(cli)
    done = cli(
        *(
            "save",
            "--task",
            "Mend the invoices",
            "--files",
            "a.py",
            "b.py",
            "--steps",
            "write a test",
            "mend it",
        )
    )
    assert (done.code, done.err) == (0, "")
    path = "/ada/home/data/handoffs/handoff_20261116_093"
    assert done.out.startswith(f"✅ Handoff saved: {path}") and done.out.endswith(".json\n")
    found = newest(cli)
    assert list(found) == FIELDS
    assert found["timestamp"].startswith("2026-11-16T09:3")
    assert found["handoff_id"] == found["timestamp"][:19].replace("-", "").replace(":", "").replace("T", "_")
    assert found["session_id"].startswith("s-")
    assert found["token_usage"] == {
        "total_tokens": 150_000,
        "warning_threshold": 150_000,
        "auto_switch_threshold": 180_000,
        "percentage_used": 75.0,
    }
    assert found["conversation_history"] == [
        {"role": "user", "content": "Question 0"},
        {"role": "assistant", "content": "Answer 0"},
    ]
    assert found["current_task"] == "Mend the invoices"
    assert found["files_being_worked_on"] == ["a.py", "b.py"]
    assert found["next_steps"] == ["write a test", "mend it"]
    assert (found["reason"], found["context"]) == ("manual_save", {})


def test_the_instructions_name_the_task_the_steps_and_who_resumes(cli: CommandLine) -> None:
    talk(cli)
    cli(
        "save",
        "--task",
        "Mend the invoices",
        "--steps",
        "write a test",
        "mend it",
        "--reason",
        "approaching_limit",
    )
    text = newest(cli)["resumption_instructions"]
    head = (
        "\n# RESUMPTION INSTRUCTIONS FOR CLAUDE CODE\n\n## Current Task\nMend the invoices\n\n## Next Steps\n"
    )
    assert text.startswith(head + "1. write a test\n2. mend it\n\n## Context\n")
    assert "because Claude Code approached its token limit" in text
    cli("save", "--task", "x", "--reason", "a {strange} one")
    assert "because of this: a {strange} one." in newest(cli)["resumption_instructions"]


def test_only_the_last_fifty_messages_are_saved(cli: CommandLine) -> None:
    talk(cli, 40)
    cli("save", "--task", "x")
    history = newest(cli)["conversation_history"]
    assert len(history) == 50
    assert (history[0]["content"], history[-1]["content"]) == ("Question 15", "Answer 39")


def test_a_folder_without_a_session_gets_one(cli: CommandLine) -> None:
    assert cli("save", "--task", "x").code == 0
    found = newest(cli)
    assert found["session_id"] == json.loads(cli("session", "info", "--json").out)["work"]["session"]["id"]
    assert found["conversation_history"] == [] and found["token_usage"]["total_tokens"] == 0
    assert "# RESUMPTION INSTRUCTIONS\n" in found["resumption_instructions"]


@pytest.mark.parametrize("arguments", [[], ["--task", ""], ["--task", "  ", "--files", "a.py"]])
def test_without_a_task_nothing_is_saved(cli: CommandLine, arguments: list[str]) -> None:
    done = cli("save", *arguments)
    assert (done.code, done.out) == (1, "ERROR: --task required for save\n")
    assert "segue save --task" in done.err
    in_json = cli("save", "--json", *arguments)
    assert (in_json.code, in_json.out) == (1, "")
    assert "--task is required" in json.loads(in_json.err)["message"]
    assert not folder(cli).exists()


def test_what_was_saved_last_is_loaded_or_what_is_named(cli: CommandLine) -> None:
    cli("save", "--task", "first")
    cli("save", "--task", "second – ü")
    last = cli("load")
    assert (last.code, json.loads(last.out)) == (0, newest(cli))
    assert last.out.startswith('{\n  "handoff_id": "2026') and '"current_task": "second – ü"' in last.out
    ids = [one["handoff_id"] for one in json.loads(cli("list", "--json").out)]
    assert json.loads(cli("load", "--handoff-id", ids[1]).out)["current_task"] == "first"
    assert json.loads(cli("load", "--handoff-id", ids[1], "--json").out)["current_task"] == "first"


def test_where_nothing_was_saved_there_is_nothing_to_load(cli: CommandLine) -> None:
    for arguments in (["load"], ["load", "--handoff-id", "20200101_000000"]):
        done = cli(*arguments)
        assert (done.code, done.out) == (1, "No handoff found\n")
        assert " next: segue " in done.err
        in_json = cli(*arguments, "--json")
        assert in_json.code == 1 and json.loads(in_json.err)["error"] == "NotFound"


def test_the_list_is_the_screen_that_other_tools_know(cli: CommandLine) -> None:
    rule = "=" * 70
    assert cli("list").out == f"\n{rule}\nAvailable Handoffs\n{rule}\n\n"
    talk(cli)
    cli("save", "--task", "first\x1b[31m")
    cli("save", "--task", "second")
    first, second = reversed(json.loads(cli("list", "--json").out))
    assert sorted(first) == ["current_task", "handoff_id", "reason", "timestamp", "token_usage"]
    expected = f"\n{rule}\nAvailable Handoffs\n{rule}\n\n"
    for one, task in ((second, "second"), (first, first["current_task"])):
        expected += f"ID: {one['handoff_id']}\n  Time: {one['timestamp']}\n  Task: {task}\n"
        expected += "  Reason: manual_save\n  Tokens: 150,000\n\n"
    shown = cli("list").out
    assert shown == expected and "\x1b" not in shown


@given(
    st.lists(
        st.sampled_from(["--files", "--steps", "--task", "a", "b c", "--json", "-x", "-", "--files=z"]),
        max_size=9,
    )
)
def test_an_option_takes_all_words_up_to_the_next(words: list[str]) -> None:
    spread = list(_spread(words, {"--files", "--steps"}))
    assert [word for word in spread if word not in ("--files", "--steps")] == [
        word for word in words if word not in ("--files", "--steps")
    ]
    for n, word in enumerate(spread[1:], 1):
        if word in ("a", "b c", "-") and "--files" in spread[:n]:
            assert spread[n - 1].startswith("-") or spread[n - 1] in ("a", "b c")


def test_words_after_two_dashes_belong_to_no_option(cli: CommandLine) -> None:
    assert list(_spread(["--files", "a", "b", "--", "c"], {"--files"})) == [
        "--files",
        "a",
        "--files",
        "b",
        "--",
        "c",
    ]
    assert cli("save", "--task", "x", "--files", "a", "--", "c").code == 2
    assert cli("save", "--task", "x", "--files").code == 2
    assert cli("save", "--task", "x", "--files=-odd", "--steps", "one", "--files", "b").code == 0
    assert newest(cli)["files_being_worked_on"] == ["-odd", "b"]


# The files


def test_two_in_the_same_second_are_both_kept(desk: Desk, cli: CommandLine) -> None:
    desk.clock = lambda: "2026-11-16T09:30:00.000000Z"
    paths = [saved_handoffs.save(desk, current_task=f"task {n}") for n in range(12)]
    assert [path.name for path in paths[:2]] == [
        "handoff_20261116_093000.json",
        "handoff_20261116_093000_2.json",
    ]
    assert [one["current_task"] for one in saved_handoffs.listed(desk)] == [
        f"task {n}" for n in reversed(range(12))
    ]
    assert newest(cli)["handoff_id"] == "20261116_093000_12"
    assert (saved_handoffs.load(desk, "20261116_093000_2") or {})["current_task"] == "task 1"


def test_files_are_the_persons_alone_and_the_link_leads_within(cli: CommandLine) -> None:
    old = os.umask(0)
    try:
        cli("save", "--task", "x")
    finally:
        os.umask(old)
    link = folder(cli) / "latest_handoff.json"
    assert link.is_symlink() and not link.readlink().is_absolute()
    assert stat.S_IMODE(link.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder(cli).stat().st_mode) == 0o700
    assert not list(folder(cli).glob(".tmp-*"))


def test_savers_at_the_same_time_lose_nothing(cli: CommandLine) -> None:
    code = "import segue\nfor n in range(5): segue.save_handoff(current_task=str(n))"
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=cli.cwd,
            env={**cli.env, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        for _ in range(3)
    ]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert len(json.loads(cli("list", "--json").out)) == 15
    assert (folder(cli) / "latest_handoff.json").exists()


def test_what_is_no_handoff_is_left_out_of_the_list_and_refused_by_name(cli: CommandLine) -> None:
    cli("save", "--task", "good")
    spoiled = {
        "cut": '{"handoff_id": "x"',
        "list": "[1, 2]",
        "other": '{"a": 1}',
        "half": '{"handoff_id": "x", "timestamp": "t", "current_task": 3, "reason": "r", "token_usage": {}}',
        "deep": '{"a":' * 100_000,
        "binary": "\x00\x01",
    }
    for name, text in spoiled.items():
        (folder(cli) / f"handoff_{name}.json").write_text(text)
    os.mkfifo(folder(cli) / "handoff_pipe.json")
    (folder(cli) / "handoff_folder.json").mkdir()
    assert [one["current_task"] for one in json.loads(cli("list", "--json").out)] == ["good"]
    for name in spoiled:
        done = cli("load", "--handoff-id", name)
        assert done.code == 2 and "is not a saved handoff" in done.err, name
    assert cli("load", "--handoff-id", "pipe").out == "No handoff found\n"


@pytest.mark.parametrize("id", ["../../secret", "a/b", "..", "", "x" * 65, "a\0b", "a.b", "*", "~root"])
def test_an_id_with_a_path_in_it_is_refused(desk: Desk, id: str) -> None:
    with pytest.raises(BadInput, match="Invalid id"):
        saved_handoffs.load(desk, id)


def test_a_link_that_leads_nowhere_does_not_hide_what_was_saved(cli: CommandLine, tmp_path: Path) -> None:
    cli("save", "--task", "kept")
    link = folder(cli) / "latest_handoff.json"
    outside = tmp_path / "handoff_evil.json"
    outside.write_text(link.read_text().replace("kept", "evil"))
    for target in (str(outside), "handoff_gone.json", "."):
        link.unlink()
        link.symlink_to(target)
        assert json.loads(cli("load").out)["current_task"] == "kept"
    link.unlink()
    assert json.loads(cli("load").out)["current_task"] == "kept"


def test_a_file_of_another_tool_can_be_loaded(cli: CommandLine) -> None:
    folder(cli).mkdir(parents=True)
    usage = {
        "total_tokens": 5,
        "warning_threshold": 150000,
        "auto_switch_threshold": 180000,
        "percentage_used": 0.0025,
    }
    other = {
        "handoff_id": "20251223_102800", "timestamp": "2025-12-23T10:28:00.123456", "reason": "manual_save",
        "session_id": "1", "token_usage": usage, "conversation_history": [], "current_task": "old",
        "files_being_worked_on": [], "next_steps": [], "context": {}, "resumption_instructions": "", "more": [1],
    }  # fmt: skip
    (folder(cli) / "handoff_20251223_102800.json").write_text(json.dumps(other, indent=2))
    assert json.loads(cli("load").out) == other
    assert json.loads(cli("list", "--json").out)[0]["current_task"] == "old"


# Secrets, and whatever is given


def test_no_secret_is_saved_wherever_it_stands(desk: Desk, cli: CommandLine) -> None:
    made = talk(cli)
    made.prompt(f"The token is {SECRET}, keep it")
    made.reply("Noted: hunter2hunter2")
    path = saved_handoffs.save(
        desk,
        current_task=f"use {SECRET}",
        files_being_worked_on=[f"{SECRET}.txt"],
        next_steps=[f"send {SECRET}"],
        context={"deep": [{"token": SECRET}], "password": "hunter2hunter2"},
        reason=f"because {SECRET}",
    )
    text = path.read_text()
    assert SECRET not in text and "hunter2hunter2" not in text
    found = json.loads(text)
    assert found["current_task"].startswith("use ") and found["context"]["deep"][0]["token"] != ""
    assert "The token is" in found["conversation_history"][-2]["content"]


def test_a_history_that_is_given_is_the_one_that_is_saved(desk: Desk, cli: CommandLine) -> None:
    talk(cli)
    given = [{"role": "user", "content": f"{n}: {SECRET}"} for n in range(60)]
    path = saved_handoffs.save(desk, current_task="x", conversation_history=given)
    history = json.loads(path.read_text())["conversation_history"]
    assert len(history) == 50 and history[0]["content"].startswith("10: ") and SECRET not in path.read_text()
    assert json.loads(path.read_text())["reason"] == "token_limit_approaching"
    empty = saved_handoffs.save(desk, current_task="x", conversation_history=[])
    assert json.loads(empty.read_text())["conversation_history"] == []


def test_a_very_long_message_is_begun_and_code_stays_as_it_was(desk: Desk, cli: CommandLine) -> None:
    made = talk(cli)
    code = "# Heading\n```python\nx = {'a': 1}\n\tindented\n```"
    made.prompt(code)
    made.reply("word " * 10_000)
    history = json.loads(saved_handoffs.save(desk, current_task="x").read_text())["conversation_history"]
    assert history[-2]["content"] == code
    assert len(history[-1]["content"]) <= saved_handoffs.LONGEST_MESSAGE + 2 and history[-1][
        "content"
    ].endswith(" …")


class Odd:
    def __str__(self) -> str:
        return "odd \ud800"


def test_whatever_python_has_can_be_context(desk: Desk) -> None:
    given = {
        1: {
            "set": {1},
            "bytes": b"x",
            "odd": Odd(),
            "nan": float("nan"),
            "big": 1 << 80,
            "none": None,
            "yes": True,
        },
        "tuple": (1, 2.5),
        "\ud800": "\udfff",
    }
    found = json.loads(saved_handoffs.save(desk, current_task="x", context=given).read_text())["context"]  # type: ignore[arg-type]
    assert found["1"] == {
        "set": [1], "bytes": "b'x'", "odd": "odd ?", "nan": "nan", "big": str(1 << 80), "none": None, "yes": True,
    }  # fmt: skip
    assert found["tuple"] == [1, 2.5]
    circle: dict[str, Any] = {}
    circle["self"] = circle
    with pytest.raises(BadInput, match="nested more than"):
        saved_handoffs.save(desk, current_task="x", context=circle)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text("ab-ü", max_size=8), json_values, max_size=4), st.text(min_size=1, max_size=40)
)
def test_what_is_saved_can_be_read_whatever_it_is(
    tmp_path_factory: pytest.TempPathFactory, context: Any, task: str
) -> None:
    home = tmp_path_factory.mktemp("saved")
    desk = open_desk(env={"SEGUE_HOME": str(home), "HOME": str(home)}, cwd=home, clock=StillClock())
    try:
        if not task.strip():
            return
        path = saved_handoffs.save(desk, current_task=task, context=context, conversation_history=[])
        found = saved_handoffs.load(desk)
        assert found == json.loads(path.read_text())
        assert found is not None and found["context"].keys() == context.keys()
        assert [one["handoff_id"] for one in saved_handoffs.listed(desk)] == [found["handoff_id"]]
    finally:
        desk.close()
