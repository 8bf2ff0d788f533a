"""What a model costs and how much fits into it: prices as values, out of the data of the package genai-prices.

The package brings its data along, so nothing is fetched; but loading it takes as long as forty starts of
Python. So it is loaded inside one function, when a model is met for the first time, and everything else works on
`Price`, which can be written down and kept: `as_of` tells whether what was kept is still what the data says.

Prices change, and a transcript may be older than the change: each model has a history of prices, and the price
of an answer is the one of its day. What is not in the data has no price here: nothing is guessed from a name.
Not counted: fees for searches and requests, discounts for batches, and discounts by the hour of the day, of which
the dearest hour is taken.
"""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from segue import clock
from segue.clock import Moment
from segue.model import Tokens, Value

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, Provider

PACKAGE = "genai-prices"
MILLION = 1_000_000
LONGEST_NAME = 200
"""No model's name is longer: what is, is not looked for."""

SMALL_USD = 6.0
"""A model whose million tokens of output cost no more than this counts as small."""
DEAR_USD = 20.0
"""A model whose million tokens of output cost this or more counts as large."""


class Rates(Value, frozen=True, kw_only=True):
    """US dollars for a million tokens of each kind, once an answer's input is larger than a number of tokens.

    Where the data has no rate for reading or writing the cache, these tokens are input like any other; where it
    has none for a cache kept for an hour, they are written at the plain rate.
    """

    over: int = 0
    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_long: float


class Price(Value, frozen=True, kw_only=True):
    """What a model costs from a day on."""

    model: str
    """The name in the data, which may be shorter than the one that was looked for."""
    provider: str
    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_long: float
    above: tuple[Rates, ...] = ()
    """Other rates for all tokens of an answer with more input than a number of tokens, smallest number first."""
    context_window: int | None = None
    since: str = ""
    """The day this price began; empty for the first that the data knows."""
    as_of: str = ""
    """The data that it is from."""

    def rates(self, input_tokens: int) -> Rates:
        """The rates that hold for an answer with so many tokens of input, those from the cache included."""
        holding = [rates for rates in self.above if input_tokens > rates.over]
        return holding[-1] if holding else self._base()

    def _base(self) -> Rates:
        return Rates(
            input=self.input,
            output=self.output,
            cache_read=self.cache_read,
            cache_write=self.cache_write,
            cache_write_long=self.cache_write_long,
        )


def cost(price: Price, tokens: Tokens) -> float:
    """What one answer costs in US dollars. Sums of answers cost more than their tokens' sum suggests: give one."""
    return cost_at(price.rates(tokens.input + tokens.cache_read + tokens.cache_write), tokens)


def cost_at(rates: Rates, tokens: Tokens) -> float:
    """What tokens cost at given rates."""
    long = min(tokens.cache_write_long, tokens.cache_write)
    total = (
        tokens.input * rates.input
        + tokens.output * rates.output
        + tokens.cache_read * rates.cache_read
        + (tokens.cache_write - long) * rates.cache_write
        + long * rates.cache_write_long
    )
    return total / MILLION


def is_small(price: Price | None) -> bool | None:
    """Whether a model is a small one (True) or a large one (False), by its price; None in between or unknown."""
    if price is None or SMALL_USD < price.output < DEAR_USD:
        return None
    return price.output <= SMALL_USD


def look_up(model: str, at: Moment | None = None) -> Price | None:
    """The price of a model at a moment, now if none is given; None where the data does not have it."""
    return in_force(history(model), at or clock.now())


def in_force(prices: Sequence[Price], at: Moment) -> Price | None:
    """Of a model's prices, oldest first, the one of a day; the oldest for a day before all of them."""
    begun = [price for price in prices if price.since <= at[:10]]
    return begun[-1] if begun else next(iter(prices), None)


@functools.cache
def history(model: str) -> tuple[Price, ...]:
    """Every price that the data has for a model, oldest first."""
    name = model.strip().lower()
    if not name or len(name) > LONGEST_NAME:
        return ()
    found = _find(name)
    if found is None:
        return ()
    provider, info = found
    return tuple(_price(provider.id, info, since, prices) for since, prices in _periods(info))


def stamp() -> str:
    """What tells whether the data is still the same, without loading it."""
    found = importlib.util.find_spec("genai_prices")
    return f"{Path(found.origin).stat().st_mtime_ns}" if found and found.origin else ""


def data_date() -> str:
    """Which data prices are from. The package tells its version but no date."""
    from importlib.metadata import version  # lazy: only where money is shown

    return f"{PACKAGE} {version(PACKAGE)}"


def notice(models: Iterable[str]) -> str:
    """What to say of models without a price; empty where there are none."""
    names = sorted({model for model in models if model})
    if not names:
        return ""
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"no price known for {shown} (price data: {data_date()}; update Segue)"


def _find(name: str) -> tuple[Provider, ModelInfo] | None:
    data = _data()
    for spelling in _spellings(name):
        if found := _find_as_written(data, spelling):
            return found
    return None


def _spellings(name: str) -> Iterator[str]:
    """A name as it is written, and without what agents put around it: '[1m]', a path of a cloud, a date."""
    yield name
    bare = re.sub(r"\[\w+\]$", "", name)
    if "models/" in bare:
        bare = bare.rpartition("models/")[2]
    for stem in (bare, re.sub(r"[-@](\d{8}|\d{4}-\d{2}-\d{2}|latest)$", "", bare)):
        yield stem
        # 'region.vendor.model' is how a cloud names what it rents out.
        yield re.sub(r"^([a-z-]+\.)+(?=[a-z])", "", stem)


def _find_as_written(data: DataSnapshot, name: str) -> tuple[Provider, ModelInfo] | None:
    """By the provider that the name begins with, or by the makers whose models are named like this.

    A model without a provider is never looked for among those who resell it: their prices differ.
    """
    head, mark, rest = name.partition("/")
    if mark and (provider := _provider(data, head)):
        found = provider.find_model(rest, all_providers=data.providers)
        return (provider, found) if found else _find_as_written(data, rest)
    for provider in data.providers:
        is_maker = provider.model_match is not None and provider.model_match.is_match(name)
        if (is_maker or re.match(r"([a-z-]+\.)+[a-z]", name)) and (found := provider.find_model(name)):
            return provider, found
    return None


def _provider(data: DataSnapshot, name: str) -> Provider | None:
    try:
        return data.find_provider(None, name, None)
    except LookupError:
        return None


def _periods(info: ModelInfo) -> Iterator[tuple[str, ModelPrice]]:
    """The days on which a model's price changed, and the price from then on."""
    from genai_prices.types import ModelPrice, StartDateConstraint  # lazy: see _data

    if isinstance(info.prices, ModelPrice):
        yield "", info.prices
        return
    days = {"": info.prices[0].prices}
    for conditional in info.prices:
        condition = conditional.constraint
        if isinstance(condition, StartDateConstraint):
            days[condition.start_date.isoformat()] = conditional.prices
        elif _output(conditional.prices) >= _output(days[max(days)]):
            days[max(days)] = conditional.prices
    yield from sorted(days.items())


def _output(prices: ModelPrice) -> float:
    return _rate(prices, "output_mtok", 0) or 0.0


def _price(provider: str, info: ModelInfo, since: str, prices: ModelPrice) -> Price:
    base = _rates(prices, 0)
    return Price(
        model=info.id,
        provider=provider,
        input=base.input,
        output=base.output,
        cache_read=base.cache_read,
        cache_write=base.cache_write,
        cache_write_long=base.cache_write_long,
        above=tuple(_rates(prices, over) for over in _steps(prices)),
        context_window=info.context_window,
        since=since,
        as_of=data_date(),
    )


KEYS = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok")


def _steps(prices: ModelPrice) -> list[int]:
    """The sizes of input above which a rate changes."""
    tiered = [getattr(getattr(prices, key), "tiers", ()) for key in KEYS]
    return sorted({tier.start for tiers in tiered for tier in tiers})


def _rates(prices: ModelPrice, over: int) -> Rates:
    plain = _rate(prices, "input_mtok", over) or 0.0
    read = _rate(prices, "cache_read_mtok", over)
    write = _rate(prices, "cache_write_mtok", over)
    long = _rate(prices, "cache_write_1h_mtok", over)
    write = plain if write is None else write
    return Rates(
        over=over,
        input=plain,
        output=_rate(prices, "output_mtok", over) or 0.0,
        cache_read=plain if read is None else read,
        cache_write=write,
        cache_write_long=write if long is None else long,
    )


def _rate(prices: ModelPrice, key: str, over: int) -> float | None:
    from genai_prices.types import TieredPrices  # lazy: see _data

    rate = getattr(prices, key)
    if isinstance(rate, TieredPrices):
        reached = [tier.price for tier in rate.tiers if 0 < tier.start <= over]
        return float(reached[-1] if reached else rate.base)
    return None if rate is None else float(rate)


def _data() -> DataSnapshot:
    # Lazy: with pydantic, an HTTP client and 1.5 MB of data this is by far the slowest import of all.
    from genai_prices.data_snapshot import get_snapshot

    return get_snapshot()
