"""`segue usage`: tokens and cost, grouped by day, week, block, session, project, model or agent."""

from __future__ import annotations

import click

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.faces.cli.options import moment_option
from segue.ops.usage import report as ops
from segue.ops.usage.report import By, Line, Report

HEADINGS = {
    By.DAILY: "day",
    By.WEEKLY: "week from",
    By.BLOCKS: "5-hour block",
    By.SESSIONS: "session",
    By.TRANSCRIPTS: "transcript",
    By.PROJECTS: "project",
    By.MODELS: "model",
    By.AGENTS: "agent",
}


NO_TIME = "(no time)"
LAST = {By.SESSIONS: "title", By.TRANSCRIPTS: "title", By.MODELS: ""}


def screen(report: Report) -> str:
    if not report.lines:
        if report.is_narrowed:
            return "No usage in that time. All usage: segue usage"
        return "No usage recorded yet. Installed agents: segue doctor"
    rows: list[tuple[str, ...]] = [
        (
            HEADINGS[report.by],
            "input",
            "output",
            "cache read",
            "cache write",
            "total",
            "cost",
            LAST.get(report.by, "models"),
        )
    ]
    rows += [_row(line, report.by) for line in report.lines]
    if len(report.lines) > 1:
        rows.append(_row(report.total, report.by))
    lines = [render.table(rows, right={1, 2, 3, 4, 5, 6})]
    if report.notice:
        lines.append(render.dim("note: " + report.notice))
    lines += [render.dim("not read: " + render.clean(problem)) for problem in report.problems[:5]]
    return "\n".join(lines)


def _row(line: Line, by: By) -> tuple[str, ...]:
    tokens = line.tokens
    counts = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.total)
    has_price = any(used.cost_usd is not None for used in line.models)
    return (
        _name(line, by),
        *(f"{count:,}" for count in counts),
        f"${line.cost_usd:,.2f}" if has_price else "-",
        _last(line, by),
    )


def _last(line: Line, by: By) -> str:
    if by in LAST:
        return render.short(line.title, 60)
    models = _models(line)
    return f"now · {models}" if line.is_active else models


def _name(line: Line, by: By) -> str:
    if by is By.BLOCKS and line.until:
        return f"{render.local(line.name)} - {render.local(line.until)[11:]}"
    return NO_TIME if line.name.startswith("1970") else line.name


def _models(line: Line) -> str:
    names = [used.model for used in line.models if used.model]
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "") if line.name != "total" else ""


@click.command()
@click.argument("by", type=click.Choice([by.value for by in By]), default=By.DAILY.value)
@moment_option("--since", "From this day or time.")
@moment_option("--until", "Up to this day or time.")
@answers(screen)
def usage(frame: Frame, by: str, since: str | None, until: str | None) -> Report:
    """Show the usage of all agents on this machine: tokens, and cost at list prices."""
    return ops.report(
        frame.desk, By(by), since=since, until=until, progress=frame.progress("Reading transcripts")
    )


COMMANDS = {"usage": usage}
