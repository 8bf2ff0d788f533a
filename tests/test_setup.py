"""Setting up agents: another program's settings are changed at one place, and taken back without a trace."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from segue import clock, guard
from segue.errors import Refused
from segue.faces.cli import COMMANDS, Listed
from segue.faces.cli import init as face
from segue.guard import Held
from segue.ops import setup
from segue.ops.desk import Desk, open_desk
from tests.conftest import CommandLine, Result

OWN = """\
{
    "$schema": "https://json.schemastore.org/claude-code-settings.json",
    "permissions": {"allow": ["Bash(npm test:*)", "Bash(ls)"]},
    "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine.sh \\"é\\""}]}
        ],
        "Stop": []
    },
    "model": "opus"
}"""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "init", Listed("Start here", "set up the agents on this machine", "init"))


@pytest.fixture
def settings(cli: CommandLine) -> Path:
    path = cli.folder / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(OWN)
    path.chmod(0o640)
    return path


def guards(content: str | bytes) -> list[dict[str, Any]]:
    groups = json.loads(content).get("hooks", {}).get("PreToolUse", [])
    return [group for group in groups if "guard.sh" in group["hooks"][0]["command"]]


def assert_refused(result: Result, code: int, says: str) -> None:
    assert result.code == code and says in result.err and " next: " in result.err, result
    assert "Traceback" not in result.err


# Setting up


def test_the_hook_is_added_and_all_else_stays_byte_for_byte(cli: CommandLine, settings: Path) -> None:
    result = cli("init", "--yes")
    assert result.code == 0, result
    text = settings.read_text()
    (group,) = guards(text)
    assert group["matcher"] == "Edit|MultiEdit|Write|NotebookEdit|Bash"
    script = shlex.quote(str(cli.home / "data" / "guard.sh"))
    assert group["hooks"] == [
        {"type": "command", "command": f"[ ! -x {script} ] || {script} claude", "timeout": 10}
    ]
    added = json.dumps(group, indent=4).replace("\n", "\n            ")
    assert text == OWN.replace("}]}\n        ]", f"}}]}},\n            {added}\n        ]")
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640
    assert stat.S_IMODE((cli.home / "data" / "guard.sh").stat().st_mode) == 0o700


def test_the_screen_tells_what_was_done_and_where_the_file_is_kept_as_it_was(
    cli: CommandLine, settings: Path
) -> None:
    assert cli("init", "--yes").out == snapshot("""\
✓ Claude Code: set up (/ada/.claude/settings.json)
  The file as it was before: /ada/home/data/setup/claude-20261116T093000Z.json

An agent that is open now may have to be started anew. segue init --undo takes it all back.
""")
    (backup,) = (cli.home / "data" / "setup").glob("claude-*.json")
    assert backup.read_text() == OWN and stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_a_second_time_changes_nothing(cli: CommandLine, settings: Path) -> None:
    cli("init", "--yes")
    before = settings.stat()
    result = cli("init")
    assert (result.code, result.err) == (0, "") and "already set up" in result.out
    assert settings.stat().st_mtime_ns == before.st_mtime_ns and len(guards(settings.read_text())) == 1


def test_a_script_that_is_gone_or_old_is_made_anew_and_the_settings_stay(
    cli: CommandLine, settings: Path
) -> None:
    cli("init", "--yes")
    script = cli.home / "data" / "guard.sh"
    content = settings.read_text()
    for spoil in (script.unlink, lambda: script.write_text("exit 0"), lambda: script.chmod(0o600)):
        spoil()
        result = cli("init", "--yes")
        assert result.code == 0 and "already" not in result.out
        assert os.access(script, os.X_OK) and "segue.faces.hook" in script.read_text()
        assert settings.read_text() == content
    assert cli("init", "--undo").code == 0 and settings.read_text() == OWN


def test_without_a_terminal_it_is_shown_and_not_done(cli: CommandLine, settings: Path) -> None:
    result = cli("init")
    assert_refused(result, 2, "Nothing was changed: it was not confirmed.")
    assert '+                        "timeout": 10' in result.err and "segue init --yes" in result.err
    assert settings.read_text() == OWN and not (cli.home / "data").exists()


@pytest.mark.parametrize("answer", [True, False])
def test_on_a_terminal_the_person_decides(
    cli: CommandLine, settings: Path, monkeypatch: pytest.MonkeyPatch, answer: bool
) -> None:
    monkeypatch.setattr(face, "confirmed", lambda: answer)
    assert cli("init").code == (0 if answer else 2)
    assert (settings.read_text() == OWN) is not answer


def test_programs_get_json(cli: CommandLine, settings: Path) -> None:
    (change,) = json.loads(cli("init", "--yes", "--json").out)
    assert (change["agent"], change["state"]) == ("claude", "set up")
    assert json.loads(cli("init", "--json").out)[0]["state"] == "already set up"
    assert json.loads(cli("init", "--undo", "--json").out)[0]["state"] == "taken back"


def test_settings_that_are_not_there_are_made(cli: CommandLine) -> None:
    (cli.folder / ".claude").mkdir()
    assert cli("init", "--yes").code == 0
    settings = cli.folder / ".claude" / "settings.json"
    assert len(guards(settings.read_text())) == 1
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    assert cli("init", "--undo").code == 0 and not settings.exists()


def test_an_agent_that_is_on_path_is_here_and_one_that_is_nowhere_is_left_alone(cli: CommandLine) -> None:
    result = cli("init", "--yes")
    assert result.code == 0 and "not on this machine" in result.out
    assert not cli.home.exists() and not (cli.folder / ".claude").exists()
    program = cli.folder / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert "set up" in cli("init", "--yes").out
    assert (cli.folder / ".claude" / "settings.json").exists()


def test_the_agents_own_variable_says_where_its_settings_are(cli: CommandLine, settings: Path) -> None:
    other = cli.folder / "my config"
    other.mkdir()
    assert cli("init", "--yes", CLAUDE_CONFIG_DIR=str(other)).code == 0
    assert guards((other / "settings.json").read_text()) and settings.read_text() == OWN
    assert cli("init", "--undo").code == 0
    assert not (other / "settings.json").exists()


def test_a_link_stays_a_link_and_what_it_leads_to_is_changed(cli: CommandLine, settings: Path) -> None:
    real = cli.folder / "dotfiles.json"
    settings.rename(real)
    settings.symlink_to(real)
    cli("init", "--yes")
    assert settings.is_symlink() and guards(real.read_text())
    cli("init", "--undo")
    assert settings.is_symlink() and real.read_text() == OWN


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"a": 1,}', "line 1 column 9"),
        (b"// mine\n{}", "line 1 column 1"),
        (b'{"a": \xff}', "utf-8"),
        (b"[]", "no object"),
        (b'{"hooks": []}', "'hooks' is no object"),
        (b'{"hooks": {"PreToolUse": 1}}', "'hooks.PreToolUse' is no list"),
        (b"[" * 100_000, "nested too deeply"),
        (b" " * (5 << 20), "too large"),
    ],
)
def test_settings_that_cannot_be_understood_are_left_alone(
    cli: CommandLine, settings: Path, content: bytes, says: str
) -> None:
    settings.write_bytes(content)
    for arguments in (("init", "--yes"), ("init",)):
        result = cli(*arguments)
        assert_refused(result, 5, says)
        assert "Nothing was changed" in result.err
    assert settings.read_bytes() == content and not (cli.home / "data").exists()


@pytest.mark.parametrize("content", [b"", b"\n", b"{}", b'\xef\xbb\xbf{"a": 1}'])
def test_nearly_empty_settings_are_taken_for_what_they_are(
    cli: CommandLine, settings: Path, content: bytes
) -> None:
    settings.write_bytes(content)
    assert cli("init", "--yes").code == 0
    assert len(guards(settings.read_text().removeprefix("\ufeff"))) == 1
    assert cli("init", "--undo").code == 0 and settings.read_bytes() == content


def test_settings_that_turn_hooks_off_are_told_of(cli: CommandLine, settings: Path) -> None:
    settings.write_text('{"disableAllHooks": true}')
    assert "But disableAllHooks is set there, so no hook runs." in cli("init", "--yes").out


def test_what_was_changed_since_it_was_shown_is_not_written_over(cli: CommandLine, settings: Path) -> None:
    desk = desk_of(cli)
    planned = setup.plan(desk)
    settings.write_text('{"new": true}')
    with pytest.raises(Refused, match="was changed while you looked at it"):
        setup.apply(desk, planned)
    assert settings.read_text() == '{"new": true}'


def test_a_projects_own_settings_are_never_touched(cli: CommandLine, settings: Path) -> None:
    (cli.cwd / ".claude").mkdir()
    (cli.cwd / ".claude" / "settings.json").write_text("{}")
    (cli.cwd / "CLAUDE.md").write_text("mine")
    cli("init", "--yes")
    assert (cli.cwd / ".claude" / "settings.json").read_text() == "{}"
    assert sorted(path.name for path in cli.cwd.iterdir()) == [".claude", "CLAUDE.md"]


def desk_of(cli: CommandLine) -> Desk:
    return open_desk(env=cli.env, cwd=cli.cwd, clock=cli.clock)


# Taking it back


def test_taken_back_the_file_is_byte_for_byte_as_it_was(cli: CommandLine, settings: Path) -> None:
    cli("init", "--yes")
    assert cli("init", "--undo").out == snapshot("✓ Claude Code: taken back (/ada/.claude/settings.json)\n")
    assert settings.read_text() == OWN and stat.S_IMODE(settings.stat().st_mode) == 0o640
    assert not (cli.home / "data" / "guard.sh").exists()
    left = [path.name for path in (cli.home / "data" / "setup").iterdir()]
    assert left == [".lock"]
    assert "not set up" in cli("init", "--undo").out


def test_of_what_was_changed_since_only_the_hook_is_taken_out(cli: CommandLine, settings: Path) -> None:
    cli("init", "--yes")
    settings.write_text(settings.read_text().replace('"opus"', '"haiku"'))
    result = cli("init", "--undo")
    assert result.code == 0 and "the file was changed since it was set up" in result.out
    assert settings.read_text() == OWN.replace('"opus"', '"haiku"')
    (backup,) = (cli.home / "data" / "setup").glob("claude-*.json")
    assert backup.read_text() == OWN


def test_a_hook_that_shares_its_group_with_another_goes_alone(cli: CommandLine, settings: Path) -> None:
    cli("init", "--yes")
    value = json.loads(settings.read_text())
    value["hooks"]["PreToolUse"][1]["hooks"].insert(0, {"type": "command", "command": "theirs"})
    settings.write_text(json.dumps(value))
    cli("init", "--undo")
    groups = json.loads(settings.read_text())["hooks"]["PreToolUse"]
    assert [[hook["command"] for hook in group["hooks"]] for group in groups] == [['mine.sh "é"'], ["theirs"]]


def test_what_a_person_took_out_already_is_not_set_up(cli: CommandLine, settings: Path) -> None:
    cli("init", "--yes")
    settings.write_text("{}")
    assert "not set up" in cli("init", "--undo").out and settings.read_text() == "{}"
    settings.unlink()
    assert "not set up" in cli("init", "--undo").out and not settings.exists()


def test_a_hook_whose_record_was_lost_is_taken_out_all_the_same(cli: CommandLine, settings: Path) -> None:
    cli("init", "--yes")
    (cli.home / "data" / "setup" / "claude.json").write_text("no record")
    assert "taken out" in cli("init", "--undo").out
    assert settings.read_text() == OWN


def test_a_backup_that_is_not_what_was_kept_is_not_put_back(cli: CommandLine, settings: Path) -> None:
    cli("init", "--yes")
    (backup,) = (cli.home / "data" / "setup").glob("claude-*.json")
    backup.write_text("other")
    after = settings.read_text()
    assert_refused(cli("init", "--undo"), 5, "is not what was kept there")
    assert settings.read_text() == after


def test_taking_back_what_was_never_set_up_makes_nothing(cli: CommandLine, settings: Path) -> None:
    assert "not set up" in cli("init", "--undo").out
    assert settings.read_text() == OWN and not (cli.home / "data").exists()


def test_segues_home_may_have_any_name(cli: CommandLine, settings: Path) -> None:
    home = cli.folder / 'it\'s "$(touch taken-in)" `x`; é'
    assert cli("init", "--yes", SEGUE_HOME=str(home)).code == 0
    (group,) = guards(settings.read_text())
    command = group["hooks"][0]["command"]
    now = clock.now()
    note = Held(root=str(cli.cwd), handoff="h", holder="X", since=now, expires=clock.later(now, 60))
    guard.put(home / "data", note, now)
    given = {"tool_name": "Write", "tool_input": {"file_path": str(cli.cwd / "a")}, "cwd": str(cli.cwd)}
    done = subprocess.run(
        ["sh", "-c", command], input=json.dumps(given), capture_output=True, text=True, cwd=cli.cwd
    )
    assert "deny" in done.stdout and done.stderr == ""
    assert list(cli.cwd.iterdir()) == []


# What the doctor sees of it


def test_the_doctor_tells_who_holds_what_and_what_a_hook_could_not_tell(
    cli: CommandLine, settings: Path
) -> None:
    data = cli.home / "data"
    now = cli.clock()
    note = Held(root="/p", handoff="h-1", holder="Other Agent", since=now, expires="2999" + now[4:])
    guard.put(data, note, now)
    guard.note_failure(data, ValueError("odd"), now)
    out = cli("doctor", SEGUE_HANDOFF="h-1").out
    assert "Other Agent holds /p since 2026-11-16T09:30Z (h-1), and the store knows nothing of it" in out
    assert "let the agent go on: ValueError: odd" in out
    assert "SEGUE_HANDOFF is set" not in out
