"""Usage totals by day, week, 5-hour block and model, summed over the index.

Reports are plain dicts in the shape of their JSON, because programs poll these totals and slow imports would dominate.
`report` converts them to typed values, and adds groupings that need data of transcripts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from segue import agents
from segue.base import clock
from segue.errors import IndexRenewed
from segue.ops.index import count_tokens, provenance
from segue.store.index.usage_index import FAR
from segue.usage import rates as usage_rates
from segue.usage.ledger import QUARTER, TOLD, size_in
from segue.usage.rates import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` is slow to import
    from typing import Any

    from segue.base.clock import Moment
    from segue.ops.common.desk import Desk
    from segue.store.index.usage_index import Counting, SumRow

BLOCK_HOURS = 5
BLOCK = BLOCK_HOURS * 3600 // QUARTER
HOUR = 3600 // QUARTER

Used = tuple[str, int, Sequence[int], "float | None"]
"""Usage of one model: name, answers, tokens of each kind, and cost, which is None without a known price."""
Line = dict[str, "Any"]
"""A `report.UsageLine` as a dict."""


class Purse:
    """Prices, cached in the index because looking them up is slow."""

    def __init__(self, index: Counting) -> None:
        self._index = index
        self._stamp = usage_rates.stamp()
        self._texts = index.prices(self._stamp)
        self._known: dict[str, list[dict[str, Any]]] = {}
        self._rates: dict[tuple[str, int, str], tuple[float, ...] | None] = {}
        self.unknown: set[str] = set()

    def kept(self, model: str) -> list[dict[str, Any]]:
        """The cached prices of a model, oldest first."""
        if model not in self._known:
            self._known[model] = json.loads(self._texts.get(model) or self._look_up(model))
        if not self._known[model]:
            self.unknown.add(model)
        return self._known[model]

    def _look_up(self, model: str) -> bytes:
        from segue.usage import prices  # lazy: each model is looked up once

        found = prices.written(model)
        with self._index.changing():
            self._index.put_price(model, self._stamp, found)
        return found

    def cost(self, sum: SumRow, day: str) -> float | None:
        """The cost of a sum at the prices of a day."""
        _period, model, size_class, _answers, *counts, told = sum
        if size_class == TOLD:
            return told
        at = (model, size_class, day)
        if at not in self._rates:
            self._rates[at] = usage_rates.rates_of(self.kept(model), size_in(size_class), day)
        rates = self._rates[at]
        return usage_rates.cost(counts, rates) if rates else None


def report(desk: Desk, by: str) -> dict[str, Any] | None:
    """A report on all usage; None if it needs more than this module imports."""
    try:
        return _report(desk, by)
    except IndexRenewed:
        return _report(desk, by)


def _report(desk: Desk, by: str) -> dict[str, Any] | None:
    names, _projects = count_tokens.names_here(desk)
    if not all(map(count_tokens.counts, names)):
        return None
    known = desk.index.known() if desk.has_index else {}
    sources = [source for name in names if (files := agents.load(name).files) for source in files(desk.env)]
    if provenance.may_be_doubted(desk, (source[:2] for source in sources)):
        return None
    found = {source[1:3]: source for source in sources}
    if not found and not desk.has_index:
        desk.do_without_index()
    if known:
        count_tokens.put_away(desk.index, known, found)
    jobs = count_tokens.jobs_of(desk, found.values(), known)
    problems = count_tokens.count(desk, jobs, lambda _: None)
    purse = Purse(desk.index)
    return plain_report(by, MAKERS[by](desk, purse, 0, FAR), purse, problems)


def plain_report(
    by: str, lines: list[Line], purse: Purse, problems: Sequence[str], is_narrowed: bool = False
) -> dict[str, Any]:
    models = (
        (used["model"], used["answers"], [*used["tokens"].values()], used["cost_usd"])
        for line in lines
        for used in line["models"]
    )
    return {
        "by": by,
        "lines": lines,
        "total": line("total", models),
        "is_narrowed": is_narrowed,
        "notice": usage_rates.notice(purse.unknown),
        "problems": [*problems],
    }


def line(name: str, used: Iterable[Used], **more: Any) -> Line:
    """Sum up usage per model and in total."""
    models: dict[str, Used] = {}
    for one in used:
        known = models.get(one[0])
        models[one[0]] = _plus(known, one) if known else one
    whole = sorted(models.values(), key=lambda one: (-sum(one[2][:4]), one[0]))
    counts = [sum(each) for each in zip(*(one[2] for one in whole), strict=True)] or [0] * len(KINDS)
    return {
        "name": name,
        "answers": sum(one[1] for one in whole),
        "tokens": dict(zip(KINDS, counts, strict=True)),
        "cost_usd": sum((one[3] or 0.0 for one in whole), 0.0),
        "models": [
            {
                "model": model,
                "answers": answers,
                "tokens": dict(zip(KINDS, counts, strict=True)),
                "cost_usd": cost,
            }
            for model, answers, counts, cost in whole
        ],
        "title": "",
        "until": None,
        "is_active": False,
        **more,
    }


def _plus(first: Used, second: Used) -> Used:
    costs = [cost for cost in (first[3], second[3]) if cost is not None]
    counts = [one + other for one, other in zip(first[2], second[2], strict=True)]
    return first[0], first[1] + second[1], counts, sum(costs) if costs else None


def used_of(purse: Purse, sum: SumRow, day: str) -> Used:
    return sum[1], sum[3], sum[4:9], purse.cost(sum, day)


def _grouped(
    sums: Iterable[SumRow], purse: Purse, name: Callable[[SumRow], str] = lambda sum: str(sum[0])
) -> list[Line]:
    """Group daily sums by name."""
    groups: dict[str, list[Used]] = {}
    for sum in sums:
        groups.setdefault(name(sum), []).append(used_of(purse, sum, sum[0]))
    return [line(name, used) for name, used in groups.items()]


def _daily(desk: Desk, purse: Purse, since: int, until: int) -> list[Line]:
    return _grouped(desk.index.sum_rows("day", since, until), purse)


def _weekly(desk: Desk, purse: Purse, since: int, until: int) -> list[Line]:
    def week(sum: SumRow) -> str:
        day = datetime.strptime(sum[0], "%Y-%m-%d")
        return (day - timedelta(days=day.weekday())).strftime("%Y-%m-%d")

    return _grouped(desk.index.sum_rows("day", since, until), purse, week)


def _models(desk: Desk, purse: Purse, since: int, until: int) -> list[Line]:
    sums = desk.index.sum_rows("day", since, until)
    return largest_first(_grouped(sums, purse, lambda sum: sum[1] or "(unknown)"))


def largest_first(lines: list[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (-line["cost_usd"], -_total(line), line["name"]))


def _total(line: Line) -> int:
    tokens = line["tokens"]
    return int(tokens["input"] + tokens["output"] + tokens["cache_read"] + tokens["cache_write"])


def quarter_of(moment: Moment) -> int:
    return int(clock.parse(moment).timestamp()) // QUARTER


def _moment(quarter: int) -> Moment:
    return clock.moment(datetime.fromtimestamp(quarter * QUARTER, UTC))


def _blocks(desk: Desk, purse: Purse, since: int, until: int) -> list[Line]:
    """Blocks of five hours. Each starts at the full hour of the first answer after the previous block."""
    lines: list[Line] = []
    start, used = None, list[Used]()
    now = desk.clock()

    def close() -> None:
        if start is not None:
            end = _moment(start + BLOCK)
            lines.append(line(_moment(start), used, until=end, is_active=_moment(start) <= now < end))

    # A block's start depends on all earlier answers, so all blocks are computed and then filtered.
    for sum in desk.index.sum_rows("quarter"):
        if start is None or sum[0] >= start + BLOCK:
            close()
            start, used = sum[0] - sum[0] % HOUR, []
        used.append(used_of(purse, sum, _moment(sum[0])[:10]))
    close()
    begins = [(line, quarter_of(line["name"])) for line in lines]
    return [line for line, start in begins if since < start + BLOCK and start < until]


MAKERS = {"daily": _daily, "weekly": _weekly, "blocks": _blocks, "models": _models}
