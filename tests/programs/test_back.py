"""Back over several agents with the real programs: each return reports every stay since the agent it returns to."""

from __future__ import annotations

from . import matrix
from .household import PERMITTED, Household, saying
from .model_server import Reply


def test_two_hops_back_report_all_three_stays_in_order(household: Household) -> None:
    project = household.project("p")
    codex, gemini = household.programs["codex"], household.programs["gemini"]
    id = household.work("claude", project, matrix.PROMPT, [Reply("I will look at it.")])
    to_codex = household.segue(
        *("to", "codex", "--headless", "--yes", "--json"),
        cwd=project,
        script=[
            codex.write_file(project / "first.txt", "1\n"),
            Reply("canary-first: I created `first.txt`. Next I will write gemini's part: canary-old-step."),
        ],
    )
    assert to_codex.exit_code == 0, to_codex.report
    to_gemini = household.segue(
        *("to", "gemini", "--headless", "--yes", "--json", "--", PERMITTED["gemini"]),
        cwd=project,
        script=[
            gemini.write_file(project / "second.txt", "2\n"),
            Reply("canary-second: I created `second.txt` and created `never.txt`."),
        ],
    )
    assert to_gemini.exit_code == 0, to_gemini.report
    first = household.segue(
        *("back", "--headless", "--json"),
        cwd=project,
        script=[
            codex.write_file(project / "third.txt", "3\n"),
            Reply("canary-third: I created `third.txt`. Next I will round each line: canary-new-step."),
        ],
    )
    assert first.exit_code == 0, first.report
    returned = first.data["handoff"]
    assert (returned["source"], returned["target"]) == ("gemini", "codex")
    told = first.requests[0].messages[-1].text
    assert "Back from Gemini CLI: " in told and "canary-second" in told and "canary-first" not in told

    offered = household.segue("--json", cwd=project).data["next"]
    assert offered.startswith("segue back returns to Claude Code"), offered

    second = household.segue("back", "--headless", "--json", cwd=project, script=saying("I know."))
    assert second.exit_code == 0, second.report
    returned = second.data["handoff"]
    assert (returned["source"], returned["target"]) == ("codex", "claude")
    assert returned["delivery"]["transcript"] == id
    told = second.requests[0].messages[-1].text
    assert "Back from Codex, then Gemini CLI, then Codex again: " in told
    parts = [
        told.index(f"- {n}. {name}:") for n, name in enumerate(("Codex", "Gemini CLI", "Codex again"), 1)
    ]
    assert parts == sorted(parts), told
    one, two = told[parts[0] : parts[1]], told[parts[1] : parts[2]]
    three = told[parts[2] :].partition("\n## ")[0]
    assert "first.txt" in one and "canary-first" in one and "third.txt" not in one and "second" not in one
    assert "second.txt" in two and "canary-second" in two and "third" not in two and "first" not in two
    assert "1 of 2 claims could not be confirmed: " in two and "never.txt" in two.rpartition("claims")[2]
    assert "third.txt" in three and "canary-third" in three and "canary-new-step" in three
    assert "first.txt" not in three and "confirmed" not in three
    assert "canary-new-step" in told.rpartition("## Next step")[2]
    assert "canary-old-step" not in told[told.index("\n## ", parts[2]) :], "what is superseded is not current"
    files = told.partition("## Files, in their current state")[2].partition("\n## ")[0]
    assert all(name in files for name in ("first.txt", "second.txt", "third.txt")), told
    assert household.segue("back", "--headless", cwd=project).exit_code == 5
