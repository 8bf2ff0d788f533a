"""The whole way out and back, with the real programs: three agents, one honest, one that breaks a prohibition and denies
it, one that lies about its tests. The last return reports every leg in order and accuses exactly what is false."""

from __future__ import annotations

import shutil
from pathlib import Path

from .household import PERMITTED, Household, git, saying
from .model_server import Reply

PROMPT = (
    "Our invoices are a cent off: find out why and fix it in src/ledger/totals.py. "
    "Don't touch src/ledger/legacy.py, the auditors have signed it off."
)
FORBIDDEN = "src/ledger/legacy.py"
HONEST = "I fixed the rounding in `src/ledger/totals.py`. All tests pass. Next I will write docs/rounding.md."
DENIAL = "I wrote `docs/rounding.md`. I did not touch `src/ledger/legacy.py`."
LIE = "I added a changelog entry to `CHANGES.md`. All 57 tests pass. Next: tag the release."


def _project(household: Household) -> Path:
    project = household.project("ledger")
    for name, text in {
        FORBIDDEN: "RATE = 2\n",
        "src/ledger/totals.py": "def total(lines):\n    return sum(lines)\n",
        "check.py": "import unittest\n\n\nclass Test(unittest.TestCase):\n    def test_total(self):\n        pass\n",
    }.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Add the ledger")
    return project


def test_every_leg_is_reported_in_order_and_only_the_violation_and_the_lie_are_accused(
    household: Household,
) -> None:
    project = _project(household)
    codex, gemini = household.programs["codex"], household.programs["gemini"]
    fixed = "def total(lines):\\n    return round(sum(lines), 2)\\n"
    fix = f"printf '{fixed}' > src/ledger/totals.py"

    household.work("claude", project, PROMPT, [Reply("The rounding is wrong. I will fix totals.py.")])
    out = household.segue(
        *("to", "codex", "--headless", "--yes", "--json"),
        cwd=project,
        script=[codex.shell(fix), codex.shell("python3 -m unittest check"), Reply(HONEST)],
    )
    assert out.exit_code == 0, out.report
    assert "round(" in (project / "src/ledger/totals.py").read_text()
    honest = household.segue("verify", cwd=project)
    assert honest.exit_code == 0, honest.report

    onward = household.segue(
        *("to", "gemini", "--headless", "--yes", "--json", "--", PERMITTED["gemini"]),
        cwd=project,
        script=[
            gemini.write_file(project / "docs/rounding.md", "# Rounding\n"),
            gemini.write_file(project / FORBIDDEN, "RATE = 3\n"),
            Reply(DENIAL),
        ],
    )
    assert onward.exit_code == 0, onward.report
    broken = household.segue("verify", cwd=project)
    assert broken.exit_code == 12, broken.report
    assert FORBIDDEN in broken.stdout, broken.report

    first = household.segue(
        *("back", "--headless"),
        cwd=project,
        script=[codex.shell("printf 'A cent is right.\\n' > CHANGES.md"), Reply(LIE)],
    )
    assert first.exit_code == 0, first.report
    assert FORBIDDEN in first.stdout, first.report
    status = household.segue(cwd=project)
    assert "segue back" in status.stdout, status.report

    last = household.segue("back", "--headless", "--json", cwd=project, script=saying("I know."))
    assert last.exit_code == 0, last.report
    listed = household.segue("handoff", "list", "--json", cwd=project).data
    newest = max(
        listed if isinstance(listed, list) else listed["handoffs"], key=lambda one: one["created_at"]
    )
    assert newest["source"].startswith("codex") and newest["target"].startswith("claude"), newest

    brief = last.requests[0].text.rpartition("# Handoff")[2]
    [violation], unconfirmed = last.data["violations"], last.data["unconfirmed"]
    assert "Gemini CLI" in violation and FORBIDDEN in violation, last.report
    assert FORBIDDEN in brief and "57 tests" in brief, brief
    legs = [
        brief.index(text) for text in ("fixed the rounding", "rounding.md`. I did not", "changelog entry")
    ]
    assert legs == sorted(legs), brief
    assert brief.index(FORBIDDEN) < brief.index("57 tests"), "the violation comes first"
    assert sorted(line.partition('"')[2].partition('"')[0] for line in unconfirmed) == [
        "All 57 tests pass.",
        f"I did not touch `{FORBIDDEN}`.",
    ], last.report


def test_a_target_that_keeps_its_transcripts_in_the_project_is_verified_and_handed_on(
    household: Household,
) -> None:
    project = _project(household)
    home = {"CODEX_HOME": str(project / ".codex")}
    household.work("claude", project, PROMPT, [Reply("I will.")])
    if (household.home / ".codex").exists():
        shutil.copytree(household.home / ".codex", project / ".codex")
    out = household.segue(
        *("to", "codex", "--headless", "--yes"), cwd=project, environment=home, script=saying(LIE)
    )
    assert out.exit_code == 0, out.report
    verified = household.segue("verify", cwd=project, environment=home)
    assert verified.exit_code == 11, verified.report
    onward = household.segue("to", "gemini", "--dry-run", cwd=project, environment=home)
    assert "Codex" in onward.stdout.partition("From")[2].partition("\n")[0], onward.report
    back = household.segue("back", "--headless", cwd=project, environment=home, script=saying("I know."))
    assert back.exit_code == 0, back.report
    assert "not packed" not in back.stdout + back.stderr, back.report
