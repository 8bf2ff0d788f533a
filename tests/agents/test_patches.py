"""Patches and diffs as acts: what is written, changed, deleted and moved, and that nothing in one can do harm."""

from __future__ import annotations

import difflib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.agents.shared.tool_calls.patches import acts_in, acts_in_command, acts_in_diff, acts_in_patch
from segue.agents.shared.tool_calls.tool_table import edited
from segue.model.tool_action import Act, Change, Deed

WHOLE = """*** Begin Patch
*** Add File: notes/new.md
+# New
+
+- one
*** Update File: src/app.py
*** Move to: src/main.py
@@ def total():
 def total():
-    return 1
+    return 2
@@
-import os
*** Delete File: old.txt
*** End Patch
"""


def test_a_patch_writes_changes_moves_and_deletes() -> None:
    assert acts_in_patch(WHOLE) == (
        Act(deed=Deed.WRITE, subject="notes/new.md", content="# New\n\n- one\n"),
        Act(
            deed=Deed.EDIT,
            subject="src/app.py",
            changes=(
                Change(old="def total():\n    return 1\n", new="def total():\n    return 2\n"),
                Change(old="import os\n", new=""),
            ),
        ),
        Act(deed=Deed.MOVE, subject="src/app.py", to="src/main.py"),
        Act(deed=Deed.DELETE, subject="old.txt"),
    )


def test_the_changes_of_a_patch_can_be_made() -> None:
    edit = acts_in_patch(WHOLE)[1]
    assert (
        edited("import os\n\ndef total():\n    return 1\n", edit.changes) == "\ndef total():\n    return 2\n"
    )


def test_a_file_that_only_moves_is_not_edited() -> None:
    patch = "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch"
    assert acts_in_patch(patch) == (Act(deed=Deed.MOVE, subject="a", to="b"),)


def test_lines_that_lost_their_blank_are_context() -> None:
    [act] = acts_in_patch(
        "*** Begin Patch\n*** Update File: a\n@@\n\nx = 1\n-y\n+z\n*** End of File\n*** End Patch"
    )
    assert act.changes == (Change(old="\nx = 1\ny\n", new="\nx = 1\nz\n"),)


def test_what_stands_around_a_patch_is_passed_over() -> None:
    patch = f"*** Delete File: not/this\n{WHOLE}\n*** Delete File: nor/this\n"
    assert acts_in_patch(patch) == acts_in_patch(WHOLE)


def test_a_patch_that_breaks_off_says_what_it_said() -> None:
    [act] = acts_in_patch("*** Begin Patch\n*** Add File: a\n+one\n+tw")
    assert act.content == "one\ntw\n"


def test_a_patch_without_its_first_line_is_still_one() -> None:
    assert acts_in("*** Update File: a\n@@\n-x\n+y\n*** End Patch")[0].changes == (
        Change(old="x\n", new="y\n"),
    )


def test_carriage_returns_are_no_part_of_a_path() -> None:
    assert [act.subject for act in acts_in_patch(WHOLE.replace("\n", "\r\n"))] == [
        act.subject for act in acts_in_patch(WHOLE)
    ]


# In a command


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("apply_patch <<'EOF'\n{}EOF\n", ""),
        ('apply_patch <<"PATCH"\n{}PATCH', ""),
        ("apply_patch << EOF\n{}EOF", ""),
        ("cd web && apply_patch <<'EOF'\n{}EOF", "web/"),
        ("cd '/a folder' && apply_patch <<'EOF'\n{}EOF", "/a folder/"),
        ("apply_patch '{}'", ""),
        ('applypatch "{}"', ""),
        ("apply_patch {}", ""),
    ],
)
def test_a_command_that_only_applies_a_patch_is_that_patch(command: str, folder: str) -> None:
    acts, is_all = acts_in_command(command.replace("{}", WHOLE))
    assert is_all
    assert [act.subject for act in acts] == [folder + act.subject for act in acts_in_patch(WHOLE)]
    assert acts[0].content == "# New\n\n- one\n"
    assert acts[2].to == f"{folder}src/main.py"


@pytest.mark.parametrize(
    "command", ["git pull && apply_patch <<'EOF'\n{}EOF", "apply_patch <<'EOF'\n{}EOF\npytest -q"]
)
def test_a_command_that_does_more_is_told_apart(command: str) -> None:
    acts, is_all = acts_in_command(command.replace("{}", WHOLE))
    assert len(acts) == 4
    assert not is_all


def test_a_patch_that_is_only_looked_at_changes_nothing() -> None:
    assert acts_in_command(f"cat <<'EOF'\n{WHOLE}EOF") == ((), False)


# Unified diffs

DIFF = """diff --git a/src/app.py b/src/app.py
index 3b18e51..a1b2c3d 100644
--- a/src/app.py
+++ b/src/app.py
@@ -1,3 +1,3 @@ import os
 one
--- two
+++ zwei
 three
@@ -9 +9 @@
-nine
+neun
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+hello
\\ No newline at end of file
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
diff --git a/here.txt b/there.txt
similarity index 100%
rename from here.txt
rename to there.txt
"""


def test_a_diff_changes_writes_deletes_and_moves() -> None:
    assert acts_in(DIFF) == (
        Act(
            deed=Deed.EDIT,
            subject="src/app.py",
            changes=(
                Change(old="one\n-- two\nthree\n", new="one\n++ zwei\nthree\n"),
                Change(old="nine\n", new="neun\n"),
            ),
        ),
        Act(deed=Deed.WRITE, subject="new.txt", content="hello"),
        Act(deed=Deed.DELETE, subject="gone.txt"),
        Act(deed=Deed.MOVE, subject="here.txt", to="there.txt"),
    )


def test_a_diff_that_names_no_file_is_of_the_one_it_is_said_to_be_of() -> None:
    [act] = acts_in_diff("@@ -1 +1 @@\n-a\n+b\n", "x.py")
    assert act == Act(deed=Deed.EDIT, subject="x.py", changes=(Change(old="a\n", new="b\n"),))


def test_a_time_after_a_name_is_no_part_of_it() -> None:
    [act] = acts_in_diff("--- a.c\t2026-01-01 10:00:00\n+++ a.c\t2026-01-01 10:01:00\n@@ -1 +1 @@\n-a\n+b\n")
    assert act.subject == "a.c"


def test_what_a_binary_file_holds_is_not_told() -> None:
    diff = "diff --git a/p.png b/p.png\nnew file mode 100644\nBinary files /dev/null and b/p.png differ\n"
    assert acts_in_diff(diff) == (Act(deed=Deed.WRITE, subject="p.png"),)


LINES = st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=4), max_size=12)


@given(LINES, LINES)
def test_a_diff_made_by_another_can_be_replayed(before: list[str], after: list[str]) -> None:
    old, new = (["start", *lines, "end"] for lines in (before, after))
    diff = "\n".join(difflib.unified_diff(old, new, "a/f", "b/f", lineterm="", n=99))
    content = "".join(f"{line}\n" for line in old)
    expected = "".join(f"{line}\n" for line in new)
    assert edited(content, tuple(change for act in acts_in_diff(diff) for change in act.changes)) == expected


@given(st.lists(st.sampled_from([*WHOLE.split("\n"), *DIFF.split("\n"), "", "@@", "x"]), max_size=40))
def test_patches_of_any_lines_give_acts_that_say_of_what(lines: list[str]) -> None:
    for act in (*acts_in_patch("\n".join(lines)), *acts_in_diff("\n".join(lines))):
        assert act.subject
        assert bool(act.to) == (act.deed is Deed.MOVE)


@pytest.mark.parametrize(
    "text",
    [
        "*** Begin Patch\n" * 100_000,
        "*** Begin Patch\n" + "*** Update File: a\n" * 100_000,
        "*** Begin Patch\n*** Update File: a\n" + "@@\n" * 300_000,
        "apply_patch " * 100_000 + "*** Begin Patch",
        "cd " + "a" * 1_000_000 + " && apply_patch *** Begin Patch",
        "--- a\n" * 200_000,
        "--- a\n+++ a\n@@ -1,999999999 +1,999999999 @@\n" + " \n" * 300_000,
        "diff --git a/" + "b/" * 500_000,
    ],
    ids=range(8),
)
def test_no_patch_takes_long(text: str) -> None:
    begun = time.process_time()
    acts_in(text)
    acts_in_command(text)
    assert time.process_time() - begun < 5
