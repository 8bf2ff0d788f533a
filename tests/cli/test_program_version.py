"""Which version of a program is there is asked once, and tells whether a transcript can be written for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from segue import agents
from segue.ops.common import program_version
from segue.ops.common.desk import open_desk
from tests.cli.test_to import worked as worked
from tests.conftest import CommandLine

CODEX = agents.get("codex")


@pytest.mark.parametrize(
    ("version", "is_known"),
    [("0.166.0", True), ("0.50.0", True), ("0.49.9", False), ("0.900.1", True), ("1.0.0", False), ("", True)],
)
def test_what_is_older_than_the_oldest_or_of_another_generation_is_unknown(
    version: str, is_known: bool
) -> None:
    assert (program_version.judged(CODEX, version) == "") is is_known


def program(folder: Path, version: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "codex").write_text(f'#!/bin/sh\necho asked >> "{folder}/asked"\necho codex-cli {version}\n')
    (folder / "codex").chmod(0o755)


def test_a_program_is_asked_again_only_when_it_has_changed(tmp_path: Path) -> None:
    program(tmp_path / "bin", "0.166.0")
    desk = open_desk(env={"SEGUE_HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:/bin"}, cwd=tmp_path)
    path = str(tmp_path / "bin" / "codex")
    assert [program_version.of(desk, CODEX, path) for _ in range(3)] == ["0.166.0"] * 3
    program(tmp_path / "bin", "0.167.10")
    assert program_version.of(desk, CODEX, path) == "0.167.10"
    assert (tmp_path / "bin" / "asked").read_text().count("asked") == 2
    desk.close()


def test_for_a_version_of_an_unknown_format_the_brief_alone_goes_and_that_is_said(
    worked: CommandLine,
) -> None:
    program(worked.folder / "bin", "2.0.0")
    shown = worked("to", "codex", "--dry-run", PATH=f"{worked.folder}/bin:/bin")
    assert shown.code == 0 and "prompt: " in shown.out and "2.0.0 may need newer transcripts" in shown.out
