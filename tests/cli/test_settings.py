"""Settings: which layer wins, what an untrusted project may do, and what each value takes."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue import settings
from segue.base import files, paths
from segue.errors import BadValue, UnknownKey
from segue.ops import settings_file as settings_ops
from segue.settings import MODEL_LIMIT, SETTINGS, Assignment, Layer, Settings, Source
from tests.conftest import CommandLine


def given_in(layer: Layer, key: str, value: Any) -> list[Assignment]:
    return [settings.assign(key, value, Source(layer, "somewhere:1"), "somewhere:1")]


def test_every_field_has_a_setting_and_every_setting_a_field() -> None:
    assert {setting.field for setting in SETTINGS} == set(Settings.__struct_fields__)


def test_every_default_is_a_value_that_the_setting_takes() -> None:
    for setting in SETTINGS:
        if setting.key != "limits.models":
            assert setting.kind.read(setting.default) == setting.default


def test_the_template_can_be_read_and_changes_nothing() -> None:
    text = settings_ops.template()
    assert settings.read_text(text, Path("t"), Layer.USER) == []
    lines = [line[2:] if line.startswith("# ") and " = " in line else line for line in text.splitlines()]
    found = settings.read_text("\n".join(lines), Path("t"), Layer.USER)
    assert len(found) == len(SETTINGS)
    for assignment in found:
        if not assignment.key.startswith(MODEL_LIMIT):
            assert assignment.value == settings.BY_KEY[assignment.key].default


ORDER = [Layer.USER, Layer.PROJECT, Layer.ENVIRONMENT, Layer.FLAG, Layer.POLICY]


@given(st.lists(st.sampled_from(range(5)), unique=True, min_size=1))
def test_the_last_layer_wins(chosen: list[int]) -> None:
    layers = [given_in(ORDER[i], "limits.urgent", 50 + i) for i in sorted(chosen)]
    resolved = settings.resolve(layers, is_trusted=True)
    assert resolved.settings.limits_urgent == 50 + max(chosen)
    assert resolved.source("limits.urgent").layer is ORDER[max(chosen)]


NARROWER = [
    ("handoff.auto_switch", True, False),
    ("handoff.auto", True, False),
    ("handoff.preserve", "complete", "minimal"),
    ("vendors.allowed", ["a", "b"], ["a"]),
    ("redact.allow", ["a", "b"], ["a"]),
    ("mcp.allow", ["prepare", "offer"], ["prepare"]),
    ("handoff.models", ["opus", "sonnet"], ["opus"]),
    ("verify.run_tests", True, False),
    ("run.chain", ["opus", "sonnet"], ["opus"]),
    ("run.week", 60, 40),
    ("run.prewarm", True, False),
]
NEVER = [
    ("store.url", "", "postgresql://evil/x"),
    ("user.name", "ada", "eve"),
    ("verify.test_command", ["pytest", "-q"], ["sh", "evil.sh"]),
    ("store.busy_seconds", 30, 1),
    ("limits.recommend", 75, 50),
    ("limits.urgent", 90, 80),
    ("limits.models.opus", 80, 60),
]


@pytest.mark.parametrize(("key", "wide", "narrow"), NARROWER)
def test_an_untrusted_project_may_narrow_and_not_widen(key: str, wide: Any, narrow: Any) -> None:
    down = settings.resolve(
        [given_in(Layer.USER, key, wide), given_in(Layer.PROJECT, key, narrow)], is_trusted=False
    )
    assert down.source(key).layer is Layer.PROJECT and down.ignored == ()
    up = settings.resolve(
        [given_in(Layer.USER, key, narrow), given_in(Layer.PROJECT, key, wide)], is_trusted=False
    )
    assert up.source(key).layer is Layer.USER
    assert [assignment.key for assignment in up.ignored] == [key]
    trusted = settings.resolve(
        [given_in(Layer.USER, key, narrow), given_in(Layer.PROJECT, key, wide)], is_trusted=True
    )
    assert trusted.source(key).layer is Layer.PROJECT


@pytest.mark.parametrize(("key", "wide", "narrow"), NEVER)
def test_some_settings_are_never_an_untrusted_projects(key: str, wide: Any, narrow: Any) -> None:
    for one, other in ((wide, narrow), (narrow, wide)):
        resolved = settings.resolve(
            [given_in(Layer.USER, key, one), given_in(Layer.PROJECT, key, other)], is_trusted=False
        )
        assert resolved.source(key).layer is Layer.USER and len(resolved.ignored) == 1


def test_every_setting_says_what_narrows_it() -> None:
    tested = {key for key, _, _ in NARROWER + NEVER}
    assert {setting.key for setting in SETTINGS} == {key.replace(".opus", "") for key in tested}


@given(st.integers())
def test_a_percentage_is_whole_and_between_1_and_100(number: int) -> None:
    for value in (number, str(number), f"{number}%"):
        if 1 <= number <= 100:
            assert settings.assign("limits.urgent", value, Source(Layer.USER), "x").value == number
        else:
            with pytest.raises(BadValue):
                settings.assign("limits.urgent", value, Source(Layer.USER), "x")


@given(st.text())
def test_any_key_is_known_or_refused(key: str) -> None:
    try:
        settings.setting_for(key, "x")
    except UnknownKey as error:
        assert "there is no setting" in str(error)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_any_value_is_taken_or_refused(value: Any) -> None:
    for setting in SETTINGS:
        key = setting.key if setting.key != "limits.models" else "limits.models.opus"
        try:
            settings.assign(key, value, Source(Layer.USER), "x")
        except BadValue as error:
            assert setting.kind.takes in str(error)


def test_the_line_of_a_key_is_found_in_every_way_of_writing_it() -> None:
    text = (
        "# limits.urgent\n"
        "handoff.auto = true\n"
        "[limits]\n"
        "recommend = 5 # urgent = 1\n"
        '"urgent" = 9\n'
        "[limits.models]\n"
        "opus = 1\n"
    )
    keys = {"handoff.auto": 2, "limits.recommend": 4, "limits.urgent": 5, "limits.models.opus": 7}
    lines = settings.lines_of(text)
    assert {key: lines[key] for key in keys} == keys


# On the command line


def test_where_each_value_comes_from_is_told(cli: CommandLine) -> None:
    cli("config", "set", "limits.recommend", "60%")
    assert "from user file /ada/home/settings.toml:2" in cli("config", "get", "limits.recommend").out
    by_env = cli("config", "get", "limits.recommend", SEGUE_LIMITS_RECOMMEND="50")
    assert "= 50%" in by_env.out and "from environment SEGUE_LIMITS_RECOMMEND" in by_env.out
    by_flag = cli(
        "--set", "limits.recommend=40", "config", "get", "limits.recommend", SEGUE_LIMITS_RECOMMEND="50"
    )
    assert "= 40%" in by_flag.out and "from flag --set" in by_flag.out


def test_setting_keeps_comments_and_order(cli: CommandLine) -> None:
    cli.home.mkdir(mode=0o700)
    file = cli.home / "settings.toml"
    file.write_text("# mine\n[limits]\nurgent = 95 # high\n\n[handoff]\nauto = true\n")
    assert cli("config", "set", "limits.urgent", "85").code == 0
    assert file.read_text() == '# mine\n[limits]\nurgent = "85%" # high\n\n[handoff]\nauto = true\n'
    assert cli("config", "unset", "handoff.auto").code == 0
    assert "auto" not in file.read_text()


def test_a_value_that_something_else_wins_over_is_set_with_a_warning(cli: CommandLine) -> None:
    result = cli("config", "set", "limits.urgent", "85", SEGUE_LIMITS_URGENT="95")
    assert "environment SEGUE_LIMITS_URGENT overrides it" in result.out


def test_the_flags_of_handoff_config_write_the_same_settings(cli: CommandLine) -> None:
    flags = ["--opus-limit", "80%", "--auto-switch", "true", "--auto", "true", "--preserve", "complete"]
    assert cli("handoff", "config", *flags).code == 0
    listed = msgspec.json.decode(cli("config", "list", "--json").out)
    values = {row["key"]: row["value"] for row in listed}
    assert values["limits.models.opus"] == 80
    assert values["handoff.auto_switch"] is values["handoff.auto"] is True
    assert values["handoff.preserve"] == "complete"
    assert cli("handoff", "config", "--sonnet-limit=70%").code == 0
    assert "70%" in cli("config", "get", "limits.models.sonnet").out


@pytest.mark.parametrize(
    "flags",
    [["--opus-limit"], ["--nonsense", "1"], ["--opus-limit", "900%"], ["stray"], [], ["--auto", "perhaps"]],
)
def test_handoff_config_refuses_what_it_does_not_understand(cli: CommandLine, flags: list[str]) -> None:
    result = cli("handoff", "config", *flags)
    assert result.code in (2, 3) and " next: " in result.err
    assert not (cli.home / "settings.toml").exists()


@pytest.mark.parametrize(
    "text",
    [
        "limits.urgent = 90\nlimits.recommend = 60\n",
        "limits = {urgent = 90, recommend = 60}\n",
        "[limits]\nurgent = 90\nrecommend = 60\nmodels = {sonnet = 50}\n",
        "[handoff]\nauto = true\n[limits.models]\nsonnet = 50\n[limits]\nrecommend = 60\n",
    ],
)
def test_setting_one_value_changes_no_other(cli: CommandLine, text: str) -> None:
    cli.home.mkdir(mode=0o700)
    file = cli.home / "settings.toml"
    file.write_text(text)
    before = {row["key"]: row["value"] for row in msgspec.json.decode(cli("config", "list", "--json").out)}
    result = cli("handoff", "config", "--opus-limit", "80%")
    if result.code == 0:
        after = {row["key"]: row["value"] for row in msgspec.json.decode(cli("config", "list", "--json").out)}
        assert after == {**before, "limits.models.opus": 80}
    else:
        assert result.code == 3 and "segue config edit" in result.err
        assert file.read_text() == text


def test_a_model_may_have_any_usual_name(cli: CommandLine) -> None:
    for name in ("opus", "gpt-4.1", "qwen3-coder:30b", "o3_mini"):
        assert cli("config", "set", f"limits.models.{name}", "70").code == 0
        assert "= 70%" in cli("config", "get", f"limits.models.{name}").out


def test_a_file_is_changed_where_it_is_as_it_is(cli: CommandLine, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_bytes(b"# mine\r\n[limits]\r\nurgent = 95\r\n")
    real.chmod(0o644)
    cli.home.mkdir(mode=0o700)
    (cli.home / "settings.toml").symlink_to(real)
    assert cli("config", "set", "limits.urgent", "85").code == 0
    assert (cli.home / "settings.toml").is_symlink()
    assert real.read_bytes() == b'# mine\r\n[limits]\r\nurgent = "85%"\r\n'
    assert real.stat().st_mode & 0o777 == 0o644
    cli("config", "set", "--project", "limits.urgent", "80")
    assert [path.name for path in cli.cwd.iterdir()] == [".segue.toml"]


def test_a_password_is_never_shown(cli: CommandLine) -> None:
    url = "postgresql://ada:s3cret@127.0.0.1:1/x"
    screens = [
        cli("config", "set", "store.url", url),
        cli("config", "list"),
        cli("config", "list", "--json"),
        cli("config", "get", "store.url", "--json"),
        cli("session", "list"),
        cli("session", "list", "--debug"),
        cli("doctor"),
        cli("backup", "restore", "latest"),
        cli("config", "set", "store.url", url.replace("postgresql", "postgress")),
        cli("config", "unset", "store.url"),
    ]
    assert "s3cret" not in "".join(screen.out + screen.err for screen in screens)
    assert "s3cret" not in (cli.home / "segue.log").read_text()


@pytest.mark.parametrize("kind", ["folder", "pipe", "huge", "dangling"])
def test_a_project_file_that_is_no_file_does_no_harm(cli: CommandLine, kind: str) -> None:
    path = cli.cwd / ".segue.toml"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "huge":
        path.write_bytes(b"#" * 2_000_000)
    else:
        path.symlink_to("/nowhere")
    assert cli("config", "list").code == 0


HOSTILE = {
    "spaces": " " * 30_000 + "x = 1\n",
    "many keys": "[limits.models]\n" + "".join(f"m{n} = 5\n" for n in range(4000)),
    "a long number": "x = " + "9" * 5000,
    "deep keys": ".".join(["a"] * 5000) + " = 1",
    "deep tables": "[" + ".".join(["a"] * 5000) + "]\nx = 1",
    "deep lists": "x = " + "[" * 5000,
    "escapes": '"\\u001b]0;pwned\\u0007\\u001b[2J" = 1',
    "too large": "#" * 100_000,
}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_strangers_file_cannot_hang_crash_or_dress_up(cli: CommandLine, how: str) -> None:
    (cli.cwd / ".segue.toml").write_text(HOSTILE[how])
    begun = time.process_time()
    result = cli("config", "list")
    assert result.code == 0 and "note: " in result.err, result
    assert time.process_time() - begun < 5
    assert "\x1b" not in result.err and "Traceback" not in result.err


def test_what_is_hashed_is_what_is_read(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is swapped after one look must not be obeyed under the trust of the other."""
    file = cli.cwd / ".segue.toml"
    file.write_text("[handoff]\nauto = true\n")
    assert cli("trust").code == 0
    looks = []
    real = settings.read_bytes

    def swapping(path: Path) -> bytes | None:
        content = real(path)
        if path == file:
            looks.append(path)
            file.write_text("[handoff]\nauto_switch = true\n")
        return content

    monkeypatch.setattr(settings, "read_bytes", swapping)
    shown = cli("config", "list").out
    assert looks == [file]
    assert "handoff.auto_switch  false" in shown and "handoff.auto         true" in shown


def test_a_file_that_is_swapped_before_it_is_changed_is_not_trusted(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = cli.cwd / ".segue.toml"
    cli("config", "set", "--project", "handoff.auto", "true")
    real = files.locked

    @contextlib.contextmanager
    def swapping(path: Path) -> Iterator[None]:
        with real(path):
            file.write_text("[handoff]\nauto_switch = true\n")
            yield

    monkeypatch.setattr(files, "locked", swapping)
    assert cli("config", "set", "--project", "handoff.preserve", "minimal").code == 0
    monkeypatch.undo()
    assert "= false" in cli("config", "get", "handoff.auto_switch").out


def test_settings_may_begin_with_a_byte_order_mark(cli: CommandLine) -> None:
    cli.home.mkdir(mode=0o700)
    (cli.home / "settings.toml").write_bytes(b"\xef\xbb\xbf[limits]\nurgent = 80\n")
    assert "= 80%" in cli("config", "get", "limits.urgent").out


def test_taking_trust_back_says_so(cli: CommandLine) -> None:
    (cli.cwd / ".segue.toml").write_text("[handoff]\nauto_switch = true\n")
    given = cli("trust")
    assert "is trusted in its present form" in given.out and given.err == ""
    taken = cli("trust", "--undo")
    assert "no longer trusted" in taken.out and "handoff.auto_switch" in taken.out


def test_a_draft_does_not_undo_what_was_set_since(cli: CommandLine) -> None:
    cli("config", "set", "limits.urgent", "80")
    cli("config", "edit", **an_editor(cli, "[limits]\\nurgnt = 85\\n"))
    cli("config", "set", "user.name", "Zed")
    (draft,) = cli.home.glob("settings.draft-*")
    assert cli("config", "edit", EDITOR="true", PATH="/usr/bin:/bin").code == 0
    assert 'name = "Zed"' in (cli.home / "settings.toml").read_text()
    assert "urgnt" in draft.read_text()


def test_a_change_while_editing_is_not_lost(cli: CommandLine) -> None:
    cli("config", "set", "limits.urgent", "80")
    script = cli.folder / "editor"
    script.write_text(f"#!/bin/sh\nprintf '[limits]\\nurgent = 70\\n' > {cli.home}/settings.toml\n")
    script.chmod(0o755)
    refused = cli("config", "edit", EDITOR=str(script), PATH="/usr/bin:/bin")
    assert refused.code == 3 and "changed while you edited" in refused.err
    assert "= 70%" in cli("config", "get", "limits.urgent").out


def test_without_a_terminal_or_an_editor_nothing_is_started(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert "No terminal" in cli("config", "edit").err


def test_the_platforms_own_folders_are_used(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    program = [sys.executable, "-m", "segue"]
    subprocess.run(
        [*program, "config", "set", "limits.urgent", "80"], env=env, check=True, capture_output=True
    )
    subprocess.run([*program, "session", "create"], env=env, check=True, capture_output=True)
    files = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert {"settings.toml", "store.db"} <= files
    if sys.platform == "linux":
        assert (tmp_path / ".config" / "segue" / "settings.toml").exists()
        assert (tmp_path / ".local" / "share" / "segue" / "shared" / "store.db").exists()


def test_a_project_is_trusted_as_its_file_is_and_no_longer_when_it_changes(cli: CommandLine) -> None:
    file = cli.cwd / ".segue.toml"
    file.write_text("[handoff]\nauto_switch = true\n")
    before = cli("config", "get", "handoff.auto_switch")
    assert "= false" in before.out and "ignored" in before.err
    trusted = cli("trust")
    assert trusted.code == 0 and "handoff.auto_switch" in trusted.out
    assert "= true" in cli("config", "get", "handoff.auto_switch").out
    file.write_text("[handoff]\nauto_switch = true\n[store]\nurl = 'postgresql://evil/x'\n")
    assert "= false" in cli("config", "get", "handoff.auto_switch").out
    assert cli("trust").code == 0
    assert cli("trust", "--undo").code == 0
    assert "= false" in cli("config", "get", "handoff.auto_switch").out
    assert cli("trust", "--undo").code == 1


def test_a_strangers_broken_file_does_not_stop_the_work(cli: CommandLine) -> None:
    (cli.cwd / ".segue.toml").write_text("nonsense = = 1")
    result = cli("config", "list")
    assert result.code == 0 and "ignored, because this project is not trusted" in result.err


def test_what_the_person_writes_into_a_new_project_file_is_trusted(cli: CommandLine) -> None:
    assert cli("config", "set", "--project", "handoff.auto_switch", "true").code == 0
    assert "from project file /ada/project/.segue.toml:2" in cli("config", "get", "handoff.auto_switch").out


def test_a_strangers_file_is_not_trusted_by_adding_to_it(cli: CommandLine) -> None:
    (cli.cwd / ".segue.toml").write_text("[handoff]\nauto_switch = true\n")
    assert cli("config", "set", "--project", "limits.urgent", "80").code == 0
    assert "= false" in cli("config", "get", "handoff.auto_switch").out


def test_the_policy_wins_over_all_and_cannot_be_changed(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[handoff]\nauto_switch = false\n[vendors]\nallowed = ["local"]\n')
    monkeypatch.setattr(paths, "policy_file", lambda: policy)
    shown = cli("--set", "handoff.auto_switch=true", "config", "get", "handoff.auto_switch")
    assert "= false" in shown.out and "from policy" in shown.out
    refused = cli("config", "set", "handoff.auto_switch", "true")
    assert refused.code == 3 and "fixed by your organisation" in refused.err


def test_a_project_file_is_looked_for_up_to_the_repository_and_not_beyond(tmp_path: Path) -> None:
    home = tmp_path / "home"
    inner = home / "repo" / "deep" / "er"
    inner.mkdir(parents=True)
    (home / ".segue.toml").touch()
    assert paths.find_project_file(inner, home) is None
    (home / "repo" / ".segue.toml").touch()
    assert paths.find_project_file(inner, home) == home / "repo" / ".segue.toml"
    (home / "repo" / "deep" / ".git").mkdir()
    assert paths.find_project_file(inner, home) is None


def an_editor(cli: CommandLine, text: str) -> dict[str, str]:
    script = cli.folder / "editor"
    script.write_text(f"#!/bin/sh\nprintf '{text}' > \"$2\"\n")
    script.chmod(0o755)
    return {"EDITOR": f"{script} --flag", "PATH": "/usr/bin:/bin"}


def test_editing_takes_effect_when_it_can_be_read(cli: CommandLine) -> None:
    assert cli("config", "edit", **an_editor(cli, "[limits]\\nurgent = 80\\n")).code == 0
    assert "= 80%" in cli("config", "get", "limits.urgent").out


def test_an_edit_that_cannot_be_read_is_kept_as_a_draft(cli: CommandLine) -> None:
    cli("config", "set", "limits.urgent", "80")
    refused = cli("config", "edit", **an_editor(cli, "[limits]\\nurgnt = 85\\n"))
    assert refused.code == 3 and "Did you mean limits.urgent?" in refused.err and "kept in" in refused.err
    assert "= 80%" in cli("config", "get", "limits.urgent").out
    assert "urgnt" in next(cli.home.glob("settings.draft-*.toml")).read_text()
    assert cli("config", "edit", **an_editor(cli, "[limits]\\nurgent = 85\\n")).code == 0
    assert not list(cli.home.glob("settings.draft-*"))


def test_an_editor_that_is_not_there_is_an_error_that_helps(cli: CommandLine) -> None:
    result = cli("config", "edit", EDITOR="/no/such/editor")
    assert result.code == 2 and "segue config set" in result.err


def test_a_misspelt_variable_is_found_by_the_doctor(cli: CommandLine) -> None:
    assert "SEGUE_LIMIT_URGENT is set" in cli("doctor", SEGUE_LIMIT_URGENT="5").out
