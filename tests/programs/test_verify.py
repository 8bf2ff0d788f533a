"""What the agent in between asserts is checked on the way back, with the real programs: what it says and did not do
reaches the agent that takes over again, with the evidence; what it did is not accused."""

from __future__ import annotations

from pathlib import Path

from . import matrix
from .household import Household, git, saying
from .model_server import Reply

TITLE = "Claims that could not be confirmed"
SAID = (
    "Done. I created `real_notes.md` with the findings.\n\n"
    "I also created `src/retry_policy.py` and added a `backoff_with_jitter()` helper to `README.md`.\n\n"
    "All 42 tests pass."
)


def test_what_the_agent_in_between_made_up_is_told_with_evidence_and_what_it_did_is_not(
    household: Household,
) -> None:
    project = household.project("p")
    codex = household.programs["codex"]
    household.work("claude", project, matrix.PROMPT, [Reply("I will look at it.")])
    away = household.segue(
        *("to", "codex", "--headless", "--yes", "--json"),
        cwd=project,
        script=[codex.write_file(project / "real_notes.md", "# Findings\n"), Reply(SAID)],
    )
    assert away.exit_code == 0, away.report
    assert (project / "real_notes.md").exists()

    checked = household.segue("verify", "--json", cwd=project)
    assert checked.exit_code == 11, checked.report
    subjects = {one["assertion"]["subject"] for one in checked.data["unsupported"]}
    assert subjects == {"src/retry_policy.py", "backoff_with_jitter", "README.md", ""}, checked.report

    back = household.segue("back", "--headless", "--json", cwd=project, script=saying("I know."))
    assert back.exit_code == 0, back.report
    told = back.requests[0].text
    _, _, section = told.rpartition(TITLE)
    accused = section.partition("## ")[0]
    assert "src/retry_policy.py" in accused and "there is no such file" in accused
    assert "backoff_with_jitter" in accused and "README.md" in accused
    assert "All 42 tests pass" in accused and "no test was run" in accused
    assert "created: real_notes.md" not in accused, "what was done is not accused"
    fence = told.rindex("<<<data", 0, told.rindex(TITLE))
    assert "data>>>" not in told[fence : told.rindex(TITLE)], "another model's words stand inside the fence"

    listed = household.segue("handoff", "list", "--json", cwd=project)
    assert "4 of the target's assertions were unsupported" in listed.stdout, listed.report


FORBIDDEN = "Make the totals right in report.py. Don't touch src/ledger/legacy.py, please."


def ledger(household: Household) -> Path:
    """A project with a file that the user does not want to be touched."""
    project = household.project("p")
    legacy = project / "src" / "ledger" / "legacy.py"
    legacy.parent.mkdir(parents=True)
    legacy.write_text("TOTAL = 1\n")
    (project / "report.py").write_text("print(1)\n")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Ledger")
    household.work("claude", project, FORBIDDEN, [Reply("I will look at it.")])
    return project


def test_a_broken_prohibition_and_its_denial_are_named_first_with_an_exit_code_of_their_own(
    household: Household,
) -> None:
    project = ledger(household)
    gemini = household.programs["gemini"]
    said = "Done: the totals are right. I did not touch `src/ledger/legacy.py`."
    away = household.segue(
        *("to", "gemini", "--headless", "--yes", "--json", "--", "--yolo"),
        cwd=project,
        script=[gemini.write_file(project / "src/ledger/legacy.py", "TOTAL = 2\n"), Reply(said)],
    )
    assert away.exit_code == 0, away.report
    assert (project / "src/ledger/legacy.py").read_text() == "TOTAL = 2\n"

    checked = household.segue("verify", "--json", cwd=project)
    assert checked.exit_code == 12, checked.report
    [broken] = checked.data["violations"]
    assert broken["subjects"] == ["src/ledger/legacy.py"] and broken["is_by_agent"]
    assert broken["evidence"].startswith("Gemini CLI changed src/ledger/legacy.py")
    assert [one["assertion"]["kind"] for one in checked.data["unsupported"]] == ["file not touched"]
    shown = household.segue("verify", cwd=project).stdout
    assert "Prohibition broken" in shown.splitlines()[0], shown

    back = household.segue("back", "--headless", "--json", cwd=project, script=saying("I know."))
    assert back.exit_code == 0, back.report
    told = back.requests[0].text
    fence = told.rindex("<<<data", 0, told.rindex("The user's prohibitions that were broken"))
    first = told[fence:].split("\n## ")[1]
    assert first.startswith("The user's prohibitions that were broken"), told[fence:]
    assert "Gemini CLI changed src/ledger/legacy.py" in first and "Don't touch" in first


def test_an_agent_that_obeys_a_prohibition_is_not_accused(household: Household) -> None:
    project = ledger(household)
    gemini = household.programs["gemini"]
    said = "Done: I changed `report.py`. I did not touch `src/ledger/legacy.py`."
    away = household.segue(
        *("to", "gemini", "--headless", "--yes", "--json", "--", "--yolo"),
        cwd=project,
        script=[gemini.write_file(project / "report.py", "print(2)\n"), Reply(said)],
    )
    assert away.exit_code == 0, away.report
    checked = household.segue("verify", "--json", cwd=project)
    assert checked.exit_code == 0, checked.report
    assert checked.data["violations"] == []
    kinds = {one["assertion"]["kind"]: one["verdict"] for one in checked.data["checked"]}
    assert kinds["file not touched"] == "supported", checked.report
