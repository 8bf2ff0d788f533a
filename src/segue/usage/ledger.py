"""The usage of the answers in a source, packed for the index. It is made where the source is read, which may be
another process, and is added up without being unpacked.

It is packed with Python's own modules only, so that totals load nothing slow.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

from segue.base import clock
from segue.base.hashes import short_hash

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to load
    from typing import Any

    from segue.model import Spend

QUARTER = 900
CLASSES = (32_000, 100_000, 128_000, 199_999, 200_000, 256_000, 272_000, 512_000, 524_288)
"""Input sizes where the price may change. A spend's class is the number of these that it exceeds."""
TOLD = -1
"""The class of spends whose price the agent reported."""

Row = tuple[int, int, str, int, int, int, int, int, int, float]
"""A spend as the index takes it: key, second, model, class, five counts, cost."""
Bucket = tuple[int, str, int, int, int, int, int, int, int, float]
"""A sum of spends: quarter, model, class, answers, five counts, cost."""
Ledger = tuple[bytes, bytes, list[Bucket]]
"""The hashes of the answers that count, eight bytes each; of all answers; and the sums of those that count."""
EMPTY: Ledger = (b"", b"", [])

HEAD = struct.Struct("<cI")
"""The header of a column: how its numbers are packed, and how many bytes they are."""


def size_in(size_class: int) -> int:
    """An input size in a class."""
    return CLASSES[size_class - 1] + 1 if size_class > 0 else 0


def class_of(size: int) -> int:
    return bisect_left(CLASSES, size)


def hashes(keys: Sequence[str]) -> tuple[int, ...]:
    """The short hashes by which answers are known."""
    return struct.unpack(f">{len(keys)}q", b"".join([short_hash(key.encode()) for key in keys]))


def ledger_of(spends: Iterable[Spend]) -> Ledger:
    return pack([row_of(spend) for spend in spends])


def row_of(spend: Spend) -> Row:
    tokens = spend.tokens
    second = int(clock.parse(spend.at).timestamp()) if spend.at else 0
    size_class = class_of(tokens.input + tokens.cache_read + tokens.cache_write)
    counts = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.cache_write_long)
    (hash,) = hashes([spend.key])
    if spend.cost_usd is None:
        return hash, second, spend.model, size_class, *counts, 0.0
    return hash, second, spend.model, TOLD, *counts, spend.cost_usd


def pack(rows: list[Row], counts: Callable[[int], bool] | None = None) -> Ledger:
    """Pack spends; those whose key counts are added up."""
    counted = [row for row in rows if counts(row[0])] if counts else rows
    return array("q", [row[0] for row in counted]).tobytes(), _packed(rows), _summed(counted)


def _summed(rows: list[Row]) -> list[Bucket]:
    sums: dict[tuple[int, str, int], list[float]] = {}
    last, total = None, list[float]()
    for _key, second, model, size_class, input, output, read, write, long, cost in rows:
        bucket = (second // QUARTER, model, size_class)
        if bucket != last:  # consecutive ones are mostly of the same
            last, total = bucket, sums.setdefault(bucket, [0, 0, 0, 0, 0, 0, 0.0])
        total[0] += 1
        total[1] += input
        total[2] += output
        total[3] += read
        total[4] += write
        total[5] += long
        total[6] += cost
    return [(*bucket, *total) for bucket, total in sums.items()]  # type: ignore[misc]


def _packed(rows: list[Row]) -> bytes:
    """Column by column: first the names, separated by a byte that UTF-8 never uses, then their numbers."""
    if not rows:
        return b""
    keys, seconds, models, *figures, costs = zip(*rows, strict=True)
    names = {model: number for number, model in enumerate(dict.fromkeys(models))}
    packed = [
        (b"s", b"\xff".join([name.encode() for name in names])),
        (b"q", array("q", keys).tobytes()),
        *map(_column, (seconds, [names[model] for model in models], *figures)),
        (b"d", array("d", costs).tobytes() if any(costs) else b""),
    ]
    return b"".join([part for code, column in packed for part in (HEAD.pack(code, len(column)), column)])


def _column(numbers: Sequence[int]) -> tuple[bytes, bytes]:
    try:
        return b"I", array("I", numbers).tobytes()
    except OverflowError:
        return b"q", array("q", numbers).tobytes()


def rows_in(packed: bytes) -> list[Row]:
    columns: list[Any] = []
    at = 0
    while at < len(packed):
        code, length = HEAD.unpack_from(packed, at)
        at += HEAD.size
        column = packed[at : at + length]
        columns.append(column if code == b"s" else array(code.decode(), column))
        at += length
    if not columns:
        return []
    names, keys, seconds, models, *figures, costs = columns
    named = [name.decode() for name in names.split(b"\xff")]
    return [
        *zip(
            keys,
            seconds,
            [named[model] for model in models],
            *figures,
            costs or [0.0] * len(keys),
            strict=True,
        )
    ]


def merged(known: bytes, ledger: Ledger) -> Ledger:
    """A ledger of new spends joined with that of the same source before."""
    rows = {old[0]: old for old in rows_in(known)}
    rows.update((new[0], new) for new in rows_in(ledger[1]))
    return pack(list(rows.values()))


def keys_in(packed: bytes) -> array[int]:
    return array("q", packed)
