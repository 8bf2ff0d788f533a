"""The screen of `segue` without a command: all agents' limits, this folder's session, and the next step."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from msgspec import Struct

from segue import agents
from segue.base import paths
from segue.base.clock import Moment
from segue.model import Handoff, HandoffState, Scope, TriggerType
from segue.ops.common.desk import Desk
from segue.ops.handoff import stays
from segue.ops.index import provenance, refresh
from segue.ops.index.refresh import Pass
from segue.ops.setup import settings_backup
from segue.ops.usage import limits
from segue.ops.usage.folder_status import Standing, stand
from segue.ops.usage.limits import AgentLimits
from segue.ops.work import discovery, run_records
from segue.usage import budget


class RunHere(Struct, frozen=True):
    """This folder's unfinished run."""

    id: str
    state: str
    until: Moment | None
    """When it continues, if it is waiting."""
    is_attended: bool
    """Whether a process supervises it."""


class Overview(Struct, frozen=True):
    project: str
    agents: tuple[AgentLimits, ...]
    standing: Standing | None
    others: int
    """Number of this folder's other sessions."""
    last_handoff: Handoff | None
    next: str
    problems: tuple[str, ...]
    run: RunHere | None = None
    set_up: tuple[str, ...] = ()
    """Agents set up by segue init, whose limits are recorded."""


def overview(desk: Desk, progress: refresh.Progress = refresh.in_silence, caller: str = "") -> Overview:
    """The state of this folder's work, without the calling transcript."""
    refreshed = refresh.refresh(desk, [Pass.SPENDS, Pass.ENTRIES], progress)
    known = limits.of_agents(desk)
    here = discovery.of_folder(desk, discovery.works(desk))
    work = discovery.latest(here, caller)
    standing = stand(desk, work, known) if work else None
    kept = [work.session for work in here if work.is_kept]
    handoffs = [handoff for session in kept for handoff in desk.shared.handoffs_of(session.id)]
    models = {transcript.id: transcript.model for work in here for transcript in work.transcripts}
    run = _run_here(desk)
    return Overview(
        project=paths.as_text(desk.project),
        agents=tuple(known),
        standing=standing,
        others=len(here) - (work is not None),
        last_handoff=max(handoffs, key=lambda handoff: handoff.updated_at, default=None),
        next=_in_run(run) or _after(handoffs, known, models) or _next(desk, standing),
        problems=(*refreshed.problems, *_unused_here(desk, refreshed)),
        run=run,
        set_up=_set_up(desk, known),
    )


def _unused_here(desk: Desk, refreshed: refresh.Refreshed) -> list[str]:
    """Transcripts that need confirmation: in this folder, in folders above it, or behind a link."""
    here = f"{desk.project}/"
    return refresh.unused_in_words(
        one
        for one in refreshed.unused
        if one.next and (here.startswith(f"{one.project}/") or one.why == provenance.LINKED)
    )


def _run_here(desk: Desk) -> RunHere | None:
    run = run_records.unfinished_here(desk, paths.as_text(desk.project))
    return RunHere(run.id, run.state.value, run.until, run_records.is_attended(desk, run.id)) if run else None


def _set_up(desk: Desk, known: list[AgentLimits]) -> tuple[str, ...]:
    return tuple(
        each.name for each in known if each.tells_status and settings_backup.paths_of(desk, each.name)
    )


def _in_run(run: RunHere | None) -> str:
    """The next step during a run: no handoff by hand."""
    if run is None:
        return ""
    if run.is_attended:
        return f"segue run attach {run.id} follows its output · segue run stop {run.id} ends it"
    return f"segue run resume {run.id} continues it · segue run status {run.id} shows its progress"


def _after(handoffs: list[Handoff], known: list[AgentLimits], models: Mapping[str, str]) -> str:
    """The next step after the last handoff, with the time when the agent's limit resets."""
    last = max(handoffs, key=lambda handoff: handoff.created_at, default=None)
    if last is None or last.delivery is None:
        return ""
    there = _once_free(known, last.target)
    if last.returns and (step := _after_return(last, there)):
        return step
    trips = stays.open_trips(one for one in handoffs if one.session == last.session)
    out = trips[-1].out if trips else last
    name = agents.get(out.source.partition(":")[0]).title
    home = _once_free(known, out.source, models.get(out.transcript, ""))
    if last.returns:
        return f"segue back returns to {name}{home}" if trips else ""
    match last.state:
        case HandoffState.PREPARED:
            return f"segue handoff execute {last.id} starts it · segue handoff cancel {last.id} drops it"
        case HandoffState.DELIVERED | HandoffState.ACKNOWLEDGED:
            return f"segue to {last.target} continues there{there} · segue undo takes the work back"
        case HandoffState.COMPLETED | HandoffState.VALIDATED:
            return f"segue back returns to {name}{home} · segue undo takes the handoff back"
        case HandoffState.FAILED if not last.delivery.has_arrived:
            return (
                f"segue to {last.target} tries again{there}, "
                f"segue to {last.target} --way prompt sends only the brief"
            )
    return ""


def _after_return(last: Handoff, there: str) -> str:
    """The next step after an unfinished return."""
    match last.state:
        case HandoffState.PREPARED | HandoffState.DELIVERED | HandoffState.ACKNOWLEDGED:
            return f"segue back continues the return{there} · segue undo takes it back"
        case HandoffState.FAILED if last.delivery and not last.delivery.has_arrived:
            return f"segue back tries again{there}"
    return ""


def _once_free(known: list[AgentLimits], address: str, model: str = "") -> str:
    """When an agent's limit resets, as part of a sentence; empty if no limit is reached."""
    name, _, named = address.partition(":")
    model = named or model
    for limit in (each.limit for one in known if one.name == name for each in one.limits):
        is_hit = (limit.used_percent or 0) >= limits.HIT
        # Without a known model, a limit of one model cannot be applied.
        if is_hit and (limit.scope is Scope.ACCOUNT or (model and budget.holds_for(limit, model))):
            until = limit.resets_at
            return f" after {until[:16].replace('T', ' ')} UTC" if until else " once its limit resets"
    return ""


def _next(desk: Desk, standing: Standing | None) -> str:
    if standing is None or standing.transcript is None:
        return "segue transcripts lists this machine's transcripts · segue demo shows a handoff"
    id = standing.transcript.id
    others = [t.id for entry in desk.index.transcripts().values() if (t := entry.transcript) and t.id != id]
    length = next(
        (n for n in range(8, len(id)) if not any(other.startswith(id[:n]) for other in others)), len(id)
    )
    shown = f"segue transcripts show {shlex.quote(id[:length])} prints the transcript"
    if standing.trigger and standing.trigger.type is TriggerType.USAGE_LIMIT:
        return "segue to AGENT --dry-run previews a handoff, segue to AGENT hands over"
    return f"segue to AGENT --dry-run previews a handoff · {shown}"
