"""What tokens cost at prices that were looked up before, and which data those are from.

The part of `prices` that totals are told with: it loads nothing that takes long, and takes prices as they are kept, in
the form of JSON.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Sequence

from segue import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:  # not asked of typing: that takes long to load
    from typing import Any

FILE = os.path.join(os.path.dirname(__file__), "prices.json")  # noqa: PTH118, PTH120 - quick
PACKAGE = "genai-prices"
MILLION = 1_000_000
KINDS = ("input", "output", "cache_read", "cache_write", "cache_write_long")
"""Tokens by what they cost: in this order they are counted, and so are the rates for a million of them."""


def cost(counts: Sequence[int], rates: Sequence[float]) -> float:
    """What tokens cost at given rates."""
    input, output, read, write, long = counts
    long = min(long, write)
    total = (
        input * rates[0] + output * rates[1] + read * rates[2] + (write - long) * rates[3] + long * rates[4]
    )
    return total / MILLION


def rates_of(history: Sequence[dict[str, Any]], size: int, day: str) -> tuple[float, ...] | None:
    """Of a model's kept prices, oldest first, the rates of a day for an answer with so many tokens of input. The oldest
    hold for a day before all of them."""
    begun = [price for price in history if price["since"] <= day] or history[:1]
    if not begun:
        return None
    holding = [rates for rates in begun[-1]["above"] if size > rates["over"]] or begun
    return tuple(holding[-1][kind] for kind in KINDS)


def stamp() -> str:
    """What tells whether a kept price still holds: the data is the same, and so is the code that reads it."""
    return f"{_version()} {__version__}"


def data_date() -> str:
    """Which data prices are from. The package tells its version but no date."""
    return f"{PACKAGE} {_version()}"


def notice(models: Iterable[str]) -> str:
    """What to say of models without a price; empty where there are none."""
    names = sorted({model for model in models if model})
    if not names:
        return ""
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"no price known for {shown} (price data: {data_date()}; update Segue)"


@functools.cache
def _version() -> str:
    """Out of the first line of the file, which is as good as all of it here."""
    with open(FILE, "rb") as file:  # noqa: PTH123 - quick
        first = file.readline().rstrip().removesuffix(b",") + b"}"
    return str(json.loads(first)["version"])
