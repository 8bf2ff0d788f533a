"""The desk for where nothing is set: it stands where the proper one would, and only where nothing is set."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from segue import settings
from segue.base import paths
from segue.ops.common import desk
from segue.ops.usage import fast_desk
from segue.store.index.transcript_index import Index
from tests.conftest import CommandLine

POLICY = paths.policy_file()  # before a test has moved it
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is none elsewhere")


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"SEGUE_HOME": "/srv/segue"},
        {"SEGUE_HOME": "/srv/segue/", "XDG_DATA_HOME": "/data"},
        {"XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/config"},
        {"XDG_DATA_HOME": " ", "XDG_CONFIG_HOME": ""},
    ],
    ids=str,
)
def test_it_looks_where_the_proper_desk_looks(more: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"HOME": "/home/ada", **more}
    for name in ("SEGUE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    found = fast_desk._places(env)
    assert found is not None
    proper = paths.find(env)
    assert (Path(found[0]), Path(found[1])) == (proper.config, proper.data)


def test_it_knows_the_same_names_and_defaults() -> None:
    assert Path(fast_desk.POLICY) == POLICY
    assert (fast_desk.PROJECT_FILE, fast_desk.INDEX_FILE) == (paths.PROJECT_FILE, desk.INDEX_FILE)
    assert Index(None).busy_seconds == settings.Settings().store_busy_seconds


@pytest.mark.parametrize("repository", [".", "inner", None])
def test_it_counts_work_under_the_same_folder(tmp_path: Path, repository: str | None) -> None:
    start = tmp_path / "inner" / "deep"
    start.mkdir(parents=True)
    if repository:
        (tmp_path / repository / ".git").mkdir()
    assert Path(fast_desk._project(str(start)) or "") == paths.find_project(start)


@pytest.fixture
def unset(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.chdir(cli.cwd)
    return cli


def plain(cli: CommandLine) -> dict[str, str]:
    return {"HOME": cli.env["HOME"], "SEGUE_HOME": str(cli.home)}


def test_where_nothing_is_set_there_is_one(unset: CommandLine) -> None:
    assert fast_desk.open_bare(plain(unset)) is not None


@pytest.mark.parametrize(
    "more",
    [
        {"SEGUE_LIMITS_URGENT": "80"},
        {"SEGUE_STORE": "postgresql://there"},
        {"SEGUE_LIMITS_MODELS_OPUS": "80"},
        {"SEGUE_HOME": "relative"},
        {"SEGUE_HOME": "~/segue"},
        {"SEGUE_HOME": "", "XDG_CONFIG_HOME": "relative"},
        {"SEGUE_HOME": "", "HOME": ""},
        {"ANDROID_ROOT": "/system"},
    ],
    ids=str,
)
def test_a_variable_that_it_does_not_understand_is_left_to_the_proper_desk(
    unset: CommandLine, more: dict[str, str]
) -> None:
    assert fast_desk.open_bare({**plain(unset), **more}) is None


@pytest.mark.parametrize("name", ["settings.toml", "a link to nowhere", ".segue.toml", ".segue.toml above"])
def test_where_there_is_a_settings_file_there_is_none(unset: CommandLine, name: str) -> None:
    unset.home.mkdir(exist_ok=True)
    if name == "a link to nowhere":
        (unset.home / "settings.toml").symlink_to("nowhere")
    else:
        folder = {"settings.toml": unset.home, ".segue.toml": unset.cwd}.get(name, unset.cwd.parent)
        (folder / name.split()[0]).write_text("")
    assert fast_desk.open_bare(plain(unset)) is None


def test_a_folder_that_may_not_be_looked_into_is_not_taken_for_empty(
    unset: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("os.lstat", refuse)
    assert fast_desk.open_bare(plain(unset)) is None
