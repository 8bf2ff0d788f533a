"""What Codex did with the work that it was handed is seen: by the check of its claims, by the agent that takes the
work back, and by the next agent."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from segue.agents.codex import reader as codex
from segue.model import Entry, EntryKind

from .household import Household, Ran, git, saying
from .model_server import Call, Reply, Step

TEST = "test_totals.py::test_negative"
TESTS = f"{sys.executable} -m pytest -q -p no:cacheprovider test_totals.py"
PATCH = (
    "*** Begin Patch\n*** Update File: totals.py\n@@\n def total(a, b):\n"
    "-    return a + abs(b)\n+    return a + b\n*** End Patch\n"
)
SAID = "I fixed the sign in `totals.py`. All 2 tests pass."
UNSUPPORTED = "Claims that could not be confirmed"


def project_with_failing_test(household: Household) -> Path:
    project = household.project("p")
    (project / "totals.py").write_text("def total(a, b):\n    return a + abs(b)\n")
    (project / "test_totals.py").write_text(
        "from totals import total\n\n\n"
        "def test_positive():\n    assert total(1, 2) == 3\n\n\n"
        "def test_negative():\n    assert total(1, -2) == -1\n"
    )
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Add totals")
    claude = household.programs["claude"]
    household.work(
        "claude",
        project,
        "Make the tests of totals.py pass.",
        [claude.shell(TESTS), Reply("`test_negative` fails; I will fix totals.py next.")],
    )
    return project


def code_mode() -> list[Step]:
    """The fix and the test run, in JavaScript as models write it."""
    asked = f"{{cmd: {json.dumps(TESTS)}, workdir: '.', yield_time_ms: 20000}}"
    return [
        Call("exec", f"const done = await tools.apply_patch({json.dumps(PATCH)});\ntext(done);\n"),
        Call("exec", f"const r = await tools.exec_command({asked});\ntext(r);\n"),
        Reply(SAID),
    ]


def classic() -> list[Step]:
    """The same by function tools."""
    asked = {"cmd": TESTS, "yield_time_ms": 20000}
    return [
        Call("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}EOF\n"}),
        Call("exec_command", asked),
        Reply(SAID),
    ]


def hand_to_codex(household: Household, project: Path, script: list[Step], address: str = "codex") -> Ran:
    ran = household.segue(*("to", address, "--headless", "--yes", "--json"), cwd=project, script=script)
    assert ran.exit_code == 0, ran.report
    assert "abs" not in (project / "totals.py").read_text()
    return ran


def codex_entries(household: Household) -> list[Entry]:
    [source] = codex.find({"HOME": str(household.home)}, [])
    return list(codex.read(source))


@pytest.mark.parametrize(
    ("script", "address"), [(code_mode, "codex"), (classic, "codex:my-model")], ids=["code mode", "classic"]
)
def test_a_fix_and_a_test_run_of_codex_are_confirmed_and_named(
    household: Household, script: Callable[[], list[Step]], address: str
) -> None:
    project = project_with_failing_test(household)
    hand_to_codex(household, project, script(), address)

    results = [entry for entry in codex_entries(household) if entry.kind is EntryKind.RESULT]
    assert 0 in [entry.status for entry in results if "2 passed" in entry.text]

    verified = household.segue("verify", "--json", cwd=project)
    assert verified.exit_code == 0, verified.report
    assert "2 passed" in verified.stdout, verified.report

    back = household.segue("back", "--headless", "--json", cwd=project, script=saying("I know."))
    assert back.exit_code == 0, back.report
    told = back.requests[0].text
    brief = told[told.rindex("# Handoff h-") :]
    assert UNSUPPORTED not in brief, brief
    assert "- totals.py: edited" in brief and "2 passed" in brief, brief


def test_a_test_that_codex_fixed_is_not_failing_for_the_next_agent(household: Household) -> None:
    project = project_with_failing_test(household)
    hand_to_codex(household, project, code_mode())
    onward = household.segue(
        *("to", "gemini", "--headless", "--yes", "--json"), cwd=project, script=saying("Taken over.")
    )
    assert onward.exit_code == 0, onward.report
    brief = onward.requests[0].text.rpartition("# Handoff h-")[2]
    assert TEST not in brief, brief
    assert "totals.py" in brief, brief
