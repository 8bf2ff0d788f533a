"""`segue` alone: what each agent has left, and what this folder was doing."""

from __future__ import annotations

import click

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.ops import status


def screen(overview: status.Overview) -> str:
    lines = [render.bold("Agents")]
    installed = [agent for agent in overview.agents if agent.is_installed]
    lines.append(
        render.table([(agent.title, "limits not reported yet") for agent in installed], indent="  ")
        or "  none found on PATH; segue doctor tells which ones Segue knows"
    )
    lines += ["", render.bold("This folder") + f"  {render.clean(overview.project)}"]
    if overview.sessions:
        rows = [(session.id, render.when(session.updated_at), session.title) for session in overview.sessions]
        lines.append(render.table(rows, indent="  "))
        if handoff := overview.last_handoff:
            lines.append(
                f"  last handoff {handoff.id}: {handoff.source} → {handoff.target}, {handoff.state.value}"
            )
    else:
        lines.append("  nothing kept for it yet")
    lines += ["", render.dim("segue demo shows a handoff · segue help shows the commands")]
    return "\n".join(lines)


@click.command()
@answers(screen)
def home(frame: Frame) -> status.Overview:
    return status.overview(frame.desk)
