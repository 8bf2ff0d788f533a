"""`segue doctor`: check settings, stores and agents."""

from __future__ import annotations

import click

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.ops import doctor as ops
from segue.ops.doctor import Finding, Level


def screen(findings: list[Finding]) -> str:
    lines = []
    width = max(len(finding.area) for finding in findings)
    for finding in findings:
        lines.append(
            f"{render.mark(finding.level.value)} {finding.area.ljust(width)}  {render.clean(finding.text)}"
        )
        if finding.mend:
            lines.append(f"  {' ' * width}  {render.dim('→ ' + render.clean(finding.mend))}")
    problems = sum(finding.level is Level.PROBLEM for finding in findings)
    is_all_well = all(finding.level is Level.OK for finding in findings)
    found = f"{render.plural(problems, 'problem')} found." if problems else "No problems found."
    lines += ["", "Everything is fine." if is_all_well else found]
    return "\n".join(lines)


def exit_code(findings: list[Finding]) -> int:
    return int(any(finding.level is Level.PROBLEM for finding in findings))


@click.command()
@click.option("--mend", is_flag=True, help="Apply safe fixes: restrict folder permissions, delete leftovers.")
@answers(screen, exit_code)
def doctor(frame: Frame, mend: bool) -> list[Finding]:
    """Check settings, stores and agents, and suggest a fix for each problem."""
    return ops.examine(frame.env, frame.cwd, frame.flags, mend=mend)


COMMANDS = {"doctor": doctor}
