"""A ledger: what the answers in a source used, packed for the index. Made where the source is read, which may be
another process, and added up without being taken apart again.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable

import msgspec
from msgspec import Struct

from segue import clock
from segue.digest import short_hash
from segue.model import Spend

QUARTER = 900
CLASSES = (32_000, 100_000, 128_000, 199_999, 200_000, 256_000, 272_000, 512_000, 524_288)
"""Where the size of a question may change its price. A spend's class is the number of these it exceeds."""
TOLD = -1
"""The class of what the agent itself told the price of."""

Row = tuple[int, int, str, int, int, int, int, int, int, float]
"""A spend as the index takes it: key, second, model, class, five counts, cost."""


class Ledger(Struct, frozen=True):
    keys: bytes
    """The hashes of the answers that count, eight bytes each."""
    spends: bytes
    """Every answer, counted or not."""
    buckets: list[tuple[int, str, int, int, int, int, int, int, int, float]]
    """Sums of those that count: quarter, model, class, answers, five counts, cost."""


def size_in(size_class: int) -> int:
    """A size of a question that is in a class."""
    return CLASSES[size_class - 1] + 1 if size_class > 0 else 0


def ledger_of(spends: Iterable[Spend]) -> Ledger:
    return pack([row_of(spend) for spend in spends])


def row_of(spend: Spend) -> Row:
    tokens = spend.tokens
    second = int(clock.parse(spend.at).timestamp()) if spend.at else 0
    counts = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.cache_write_long)
    return row(spend.key, second, spend.model, *counts, spend.cost_usd)


def row(
    key: str,
    second: int,
    model: str,
    input: int,
    output: int,
    read: int,
    write: int,
    long: int,
    cost: float | None = None,
) -> Row:
    size_class = bisect_left(CLASSES, input + read + write) if cost is None else TOLD
    hash = int.from_bytes(short_hash(key.encode()), signed=True)
    return hash, second, model, size_class, input, output, read, write, long, cost or 0.0


def pack(rows: list[Row], counts: Callable[[int], bool] | None = None) -> Ledger:
    """Pack spends; those whose key counts are summed up."""
    keys = array("q")
    sums: dict[tuple[int, str, int], list[float]] = {}
    for key, second, model, size_class, input, output, read, write, long, cost in rows:
        if counts and not counts(key):
            continue
        keys.append(key)
        bucket = (second // QUARTER, model, size_class)
        total = sums.get(bucket)
        if total is None:
            total = sums[bucket] = [0, 0, 0, 0, 0, 0, 0.0]
        total[0] += 1
        total[1] += input
        total[2] += output
        total[3] += read
        total[4] += write
        total[5] += long
        total[6] += cost
    buckets = [(*key, *total) for key, total in sums.items()]
    return Ledger(keys.tobytes(), msgspec.msgpack.encode(rows), buckets)  # type: ignore[arg-type]


def merged(known: bytes, ledger: Ledger) -> Ledger:
    """What is new with what was known of the same source."""
    rows = {old[0]: old for old in rows_in(known)}
    rows.update((new[0], new) for new in rows_in(ledger.spends))
    return pack(list(rows.values()))


def keys_in(packed: bytes) -> array[int]:
    return array("q", packed)


def rows_in(packed: bytes) -> list[Row]:
    return msgspec.msgpack.decode(packed, type=list[Row]) if packed else []
