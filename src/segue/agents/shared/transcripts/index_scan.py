"""What the index stores about a transcript: one pass over its entries, or over the new ones.

A reader may bring a faster `scan` of its own. The conformance suite checks that it finds the same.
"""

from __future__ import annotations

from typing import Any

import msgspec

from segue.agents.shared.transcripts.reader import INTERRUPT, Reading
from segue.base.clock import Moment
from segue.facts.corrections import is_correction
from segue.model import Ending, Entry, EntryKind, Limit, Mark, Origin, Source, Spend, Transcript, Value

TITLE = 120
CONTEXTS = 20
"""How many recent context sizes are kept, to see how fast the context fills."""


class Scan(Value, frozen=True):
    """What a pass found: the transcript's values, and what was spent since the mark."""

    source: Source
    transcript: Transcript
    spends: tuple[Spend, ...]
    mark: Mark
    is_anew: bool
    """Whether the pass began at the start. Then it replaces what was known."""
    reports: tuple[Limit, ...]
    """Every change in the reported limits."""
    lines: int
    unknown: dict[str, int]


class Tally:
    """The values of a transcript, updated entry by entry."""

    def __init__(self, so_far: Transcript) -> None:
        self.fields: dict[str, Any] = msgspec.structs.asdict(so_far)
        self.limits = {limit_key(limit): limit for limit in so_far.limits}
        self.spends: dict[str, Spend] = {}
        self.reports: list[Limit] = []

    def add(self, entry: Entry) -> None:
        fields = self.fields
        fields["entries"] += 1
        if entry.at:
            fields["started_at"] = min(fields["started_at"] or entry.at, entry.at)
            fields["updated_at"] = max(fields["updated_at"] or entry.at, entry.at)
        if not fields["project"] and entry.cwd:
            fields["project"] = entry.cwd
        if entry.branch:
            fields["branch"] = entry.branch
        if entry.spend:
            self.spends[entry.spend.key] = entry.spend
        for limit in entry.limits:
            known = self.limits.get(limit_key(limit))
            if known is None or (limit.at or "") >= (known.at or ""):
                self.limits[limit_key(limit)] = limit
            if known is None or _is_news(limit, known):
                self.reports.append(limit)
        fields["errors"] += entry.kind is EntryKind.RESULT and (entry.is_error or bool(entry.status))
        fields["calls"] += entry.kind is EntryKind.CALL
        if entry.subagent is None:
            self._add_main(entry)

    def _add_main(self, entry: Entry) -> None:
        fields = self.fields
        if entry.model:
            fields["model"] = entry.model
        if entry.spend:
            fields["context_tokens"] = entry.spend.tokens.total
            if entry.spend.at:
                self._add_context(entry.spend.at, entry.spend.tokens.total)
        if entry.kind is EntryKind.PROMPT and entry.origin is Origin.HUMAN:
            fields["turns"] += 1
            fields["corrections"] += fields["turns"] > 1 and is_correction(entry.text)
            if not fields["title"] or fields["title"].startswith("/"):
                fields["title"] = title_of(entry.text) or fields["title"]
        fields["interruptions"] += is_interruption(entry)
        fields["ending"] = ending_after(fields["ending"], entry)

    def _add_context(self, at: Moment, tokens: int) -> None:
        known = self.fields["contexts"]
        if not known or known[-1][1] != tokens:
            self.fields["contexts"] = (*known[1 - CONTEXTS :], (at, tokens))

    def transcript(self, reading: Reading) -> Transcript:
        fields = {**self.fields, "limits": tuple(self.limits.values()), **reading.learned}
        fields["broken"] += reading.broken
        return Transcript(**fields)


def _is_news(limit: Limit, known: Limit) -> bool:
    """Whether a report differs from the one before: another figure, another window, or ten minutes without a
    report (agents report with every answer)."""
    said = (known.used_percent, known.resets_at, (known.at or "")[:15])
    return said != (limit.used_percent, limit.resets_at, (limit.at or "")[:15])


def is_interruption(entry: Entry) -> bool:
    return entry.kind is EntryKind.NOTE and entry.tool == INTERRUPT


def ending_after(ending: Ending, entry: Entry) -> Ending:
    """How a transcript ends after one more entry."""
    if is_interruption(entry):
        return Ending.INTERRUPTED
    match entry.kind:
        case EntryKind.LIMIT:
            return Ending.LIMIT
        case EntryKind.REPLY:
            return Ending.ENDED
        case EntryKind.PROMPT | EntryKind.CALL | EntryKind.RESULT | EntryKind.THOUGHT:
            return Ending.OPEN
    return ending


def title_of(text: str) -> str:
    """The first line with any text."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= TITLE else line[: TITLE - 1] + "…"


def limit_key(limit: Limit) -> tuple[str, str, str]:
    return (limit.window, limit.scope, limit.model)


def fresh(source: Source) -> Transcript:
    """A transcript of which only the location is known."""
    stem = source.path.rpartition("/")[2].rpartition(".")[0]
    return Transcript(id=source.part or stem, agent=source.agent, path=source.path, part=source.part)


def scan(reading: Reading, so_far: Transcript | None = None) -> Scan:
    """Read all entries of a reading. `so_far` is what was known at the mark that it starts from."""
    entries = iter(reading)
    first = next(entries, None)  # after this, the reading knows whether the file is still the same
    tally = Tally(so_far if so_far and not reading.is_anew else fresh(reading.source))
    if first is not None:
        tally.add(first)
    for entry in entries:
        tally.add(entry)
    return Scan(
        source=reading.source,
        transcript=tally.transcript(reading),
        spends=tuple(tally.spends.values()),
        mark=reading.mark,
        is_anew=reading.is_anew,
        reports=tuple(tally.reports),
        lines=reading.lines,
        unknown=dict(reading.unknown),
    )
