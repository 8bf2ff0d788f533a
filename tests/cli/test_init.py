"""Setting up agents: another program's settings are changed at one place, and taken back without a trace."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import stat
import subprocess
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from segue.agents.shared.settings import json_edit
from segue.base import clock
from segue.errors import Refused
from segue.faces.cli import COMMANDS, Listed, init
from segue.hooks import guard
from segue.hooks.guard import Held
from segue.ops.common.desk import Desk, open_desk
from segue.ops.setup import install
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
    return [group for group in groups if "hook.sh" in group["hooks"][0]["command"]]


def record_file(cli: CommandLine) -> Path:
    (found,) = (cli.home / "data" / "setup").glob("claude.*.json")
    return found


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
    script = shlex.quote(str(cli.home / "data" / "hook.sh"))
    assert group["hooks"] == [
        {"type": "command", "command": f"[ ! -x {script} ] || {script} edit claude", "timeout": 10}
    ]
    added = json.dumps(group, indent=4).replace("\n", "\n            ")
    assert f"}}]}},\n            {added}\n        ]" in text
    value = json.loads(text)
    assert value.pop("statusLine")["type"] == "command"
    theirs = json.loads(OWN)
    assert value.pop("hooks")["PreToolUse"][0] == theirs.pop("hooks")["PreToolUse"][0]
    assert value == theirs
    kept = [line for line in OWN.splitlines() if '"' in line]
    assert all(line.removesuffix(",") in text for line in kept)
    assert stat.S_IMODE(settings.stat().st_mode) == 0o640
    assert stat.S_IMODE((cli.home / "data" / "hook.sh").stat().st_mode) == 0o700


def test_the_screen_tells_what_was_done_and_where_the_file_is_kept_as_it_was(
    cli: CommandLine, settings: Path
) -> None:
    assert cli("init", "--yes").out == snapshot("""\
✓ Claude Code: set up (/ada/.claude/settings.json)
  Previous version: /ada/home/data/setup/claude-settings.json-20261116T093000Z
· Codex: not on this machine
· Gemini CLI: not on this machine

Restart agents that are open now. To undo everything: segue init --undo
""")
    (backup,) = (cli.home / "data" / "setup").glob("claude-*Z")
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
    script = cli.home / "data" / "hook.sh"
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
    assert_refused(result, 2, "Nothing was changed: there is no terminal to ask on.")
    assert '+                        "timeout": 10' in result.err and "segue init --yes" in result.err
    assert "1 file: /ada/.claude/settings.json; segue init --undo restores it." in result.err
    assert settings.read_text() == OWN and not (cli.home / "data").exists()


@pytest.mark.parametrize("answer", [True, False])
def test_on_a_terminal_the_person_decides(
    cli: CommandLine, settings: Path, monkeypatch: pytest.MonkeyPatch, answer: bool
) -> None:
    monkeypatch.setattr(init, "confirmed", lambda: answer)
    result = cli("init")
    assert result.code == 0 and (result.out == "Nothing was changed.\n") is not answer
    assert (settings.read_text() == OWN) is not answer
    assert (cli.home / "data").exists() is answer


def test_no_secret_of_the_settings_is_shown(cli: CommandLine, settings: Path) -> None:
    key = "sk-ant-api03-" + "x8Kq2Lm5Np7Rs9Tv1Wy3Za4Bc6De8Fg0Hj2K" * 2
    line = {"type": "command", "command": f"ANTHROPIC_AUTH_TOKEN={key} mine.sh"}
    own = json.dumps({"env": {"ANTHROPIC_API_KEY": key}, "statusLine": line}, indent=2)
    settings.write_text(own)
    shown = cli("init").err
    assert "ANTHROPIC_AUTH_TOKEN" in shown and "sk-ant" not in shown and key[20:40] not in shown
    assert not (cli.home / "data").exists()
    told = cli("init", "--yes", "--json").out
    assert "mine.sh" in told and "sk-ant" not in told and key[20:40] not in told
    assert key in settings.read_text()
    assert cli("init", "--undo").code == 0 and settings.read_text() == own


def test_a_line_of_any_length_with_tabs_in_it_is_shown_narrow(cli: CommandLine, settings: Path) -> None:
    settings.write_text('{\n\t"hooks": {},\n\t"permissions": {"allow": ["' + "ls " * 200 + '"]}\n}\n')
    shown = cli("init").err
    assert "\ufffd" not in shown and '   "permissions"' in shown
    assert max(len(line) for line in shown.splitlines() if "permissions" in line) == init.WIDEST + 2


def test_who_has_no_agent_here_is_told_what_to_do(cli: CommandLine) -> None:
    assert cli("init").out == snapshot("""\
· Claude Code: not on this machine
· Codex: not on this machine
· Gemini CLI: not on this machine

Install an agent or put it on PATH, then run segue init again.
""")


def test_an_agent_without_hooks_is_named_and_what_it_could_have(cli: CommandLine, settings: Path) -> None:
    (cli.folder / "bin").mkdir()
    (cli.folder / "bin" / "opencode").write_text("#!/bin/sh\n")
    (cli.folder / "bin" / "opencode").chmod(0o755)
    assert "· OpenCode has no hooks that Segue can use; segue init --mcp gives it tools" in cli("init").err
    assert "has no hooks that Segue can use; segue init --mcp" in cli("init", "--yes").out
    assert "OpenCode: set up" in cli("init", "--mcp", "--yes").out


def test_for_a_plugin_one_script_is_written_and_no_settings(cli: CommandLine, settings: Path) -> None:
    for names in ((), ("claude",)):
        assert cli("init", "--plugin", *names).out == snapshot(
            "✓ The script that the hooks of a plugin run was written; no settings were changed (/ada/home/data/hook.sh)\n"
        )
    assert settings.read_text() == OWN and os.access(cli.home / "data" / "hook.sh", os.X_OK)


def test_programs_get_json(cli: CommandLine, settings: Path) -> None:
    change, *others = json.loads(cli("init", "--yes", "--json").out)
    assert (change["agent"], change["state"]) == ("claude", "set up")
    assert {other["state"] for other in others} == {"not on this machine"}
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
        assert "It was left as it is" in result.err and "segue init AGENT" in result.err
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
    assert "Note: disableAllHooks is set there, so no hook runs." in cli("init", "--yes").out


def test_what_was_changed_since_it_was_shown_is_not_written_over(cli: CommandLine, settings: Path) -> None:
    desk = desk_of(cli)
    planned = install.plan(desk)
    settings.write_text('{"new": true}')
    with pytest.raises(Refused, match="changed while you reviewed it"):
        install.apply(desk, planned)
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
    assert not (cli.home / "data" / "hook.sh").exists()
    left = [path.name for path in (cli.home / "data" / "setup").iterdir()]
    assert left == [".lock"]
    assert "not set up" in cli("init", "--undo").out


def test_of_what_was_changed_since_only_the_hook_is_taken_out(cli: CommandLine, settings: Path) -> None:
    cli("init", "--yes")
    settings.write_text(settings.read_text().replace('"opus"', '"haiku"'))
    result = cli("init", "--undo")
    assert result.code == 0 and "the file was changed since it was set up" in result.out
    assert settings.read_text() == OWN.replace('"opus"', '"haiku"')
    (backup,) = (cli.home / "data" / "setup").glob("claude-*Z")
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
    record_file(cli).write_text("no record")
    assert "taken out" in cli("init", "--undo").out
    assert settings.read_text() == OWN


def test_a_backup_that_is_not_what_was_kept_is_not_put_back(cli: CommandLine, settings: Path) -> None:
    cli("init", "--yes")
    (backup,) = (cli.home / "data" / "setup").glob("claude-*Z")
    backup.write_text("other")
    after = settings.read_text()
    assert_refused(cli("init", "--undo"), 5, "has changed; ")
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


# Other people's hooks and status lines, whatever they are

words = st.text(alphabet="abc/ .-_$'\"\\\n~é{}#,:[]", max_size=20)
handlers = st.fixed_dictionaries(
    {"type": st.just("command"), "command": words}, optional={"timeout": st.integers(1, 60)}
)
groups = st.fixed_dictionaries({"hooks": st.lists(handlers, max_size=3)}, optional={"matcher": words})
events = st.sampled_from(
    ["PreToolUse", "SessionStart", "Stop", "UserPromptSubmit", "SessionEnd", "BeforeTool", "Other"]
)
lines = st.fixed_dictionaries(
    {"type": st.just("command"), "command": words}, optional={"padding": st.integers(0, 3)}
)
others = st.dictionaries(words, st.none() | st.booleans() | words | st.lists(words, max_size=2), max_size=3)
theirs = st.tuples(
    others.filter(lambda other: not {"hooks", "statusLine", "disableAllHooks"} & other.keys()),
    st.fixed_dictionaries(
        {}, optional={"hooks": st.dictionaries(events, st.lists(groups, max_size=3)), "statusLine": lines}
    ),
).map(lambda both: {**both[0], **both[1]})
styles = st.fixed_dictionaries(
    {"indent": st.sampled_from([None, 2, 4, "\t"]), "ensure_ascii": st.booleans()},
    optional={"separators": st.sampled_from([(",", ":"), (", ", ": ")])},
)
FILES = {"claude": ".claude/settings.json", "codex": ".codex/hooks.json", "gemini": ".gemini/settings.json"}


def hooks_of(settings: Any) -> list[tuple[str, str, str]]:
    """Every hook: its event, its group's pattern, and what it runs."""
    return [
        (event, group.get("matcher", ""), handler["command"])
        for event, found in settings.get("hooks", {}).items()
        for group in found
        for handler in group["hooks"]
    ]


@hypothesis.settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    data=st.data(),
    name=st.sampled_from(list(FILES)),
    own=theirs,
    style=styles,
    end=st.sampled_from(["", "\n", "\r\n"]),
)
def test_whatever_others_have_there_is_kept_and_taken_back_byte_for_byte(
    tmp_path: Path, data: st.DataObject, name: str, own: dict[str, Any], style: dict[str, Any], end: str
) -> None:
    home = tmp_path / os.urandom(8).hex()
    path = home / FILES[name]
    path.parent.mkdir(parents=True)
    before = (json.dumps(own, **style) + end).encode()
    path.write_bytes(before)
    env = {"HOME": str(home), "SEGUE_HOME": str(home / "it's segue"), "PATH": "/nowhere"}
    desk = open_desk(env=env, cwd=home)
    for _ in range(data.draw(st.integers(1, 2))):
        install.apply(desk, install.plan(desk, [name]))
    after = json.loads(path.read_bytes())
    kept = [hook for hook in hooks_of(after) if "hook.sh" not in hook[2]]
    assert kept == hooks_of(own)
    assert {key: value for key, value in after.items() if key not in ("hooks", "statusLine")} == {
        key: value for key, value in own.items() if key not in ("hooks", "statusLine")
    }
    added = {hook[0] for hook in hooks_of(after) if "hook.sh" in hook[2]}
    assert len(added) == (4 if name == "gemini" else 5)
    if data.draw(st.booleans()):
        install.undo(desk, [name])
        assert path.read_bytes() == before
    else:
        after["theirs since"] = 1
        path.write_text(json.dumps(after))
        install.undo(desk, [name])
        left = json.loads(path.read_bytes())
        assert left.pop("theirs since") == 1
        assert hooks_of(left) == hooks_of(own) and left.get("statusLine") == own.get("statusLine")
    desk.close()


# The status line


@pytest.mark.parametrize(
    "own", ["", "printf 'mine: '; cat | wc -c", "~/line.sh --short \"$HOME\" 'it''s'", "echo mine"]
)
def test_the_persons_own_status_line_goes_on_as_it_was_and_ours_is_beneath(
    cli: CommandLine, settings: Path, own: str
) -> None:
    line = cli.folder / "line.sh"
    line.write_text('#!/bin/sh\nread given\nprintf "%s|" "$@"; echo "${#given}"\n')
    line.chmod(0o755)
    settings.write_text(
        json.dumps({"statusLine": {"type": "command", "command": own, "padding": 2}} if own else {})
    )
    before = settings.read_bytes()
    assert cli("init", "--yes").code == 0
    shown = json.loads(settings.read_text())["statusLine"]
    assert shown["type"] == "command" and shown.get("padding") == (2 if own else None)
    given = json.dumps({"session_id": "s", "model": {"id": "m"}, "context_window": {"used_percentage": 42}})

    def run(command: str) -> str:
        env = {"HOME": str(cli.folder), "PATH": os.environ["PATH"], "NO_COLOR": "1"}
        done = subprocess.run(
            ["sh", "-c", command], input=given, capture_output=True, text=True, env=env, check=True
        )
        assert done.stderr == ""
        return done.stdout

    alone = run(own) if own else ""
    assert run(shown["command"]) == (alone and alone.rstrip("\n") + "\n") + "m · context 42%\n"
    assert (cli.home / "data" / "spool" / "statusline.jsonl").exists()
    script = cli.home / "data" / "hook.sh"
    kept = script.read_text()
    script.write_text(kept.replace("-m segue statusline", "-m no_such_module"))
    assert run(shown["command"]) == alone  # Segue is gone from its Python, and theirs is still there
    script.unlink()
    assert run(shown["command"]) == alone  # all of it is gone
    script.write_text(kept)
    assert cli("init", "--undo").code == 0 and settings.read_bytes() == before


@pytest.mark.parametrize("line", [{"type": "static", "text": "x"}, "words", {"type": "command"}])
def test_a_status_line_that_is_no_command_is_left_alone_and_that_is_told(
    cli: CommandLine, settings: Path, line: Any
) -> None:
    settings.write_text(json.dumps({"statusLine": line}))
    assert "its status line is not a command" in cli("init", "--yes").out
    assert json.loads(settings.read_text())["statusLine"] == line


def test_who_set_up_the_status_line_by_hand_does_not_get_it_twice(cli: CommandLine, settings: Path) -> None:
    own = {"statusLine": {"type": "command", "command": "segue statusline -- ~/.claude/my-line.sh"}}
    settings.write_text(json.dumps(own))
    assert cli("init", "--yes").code == 0
    assert json.loads(settings.read_text())["statusLine"] == own["statusLine"]


# Several agents, several times


def test_each_agent_has_its_own_file_and_those_that_were_not_there_go_again(cli: CommandLine) -> None:
    for name in (".codex", ".gemini"):
        (cli.folder / name).mkdir()
    result = cli("init", "--yes")
    assert "Codex: set up" in result.out and "Gemini CLI: set up" in result.out
    assert "Claude Code: not on this machine" in result.out
    assert "its hooks are not trusted yet" in result.out and "Trust all and continue" in result.out
    files = [cli.folder / FILES[name] for name in ("codex", "gemini")]
    assert all(file.is_file() for file in files)
    assert cli("init", "--undo", "codex").code == 0
    assert [file.exists() for file in files] == [False, True]
    assert (cli.home / "data" / "hook.sh").exists()
    assert cli("init", "--undo").code == 0
    assert [file.exists() for file in files] == [False, False]
    assert not (cli.home / "data" / "hook.sh").exists() and not (cli.home / "data" / "hooks").exists()


@pytest.mark.parametrize("is_changed", [False, True])
def test_the_tool_server_may_come_later_and_all_is_taken_back_at_once(
    cli: CommandLine, is_changed: bool
) -> None:
    for name in (".claude", ".codex", ".gemini"):
        (cli.folder / name).mkdir()
    own = {
        ".gemini/settings.json": '{"mcpServers": {"mine": {"command": "x"}}}',
        ".claude.json": '{"numStartups": 3}',
    }
    own |= {".codex/config.toml": '# mine\nmodel = "x"', ".claude/settings.json": OWN}
    for name, text in own.items():
        (cli.folder / name).write_text(text)
    assert cli("init", "--yes").code == 0
    gemini = cli.folder / ".gemini" / "settings.json"
    if is_changed:
        gemini.write_text(gemini.read_text().replace('"x"', '"y"'))
    assert cli("init", "--mcp", "--yes").code == 0
    assert "mcp" in (cli.folder / ".claude.json").read_text() and "hook.sh" in gemini.read_text()
    assert cli("init", "--yes").code == 0 and '"segue"' in gemini.read_text()
    assert cli("init", "--undo").code == 0
    theirs = own[".gemini/settings.json"].replace('"x"', '"y"' if is_changed else '"x"')
    expected = {**own, ".gemini/settings.json": theirs}
    assert {name: (cli.folder / name).read_text() for name in own} == expected
    assert (
        not (cli.folder / ".codex" / "hooks.json").exists() and not (cli.home / "data" / "hook.sh").exists()
    )


def test_what_is_ours_is_never_taken_for_what_was_there_before(cli: CommandLine, settings: Path) -> None:
    cli("init", "--yes")
    record_file(cli).unlink()
    settings.write_text(settings.read_text().replace('"timeout": 10', '"timeout": 11'))
    cli("init", "--yes")
    assert '"timeout": 11' not in settings.read_text()
    assert cli("init", "--undo").code == 0
    assert "hook.sh" not in settings.read_text() and json.loads(settings.read_text()) == json.loads(OWN)


def test_a_folder_that_was_made_goes_again_unless_something_else_is_in_it(cli: CommandLine) -> None:
    program = cli.folder / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for is_used in (False, True):
        assert cli("init", "codex", "--yes").code == 0
        if is_used:
            (cli.folder / ".codex" / "config.toml").write_text("")
        assert cli("init", "--undo").code == 0
        assert (cli.folder / ".codex").exists() is is_used and not (
            cli.folder / ".codex" / "hooks.json"
        ).exists()


def test_an_agent_that_is_named_and_unknown_is_told_of(cli: CommandLine) -> None:
    assert_refused(cli("init", "nobody", "--yes"), 1, "nobody")
    assert "not on this machine" in cli("init", "codex", "--yes").out


def test_codex_hooks_count_as_trusted_when_it_says_so_of_each(cli: CommandLine) -> None:
    folder = cli.folder / ".codex"
    folder.mkdir()
    cli("init", "codex", "--yes")
    path = folder / "hooks.json"
    names = ("session_start", "user_prompt_submit", "pre_tool_use", "pre_compact", "session_end")
    state = "".join(f'[hooks.state."{path}:{name}:0:0"]\ntrusted_hash = "sha256:0"\n' for name in names)
    for config, says in (
        (state, ""),
        (state.replace("session_end", "session_begin"), "not trusted yet"),
        (state + "enabled = false\n", "not trusted yet"),
        ("[features]\nhooks = false\n" + state, "switched off"),
        ("no toml", "not trusted yet"),
    ):
        (folder / "config.toml").write_text(config)
        (change, *_) = json.loads(cli("init", "codex", "--yes", "--json").out)
        assert says in "".join(change["notes"]) and bool(change["notes"]) is bool(says), config
        doctor = cli("doctor").out
        assert ("✓ hooks         Codex: hooks are installed" in doctor) is not bool(says)
        assert says in doctor and "All is well." not in doctor and "Codex: Codex" not in doctor


def test_gemini_settings_with_comments_are_understood_and_their_comments_stay(cli: CommandLine) -> None:
    path = cli.folder / ".gemini" / "settings.json"
    path.parent.mkdir()
    own = '{ // mine\n  "ui": {"theme": "x"}, /* and */\n  "hooks": {"BeforeTool": [\n    // none yet\n  ]}, // "last"\n}\n'
    path.write_text(own)
    assert cli("init", "--yes").code == 0
    text = path.read_text()
    assert all(comment in text for comment in ("// mine", "/* and */", "// none yet", '// "last"'))
    assert "hook.sh edit gemini" in text and json_edit.parse_with_comments(text)["ui"] == {"theme": "x"}
    path.write_text(text.replace('"x"', '"y"'))
    assert "taken out" in cli("init", "--undo").out
    assert path.read_text() == own.replace('"x"', '"y"')


# What an earlier version set up


def old_form(cli: CommandLine, settings: Path) -> str:
    """One hook, one script, one record for an agent."""
    script = cli.home / "data" / "guard.sh"
    (cli.home / "data" / "setup").mkdir(parents=True)
    script.write_text("#!/bin/sh\n")
    script.chmod(0o700)
    quoted = shlex.quote(str(script))
    handler = {"type": "command", "command": f"[ ! -x {quoted} ] || {quoted} claude", "timeout": 10}
    group = {"matcher": "Edit|Bash", "hooks": [handler]}
    text = json_edit.append(settings.read_text(), ("hooks", "PreToolUse"), group)
    backup = cli.home / "data" / "setup" / "claude-20260101T000000Z.json"
    backup.write_text(settings.read_text())
    hashes = [hashlib.sha256(each.encode()).hexdigest() for each in (settings.read_text(), text)]
    record = {"path": str(settings), "before": hashes[0], "after": hashes[1], "backup": backup.name}
    (cli.home / "data" / "setup" / "claude.json").write_text(json.dumps(record))
    settings.write_text(text)
    return text


def test_what_an_earlier_version_set_up_is_replaced_and_taken_back_as_a_whole(
    cli: CommandLine, settings: Path
) -> None:
    old_form(cli, settings)
    assert "was set up by another version of Segue" in cli("doctor").out
    assert cli("init", "--yes").code == 0
    assert "guard.sh" not in settings.read_text() and len(guards(settings.read_text())) == 1
    assert not (cli.home / "data" / "guard.sh").exists()
    assert cli("init", "--undo").code == 0 and settings.read_text() == OWN


def test_what_an_earlier_version_set_up_is_taken_back_without_being_replaced(
    cli: CommandLine, settings: Path
) -> None:
    old_form(cli, settings)
    assert "taken back" in cli("init", "--undo").out
    assert settings.read_text() == OWN and not (cli.home / "data" / "guard.sh").exists()


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
    assert "Other Agent has held /p since 2026-11-16T09:30Z (h-1), but the store has no such lease" in out
    assert "let the agent continue: ValueError: odd" in out
    assert "SEGUE_HANDOFF is set" not in out
