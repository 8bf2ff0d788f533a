"""Status of a folder's work: usage, limits, forecast, and whether a handoff is due."""

from __future__ import annotations

from msgspec import Struct

from segue import agents
from segue.base import clock
from segue.model import Tokens, Transcript, Trigger, Usage
from segue.ops.common.desk import Desk
from segue.ops.index import refresh
from segue.ops.index.refresh import Pass
from segue.ops.usage import limits
from segue.ops.usage.limits import AgentLimits
from segue.ops.usage.report import Purse
from segue.ops.work import discovery
from segue.ops.work.discovery import Work
from segue.usage import budget, forecast, prices
from segue.usage.budget import Thresholds
from segue.usage.forecast import Forecast

USUAL_WINDOW = 200_000
"""The assumed context window if neither the agent nor the price data give one."""


class Standing(Struct, frozen=True):
    """The status of this folder's work."""

    work: Work
    transcript: Transcript | None
    """The newest transcript."""
    agent: str
    """The title of the transcript's agent."""
    usage: Usage | None
    context: Forecast | None
    trigger: Trigger | None
    recommendation: str
    tokens: Tokens
    """Tokens used by the session, including sub-agents."""


DUE = 10
"""The exit code for a handoff that is due; no error has it."""


class Check(Struct, frozen=True):
    """Whether a handoff is due. `reason` is one of four fixed words."""

    session: str
    tokens: int
    limit: int
    is_estimate: bool
    should_handoff: bool
    reason: str
    figures: str
    is_known: bool = True
    """Whether this folder has a session."""

    @property
    def exit_code(self) -> int:
        return DUE if self.should_handoff else 0


def thresholds_of(desk: Desk) -> Thresholds:
    chosen = desk.settings
    return Thresholds(chosen.limits_recommend, chosen.limits_urgent, chosen.limits_models)


def standing_here(desk: Desk) -> Standing | None:
    """The status of this folder's work; None without a session."""
    refresh.refresh(desk, [Pass.SPENDS, Pass.ENTRIES])
    here = discovery.of_folder(desk, discovery.works(desk))
    return stand(desk, here[0], limits.of_agents(desk)) if here else None


def stand(desk: Desk, work: Work, known: list[AgentLimits]) -> Standing:
    transcript = work.main
    tokens = _tokens(desk, work)
    if transcript is None:
        nothing = "it has no transcript yet (segue session link adds one)"
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
    """The figures on which handoff decisions are based."""
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
        user_satisfaction=budget.satisfaction(transcript, discovery.satisfaction_of(work.session, handoffs)),
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


def check(desk: Desk, warning_only: bool = False) -> Check:
    """Whether a handoff of this folder's session is due, by its context or its agent's limits."""
    standing = standing_here(desk)
    name = standing.work.session.id if standing else "none yet"
    if standing is None or standing.usage is None or standing.transcript is None:
        return Check(name, 0, USUAL_WINDOW, True, False, "normal", "no usage yet", standing is not None)
    usage, model, thresholds = standing.usage, standing.transcript.model, thresholds_of(desk)
    share = budget.worst_share(usage, thresholds, model)
    percent = share.percent if share else 0.0
    due, reason = budget.should_handoff(int(percent * 100), 10_000, thresholds, warning_only, model)
    figures = budget.in_words(share, thresholds) if share else "no limits reported yet"
    is_estimate = usage.is_estimate or not usage.tokens_limit
    return Check(
        name, usage.tokens_used, usage.tokens_limit or USUAL_WINDOW, is_estimate, due, reason, figures
    )
