"""The index of transcripts: derived data in an SQLite file of its own, beside the stores.

`index.sql` says what it holds. It is never worth an error: where the file is damaged or of another version
it is made anew, and where it cannot be written the index lives in memory for this run.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from segue import clock
from segue.clock import Moment
from segue.digest import short_hash
from segue.model import Limit, Mark, Source, Spend, Tokens, Transcript
from segue.store.index_file import IndexFile

QUARTER = 900
CLASSES = (32_000, 100_000, 128_000, 199_999, 200_000, 256_000, 272_000, 512_000, 524_288)
"""Where the size of a question may change its price. A spend's class is the number of these it exceeds."""
TOLD = -1
"""The class of what the agent itself told the price of."""
FAR = 1 << 40
PIECE = 1 << 15
"""Hashes of counted answers are kept in pieces of at least so many bytes."""
FEW = 32
"""Looking up a key takes as long as comparing so many."""

Row = tuple[int, int, str, int, int, int, int, int, int, float]
"""A spend as the index takes it: key, second, model, class, five counts, cost."""


Stamp = tuple[int, int]
"""Size and time of the last change: what tells whether a source is as it was."""


class Known:
    """What the index knows of a source: how far each pass came, and the transcript after the full one. Nothing is taken
    out of the row before it is asked for: mostly nothing has changed."""

    __slots__ = ("_decoded", "_index", "_row", "_transcript")

    def __init__(self, index: Index, row: tuple[Any, ...], transcript: str | None = None) -> None:
        self._index, self._row, self._transcript = index, row, transcript
        self._decoded: Transcript | None = None

    @property
    def id(self) -> int:
        return int(self._row[0])

    @property
    def path(self) -> str:
        return str(self._row[2])

    @property
    def read(self) -> Stamp:
        return self._row[4:6]

    @property
    def spent(self) -> Stamp:
        return self._row[6:8]

    @property
    def told(self) -> Stamp:
        return self._row[8:10]

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

    def mark(self, of: str = "mark") -> Mark:
        return self._index.mark(self.id, of)


class Sum(Struct, frozen=True):
    """Tokens of one model and size class in one period: a day, a quarter's number, or a source's number."""

    period: Any
    model: str
    size_class: int
    answers: int
    tokens: Tokens
    cost_usd: float
    """What agents told themselves: only in the class TOLD."""


def size_in(size_class: int) -> int:
    """A size of a question that is in a class."""
    return CLASSES[size_class - 1] + 1 if size_class > 0 else 0


class Ledger(Struct, frozen=True):
    """What a source spent, packed for the index: made where the source is read, which may be another process."""

    keys: bytes
    """The hashes of the answers that count, eight bytes each."""
    spends: bytes
    """Every answer, counted or not."""
    buckets: list[tuple[int, str, int, int, int, int, int, int, int, float]]
    """Sums of those that count: quarter, model, class, answers, five counts, cost."""


def ledger_of(spends: Iterable[Spend]) -> Ledger:
    return pack([row_of(spend) for spend in spends])


def row_of(spend: Spend) -> Row:
    tokens = spend.tokens
    key = int.from_bytes(short_hash(spend.key.encode()), signed=True)
    at = int(clock.parse(spend.at).timestamp()) if spend.at else 0
    asked = tokens.input + tokens.cache_read + tokens.cache_write
    return (
        key,
        at,
        spend.model,
        TOLD if spend.cost_usd is not None else bisect_left(CLASSES, asked),
        tokens.input,
        tokens.output,
        tokens.cache_read,
        tokens.cache_write,
        tokens.cache_write_long,
        spend.cost_usd or 0.0,
    )


def pack(rows: list[Row], counts: Callable[[int], bool] = lambda _key: True) -> Ledger:
    """Pack spends; those whose key counts are summed up."""
    keys = array("q")
    sums: dict[tuple[int, str, int], list[float]] = {}
    for row in rows:
        key, at, model, size_class, input, output, read, write, long, cost = row
        if not counts(key):
            continue
        keys.append(key)
        total = sums.setdefault((at // QUARTER, model, size_class), [0, 0, 0, 0, 0, 0, 0.0])
        total[0] += 1
        total[1] += input
        total[2] += output
        total[3] += read
        total[4] += write
        total[5] += long
        total[6] += cost
    buckets = [(*key, *total) for key, total in sums.items()]
    return Ledger(keys.tobytes(), msgspec.msgpack.encode(rows), buckets)  # type: ignore[arg-type]


def _keys(packed: bytes) -> array[int]:
    return array("q", packed)


def _rows(packed: bytes) -> list[Row]:
    return msgspec.msgpack.decode(packed, type=list[Row]) if packed else []


def _merged(known: bytes, ledger: Ledger) -> Ledger:
    """What is new with what was known of the same source."""
    merged = {old[0]: old for old in _rows(known)}
    merged.update((new[0], new) for new in _rows(ledger.spends))
    return pack(list(merged.values()))


def _has_any(ordered: array[int], keys: set[int]) -> bool:
    """Whether one of the keys is there. A few are looked up, many are compared with all."""
    if len(keys) * FEW > len(ordered):
        return not keys.isdisjoint(ordered)
    size = len(ordered)
    return any((at := bisect_left(ordered, key)) < size and ordered[at] == key for key in keys)


class Index(IndexFile):
    """What the file holds, as values."""

    # Sources

    def known(self) -> dict[tuple[str, str], Known]:
        """Every source, by its place, without what is in it."""
        return {row[2:4]: Known(self, row) for row in self._tuples("sources")}

    def transcripts(self) -> dict[tuple[str, str], Known]:
        """Every source that was read in full, with its transcript."""
        return {row[2:4]: Known(self, row[:-1], row[-1]) for row in self._tuples("sources_read")}

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

    def add(self, source: Source) -> int:
        """The number of a source, which it is given here if it has none."""
        row = self._first("source_add", agent=source.agent, path=source.path, part=source.part)
        if row:
            self._new.add(row["id"])
        else:
            row = self._first("source_id", path=source.path, part=source.part)
        return int(row["id"]) if row else 0

    def drop(self, ids: Sequence[int]) -> None:
        """Forget sources that are gone."""
        self._free(ids)
        for id in ids:
            for query in ("words_drop", "passages_drop", "reports_drop", "source_drop"):
                self._run(query, source=id)
        self._run("counted_forget")
        self._note_counted({key for row in self._run("keys") for key in _keys(row["keys"])})

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
        ledgers: list[Ledger] = []
        owners: dict[int, int] = {}
        for id, _, _, ledger, is_anew in found:
            kept = None if is_anew else self._first("spends_of", id=id)
            if kept:
                owners.update(dict.fromkeys(_keys(kept["keys"]), id))
            ledgers.append(_merged(kept["spends"], ledger) if kept else ledger)
        new = {key for ledger in ledgers for key in _keys(ledger.keys)}.difference(owners)
        owners.update(self._owners(new))
        new.difference_update(owners)
        settled: list[tuple[int, Ledger]] = []
        for (id, _, _, _, _), ledger in zip(found, ledgers, strict=True):
            if not owners.keys().isdisjoint(_keys(ledger.keys)):
                self._put_ledgers(settled)
                settled = []
            settled.append((id, self._settled(id, ledger, owners)))
        self._put_ledgers(settled)
        self._note_counted(new)
        marks = [(s.size, s.stamp, msgspec.json.encode(mark).decode(), id) for id, s, mark, _, _ in found]
        self._run_all("source_spent", marks)

    def _owners(self, keys: set[int]) -> dict[int, int]:
        """Of these answers, those that are counted already, and the source they are counted in."""
        if not any(_has_any(_keys(row["keys"]), keys) for row in self._run("counted")):
            return {}
        found = {}
        for row in self._run("keys"):
            found.update(dict.fromkeys(keys.intersection(_keys(row["keys"])), row["id"]))
        return found

    def _note_counted(self, keys: set[int]) -> None:
        """Remember that answers are counted. A short piece is made longer, so that there are few."""
        last = self._first("counted_last")
        if last and len(last["keys"]) < PIECE:
            keys = keys.union(_keys(last["keys"]))
            self._run("counted_drop", id=last["id"])
        if keys:
            self._run("counted_add", keys=array("q", sorted(keys)).tobytes())

    def _settled(self, id: int, ledger: Ledger, owners: dict[int, int]) -> Ledger:
        """Count what no other source counts, or counts with smaller figures: it was written down there before the
        answer was whole. Mostly that is all of it, as it was packed."""
        keys = _keys(ledger.keys)
        if not owners.keys().isdisjoint(keys) and any(owners.get(key, id) != id for key in keys):
            rows = _rows(ledger.spends)
            self._win(id, rows, owners)
            kept = {key for key in keys if owners.get(key, id) == id}
            ledger = pack(rows, kept.__contains__)
        owners.update(dict.fromkeys(_keys(ledger.keys), id))
        return ledger

    def _win(self, id: int, rows: list[Row], owners: dict[int, int]) -> None:
        """Take over the answers that this source tells more of than the one they are counted in."""
        contested: dict[int, dict[int, Row]] = {}
        for row in rows:
            if owners.get(row[0], id) != id:
                contested.setdefault(owners[row[0]], {})[row[0]] = row
        for owner, mine in contested.items():
            kept = self._first("spends_of", id=owner)
            theirs = _rows(kept["spends"]) if kept else []
            won = {row[0] for row in theirs if row[0] in mine and sum(mine[row[0]][4:8]) > sum(row[4:8])}
            if kept and won:
                counted = set(_keys(kept["keys"])) - won
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
                free.update(_keys(row["keys"]))
                self._run("spends_drop", id=id)
                self._run_all("buckets_drop", [(id,)])
        for other in self._run("spends_of_all") if free else ():
            rows = _rows(other["spends"])
            heirs = free.intersection(spent[0] for spent in rows)
            if heirs:
                free -= heirs
                counted = heirs.union(_keys(other["keys"]))
                self._put_ledgers([(other["id"], pack(rows, counted.__contains__))])

    def sums(self, by: str, since: int = 0, until: int = FAR) -> list[Sum]:
        """Tokens by 'day', 'quarter' or 'source', from one quarter up to another."""
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

    def price(self, model: str, data: str) -> bytes | None:
        """A price that was looked up before; b'' where it was found to be unknown."""
        row = self._first("price_get", model=model, data=data)
        return (row["found"] or "").encode() if row else None

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
