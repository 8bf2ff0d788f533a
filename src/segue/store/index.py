"""The index of transcripts: derived data in an SQLite file of its own, beside the stores.

`index.sql` says what it holds. It is never worth an error: where the file is damaged or of another version
it is made anew, and where it cannot be written the index lives in memory for this run.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from segue.clock import Moment
from segue.ledger import Ledger, Row, keys_in, merged, pack, rows_in
from segue.model import Limit, Mark, Source, Tokens, Transcript
from segue.store.index_file import IndexFile

FAR = 1 << 40
PIECE = 1 << 15
"""Hashes of counted answers are kept in pieces. From so many bytes on, a piece is left as it is."""
KEY = 8
"""How many bytes a hash has."""
FEW = 32
"""Looking up a key takes as long as comparing so many."""

Place = tuple[str, str]
"""The path and the part of a source."""
SourceRow = tuple[Any, ...]
"""What the index knows of a source, as it comes: mostly all is as it was, and nothing more is made of it."""
ID, PATH, READ, SPENT, TOLD = 0, 2, slice(4, 6), slice(6, 8), slice(8, 10)
"""Where in such a row the source's number and path are, and its size and time of change as each pass last saw it."""


class Known:
    """A source that was read in full, and the transcript that it was found to hold. Nothing is taken out of the row
    before it is asked for."""

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
        """Only where it was asked for with all the others."""
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
    """What agents told themselves: only in the class TOLD."""


def _has_any(ordered: array[int], keys: set[int]) -> bool:
    """Whether one of the keys is there. A few are looked up, many are compared with all."""
    if len(keys) * FEW > len(ordered):
        return not keys.isdisjoint(ordered)
    size = len(ordered)
    return any((at := bisect_left(ordered, key)) < size and ordered[at] == key for key in keys)


class Index(IndexFile):
    """What the file holds, as values."""

    # Sources

    def known(self) -> dict[Place, SourceRow]:
        """Every source, without what is in it."""
        return {row[2:4]: row for row in self._tuples("sources")}

    def transcripts(self) -> dict[Place, Known]:
        """Every source that was read in full, with its transcript."""
        return {row[2:4]: Known(row[:-1], row[-1]) for row in self._tuples("sources_read")}

    def transcript(self, id: int) -> Transcript | None:
        row = self._first("source_transcript", id=id)
        return msgspec.json.decode(row["transcript"], type=Transcript) if row and row["transcript"] else None

    def mark(self, id: int, of: str) -> Mark:
        """Where a pass ended: the full one's 'mark', 'spent_mark' or 'told_mark'."""
        row = self._first("source_marks", id=id)
        return msgspec.json.decode(row[of], type=Mark) if row else Mark()

    def projects(self) -> list[str]:
        """The folders that are known to have been worked in."""
        return [row["project"] for row in self._run("projects")]

    def add(self, *sources: Source) -> list[int]:
        """The numbers of sources. One that has none is given one here."""
        last = self._first("source_last")
        self._run_all("source_add", [(source.agent, source.path, source.part) for source in sources])
        added = self._run("sources_after", last=last["id"] if last else 0)
        new = {(row["path"], row["part"]): int(row["id"]) for row in added}
        self._new.update(new.values())
        return [new.get((source.path, source.part)) or self._id(source) for source in sources]

    def _id(self, source: Source) -> int:
        row = self._first("source_id", path=source.path, part=source.part)
        return int(row["id"]) if row else 0

    def drop(self, ids: Sequence[int]) -> None:
        """Forget sources that are gone."""
        self._free(ids)
        for id in ids:
            for query in ("words_drop", "passages_drop", "reports_drop", "source_drop"):
                self._run(query, source=id)

    def hide(self, ids: Iterable[int]) -> None:
        """Leave sources out for as long as this index is open: they are there, and not what this run looks at."""
        self._run("unhide")
        self._run_all("hide", [(id,) for id in ids])

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
        """What agents told of limits since a moment, oldest first."""
        rows = self._run("reports", since=since)
        return [(row["agent"], msgspec.json.decode(row["told"], type=Limit)) for row in rows]

    # Spends

    def put_spent(self, found: Sequence[tuple[int, Source, Mark, Ledger, bool]]) -> None:
        """Keep what sources were found to have spent since their marks, or at all (the flag)."""
        self._free([id for id, _, _, _, is_anew in found if is_anew and id not in self._new])
        ledgers: list[tuple[int, Ledger]] = []
        owners: dict[int, int] = {}
        keys: set[int] = set()
        for id, _, _, ledger, is_anew in found:
            kept = None if is_anew else self._first("spends_of", id=id)
            if kept:
                owners.update(dict.fromkeys(keys_in(kept["keys"]), id))
                ledger = merged(kept["spends"], ledger)
            ledgers.append((id, ledger))
            keys.update(keys_in(ledger.keys))
        is_each_once = len(keys) * KEY == sum(len(ledger.keys) for _, ledger in ledgers)
        keys.difference_update(owners)
        owners.update(self._owners(keys))
        self._note_counted(keys.difference(owners))
        if is_each_once and not owners:
            self._put_ledgers(ledgers)
        else:
            self._settle(ledgers, owners)
        marks = [(s.size, s.stamp, msgspec.json.encode(mark).decode(), id) for id, s, mark, _, _ in found]
        self._run_all("source_spent", marks)

    def _settle(self, ledgers: Sequence[tuple[int, Ledger]], owners: dict[int, int]) -> None:
        """Keep ledgers some of whose answers are in others too."""
        settled: list[tuple[int, Ledger]] = []
        for id, ledger in ledgers:
            if not owners.keys().isdisjoint(keys_in(ledger.keys)):
                self._put_ledgers(settled)
                settled = []
            settled.append((id, self._settled(id, ledger, owners)))
        self._put_ledgers(settled)

    def _owners(self, keys: set[int]) -> dict[int, int]:
        """Of these answers, those that are counted already, and the source they are counted in."""
        if not any(_has_any(keys_in(row["keys"]), keys) for row in self._run("counted")):
            return {}
        found = {}
        for row in self._run("keys"):
            found.update(dict.fromkeys(keys.intersection(keys_in(row["keys"])), row["id"]))
        return found

    def _note_counted(self, keys: set[int]) -> None:
        """Remember that answers are counted. Pieces that are short, and not much longer than what comes after them, are
        joined with it: so there are few, and a few more answers don't have a long one written anew."""
        ordered = sorted(keys)
        while ordered and (last := self._first("counted_last")):
            if len(last["keys"]) >= min(PIECE, 2 * KEY * len(ordered) + 1):
                break
            self._run("counted_drop", id=last["id"])
            ordered = sorted((*keys_in(last["keys"]), *ordered))
        if ordered:
            self._run("counted_add", keys=array("q", ordered).tobytes())

    def _forget_counted(self, keys: set[int]) -> None:
        """Answers are counted nowhere any more. A piece that they leave short is joined to the last one."""
        left: set[int] = set()
        for row in self._run("counted"):
            piece = keys_in(row["keys"])
            if not _has_any(piece, keys):
                continue
            kept = array("q", [key for key in piece if key not in keys])
            if len(kept) * KEY < PIECE:
                left.update(kept)
                self._run("counted_drop", id=row["id"])
            else:
                self._run("counted_put", id=row["id"], keys=kept.tobytes())
        if left:
            self._note_counted(left)

    def _settled(self, id: int, ledger: Ledger, owners: dict[int, int]) -> Ledger:
        """Count what no other source counts, or counts with smaller figures: it was written down there before the
        answer was whole. Mostly that is all of it, as it was packed."""
        keys = keys_in(ledger.keys)
        if not owners.keys().isdisjoint(keys) and any(owners.get(key, id) != id for key in keys):
            rows = rows_in(ledger.spends)
            self._win(id, rows, owners)
            kept = {key for key in keys if owners.get(key, id) == id}
            ledger = pack(rows, kept.__contains__)
        owners.update(dict.fromkeys(keys_in(ledger.keys), id))
        return ledger

    def _win(self, id: int, rows: list[Row], owners: dict[int, int]) -> None:
        """Take over the answers that this source tells more of than the one they are counted in."""
        contested: dict[int, dict[int, Row]] = {}
        for row in rows:
            if owners.get(row[0], id) != id:
                contested.setdefault(owners[row[0]], {})[row[0]] = row
        for owner, mine in contested.items():
            kept = self._first("spends_of", id=owner)
            theirs = rows_in(kept["spends"]) if kept else []
            won = {row[0] for row in theirs if row[0] in mine and sum(mine[row[0]][4:8]) > sum(row[4:8])}
            if kept and won:
                counted = set(keys_in(kept["keys"])) - won
                self._put_ledgers([(owner, pack(theirs, counted.__contains__))])
                owners.update(dict.fromkeys(won, id))

    def _put_ledgers(self, ledgers: Sequence[tuple[int, Ledger]]) -> None:
        self._run_all("spends_put", [(id, ledger.keys, ledger.spends) for id, ledger in ledgers])
        self._run_all("buckets_drop", [(id,) for id, _ in ledgers if id not in self._new])
        self._new.difference_update(id for id, _ in ledgers)
        self._run_all("bucket_add", [(id, *bucket) for id, ledger in ledgers for bucket in ledger.buckets])

    def _free(self, ids: Sequence[int]) -> None:
        """Sources count nothing any more: what others tell of as well is counted there."""
        free: set[int] = set()
        for id in ids:
            row = self._first("spends_of", id=id)
            if row:
                free.update(keys_in(row["keys"]))
                self._run("spends_drop", id=id)
                self._run_all("buckets_drop", [(id,)])
        for other in self._run("spends_of_all") if free else ():
            rows = rows_in(other["spends"])
            heirs = free.intersection(spent[0] for spent in rows)
            if heirs:
                free -= heirs
                counted = heirs.union(keys_in(other["keys"]))
                self._put_ledgers([(other["id"], pack(rows, counted.__contains__))])
        if free:
            self._forget_counted(free)

    def _sum_up(self) -> None:
        """Make the totals anew that have to be."""
        if self._first("stale"):
            with self.changing():
                for query in ("totals_drop", "totals_add", "stale_drop"):
                    self._run(query)

    def sums(self, by: str, since: int = 0, until: int = FAR) -> list[Sum]:
        """Tokens by 'day', 'quarter' or 'source', from one quarter up to another."""
        if by != "source" and self._first("hides"):
            by += "_of_some"
        elif by != "source":
            self._sum_up()
        return [
            Sum(
                row["period"],
                row["model"],
                row["class"],
                row["answers"],
                Tokens(
                    input=row["input"],
                    output=row["output"],
                    cache_read=row["cache_read"],
                    cache_write=row["cache_write"],
                    cache_write_long=row["cache_write_long"],
                ),
                row["cost"],
            )
            for row in self._run(f"sums_by_{by}", since=since, until=until)
        ]

    # Prices

    def prices(self, data: str) -> dict[str, str]:
        """The prices that were looked up before, by model."""
        return {row["model"]: row["found"] for row in self._run("prices", data=data)}

    def put_price(self, model: str, data: str, found: bytes) -> None:
        self._run("price_put", model=model, data=data, found=found.decode())

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
