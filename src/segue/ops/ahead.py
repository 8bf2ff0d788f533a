"""Looking ahead while an agent works: will it stop soon, at the pace so far? What the next one needs is made ready.

From the recommended share of a limit on, or when the forecast sees its end near, the brief is kept warm. With `prewarm`
the next agent is given the context as well. With `handoff.auto_switch` the work moves on at the urgent share, before
the limit stops it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from segue import budget, forecast
from segue.errors import SegueError
from segue.model import Limit, Transcript, Usage
from segue.ops import briefs, limits, planning, prewarming, records, status
from segue.ops.desk import Desk
from segue.ops.prewarming import Prewarming
from segue.ops.usage import Purse
from segue.runs import Leg, Run
from segue.stop import Stop, Why

SOON_MINUTES = 15.0
"""An end that is nearer than this is made ready for."""


class Ahead:
    """What was made ready so far, for one supervisor."""

    def __init__(self, desk: Desk, tell: Callable[[str], None]) -> None:
        self.desk = desk
        self.tell = tell
        self.told: set[tuple[int, str]] = set()
        self.prewarming: Prewarming | None = None

    def look(self, run: Run, leg: Leg, told: Sequence[Limit]) -> Stop | None:
        """Make ready what will be needed soon; a stop, if the agent is to be ended before a limit does it."""
        transcript = self.transcript_of(run, leg)
        if transcript is None:
            return None
        usage = self.usage_of(transcript, told)
        thresholds = status.thresholds_of(self.desk)
        share = budget.worst_share(usage, thresholds, transcript.model)
        soon = self.ends_soon(transcript, usage)
        urgency = thresholds.urgency(share.percent, share.model) if share else None
        if share is None or (urgency is None and not soon):
            return None
        figures = budget.in_words(share, thresholds)
        self.keep_warm(run, leg, transcript, f"{figures}{soon}")
        is_urgent = share.percent >= thresholds.urgent or bool(soon)
        if is_urgent and run.prewarm:
            self.prewarm(run, leg, transcript)
        if is_urgent and self.desk.settings.handoff_auto_switch and share.percent >= thresholds.urgent:
            return self.stop_at(usage, figures, told)
        return None

    def transcript_of(self, run: Run, leg: Leg) -> Transcript | None:
        """What the agent at work has written so far."""
        keeper = records.keeper_for(self.desk, records.agent_of(leg.target))
        known = [entry.transcript for entry in self.desk.index.transcripts().values()]
        own = [
            one
            for one in known
            if one
            and one.agent == keeper
            and one.relation is None
            and (one.updated_at or "") >= leg.started_at
            and one.project == run.project
        ]
        return max(own, key=lambda one: one.updated_at or "", default=None)

    def usage_of(self, transcript: Transcript, told: Sequence[Limit]) -> Usage:
        history = Purse(self.desk.index).history(transcript.model) if transcript.model else ()
        window = history[-1].context_window if history else None
        fits, is_estimate = limits.window_of(self.desk, transcript, window)
        return Usage(
            at=self.desk.clock(),
            tokens_used=transcript.context_tokens or 0,
            tokens_limit=fits or 0,
            is_estimate=is_estimate,
            limits=tuple(told),
        )

    def ends_soon(self, transcript: Transcript, usage: Usage) -> str:
        """How soon a limit or the context will be at its end, in words; empty where that is not to be expected."""
        name = transcript.agent
        known = next((one.limits for one in limits.of_agents(self.desk) if one.name == name), ())
        ends = [one.minutes_left for one in known if one.runs_out_first and one.minutes_left is not None]
        context = limits.context_of(self.desk, transcript, usage.tokens_limit or None)
        if context is not None:
            samples = forecast.context_samples(transcript.contexts, usage.tokens_limit)
            left = forecast.forecast(context, samples, usage.at).minutes_left
            ends += [left] if left is not None else []
        first = min(ends, default=SOON_MINUTES)
        return f"; at this pace it lasts {first:.0f} more minutes" if first < SOON_MINUTES else ""

    def keep_warm(self, run: Run, leg: Leg, transcript: Transcript, figures: str) -> None:
        """What is known of the transcript is brought up to date, so that at the end only the last lines are read."""
        briefs.open_known(self.desk, transcript.id)
        if (len(run.legs), transcript.id) not in self.told:
            self.told.add((len(run.legs), transcript.id))
            self.tell(
                f"{records.title_of(leg.target)}: {figures}. The brief for the next agent is kept ready."
            )

    def prewarm(self, run: Run, leg: Leg, transcript: Transcript) -> None:
        """Give the next agent the context now, beside the one at work."""
        if self.prewarming is not None and self.prewarming.is_alive():
            return
        target = next((one for one in run.chain if one != leg.target), "")
        if not target or prewarming.transcript_for(self.desk, run.id, target, transcript.id):
            return
        if self.prewarming is not None and self.prewarming.of == (target, transcript.id):
            return  # it failed, and would again
        try:
            planning.target_of(self.desk, target)
        except SegueError:
            return
        self.tell(f"{records.title_of(target)} is given the context before the switch (prewarm).")
        self.prewarming = Prewarming(self.desk, run, target, transcript.id, self.tell)
        self.prewarming.start()

    def stop_at(self, usage: Usage, figures: str, told: Sequence[Limit]) -> Stop:
        """Before a limit does it, or before the context is full: whichever is nearer."""
        filled = 100 * usage.tokens_used / usage.tokens_limit if usage.tokens_limit else 0.0
        hit = max(told, key=lambda one: one.used_percent or 0, default=None)
        said = f"{figures}, and handoff.auto_switch is on"
        if hit is None or filled > (hit.used_percent or 0):
            return Stop(why=Why.CONTEXT, said=said)
        return Stop(why=Why.LIMIT, said=said, limit=hit)
