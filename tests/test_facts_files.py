"""Files: each goes by one name, and what happens to a folder happens to what is in it, wherever it is."""

from __future__ import annotations

import pytest

from segue.acts import Act, Deed
from segue.facts import files
from segue.model import Entry, EntryKind, Origin

RESULT = Entry(id="r", kind=EntryKind.RESULT, origin=Origin.TOOL, text="")


@pytest.mark.parametrize("folder", ["/tmp/d", "/tmp/d/", "/tmp/./d"])
def test_a_folder_outside_the_project_is_moved_with_what_is_in_it(folder: str) -> None:
    known = files.Files()
    written = Act(deed=Deed.WRITE, subject="/tmp/d/x.py", content="x")
    moved = Act(deed=Deed.MOVE, subject=folder, to="/tmp/n")
    for n, act in enumerate((written, moved), 1):
        known.add(act, files.relative(act.subject, "/w"), RESULT, n, "/w")
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
    assert files.relative(path, "/w") == files.relative(path, "/w/") == name


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
    assert files.relative(path, folder) == name


def test_elsewhere_a_backslash_is_a_letter_like_others() -> None:
    assert files.relative("/w/a\\b.py", "/w") == "a\\b.py"
