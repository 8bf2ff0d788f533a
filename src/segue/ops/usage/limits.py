"""Limits of agents: the newest report of each limit, with a forecast.

Reports come from transcripts (through the index) and from the status line (through the spool). Reports of windows that
have ended are dropped, and limits that no agent reported are not estimated.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from segue import agents
from segue.base import clock
from segue.base.clock import Moment
from segue.hooks import spool
from segue.model import Limit, Scope, Transcript
from segue.ops.common.desk import Desk
from segue.usage import budget, forecast
from segue.usage.forecast import Forecast, Sample

REPORTS_DAYS = 35
"""Maximum age of a report: an older one cannot belong to a current window."""
LATELY_DAYS = 7
HIT = 100
EARLY_SECONDS = 300
"""A report further in the future than this comes from a wrong clock."""
ORDER = ("context", "5h", "day", "week", "month", "spend")

Key = tuple[str, str, str]


class AgentLimits(Struct, frozen=True):
    """An agent's limits at one point in time."""

    name: str
    title: str
    is_installed: bool
    tells_status: bool
    """Whether it reports its limits to a status line."""
    limits: tuple[Forecast, ...]


def of_agents(desk: Desk) -> list[AgentLimits]:
    """The limits of every agent that is installed here, was used lately, or has reported limits."""
    now = desk.clock()
    reports = _reports(desk, now)
    found = []
    lately = _used_lately(desk, now)
    answered = _last_answers(desk)
    for name in agents.names():
        if name not in reports and name not in lately and not agents.seems_installed(name, desk.env):
            continue
        agent = agents.get(name)
        is_installed = bool(agent.program) and agents.locate(agent, desk.env).path is not None
        known = tuple(_forecasts(reports.get(name, []), now, answered.get(name, "")))
        if is_installed or known or name in lately:
            tells_status = agents.load(name).limits_of_status is not None
            found.append(AgentLimits(name, agent.title, is_installed, tells_status, known))
    return found


def _used_lately(desk: Desk, now: Moment) -> set[str]:
    """The agents with a transcript of the last days."""
    since = clock.later(now, -LATELY_DAYS * 86_400)
    known = (entry.transcript for entry in desk.index.transcripts().values())
    return {transcript.agent for transcript in known if transcript and (transcript.updated_at or "") >= since}


def _reports(desk: Desk, now: Moment) -> dict[str, list[Limit]]:
    """Each agent's reports, oldest first."""
    since = clock.later(now, -REPORTS_DAYS * 86_400)
    told: dict[str, list[Limit]] = {}
    for name, limit in desk.index.reports(since):
        told.setdefault(name, []).append(limit)
    statuses = [report for report in spool.read_status(desk.places.data) if report.at >= since]
    if statuses:
        for name in agents.names():
            if read := agents.load(name).limits_of_status:
                for report in statuses:
                    told.setdefault(name, []).extend(read(report.status, report.at))
    latest = clock.later(now, EARLY_SECONDS)
    return {
        name: sorted(
            (limit for limit in limits if (limit.at or "") <= latest), key=lambda limit: limit.at or ""
        )
        for name, limits in told.items()
    }


def _last_answers(desk: Desk) -> dict[str, Moment]:
    """The time of each agent's last model response."""
    last: dict[str, Moment] = {}
    for entry in desk.index.transcripts().values():
        if (transcript := entry.transcript) and transcript.contexts:
            last[transcript.agent] = max(last.get(transcript.agent, ""), transcript.contexts[-1][0])
    return last


def _forecasts(limits: Iterable[Limit], now: Moment, answered: Moment) -> Iterable[Forecast]:
    """A forecast for the newest report of each window, at the rate of all reports. A limit that was hit counts as reset
    if a model has answered since."""
    groups: dict[Key, list[Limit]] = {}
    for limit in limits:
        if limit.window != "context":
            groups.setdefault((limit.window, limit.scope, limit.model), []).append(limit)
    for key in sorted(groups, key=_place):
        newest = groups[key][-1]
        is_refuted = (newest.used_percent or 0) >= HIT and not newest.model and (newest.at or "") < answered
        if not budget.is_over(newest, now) and not is_refuted:
            yield forecast.forecast(newest, samples_of(groups[key][:-1]), now)


def _place(key: Key) -> tuple[int, Key]:
    return (ORDER.index(key[0]) if key[0] in ORDER else len(ORDER), key)


def samples_of(limits: Iterable[Limit]) -> list[Sample]:
    return [
        Sample(at=limit.at, used_percent=limit.used_percent)
        for limit in limits
        if limit.at and limit.used_percent is not None
    ]


def context_of(desk: Desk, transcript: Transcript, window_of_model: int | None) -> Limit | None:
    """The used share of a transcript's context window. If the agent does not report the window's size, its usual size
    or the model's maximum is an estimate."""
    used = transcript.context_tokens
    fits, is_estimate = window_of(desk, transcript, window_of_model)
    if used is None or not fits:
        return None
    return Limit(
        window="context",
        scope=Scope.MODEL,
        used_percent=min(100.0, 100 * used / fits),
        is_estimate=is_estimate,
        model=transcript.model,
        at=transcript.contexts[-1][0] if transcript.contexts else transcript.updated_at,
    )


def window_of(desk: Desk, transcript: Transcript, window_of_model: int | None) -> tuple[int | None, bool]:
    """The size of a context window, and whether it is an estimate."""
    told = transcript.context_window or _told_window(desk, transcript)
    if told:
        return told, False
    # An estimate smaller than the used tokens is wrong and is dropped.
    guesses = (agents.get(transcript.agent).context_window, window_of_model)
    used = transcript.context_tokens or 0
    return next((guess for guess in guesses if guess and used <= guess), None), True


def _told_window(desk: Desk, transcript: Transcript) -> int | None:
    """The window size that the agent reported to the status line for this transcript."""
    read = agents.load(transcript.agent).window_of_status
    if read is None:
        return None
    for report in reversed(spool.read_status(desk.places.data)):
        id, size = read(report.status)
        if id == transcript.id and size:
            return size
    return None
