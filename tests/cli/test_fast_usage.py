"""What is answered without the command line is what the command line answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.faces import encode, fast_json
from tests.conftest import CommandLine
from tests.world import Conversation


def both(cli: CommandLine, *arguments: str) -> tuple[tuple[int, str, str], tuple[int, str, str]]:
    """The same asked of the front door, and of the command line behind it."""
    env = {**cli.env, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TZ": "UTC"}
    codes = (
        "from segue.__main__ import main; main()",
        "import sys; from segue.faces.cli import main; sys.exit(main())",
    )
    found = []
    for code in codes:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=cli.cwd, env=env
        )
        found.append((done.returncode, done.stdout, done.stderr))
    return found[0], found[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ("usage", "--json"),
        ("usage", "models", "--json"),
        ("usage", "sessions", "--json"),
        ("usage", "nonsense", "--json"),
        ("usage", "--since", "3d", "--json"),
        ("check", "--json"),
        ("check", "--warning-only", "--json"),
        ("chek", "--json"),
        ("--json",),
    ],
    ids=" ".join,
)
def test_both_ways_give_the_same_answer(cli: CommandLine, arguments: tuple[str, ...]) -> None:
    talk = Conversation(cli.folder, cli.cwd, "aaaa")
    talk.prompt("Mend the invoices")
    talk.reply("On it", cache_read_input_tokens=190_000)
    quick, usual = both(cli, *arguments)
    assert quick[0] == usual[0] and quick[2] == usual[2]
    if arguments != ("--json",):  # that one tells the time
        assert quick[1] == usual[1]


@pytest.mark.parametrize("by", ["daily", "weekly", "blocks", "models", "sessions", "projects"])
def test_so_they_do_where_nothing_is_set(cli: CommandLine, by: str) -> None:
    del cli.env["SEGUE_USER_NAME"]
    quick, usual = both(cli, "usage", by, "--json")
    assert quick == usual and not cli.home.exists()
    talk, fork = (Conversation(cli.folder, cli.cwd, name) for name in ("aaaa", "bbbb"))
    for number, changed in enumerate((talk, talk, fork), 1):
        changed.reply("On it", message=f"msg_{number}", cache_read_input_tokens=190_000 + number)
        quick, usual = both(cli, "usage", by, "--json")
        assert quick == usual and json.loads(quick[1])["total"]["answers"] == number
    talk.path.unlink()
    quick, usual = both(cli, "usage", by, "--json")
    assert quick == usual and json.loads(quick[1])["total"]["answers"] == 1


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(PLAIN)
def test_plain_values_are_written_as_all_values_are(value: object) -> None:
    assert fast_json.to_json(value) == encode.to_json(value)


def test_where_another_agent_has_been_too_the_answer_is_the_same(cli: CommandLine) -> None:
    del cli.env["SEGUE_USER_NAME"]
    Conversation(cli.folder, cli.cwd, "aaaa").reply("On it")
    (cli.folder / ".codex").mkdir()
    quick, usual = both(cli, "usage", "--json")
    assert quick == usual and json.loads(quick[1])["total"]["answers"] == 1


def test_a_strangers_settings_are_spoken_of_all_the_same(cli: CommandLine) -> None:
    (cli.cwd / ".segue.toml").write_text("[limits]\nrecommend = 1\n")
    quick, usual = both(cli, "usage", "--json")
    assert quick == usual and "ignored limits.recommend" in quick[2]


def test_totals_are_told_without_loading_the_command_line(cli: CommandLine) -> None:
    talk = Conversation(cli.folder, cli.cwd, "aaaa")
    del cli.env["SEGUE_USER_NAME"]
    code = (
        "import os, sys; sys.argv = ['segue', 'usage', '--json']; before = set(sys.modules)\n"
        "import segue.__main__ as m\n"
        "end = os._exit\n"
        "os._exit = lambda code: (print(*sys.modules.keys() - before, file=sys.stderr, flush=True), end(code))\n"
        "m.main()"
    )
    env = {**cli.env, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for number in range(2):  # what a model costs is looked up once
        talk.reply("Done")
        done = subprocess.run(
            [sys.executable, "-S", "-c", code], capture_output=True, text=True, cwd=cli.cwd, env=env
        )
        assert json.loads(done.stdout)["total"]["answers"] == number + 1
    loaded = set(done.stderr.split())
    assert "segue.ops.usage.totals" in loaded
    assert not loaded & {
        "typing",
        "msgspec",
        "pathlib",
        "segue.model",
        "segue.ops.usage.report",
        "click",
        "segue.ops.common.desk",
        "segue.settings",
        "segue.store.open_stores",
        "segue.agents.claude.records",
        "segue.facts",
        "subprocess",
    }
