"""Setting up and taking back where things are not as they should be: files that are broken, too large, linked, or left
half-written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from segue.ops.common.desk import open_desk
from segue.ops.setup import install
from tests.cli.test_init import OWN
from tests.conftest import CommandLine

KEY = "0123456789abcdef"


@pytest.fixture
def settings(cli: CommandLine) -> Path:
    """Three agents are here; the first one's settings are told."""
    for name in (".claude", ".codex", ".gemini"):
        (cli.folder / name).mkdir()
    path = cli.folder / ".claude" / "settings.json"
    path.write_text(OWN)
    return path


def test_a_file_that_cannot_be_taken_back_keeps_none_of_the_others(cli: CommandLine, settings: Path) -> None:
    assert cli("init", "--yes").code == 0
    settings.write_text(settings.read_text() + "oops")
    result = cli("init", "--undo")
    assert result.code == 5 and "Traceback" not in result.err
    assert "/.claude/settings.json cannot be understood" in result.err
    assert "Codex: taken back" in result.err and "Gemini CLI: taken back" in result.err
    assert not (cli.folder / ".codex" / "hooks.json").exists()
    assert not (cli.folder / ".gemini" / "settings.json").exists()
    assert (cli.home / "data" / "hook.sh").exists()  # what is left still runs it
    settings.write_text(settings.read_text().removesuffix("oops"))
    assert cli("init", "--undo").code == 0
    assert settings.read_text() == OWN and not (cli.home / "data" / "hook.sh").exists()


@pytest.mark.parametrize("content", ['{"history": "' + "x" * (5 << 20) + '"}', "{oops", "{} // a remark"])
def test_a_file_that_was_never_changed_does_not_matter(
    cli: CommandLine, settings: Path, content: str
) -> None:
    (cli.folder / ".claude.json").write_text(content)  # only the tool server would go there
    assert cli("init", "--yes").code == 0
    assert "cannot be read" not in cli("doctor").out
    result = cli("init", "--undo")
    assert result.code == 0, result
    assert settings.read_text() == OWN


def test_where_one_file_is_broken_the_way_to_set_up_the_others_is_named(
    cli: CommandLine, settings: Path
) -> None:
    settings.write_text("{oops")
    result = cli("init", "--yes")
    assert result.code == 5 and "segue init AGENT" in result.err
    assert cli("init", "codex", "--yes").code == 0
    assert (cli.folder / ".codex" / "hooks.json").exists()


def test_a_link_that_leads_nowhere_stays_and_what_was_made_behind_it_goes(
    cli: CommandLine, settings: Path
) -> None:
    settings.unlink()
    target = cli.folder / "dotfiles" / "claude.json"
    settings.symlink_to(target)
    assert cli("init", "claude", "--yes").code == 0 and "hook.sh" in target.read_text()
    assert cli("init", "--undo").code == 0
    assert settings.is_symlink() and settings.readlink() == target
    assert not target.parent.exists()


def test_what_a_killed_process_left_half_written_goes_and_what_is_anothers_stays(
    cli: CommandLine, settings: Path
) -> None:
    assert cli("init", "claude", "--yes").code == 0
    ours = [
        cli.home / "data" / "hooks" / f".tmp-{KEY}",
        cli.home / "data" / "setup" / f".tmp-{KEY}",
        settings.parent / f".tmp-{KEY}",
        settings.parent / ".tmp-aaaaaaaaaaaaaaaa",
    ]
    for path in ours:
        path.write_text("half")
    ours[2].write_text("")
    ours[3].write_text(OWN)
    others = [settings.parent / ".tmp-mine", settings.parent / ".tmp-bbbbbbbbbbbbbbbb"]
    for path in others:
        path.write_text("of another program")
    assert cli("init", "--undo").code == 0
    assert [path for path in ours if path.exists()] == [] and all(path.exists() for path in others)
    assert not (cli.home / "data" / "hooks").exists()


def test_two_files_of_one_name_have_a_backup_each(cli: CommandLine, settings: Path) -> None:
    files = []
    for name in ("a", "b"):
        cli.env["CLAUDE_CONFIG_DIR"] = str(cli.folder / name)
        files.append(cli.folder / name / "settings.json")
        files[-1].parent.mkdir()
        files[-1].write_text(f'{{"who": "{name}"}}')
        desk = open_desk(env=cli.env, cwd=cli.cwd, clock=lambda: "2026-11-16T09:30:00.000000Z")
        install.apply(desk, install.plan(desk, ["claude"]))
        desk.close()
    assert len(list((cli.home / "data" / "setup").glob("claude-settings.json-*"))) == 2
    assert cli("init", "--undo").code == 0
    assert [json.loads(path.read_text())["who"] for path in files] == ["a", "b"]


def test_nothing_is_set_up_from_a_folder_that_others_may_write_to(cli: CommandLine, settings: Path) -> None:
    data = cli.home / "data"
    data.mkdir(parents=True)
    data.chmod(0o777)
    for arguments in (("init", "--yes"), ("init", "claude", "--plugin")):
        result = cli(*arguments)
        assert result.code == 4 and "others may write to it" in result.err
    assert settings.read_text() == OWN and not list(data.iterdir())
    assert cli("doctor", "--mend").code == 0
    assert cli("init", "--yes").code == 0


def test_a_comma_behind_what_is_ours_goes_with_it(cli: CommandLine, settings: Path) -> None:
    path = cli.folder / ".gemini" / "settings.json"
    assert cli("init", "gemini", "--mcp", "--yes").code == 0
    for mark in ("}", "]"):  # as an editor leaves it that puts a comma behind each last item
        for blank in ("\n" + " " * n for n in range(0, 12, 2)):
            path.write_text(path.read_text().replace(f"{mark}{blank}}}", f"{mark},{blank}}}"))
            path.write_text(path.read_text().replace(f"{mark}{blank}]", f"{mark},{blank}]"))
    assert "],\n" in path.read_text() and "},\n" in path.read_text()
    assert cli("init", "--undo").code == 0
    assert path.read_text().strip() == "{}"
