"""What `segue` alone shows: every agent's limits, this folder's session, what is to be expected, and what to do."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from msgspec import Struct

from segue import agents, budget, clock, forecast, places, prices
from segue.budget import Thresholds
from segue.clock import Moment
from segue.forecast import Forecast
from segue.model import Handoff, HandoffState, Scope, Tokens, Transcript, Trigger, TriggerType, Usage
from segue.ops import found, limits, provenance, refresh, stays
from segue.ops.desk import Desk
from segue.ops.found import Work
from segue.ops.limits import AgentLimits
from segue.ops.refresh import Pass
from segue.ops.usage import Purse

USUAL_WINDOW = 200_000
"""What a context is taken to hold where neither the agent nor the data tells."""


class Standing(Struct, frozen=True):
    """How the work in this folder stands."""

    work: Work
    transcript: Transcript | None
    """The one that was written last."""
    agent: str
    """The title of the agent that wrote it."""
    usage: Usage | None
    context: Forecast | None
    trigger: Trigger | None
    recommendation: str
    tokens: Tokens
    """What the session has used so far, sub-agents included."""


class RunHere(Struct, frozen=True):
    """A run of this folder that has not come to its end."""

    id: str
    state: str
    until: Moment | None
    """What it waits for."""
    is_attended: bool
    """Whether somebody supervises it; else it was left."""


class Overview(Struct, frozen=True):
    project: str
    agents: tuple[AgentLimits, ...]
    standing: Standing | None
    others: int
    """How many more sessions this folder has."""
    last_handoff: Handoff | None
    next: str
    problems: tuple[str, ...]
    run: RunHere | None = None
    set_up: tuple[str, ...] = ()
    """The agents that segue init has set up: what they tell of their limits is recorded."""


DUE = 10
"""The exit code that says that a handoff is due: none that an error has."""


class Check(Struct, frozen=True):
    """Whether to hand over, and why, in four fixed words."""

    session: str
    tokens: int
    limit: int
    is_estimate: bool
    should_handoff: bool
    reason: str
    figures: str
    is_known: bool = True
    """Whether there is a session here at all."""

    @property
    def exit_code(self) -> int:
        return DUE if self.should_handoff else 0


def thresholds_of(desk: Desk) -> Thresholds:
    chosen = desk.settings
    return Thresholds(chosen.limits_recommend, chosen.limits_urgent, chosen.limits_models)


def standing_here(desk: Desk) -> Standing | None:
    """How the work in this folder stands now."""
    refresh.refresh(desk, [Pass.SPENDS, Pass.ENTRIES])
    here = found.of_folder(desk, found.works(desk))
    return stand(desk, here[0], limits.of_agents(desk)) if here else None


def overview(desk: Desk, progress: refresh.Progress = refresh.in_silence, caller: str = "") -> Overview:
    """How all of it stands; `caller` is the transcript of the conversation that asks, which does not mean itself."""
    refreshed = refresh.refresh(desk, [Pass.SPENDS, Pass.ENTRIES], progress)
    known = limits.of_agents(desk)
    here = found.of_folder(desk, found.works(desk))
    work = found.latest(here, caller)
    standing = stand(desk, work, known) if work else None
    kept = [work.session for work in here if work.is_kept]
    handoffs = [handoff for session in kept for handoff in desk.shared.handoffs_of(session.id)]
    models = {transcript.id: transcript.model for work in here for transcript in work.transcripts}
    run = _run_here(desk)
    return Overview(
        project=places.as_text(desk.project),
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
    """Transcripts that wait to be confirmed: this folder's, with those above, and what a link brings from anywhere."""
    here = f"{desk.project}/"
    return refresh.unused_in_words(
        one
        for one in refreshed.unused
        if one.next and (here.startswith(f"{one.project}/") or one.why == provenance.LINKED)
    )


def _run_here(desk: Desk) -> RunHere | None:
    from segue.ops import running  # lazy: a handoff looks at limits, and not at runs

    run = running.unfinished_here(desk, places.as_text(desk.project))
    return RunHere(run.id, run.state.value, run.until, running.is_attended(desk, run.id)) if run else None


def _set_up(desk: Desk, known: list[AgentLimits]) -> tuple[str, ...]:
    from segue.ops import keeping  # lazy: most of what asks for a standing never asks for this

    return tuple(each.name for each in known if each.tells_status and keeping.paths_of(desk, each.name))


def stand(desk: Desk, work: Work, known: list[AgentLimits]) -> Standing:
    transcript = work.main
    tokens = _tokens(desk, work)
    if transcript is None:
        nothing = "no transcript belongs to it yet; segue session link adds one"
        return Standing(work, None, "", None, None, None, nothing, tokens)
    purse = Purse(desk.index)
    history = purse.history(transcript.model) if transcript.model else ()
    price = history[-1] if history else None
    usage = usage_of(desk, work, transcript, known, purse)
    thresholds = thresholds_of(desk)
    trigger = budget.trigger_for(usage, thresholds, transcript.model, is_small=prices.is_small(price))
    title = agents.get(transcript.agent).title
    context = limits.context_of(desk, transcript, price.context_window if price else None)
    samples = forecast.context_samples(transcript.contexts, usage.tokens_limit)
    return Standing(
        work,
        transcript,
        title,
        usage,
        forecast.forecast(context, samples, usage.at) if context else None,
        trigger,
        budget.sentence(agents.model_title(transcript.model) or title, usage, thresholds, transcript.model),
        tokens,
    )


def usage_of(desk: Desk, work: Work, transcript: Transcript, known: list[AgentLimits], purse: Purse) -> Usage:
    """The figures that a decision is made from."""
    history = purse.history(transcript.model) if transcript.model else ()
    window = history[-1].context_window if history else None
    fits, is_estimate = limits.window_of(desk, transcript, window)
    own = next((each.limits for each in known if each.name == transcript.agent), ())
    handoffs = desk.shared.handoffs_of(work.session.id) if work.is_kept else []
    return Usage(
        at=desk.clock(),
        tokens_used=transcript.context_tokens or 0,
        tokens_limit=fits or 0,
        is_estimate=is_estimate,
        session_duration=_seconds(work),
        complexity_score=round(budget.complexity(transcript), 2),
        user_satisfaction=budget.satisfaction(transcript, found.satisfaction_of(work.session, handoffs)),
        cost_usd=_cost(desk, work, purse),
        limits=tuple(each.limit for each in own),
    )


def _seconds(work: Work) -> float:
    starts = [t.started_at for t in work.transcripts if t.started_at]
    ends = [t.updated_at for t in work.transcripts if t.updated_at]
    if not starts or not ends:
        return 0.0
    return max(0.0, (clock.parse(max(ends)) - clock.parse(min(starts))).total_seconds())


def _sources(desk: Desk, work: Work) -> set[int]:
    files = {(transcript.path, transcript.part) for transcript in work.transcripts}
    return {entry.id for key, entry in desk.index.transcripts().items() if key in files}


def _tokens(desk: Desk, work: Work) -> Tokens:
    own = _sources(desk, work)
    return sum((each.tokens for each in desk.index.sums("source") if each.period in own), Tokens())


def _cost(desk: Desk, work: Work, purse: Purse) -> float | None:
    own = _sources(desk, work)
    day = work.active_at[:10]
    costs = [purse.cost(row, day) for row in desk.index.sum_rows("source") if row[0] in own]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def _in_run(run: RunHere | None) -> str:
    """In the middle of a run nothing is to be handed over by hand."""
    if run is None:
        return ""
    if run.is_attended:
        return f"segue run attach {run.id} reads along · segue run stop {run.id} ends it"
    return f"segue run resume {run.id} goes on · segue run status {run.id} shows how far it is"


def _after(handoffs: list[Handoff], known: list[AgentLimits], models: Mapping[str, str]) -> str:
    """What to do about the last handoff, if anything; not before whoever it takes can work again."""
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
            return f"segue handoff execute {last.id} starts what is prepared · segue handoff cancel {last.id}"
        case HandoffState.DELIVERED | HandoffState.ACKNOWLEDGED:
            return f"segue to {last.target} goes on there{there} · segue undo takes the work back"
        case HandoffState.COMPLETED | HandoffState.VALIDATED:
            return f"segue back returns to {name}{home} · segue undo takes the handoff back"
        case HandoffState.FAILED if not last.delivery.has_arrived:
            return (
                f"segue to {last.target} tries again{there}, "
                f"segue to {last.target} --way prompt with the brief alone"
            )
    return ""


def _after_return(last: Handoff, there: str) -> str:
    """What to do about a return that did not come to its end."""
    match last.state:
        case HandoffState.PREPARED | HandoffState.DELIVERED | HandoffState.ACKNOWLEDGED:
            return f"segue back goes on with the return{there} · segue undo takes it back"
        case HandoffState.FAILED if last.delivery and not last.delivery.has_arrived:
            return f"segue back tries again{there}"
    return ""


def _once_free(known: list[AgentLimits], address: str, model: str = "") -> str:
    """From when on an agent can work, in words; empty where nothing keeps it."""
    name, _, named = address.partition(":")
    model = named or model
    for limit in (each.limit for one in known if one.name == name for each in one.limits):
        is_hit = (limit.used_percent or 0) >= limits.HIT
        # Of a model that is not known it is not known either whether a limit of one model holds for it.
        if is_hit and (limit.scope is Scope.ACCOUNT or (model and budget.holds_for(limit, model))):
            until = limit.resets_at
            return f" after {until[:16].replace('T', ' ')} UTC" if until else " once its limit is over"
    return ""


def _next(desk: Desk, standing: Standing | None) -> str:
    if standing is None or standing.transcript is None:
        return "segue transcripts lists what agents left on this machine · segue demo shows a handoff"
    id = standing.transcript.id
    others = [t.id for entry in desk.index.transcripts().values() if (t := entry.transcript) and t.id != id]
    length = next(
        (n for n in range(8, len(id)) if not any(other.startswith(id[:n]) for other in others)), len(id)
    )
    shown = f"segue transcripts show {shlex.quote(id[:length])} reads"
    if standing.trigger and standing.trigger.type is TriggerType.USAGE_LIMIT:
        return "segue to AGENT --dry-run shows what would go to another agent, segue to AGENT does it"
    return f"segue to AGENT --dry-run shows what would go to another agent · {shown} it"


def check(desk: Desk, warning_only: bool = False) -> Check:
    """Whether this folder's session should be handed over now: by its context, or by its agent's limits."""
    standing = standing_here(desk)
    name = standing.work.session.id if standing else "none yet"
    if standing is None or standing.usage is None or standing.transcript is None:
        return Check(name, 0, USUAL_WINDOW, True, False, "normal", "nothing used yet", standing is not None)
    usage, model, thresholds = standing.usage, standing.transcript.model, thresholds_of(desk)
    share = budget.worst_share(usage, thresholds, model)
    percent = share.percent if share else 0.0
    due, reason = budget.should_handoff(int(percent * 100), 10_000, thresholds, warning_only, model)
    figures = budget.in_words(share, thresholds) if share else "no limit was reported yet"
    is_estimate = usage.is_estimate or not usage.tokens_limit
    return Check(
        name, usage.tokens_used, usage.tokens_limit or USUAL_WINDOW, is_estimate, due, reason, figures
    )
