"""Every source to every target, by the real programs: the request log tells what context reached the model.

    one cell: an agent works, stops in the middle, `segue to` takes the work to another

What must be in the first request of the target's model: what was said before (where the conversation goes along),
every constraint, and the open task.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .household import Household, Ran, saying
from .model_server import Reply
from .program import Program

PROMPT = (
    "The totals in report.txt are wrong, please find out why: canary-ask-4711. "
    "Never edit ledger.txt, the auditors have signed it off. Use tabs, not spaces, in every new file."
)
CONSTRAINTS = (
    "Never edit ledger.txt, the auditors have signed it off.",
    "Use tabs, not spaces, in every new file.",
)
REPLIES = (
    "I looked at the totals: canary-said-0815.",
    "Next I will fix the rounding in sum.py: canary-next-42.",
)
SECRET = "ghp_" + "Zq7Rk2Vb9Xw4Tn6Lm1Pd8Sf3Hc5Jg0Ya2Ue9"
OTHER_MODEL = {
    "claude": "claude:opus",
    "codex": "codex:gpt-5.6-terra",
    "gemini": "gemini:gemini-2.5-flash",
    "opencode": "opencode:local/m2",
}
"""Of the same agent, another model: work is not handed to where it is."""


@dataclass(frozen=True)
class Cell:
    """What one handoff showed."""

    source: str
    target: str
    way: str
    exit_code: int
    messages: int
    """How many of the earlier messages reached the target's model."""
    results: int
    """How many results of tools did, as results."""
    constraints: int
    has_next: bool
    has_secret: bool
    state: str
    ran: Ran

    @property
    def is_good(self) -> bool:
        is_told = self.constraints == len(CONSTRAINTS) and self.has_next and not self.has_secret
        has_conversation = self.way == "prompt" or (self.messages == 1 + len(REPLIES) and self.results >= 2)
        return self.exit_code == 0 and is_told and has_conversation and self.state == "completed"


def begun(household: Household, source: str) -> Path:
    """A project in which an agent has worked: the same one again, once its handoff was taken back."""
    project = household.sandbox.root / "projects" / f"of-{source}"
    if not project.exists():
        begin(household, source, household.project(project.name))
    return project


def begin(household: Household, source: str, project: Path) -> None:
    """An agent works in a project, and stops in the middle."""
    program: Program = household.programs[source]
    (project / "secret.env").write_text(f"GITHUB_TOKEN={SECRET}\n")
    household.work(
        source,
        project,
        PROMPT,
        [
            Reply(REPLIES[0], calls=(program.write_file(project / "sum.py", "print(round(2.675, 2))\n"),)),
            program.shell("cat secret.env; python3 sum.py; exit 3"),
            Reply(REPLIES[1]),
        ],
    )


def hand_over(household: Household, source: str, target: str, way: str, project: Path) -> Cell:
    address = OTHER_MODEL.get(target, target) if source == target else target
    ways = ["--way", way] if way != "resume" else []
    ran = household.segue(
        *("to", address, "--headless", "--yes", "--json", *ways), cwd=project, script=saying("Taken over.")
    )
    text = "\n".join(request.text for request in ran.requests[:1])
    said = [PROMPT.partition(":")[0], *(reply.partition(":")[0] for reply in REPLIES)]
    above = text.partition("# Handoff h-")[0]
    delivered = ran.data["handoff"] if ran.exit_code == 0 else {}
    return Cell(
        source=source,
        target=target,
        way=delivered.get("delivery", {}).get("way", way),
        exit_code=ran.exit_code,
        messages=sum(line in above for line in said),
        results=len(ran.requests[0].results) if ran.requests else 0,
        constraints=sum(constraint in text for constraint in CONSTRAINTS),
        has_next="canary-next-42" in text,
        has_secret=any(
            SECRET in _sent(request.text, is_own=source == target) for request in ran.server.requests
        ),
        state=delivered.get("state", ""),
        ran=ran,
    )


def _sent(text: str, *, is_own: bool) -> str:
    """What Segue sent of a request: an agent's own conversation held its secrets before."""
    return text[text.find("# Handoff h-") :] if is_own else text


def table(cells: Iterable[Cell]) -> str:
    rows = [("from", "to", "way", "messages", "results", "constraints", "next step", "secrets", "state", "")]
    rows += [
        (
            cell.source,
            cell.target,
            cell.way,
            f"{cell.messages} of {1 + len(REPLIES)}",
            str(cell.results),
            f"{cell.constraints} of {len(CONSTRAINTS)}",
            "yes" if cell.has_next else "no",
            "LEAKED" if cell.has_secret else "none",
            cell.state,
            "ok" if cell.is_good else "FAILED",
        )
        for cell in cells
    ]
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows
    )
