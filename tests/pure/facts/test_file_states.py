"""File states: each file has one name, and an action on a folder applies to everything in it."""

from __future__ import annotations

import pytest

from segue.facts import file_states
from segue.model import Entry, EntryKind, Origin
from segue.model.tool_action import Act, Deed
from tests.pure.facts.test_tracker import done, ran, values

RESULT = Entry(id="r", kind=EntryKind.RESULT, origin=Origin.TOOL, text="")


@pytest.mark.parametrize("folder", ["/tmp/d", "/tmp/d/", "/tmp/./d"])
def test_a_folder_outside_the_project_is_moved_with_what_is_in_it(folder: str) -> None:
    known = file_states.Files()
    written = Act(deed=Deed.WRITE, subject="/tmp/d/x.py", content="x")
    moved = Act(deed=Deed.MOVE, subject=folder, to="/tmp/n")
    for n, act in enumerate((written, moved), 1):
        known.add(act, file_states.relative(act.subject, "/w"), RESULT, n, "/w")
    assert [(fact.subject, fact.value) for fact in known.facts()] == [("/tmp/n/x.py", "renamed")]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/w/a.py", "a.py"),
        ("/w/./b/../a.py", "a.py"),
        ("./a.py", "a.py"),
        ("a/", "a"),
        ("/tmp//d/", "/tmp/d"),
        ("/wx/a.py", "/wx/a.py"),
        ("", ""),
    ],
)
def test_a_path_has_one_name(path: str, name: str) -> None:
    assert file_states.relative(path, "/w") == file_states.relative(path, "/w/") == name


@pytest.mark.parametrize("folder", ["D:\\app", "d:/app/", "D:\\app\\"])
@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("D:\\app\\src\\a.py", "src/a.py"),
        ("d:/app/src/a.py", "src/a.py"),
        ("/d/app/src/a.py", "src/a.py"),
        ("src\\a.py", "src/a.py"),
        ("src/a.py", "src/a.py"),
        ("C:\\tmp\\a.py", "C:/tmp/a.py"),
        ("/tmp/a.py", "/tmp/a.py"),
    ],
)
def test_a_path_of_windows_has_one_name_however_it_is_written(folder: str, path: str, name: str) -> None:
    assert file_states.relative(path, folder) == name


def test_elsewhere_a_backslash_is_a_letter_like_others() -> None:
    assert file_states.relative("/w/a\\b.py", "/w") == "a\\b.py"


def stands(*commands: str) -> dict[str, str]:
    return values([entry for command in commands for entry in ran(command)], "file")


@pytest.mark.parametrize(
    "again",
    [
        "mkdir -p out",
        "mkdir -p out/a",
        "git clone https://x.org/out.git out",
        "git submodule add -b main https://x.org/out.git out",
        "git worktree add out main",
        "touch out/a.txt",
        "cp a.txt out/b.txt",
        "mv a.txt out/b.txt",
        "git checkout -- out",
    ],
)
def test_a_folder_that_was_deleted_and_is_there_again_is_not_deleted(again: str) -> None:
    assert stands("rm -rf out") == {"out": "deleted"}
    assert "out" not in stands("rm -rf out", again)
    assert "out" not in stands(f"rm -rf out && {again}")


def test_what_was_in_a_folder_is_gone_though_the_folder_is_there_again() -> None:
    known = ("touch out/a.txt", "rm -rf out && mkdir -p out")
    assert stands(*known) == {"out/a.txt": "deleted"}
    assert stands(*known, "rm -rf out") == {"out/a.txt": "deleted"}


def test_a_submodule_that_was_added_again_has_its_repository_again() -> None:
    gone = "rm -rf .git/modules/lib && git rm -f lib"
    assert stands(gone, "git submodule add https://x.org/lib.git lib") == {}


def test_of_what_a_command_does_twice_the_last_time_counts() -> None:
    assert stands("rm -f a.txt && touch a.txt && rm -f a.txt") == {"a.txt": "deleted"}


def test_a_deleted_file_that_was_put_back_was_not_changed() -> None:
    assert stands("rm a.py", "git checkout -- a.py") == {}
    assert stands("touch b.py", "git commit -qam x", "rm b.py", "git checkout -- b.py") == {"b.py": "edited"}
    written = done(Act(deed=Deed.WRITE, subject="c.py", content="x"))
    assert values(
        [*written, *ran("git commit -qam x"), *ran("rm c.py"), *ran("git restore c.py")], "file"
    ) == {"c.py": "created"}
