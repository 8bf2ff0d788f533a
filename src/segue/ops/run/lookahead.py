"""Look-ahead: prepare the next agent before the present one reaches a limit.

From the recommended share of a limit, or when the forecast is short, the brief is kept up to date. With `prewarm`, the
next agent also gets the context. With `handoff.auto_switch`, the work moves on at the urgent share, before the limit
stops it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from segue import routing
from segue.model import Limit, Transcript, Urgency, Usage
from segue.model.exit_reason import Stop, Why
from segue.ops.briefs import make
from segue.ops.common.desk import Desk
from segue.ops.handoff import consent, handoff_records
from segue.ops.run.prewarm import Prewarming
from segue.ops.usage import folder_status, limits
from segue.ops.usage.report import Purse
from segue.routing import Bar, Leg, Run
from segue.usage import budget, forecast

SOON_MINUTES = 15.0
"""Forecasts shorter than this count as soon."""


class Ahead:
    """Preparations so far, for one supervisor."""

    def __init__(self, desk: Desk, tell: Callable[[str], None]) -> None:
        self.desk = desk
        self.tell = tell
        self.told: set[tuple[int, str]] = set()
        self.prewarming: Prewarming | None = None
        self.prewarmed: set[int] = set()

    def look(self, run: Run, told: Sequence[Limit], barred: Mapping[str, Bar]) -> Stop | None:
        """Prepare what is needed soon. Returns a stop if the agent must be ended before a limit stops it."""
        leg = run.legs[-1]
        transcript = consent.source_transcript(self.desk, leg.transcript) if leg.transcript else None
        if transcript is None:
            return None
        usage = self.usage_of(transcript, told)
        thresholds = folder_status.thresholds_of(self.desk)
        share = budget.worst_share(usage, thresholds, transcript.model)
        soon = self.ends_soon(transcript, usage)
        if share is None or (thresholds.urgency(share.percent, share.model) is None and not soon):
            return None
        figures = budget.in_words(share, thresholds)
        self.keep_warm(run, leg, transcript, f"{figures}{soon}")
        is_urgent = thresholds.urgency(share.percent, share.model) is Urgency.HIGH
        if run.prewarm and (is_urgent or soon):
            self.prewarm(run, leg, transcript, barred)
        if is_urgent and self.desk.settings.handoff_auto_switch:
            return self.stop_at(leg, usage, figures, told)
        return None

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
        """Text that says how soon a limit or the context runs out; empty if that is not soon."""
        name = transcript.agent
        known = next((one.limits for one in limits.of_agents(self.desk) if one.name == name), ())
        ends = [one.minutes_left for one in known if one.runs_out_first and one.minutes_left is not None]
        context = limits.context_of(self.desk, transcript, usage.tokens_limit or None)
        if context is not None:
            samples = forecast.context_samples(transcript.contexts, usage.tokens_limit)
            left = forecast.forecast(context, samples, usage.at).minutes_left
            ends += [left] if left is not None else []
        first = min(ends, default=SOON_MINUTES)
        return f"; at this pace {first:.0f} minutes are left" if first < SOON_MINUTES else ""

    def keep_warm(self, run: Run, leg: Leg, transcript: Transcript, figures: str) -> None:
        """Update the tracked transcript, so that only its last lines are read at the switch."""
        make.open_known(self.desk, transcript.id)
        if (len(run.legs), transcript.id) not in self.told:
            self.told.add((len(run.legs), transcript.id))
            self.tell(
                f"{handoff_records.title_of(leg.target)}: {figures}. Keeping the brief for the next agent up to date."
            )

    def prewarm(self, run: Run, leg: Leg, transcript: Transcript, barred: Mapping[str, Bar]) -> None:
        """Give the next agent the context while the present one works, once per leg."""
        target = next((one for one in run.chain if one != leg.target and one not in barred), "")
        is_same = handoff_records.agent_of(target) == handoff_records.agent_of(
            leg.target
        )  # its own conversation will go on
        if not target or is_same or len(run.legs) in self.prewarmed:
            return
        self.prewarmed.add(len(run.legs))
        self.tell(f"{handoff_records.title_of(target)} gets the context before the switch (prewarm).")
        self.prewarming = Prewarming(self.desk, run, target, transcript.id, self.tell)
        self.prewarming.start()

    def end(self) -> None:
        """End a prewarming that is still running."""
        if self.prewarming is not None:
            self.prewarming.end()

    def stop_at(self, leg: Leg, usage: Usage, figures: str, told: Sequence[Limit]) -> Stop:
        """Stop before the nearer of the two: the limit, or a full context."""
        filled = 100 * usage.tokens_used / usage.tokens_limit if usage.tokens_limit else 0.0
        present = [
            one for one in told if routing.holds_for(one, leg.target) and not budget.is_over(one, usage.at)
        ]
        hit = max(present, key=lambda one: one.used_percent or 0, default=None)
        said = f"{figures}, and handoff.auto_switch is on"
        if hit is None or filled > (hit.used_percent or 0):
            return Stop(why=Why.CONTEXT, said=said)
        return Stop(why=Why.LIMIT, said=said, limit=hit)
