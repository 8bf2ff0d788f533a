"""What was used: tokens and money by day, week, 5-hour block, session, transcript, project, model and agent.

All figures are sums of what the index holds, where every answer of a model is counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from segue import agents, clock, prices
from segue.clock import Moment
from segue.ledger import QUARTER, TOLD, size_in
from segue.model import Tokens, Transcript
from segue.ops import refresh
from segue.ops.refresh import Pass
from segue.prices import Price
from segue.store.index import FAR, Index, Sum

if TYPE_CHECKING:
    from segue.ops.desk import Desk

BLOCK_HOURS = 5
BLOCK = BLOCK_HOURS * 3600 // QUARTER
HOUR = 3600 // QUARTER


class By(StrEnum):
    """What usage is summed up by."""

    DAILY = "daily"
    WEEKLY = "weekly"
    BLOCKS = "blocks"
    SESSIONS = "sessions"
    TRANSCRIPTS = "transcripts"
    PROJECTS = "projects"
    MODELS = "models"
    AGENTS = "agents"


class Used(Struct, frozen=True):
    """What one model used."""

    model: str
    answers: int
    tokens: Tokens
    cost_usd: float | None
    """None where no price is known."""


class Line(Struct, frozen=True):
    """What was used in one period, or by one of whatever it is summed up by."""

    name: str
    answers: int
    tokens: Tokens
    cost_usd: float
    models: tuple[Used, ...]
    title: str = ""
    until: Moment | None = None
    """The end of a block."""
    is_active: bool = False
    """Whether a block is the one we are in."""


class Report(Struct, frozen=True):
    by: By
    lines: tuple[Line, ...]
    total: Line
    is_narrowed: bool = False
    """Whether only a stretch of time was asked for."""
    notice: str = ""
    """What the money is silent about: models without a price."""
    problems: tuple[str, ...] = ()
    """Transcripts that could not be read."""


class Purse:
    """Prices, looked up once and kept in the index: looking up is slow."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._stamp = prices.stamp()
        self._kept = index.prices(self._stamp)
        self._known: dict[str, tuple[Price, ...]] = {}
        self.unknown: set[str] = set()

    def history(self, model: str) -> tuple[Price, ...]:
        if model not in self._known:
            self._known[model] = self._look_up(model)
        if not self._known[model]:
            self.unknown.add(model)
        return self._known[model]

    def _look_up(self, model: str) -> tuple[Price, ...]:
        if model in self._kept:
            return msgspec.json.decode(self._kept[model], type=tuple[Price, ...])
        found = prices.history(model)
        with self._index.changing():
            self._index.put_price(model, self._stamp, msgspec.json.encode(found))
        return found

    def cost(self, sum: Sum, day: str) -> float | None:
        """What a sum cost at the prices of a day."""
        if sum.size_class == TOLD:
            return sum.cost_usd
        price = prices.in_force(self.history(sum.model), day)
        return prices.cost_at(price.rates(size_in(sum.size_class)), sum.tokens) if price else None


def report(
    desk: Desk,
    by: By,
    *,
    since: Moment | None = None,
    until: Moment | None = None,
    progress: refresh.Progress = refresh.in_silence,
) -> Report:
    needs_titles = by in (By.SESSIONS, By.TRANSCRIPTS, By.PROJECTS, By.AGENTS)
    wanted = [Pass.SPENDS, Pass.ENTRIES] if needs_titles else [Pass.SPENDS]
    refreshed = refresh.refresh(desk, wanted, progress)
    purse = Purse(desk.index)
    span = (_quarter(since) if since else 0, _quarter(until) if until else FAR)
    lines = MAKERS[by](desk, purse, *span)
    total = _line("total", [used for line in lines for used in line.models])
    is_narrowed = since is not None or until is not None
    return Report(by, tuple(lines), total, is_narrowed, prices.notice(purse.unknown), refreshed.problems)


def _quarter(moment: Moment) -> int:
    return int(clock.parse(moment).timestamp()) // QUARTER


def _moment(quarter: int) -> Moment:
    return clock.moment(datetime.fromtimestamp(quarter * QUARTER, UTC))


def _line(name: str, used: Iterable[Used], **more: Any) -> Line:
    """Sum up, per model and as a whole."""
    models: dict[str, Used] = {}
    for one in used:
        known = models.get(one.model)
        models[one.model] = _plus(known, one) if known else one
    whole = sorted(models.values(), key=lambda one: (-one.tokens.total, one.model))
    tokens = sum((one.tokens for one in whole), Tokens())
    cost = sum(one.cost_usd or 0.0 for one in whole)
    return Line(name, sum(one.answers for one in whole), tokens, cost, tuple(whole), **more)


def _plus(first: Used, second: Used) -> Used:
    costs = [one.cost_usd for one in (first, second) if one.cost_usd is not None]
    return Used(
        first.model,
        first.answers + second.answers,
        first.tokens + second.tokens,
        sum(costs) if costs else None,
    )


def _used(purse: Purse, sum: Sum, day: str) -> Used:
    return Used(sum.model, sum.answers, sum.tokens, purse.cost(sum, day))


def _grouped(
    sums: Iterable[Sum], purse: Purse, name: Callable[[Sum], str], day: Callable[[Sum], str]
) -> list[Line]:
    groups: dict[str, list[Used]] = {}
    for sum in sums:
        groups.setdefault(name(sum), []).append(_used(purse, sum, day(sum)))
    return [_line(name, used) for name, used in groups.items()]


def _daily(desk: Desk, purse: Purse, since: int, until: int) -> list[Line]:
    sums = desk.index.sums("day", since, until)
    return _grouped(sums, purse, lambda sum: sum.period, lambda sum: sum.period)


def _weekly(desk: Desk, purse: Purse, since: int, until: int) -> list[Line]:
    def week(sum: Sum) -> str:
        day = datetime.strptime(sum.period, "%Y-%m-%d")
        return (day - timedelta(days=day.weekday())).strftime("%Y-%m-%d")

    return _grouped(desk.index.sums("day", since, until), purse, week, lambda sum: sum.period)


def _models(desk: Desk, purse: Purse, since: int, until: int) -> list[Line]:
    sums = desk.index.sums("day", since, until)
    lines = _grouped(sums, purse, lambda sum: sum.model or "(not told)", lambda sum: sum.period)
    return _largest_first(lines)


def _largest_first(lines: list[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (-line.cost_usd, -line.tokens.total, line.name))


def _blocks(desk: Desk, purse: Purse, since: int, until: int) -> list[Line]:
    """Stretches of five hours, each from the full hour of the first answer after the one before."""
    lines: list[Line] = []
    start, used = None, list[Used]()
    now = desk.clock()

    def close() -> None:
        if start is not None:
            end = _moment(start + BLOCK)
            lines.append(_line(_moment(start), used, until=end, is_active=_moment(start) <= now < end))

    # Where a block begins depends on all that came before: so all are made, and those wanted are kept.
    for sum in desk.index.sums("quarter"):
        if start is None or sum.period >= start + BLOCK:
            close()
            start, used = sum.period - sum.period % HOUR, []
        used.append(_used(purse, sum, _moment(sum.period)[:10]))
    close()
    return [line for line in lines if since < _quarter(line.name) + BLOCK and _quarter(line.name) < until]


def _by_source(desk: Desk, purse: Purse, since: int, until: int) -> list[tuple[Transcript, list[Used]]]:
    """What each transcript used, priced as of its last day."""
    known = {entry.id: entry.transcript for entry in desk.index.transcripts().values()}
    groups: dict[int, list[Used]] = {}
    for sum in desk.index.sums("source", since, until):
        transcript = known.get(sum.period)
        day = (transcript.updated_at if transcript else None) or desk.clock()
        groups.setdefault(sum.period, []).append(_used(purse, sum, day[:10]))
    return [(transcript, used) for id, used in groups.items() if (transcript := known.get(id))]


def _transcripts(desk: Desk, purse: Purse, since: int, until: int) -> list[Line]:
    each = _by_source(desk, purse, since, until)
    each.sort(key=lambda pair: pair[0].updated_at or "", reverse=True)
    return [_line(transcript.id, used, title=transcript.title) for transcript, used in each]


def _sessions(desk: Desk, purse: Purse, since: int, until: int) -> list[Line]:
    from segue.ops import found  # lazy: totals are told without it

    groups: dict[str, tuple[str, str, list[Used]]] = {}
    session_of = found.session_of_each(desk)
    for transcript, used in _by_source(desk, purse, since, until):
        id, title, updated = session_of[transcript.id]
        groups.setdefault(id, (title, updated, []))[2].extend(used)
    ordered = sorted(groups.items(), key=lambda item: item[1][1], reverse=True)
    return [_line(id, used, title=title) for id, (title, _updated, used) in ordered]


def _projects(desk: Desk, purse: Purse, since: int, until: int) -> list[Line]:
    return _by(desk, purse, since, until, lambda transcript: transcript.project or "(not told)")


def _agents(desk: Desk, purse: Purse, since: int, until: int) -> list[Line]:
    return _by(desk, purse, since, until, lambda transcript: agents.get(transcript.agent).title)


def _by(desk: Desk, purse: Purse, since: int, until: int, name: Callable[[Transcript], str]) -> list[Line]:
    groups: dict[str, list[Used]] = {}
    for transcript, used in _by_source(desk, purse, since, until):
        groups.setdefault(name(transcript), []).extend(used)
    return _largest_first([_line(name, used) for name, used in groups.items()])


MAKERS = {
    By.DAILY: _daily,
    By.WEEKLY: _weekly,
    By.BLOCKS: _blocks,
    By.SESSIONS: _sessions,
    By.TRANSCRIPTS: _transcripts,
    By.PROJECTS: _projects,
    By.MODELS: _models,
    By.AGENTS: _agents,
}
