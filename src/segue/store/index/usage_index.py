"""The usage half of the index: sources, their token use, and totals.

`index.sql` describes its content. Rows stay plain tuples, so that totals need no slow imports; `transcript_index`
decodes values.
"""

from __future__ import annotations

import contextlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from segue.store.index.index_file import IndexFile
from segue.usage.ledger import keys_in, merged, pack, rows_in

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing is slow
    from typing import Any

    from segue.usage.ledger import Ledger, Row

FAR = 1 << 40
PIECE = 1 << 15
"""Maximum size of a piece of hashes of counted answers, in bytes."""
KEY = 8
"""Bytes of a hash."""
FEW = 32
"""Looking up one key costs as much as comparing this many."""

Place = tuple[str, str]
"""The path and the part of a source."""
SourceRow = tuple["Any", ...]
"""An undecoded row of a source: usually nothing changed, and it is not decoded."""
ID, PATH, READ, SPENT, TOLD = 0, 2, slice(4, 6), slice(6, 8), slice(8, 10)
"""Columns of a source row: number, path, and size and time of change as each pass last saw them."""
Spent = tuple[int, int, int, str, "Ledger", bool]
"""Usage of a source: number, size, time of change, mark as JSON, ledger, and whether the ledger is complete."""
SumRow = tuple["Any", str, int, int, int, int, int, int, int, float]
"""Tokens of one model and size class in one period, which is a day, a quarter's number or a source's number:
answers, five counts, and what agents told of the cost themselves."""


def _has_any(ordered: array[int], keys: set[int]) -> bool:
    """Is any key present? Few keys are looked up, many are compared with all."""
    if len(keys) * FEW > len(ordered):
        return not keys.isdisjoint(ordered)
    size = len(ordered)
    return any((at := bisect_left(ordered, key)) < size and ordered[at] == key for key in keys)


class Counting(IndexFile):
    """Sources and their token use."""

    # Sources

    def known(self) -> dict[Place, SourceRow]:
        """Every source, without its transcript."""
        return {row[2:4]: row for row in self._tuples("sources")}

    def spent_mark(self, id: int) -> tuple[int, str]:
        """Where the quick pass ended: the offset and the hash of the text before it."""
        row = self._first("source_spent_mark", id=id)
        return (row["offset"] or 0, row["before"] or "") if row else (0, "")

    def projects(self) -> list[str]:
        """Folders in which transcripts began."""
        return [row["project"] for row in self._run("projects")]

    def add(self, names: Sequence[tuple[str, str, str]]) -> list[int]:
        """The numbers of sources, by agent, path and part. One that has none is given one here."""
        last = self._first("source_last")
        self._run_all("source_add", names)
        added = self._run("sources_after", last=last["id"] if last else 0)
        new = {(row["path"], row["part"]): int(row["id"]) for row in added}
        self._new.update(new.values())
        return [new.get((path, part)) or self._id(path, part) for _agent, path, part in names]

    def _id(self, path: str, part: str) -> int:
        row = self._first("source_id", path=path, part=part)
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

    # Spends

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """One change of the index: whole, or not at all."""
        self._counted, self._to_note = set(), []
        with super().changing():
            last = self._first("counted_last")
            self._before = last["id"] if last else 0
            yield
            self._note_counted(self._to_note)

    def put_spent(self, found: Sequence[Spent]) -> None:
        """Keep what sources were found to have spent since their marks, or at all (the flag)."""
        self._free([id for id, *_, is_anew in found if is_anew and id not in self._new])
        ledgers: list[tuple[int, Ledger]] = []
        owners: dict[int, int] = {}
        keys: set[int] = set()
        count = 0
        for id, _size, _stamp, _mark, ledger, is_anew in found:
            kept = None if is_anew else self._first("spends_of", id=id)
            if kept:
                owners.update(dict.fromkeys(keys_in(kept["keys"]), id))
                ledger = merged(kept["spends"], ledger)
            ledgers.append((id, ledger))
            count += len(ledger[0]) // KEY
            keys.update(keys_in(ledger[0]))
        is_each_once = len(keys) == count
        keys.difference_update(owners)
        owners.update(self._owners(keys))
        self._count(keys.difference(owners) if owners else keys)
        if is_each_once and not owners:
            self._put_ledgers(ledgers)
        else:
            self._settle(ledgers, owners)
        self._run_all("source_spent", [(size, stamp, mark, id) for id, size, stamp, mark, _, _ in found])

    def _settle(self, ledgers: Sequence[tuple[int, Ledger]], owners: dict[int, int]) -> None:
        """Keep ledgers some of whose answers are in others too."""
        settled: list[tuple[int, Ledger]] = []
        for id, ledger in ledgers:
            if not owners.keys().isdisjoint(keys_in(ledger[0])):
                self._put_ledgers(settled)
                settled = []
            settled.append((id, self._settled(id, ledger, owners)))
        self._put_ledgers(settled)

    def _owners(self, keys: set[int]) -> dict[int, int]:
        """Of these answers, those that are counted already, and the source they are counted in."""
        before = self._run("counted", last=self._before)
        if self._counted.isdisjoint(keys) and not any(_has_any(keys_in(row["keys"]), keys) for row in before):
            return {}
        found = {}
        for row in self._run("keys"):
            found.update(dict.fromkeys(keys.intersection(keys_in(row["keys"])), row["id"]))
        return found

    def _count(self, keys: set[int]) -> None:
        """Remember that answers are counted, in this change at once and for good when there are enough."""
        self._counted |= keys
        self._to_note += keys
        if len(self._to_note) * KEY >= PIECE:
            self._note_counted(self._to_note)
            self._to_note = []

    def _note_counted(self, keys: Iterable[int]) -> None:
        """Write down that answers are counted. Pieces that are short, and not much longer than what comes after them,
        are joined with it: so there are few, and a few more answers don't rewrite a long one."""
        ordered = sorted(keys)
        while ordered and (last := self._first("counted_last")):
            if len(last["keys"]) >= min(PIECE, 2 * KEY * len(ordered) + 1):
                break
            self._run("counted_drop", id=last["id"])
            joined = keys_in(last["keys"])
            self._counted.update(joined)
            ordered = sorted((*joined, *ordered))
        if ordered:
            self._run("counted_add", keys=array("q", ordered).tobytes())

    def _forget_counted(self, keys: set[int]) -> None:
        """Answers are counted nowhere any more. A piece that they leave short is joined to what comes last."""
        self._counted -= keys
        self._to_note = [key for key in self._to_note if key not in keys]
        left: set[int] = set()
        for row in self._run("counted", last=FAR):
            piece = keys_in(row["keys"])
            if not _has_any(piece, keys):
                continue
            kept = array("q", [key for key in piece if key not in keys])
            if len(kept) * KEY < PIECE:
                left.update(kept)
                self._run("counted_drop", id=row["id"])
            else:
                self._run("counted_put", id=row["id"], keys=kept.tobytes())
        self._count(left)

    def _settled(self, id: int, ledger: Ledger, owners: dict[int, int]) -> Ledger:
        """Count what no other source counts, or counts with smaller figures: it was written down there before the
        answer was whole. Mostly that is all of it, as it was packed."""
        keys = keys_in(ledger[0])
        if not owners.keys().isdisjoint(keys) and any(owners.get(key, id) != id for key in keys):
            rows = rows_in(ledger[1])
            self._win(id, rows, owners)
            kept = {key for key in keys if owners.get(key, id) == id}
            ledger = pack(rows, kept.__contains__)
        owners.update(dict.fromkeys(keys_in(ledger[0]), id))
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
        self._run_all("spends_put", [(id, keys, spends) for id, (keys, spends, _) in ledgers])
        self._drop_buckets([id for id, _ in ledgers if id not in self._new])
        self._new.difference_update(id for id, _ in ledgers)
        quarters = {bucket[0] for _, (_, _, buckets) in ledgers for bucket in buckets}
        self._run_all("stale_add", [(quarter,) for quarter in quarters])
        self._run_all("bucket_add", [(id, *bucket) for id, (_, _, buckets) in ledgers for bucket in buckets])

    def _drop_buckets(self, ids: Sequence[int]) -> None:
        for query in ("stale_add_of", "buckets_drop"):
            self._run_all(query, [(id,) for id in ids])

    def _free(self, ids: Sequence[int]) -> None:
        """Remove the answers of sources; those that other sources contain too are counted there."""
        free: set[int] = set()
        for id in ids:
            row = self._first("spends_of", id=id)
            if row:
                free.update(keys_in(row["keys"]))
                self._run("spends_drop", id=id)
                self._drop_buckets([id])
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
        """Recompute stale totals."""
        if self._first("stale"):
            with self.changing():
                for query in ("totals_drop", "totals_add", "stale_drop"):
                    self._run(query)

    def sum_rows(self, by: str, since: int = 0, until: int = FAR) -> list[SumRow]:
        """Tokens by 'day', 'quarter' or 'source', from one quarter up to another."""
        if by != "source" and self._first("hides"):
            by += "_of_some"
        elif by != "source":
            self._sum_up()
        return self._tuples(f"sums_by_{by}", since=since, until=until)

    # Prices

    def prices(self, data: str) -> dict[str, str]:
        """Cached prices by model."""
        return {row["model"]: row["found"] for row in self._run("prices", data=data)}

    def put_price(self, model: str, data: str, found: bytes) -> None:
        self._run("price_put", model=model, data=data, found=found.decode())
