"""The status screen: each agent's limits, and the latest session of a folder."""

from __future__ import annotations

import click

from segue.faces import render
from segue.model import Scope
from segue.ops.overview import Overview, RunHere
from segue.ops.usage.folder_status import Standing
from segue.ops.usage.limits import AgentLimits
from segue.routing import RunState
from segue.usage.forecast import Forecast

BAR = 20
FULL = 100


def overview(overview: Overview) -> str:
    lines = [render.bold("Agents"), *_agents(overview)]
    lines += ["", render.bold("This folder") + f"  {render.clean(overview.project)}"]
    lines += _folder(overview)
    for problem in overview.problems[:3]:
        lines.append(render.dim("  not read: " + render.clean(problem)))
    lines += ["", render.dim(f"next: {render.in_local_time(overview.next)} · commands: segue help")]
    return "\n".join(lines)


def _agents(overview: Overview) -> list[str]:
    agents = overview.agents
    if not agents:
        return ["  none found on PATH (supported agents: segue doctor)"]
    lines = []
    width = max(len(agent.title) for agent in agents)
    for agent in agents:
        title = agent.title.ljust(width)
        if not agent.limits:
            away = "" if agent.is_installed else " (not on PATH)"
            lines.append(f"  {title}  no limits reported yet{_how_to_know(overview, agent)}{away}")
        for each in agent.limits:
            lines.append(f"  {title}  {_limit(each)}")
            title = " " * width
    return lines


def _how_to_know(overview: Overview, agent: AgentLimits) -> str:
    """How to get the limits of an agent that reports them."""
    if not agent.tells_status:
        return ""
    if agent.name in overview.set_up:
        return " (shown after its next answer)"
    return " (run `segue init` to record them)"


def _limit(each: Forecast) -> str:
    limit = each.limit
    is_models = limit.scope is Scope.MODEL and limit.model and limit.window != "context"
    window = f"{limit.window} {limit.model}" if is_models else limit.window or "usage"
    label = render.clean(window)[:16].ljust(8)
    if limit.used_percent is None:
        return f"{label} {'·' * BAR}   ?   {_outlook(each)}".rstrip()
    return f"{label} {render.bar(limit.used_percent, BAR)} {_share(each)}  {_outlook(each)}".rstrip()


def _share(each: Forecast) -> str:
    about = "~" if each.is_estimate else ""
    percent = each.limit.used_percent or 0
    return f"{'<1' if 0 < percent < 1 else about + str(int(percent))}%".rjust(5)


def _outlook(each: Forecast) -> str:
    """When the limit will be reached, and when it resets."""
    parts = []
    if (each.limit.used_percent or 0) >= FULL:
        parts.append("full")
    elif each.minutes_left is not None and (each.runs_out_first or each.limit.window == "context"):
        parts.append(f"full in about {render.minutes(each.minutes_left)} at this pace")
    if each.limit.resets_at:
        in_ = f" (in {render.minutes(each.resets_in_minutes)})" if each.resets_in_minutes is not None else ""
        parts.append(f"resets {render.local(each.limit.resets_at)}{in_}")
    return ", ".join(parts)


def _folder(overview: Overview) -> list[str]:
    standing = overview.standing
    run = [f"  {_run(overview.run)}"] if overview.run else []
    if standing is None:
        only = "no conversation other than this one" if overview.others else "no sessions here yet"
        return run or [f"  {only}"]
    lines = [*run, f"  {standing.work.session.id}  {render.clean(standing.work.session.title)}"]
    lines += [f"  {line}" for line in _standing(standing)]
    if overview.others:
        lines.append(f"  and {render.plural(overview.others, 'other session')}: segue session list")
    if handoff := overview.last_handoff:
        lines.append(
            f"  last handoff {handoff.id}: {handoff.source} → {handoff.target}, {handoff.state.value}"
        )
    return lines


def _run(run: RunHere) -> str:
    if not run.is_attended:
        return f"Run {run.id} was abandoned; resume it: segue run resume {run.id}"
    until = f" until {render.local(run.until)}" if run.until and run.state == RunState.WAITING else ""
    return f"Run {run.id}: {run.state}{until} (follow it: segue run attach {run.id})"


def _standing(standing: Standing) -> list[str]:
    transcript, usage = standing.transcript, standing.usage
    if transcript is None or usage is None:
        return [standing.recommendation]
    when = render.local(transcript.updated_at) if transcript.updated_at else "at an unknown time"
    cost = f", ${usage.cost_usd:,.2f}" if usage.cost_usd is not None else ""
    count = len(standing.work.transcripts)
    among = f" in {count} transcripts" if count > 1 else ""
    lines = [
        f"{standing.agent} {transcript.id[:8]}, last written {when}: {render.plural(transcript.turns, 'prompt')}",
        f"used so far{among}: {standing.tokens.total:,} tokens{cost}",
    ]
    if standing.context:
        lines.append(_limit(standing.context))
    trigger = standing.trigger
    paint = {"high": "red", "medium": "yellow"}.get(trigger.urgency.value if trigger else "")
    lines.append(click.style(standing.recommendation, fg=paint, bold=paint is not None))
    if trigger:
        reason, _, more = trigger.reasoning.partition("; ")
        lines.append(f"why: {render.clean(render.in_local_time(reason))}")
        if more:
            lines.append(f"     {render.clean(more)}")
    return lines
