"""The cost of tokens at prices that were looked up before, and the origin of those prices.

This part of `prices` is for totals: it loads nothing slow, and takes prices as stored, in the form of JSON.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Sequence

from segue import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to load
    from typing import Any

FILE = os.path.join(os.path.dirname(__file__), "prices.json")  # noqa: PTH118, PTH120 - quick
PACKAGE = "genai-prices"
MILLION = 1_000_000
KINDS = ("input", "output", "cache_read", "cache_write", "cache_write_long")
"""Tokens by price: the order of the counts, and of the rates per million."""


def cost(counts: Sequence[int], rates: Sequence[float]) -> float:
    """The cost of tokens at given rates."""
    input, output, read, write, long = counts
    long = min(long, write)
    total = (
        input * rates[0] + output * rates[1] + read * rates[2] + (write - long) * rates[3] + long * rates[4]
    )
    return total / MILLION


def rates_of(history: Sequence[dict[str, Any]], size: int, day: str) -> tuple[float, ...] | None:
    """The rates of a day, from a model's stored prices (oldest first), for an answer with this many input tokens. The
    oldest apply to a day before all of them."""
    begun = [price for price in history if price["since"] <= day] or history[:1]
    if not begun:
        return None
    holding = [rates for rates in begun[-1]["above"] if size > rates["over"]] or begun
    return tuple(holding[-1][kind] for kind in KINDS)


def stamp() -> str:
    """Shows whether a stored price is still valid: data and reading code are the same."""
    return f"{_version()} {__version__}"


def data_date() -> str:
    """The data that prices come from. The package has a version but no date."""
    return f"{PACKAGE} {_version()}"


def notice(models: Iterable[str]) -> str:
    """A note on models without a price; empty without any."""
    names = sorted({model for model in models if model})
    if not names:
        return ""
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"no price known for {shown} (price data: {data_date()}; update Segue)"


@functools.cache
def _version() -> str:
    """From the first line of the file, which identifies all of it here."""
    with open(FILE, "rb") as file:  # noqa: PTH123 - quick
        first = file.readline().rstrip().removesuffix(b",") + b"}"
    return str(json.loads(first)["version"])
