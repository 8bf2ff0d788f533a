"""Usage reports: tokens and cost by day, week, 5-hour block, session, transcript, project, model and agent.

All figures are sums over the index, which counts every model response once.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from segue import agents
from segue.base.clock import Moment
from segue.model import Tokens, Transcript
from segue.ops.index import refresh
from segue.ops.index.count_tokens import Progress, in_silence
from segue.ops.index.refresh import Pass
from segue.ops.usage import totals
from segue.store.index.usage_index import FAR
from segue.usage.prices import Price

if TYPE_CHECKING:
    from segue.ops.common.desk import Desk


class By(StrEnum):
    """How usage is grouped."""

    DAILY = "daily"
    WEEKLY = "weekly"
    BLOCKS = "blocks"
    SESSIONS = "sessions"
    TRANSCRIPTS = "transcripts"
    PROJECTS = "projects"
    MODELS = "models"
    AGENTS = "agents"


class Used(Struct, frozen=True):
    """Usage of one model."""

    model: str
    answers: int
    tokens: Tokens
    cost_usd: float | None
    """None if the price is unknown."""


class Line(Struct, frozen=True):
    """Usage of one period, session, project, model or agent."""

    name: str
    answers: int
    tokens: Tokens
    cost_usd: float
    models: tuple[Used, ...]
    title: str = ""
    until: Moment | None = None
    """The end of a block."""
    is_active: bool = False
    """Whether it is the current block."""


class Report(Struct, frozen=True):
    by: By
    lines: tuple[Line, ...]
    total: Line
    is_narrowed: bool = False
    """Whether the report covers only a part of all time."""
    notice: str = ""
    """A note about models without a price, whose cost is missing."""
    problems: tuple[str, ...] = ()
    """Transcripts that could not be read."""


class Purse(totals.Purse):
    """A price table that returns typed values."""

    def history(self, model: str) -> tuple[Price, ...]:
        return msgspec.convert(self.kept(model), tuple[Price, ...])


def report(
    desk: Desk,
    by: By,
    *,
    since: Moment | None = None,
    until: Moment | None = None,
    progress: Progress = in_silence,
) -> Report:
    needs_titles = by in MAKERS
    wanted = [Pass.SPENDS, Pass.ENTRIES] if needs_titles else [Pass.SPENDS]
    refreshed = refresh.refresh(desk, wanted, progress)
    purse = totals.Purse(desk.index)
    span = (totals.quarter_of(since) if since else 0, totals.quarter_of(until) if until else FAR)
    lines = (MAKERS if needs_titles else totals.MAKERS)[by](desk, purse, *span)
    is_narrowed = since is not None or until is not None
    plain = totals.plain_report(by, lines, purse, refreshed.problems, is_narrowed)
    return msgspec.convert(plain, Report)


def _by_source(
    desk: Desk, purse: totals.Purse, since: int, until: int
) -> list[tuple[Transcript, list[totals.Used]]]:
    """Usage of each transcript, at the prices of its last day."""
    known = {entry.id: entry.transcript for entry in desk.index.transcripts().values()}
    groups: dict[int, list[totals.Used]] = {}
    for sum in desk.index.sum_rows("source", since, until):
        transcript = known.get(sum[0])
        day = (transcript.updated_at if transcript else None) or desk.clock()
        groups.setdefault(sum[0], []).append(totals.used_of(purse, sum, day[:10]))
    return [(transcript, used) for id, used in groups.items() if (transcript := known.get(id))]


def _transcripts(desk: Desk, purse: totals.Purse, since: int, until: int) -> list[totals.Line]:
    each = _by_source(desk, purse, since, until)
    each.sort(key=lambda pair: pair[0].updated_at or "", reverse=True)
    return [totals.line(transcript.id, used, title=transcript.title) for transcript, used in each]


def _sessions(desk: Desk, purse: totals.Purse, since: int, until: int) -> list[totals.Line]:
    from segue.ops.work import discovery  # lazy: totals do not need it

    groups: dict[str, tuple[str, str, list[totals.Used]]] = {}
    session_of = discovery.session_of_each(desk)
    for transcript, used in _by_source(desk, purse, since, until):
        id, title, updated = session_of[transcript.id]
        groups.setdefault(id, (title, updated, []))[2].extend(used)
    ordered = sorted(groups.items(), key=lambda item: item[1][1], reverse=True)
    return [totals.line(id, used, title=title) for id, (title, _updated, used) in ordered]


def _projects(desk: Desk, purse: totals.Purse, since: int, until: int) -> list[totals.Line]:
    return _by(desk, purse, since, until, lambda transcript: transcript.project or "(unknown)")


def _agents(desk: Desk, purse: totals.Purse, since: int, until: int) -> list[totals.Line]:
    return _by(desk, purse, since, until, lambda transcript: agents.get(transcript.agent).title)


def _by(
    desk: Desk, purse: totals.Purse, since: int, until: int, name: Callable[[Transcript], str]
) -> list[totals.Line]:
    groups: dict[str, list[totals.Used]] = {}
    for transcript, used in _by_source(desk, purse, since, until):
        groups.setdefault(name(transcript), []).extend(used)
    return totals.largest_first([totals.line(name, used) for name, used in groups.items()])


MAKERS: dict[str, Callable[[Desk, totals.Purse, int, int], list[totals.Line]]] = {
    By.SESSIONS: _sessions,
    By.TRANSCRIPTS: _transcripts,
    By.PROJECTS: _projects,
    By.AGENTS: _agents,
}
"""Groupings that need data of transcripts; the others are in `totals`."""
