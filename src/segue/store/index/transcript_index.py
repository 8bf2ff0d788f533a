"""The index of transcripts: derived data in an SQLite file of its own, beside the stores.

`index.sql` describes its content. `index_file` rebuilds it after damage.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from segue.base.clock import Moment
from segue.model import Limit, Mark, Source, Tokens, Transcript
from segue.store.index.usage_index import FAR, ID, PATH, Counting, Place, SourceRow


class Known:
    """A fully read source and its transcript; fields are decoded on demand."""

    __slots__ = ("_decoded", "_row", "_transcript")

    def __init__(self, row: SourceRow, transcript: str | None = None) -> None:
        self._row, self._transcript = row, transcript
        self._decoded: Transcript | None = None

    @property
    def id(self) -> int:
        return int(self._row[ID])

    @property
    def path(self) -> str:
        return str(self._row[PATH])

    @property
    def source(self) -> Source:
        _id, agent, path, part, size, stamp, *_rest = self._row
        return Source(agent=agent, path=path, part=part, size=size, stamp=stamp)

    @property
    def transcript(self) -> Transcript | None:
        """The transcript; None unless the row was read with it."""
        if self._decoded is None and self._transcript:
            self._decoded = msgspec.json.decode(self._transcript, type=Transcript)
        return self._decoded


class Sum(Struct, frozen=True):
    """Tokens of one model and size class in one period: a day, a quarter's number, or a source's number."""

    period: Any
    model: str
    size_class: int
    answers: int
    tokens: Tokens
    cost_usd: float
    """Cost as reported by agents; only in the class TOLD."""


def _sum(
    period: Any,
    model: str,
    size_class: int,
    answers: int,
    input: int,
    output: int,
    read: int,
    write: int,
    long: int,
    cost: float,
) -> Sum:
    tokens = Tokens(input=input, output=output, cache_read=read, cache_write=write, cache_write_long=long)
    return Sum(period, model, size_class, answers, tokens, cost)


class Index(Counting):
    """The index, with values decoded."""

    # Transcripts

    def transcripts(self) -> dict[Place, Known]:
        """Every fully read source, with its transcript."""
        return {row[2:4]: Known(row[:-1], row[-1]) for row in self._tuples("sources_read")}

    def transcript(self, id: int) -> Transcript | None:
        row = self._first("source_transcript", id=id)
        return msgspec.json.decode(row["transcript"], type=Transcript) if row and row["transcript"] else None

    def mark(self, id: int, of: str) -> Mark:
        """Where a pass ended: the full one's 'mark', 'spent_mark' or 'told_mark'."""
        row = self._first("source_marks", id=id)
        return msgspec.json.decode(row[of], type=Mark) if row else Mark()

    def put_transcript(self, id: int, source: Source, mark: Mark, transcript: Transcript) -> None:
        self._run(
            "source_read",
            id=id,
            size=source.size,
            stamp=source.stamp,
            mark=msgspec.json.encode(mark).decode(),
            transcript=msgspec.json.encode(transcript).decode(),
            project=transcript.project,
        )

    def put_reports(self, id: int, agent: str, limits: Iterable[Limit], *, is_anew: bool) -> None:
        if is_anew:
            self._run("reports_drop", source=id)
        rows = [(id, agent, limit.at, msgspec.json.encode(limit).decode()) for limit in limits if limit.at]
        self._run_all("report_add", rows)

    def reports(self, since: Moment) -> list[tuple[str, Limit]]:
        """Limits that agents reported since a moment, oldest first."""
        rows = self._run("reports", since=since)
        return [(row["agent"], msgspec.json.decode(row["told"], type=Limit)) for row in rows]

    def sums(self, by: str, since: int = 0, until: int = FAR) -> list[Sum]:
        """Tokens by 'day', 'quarter' or 'source', from one quarter up to another."""
        return [_sum(*row) for row in self.sum_rows(by, since, until)]

    # Full text

    def put_told(self, id: int, source: Source, mark: Mark, texts: Iterable[str], *, is_anew: bool) -> None:
        if is_anew:
            self._run("words_drop", source=id)
            self._run("passages_drop", source=id)
        for text in texts:
            row = self._first("passage_add", source=id)
            self._run("words_add", id=row["id"] if row else None, text=text)
        encoded = msgspec.json.encode(mark).decode()
        self._run("source_told", id=id, size=source.size, stamp=source.stamp, mark=encoded)

    def search(self, words: Iterable[str]) -> set[int]:
        """The sources in which all words occur in one passage."""
        quoted = " ".join('"' + word.replace('"', '""') + '"' for word in words)
        return {row["source"] for row in self._run("words_search", words=quoted)}
