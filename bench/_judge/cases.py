"""A case: one transcript cut at one point, the truth of what is before, and what lies ahead."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

from bench._judge import formats
from bench._judge.forward import Ahead, ahead
from bench._judge.oracle import Block, oracle, useful
from bench._judge.records import CALL, RESULT, SUMMARY, Record, Transcript
from bench._judge.score import Score, score
from bench._judge.truth import Truth, truth

FEWEST_CALLS = 20
FEW_CALLS = 8
"""For an agent of which there is nothing longer."""
FEWEST_AHEAD = 8
SHARE = 0.6
Strategy = Callable[[Path, str, int], str]
"""(file, agent, budget) -> the text of a brief."""


class Case:
    """Made from a file's content; the judge looks at nothing else."""

    def __init__(
        self, name: str, transcript: Transcript, end: int, summary: str = "", calls: int = 0
    ) -> None:
        self.name = name
        self.agent = transcript.agent
        self.whole = transcript
        self.end = end
        self.summary = summary
        """The agent's own compaction at this point, if it made one that can be read."""
        self.prefix = formats.prefix(transcript, end)
        self.calls = calls
        self._ideals: dict[int, float] = {}

    @cached_property
    def before(self) -> list[Record]:
        return formats.records(self.prefix)

    @cached_property
    def after(self) -> list[Record]:
        return [record for record in formats.records(self.whole) if record.unit >= self.end]

    @cached_property
    def truth(self) -> Truth:
        return truth(self.before)

    @cached_property
    def rest(self) -> Ahead:
        return ahead(self.before, self.after)

    @cached_property
    def pool(self) -> list[Block]:
        return useful(self.before, self.rest)

    def ideal(self, budget: int) -> float:
        if budget not in self._ideals:
            self._ideals[budget] = oracle(self.pool, self.rest, budget)
        return self._ideals[budget]

    def brief(self, strategy: Strategy, budget: int) -> str:
        """What a strategy makes of the prefix, as a file in the agent's own format."""
        with tempfile.TemporaryDirectory(prefix="bench-quality-") as folder:
            path = Path(folder) / f"transcript{formats.suffix(self.prefix)}"
            path.write_bytes(formats.dump(self.prefix))
            return strategy(path, self.agent, budget)

    def judge(self, brief: str, budget: int) -> Score:
        return score(brief, self.truth, self.rest, self.ideal(budget), budget)


def cases(name: str, content: bytes) -> Iterator[Case]:
    """Cuts a transcript at 60 % of its calls, and where its agent compacted. Where the rest uses nothing that was
    shown before, there is nothing to measure."""
    transcript = formats.load(content)
    if transcript is None:
        return
    records = formats.records(transcript)
    calls = [record.unit for record in records if record.kind == CALL]
    if len(calls) >= FEW_CALLS:
        found = _cut(name, transcript, records, calls)
        yield from (one for one in found if one.truth.facts and one.rest.weights)


def _cut(name: str, transcript: Transcript, records: list[Record], calls: list[int]) -> Iterator[Case]:
    end = _clean_end(records, int(SHARE * len(calls)))
    if end <= calls[-1]:
        yield Case(f"{name}@60", transcript, end, calls=len(calls))
    summaries = [record for record in records if record.kind == SUMMARY]
    for number, record in enumerate(summaries, 1):
        done = sum(unit < record.unit for unit in calls)
        if done >= FEWEST_CALLS and len(calls) - done >= FEWEST_AHEAD:
            yield Case(f"{name}@c{number}", transcript, record.unit, record.text, len(calls))


def _clean_end(records: list[Record], wanted: int) -> int:
    """The first unit after so many calls where none waits for a result that is to come."""
    answered = {record.call for record in records if record.kind == RESULT}
    begun = 0
    waiting: set[str] = set()
    for record in records:
        if begun >= wanted and not waiting and record.kind == CALL:
            return record.unit
        if record.kind == CALL:
            begun += 1
            waiting |= {record.call} & answered
        elif record.kind == RESULT:
            waiting.discard(record.call)
    return records[-1].unit + 1
