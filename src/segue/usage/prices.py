"""Prices and context windows of models, from the data of the package genai-prices.

The data is in prices.json beside this file, so nothing is fetched, and the package, which is slow to load, is not
needed to run; `./dev docs` writes the file. It is read on the first look-up of a model. Everything else works on
`ModelPrice`, which can be stored: `stamp` shows whether a stored one is still valid.

Prices change, and a transcript may be older than the change: each model has a history of prices, and an answer costs
the price of its day. A model that is not in the data has no price: nothing is guessed from a name. Not counted: fees
for searches and requests, and discounts for batches. Of prices by the hour of the day, the highest is used.
"""

import functools
import re
from collections.abc import Iterator, Sequence
from datetime import date

import msgspec
from msgspec import Struct

from segue.base import clock
from segue.base.clock import Moment
from segue.model import Tokens, Value
from segue.usage import rates as usage_rates
from segue.usage.rates import FILE as FILE
from segue.usage.rates import PACKAGE as PACKAGE
from segue.usage.rates import data_date as data_date
from segue.usage.rates import notice as notice
from segue.usage.rates import stamp as stamp

LONGEST_NAME = 200
"""No model's name is longer: longer ones are not looked up."""

SMALL_USD = 6.0
"""A model whose million output tokens cost at most this is small."""
DEAR_USD = 20.0
"""A model whose million output tokens cost at least this is large."""


class Rates(Value, frozen=True, kw_only=True):
    """US dollars per million tokens of each kind, for answers whose input exceeds a number of tokens.

    Where the data has no rate for reading or writing the cache, these tokens cost as much as other input; without a
    rate for a cache kept for an hour, writing it costs the plain rate.
    """

    over: int = 0
    input: float
    output: float
    cache_read: float
    cache_write: float
    cache_write_long: float


class Price(Value, frozen=True, kw_only=True):
    """The price of a model from a day on."""

    model: str
    """The name in the data, which may be shorter than the one that was looked up."""
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
    """The first day of this price; empty for the first that the data has."""
    as_of: str = ""
    """The data that it comes from."""

    def rates(self, input_tokens: int) -> Rates:
        """The rates for an answer with this many input tokens, including the cache."""
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
    """The cost of one answer in US dollars. Rates may change with its size: pass one answer, not a sum."""
    return cost_at(price.rates(tokens.input + tokens.cache_read + tokens.cache_write), tokens)


def cost_at(rates: Rates, tokens: Tokens) -> float:
    """The cost of tokens at given rates."""
    counts = (tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.cache_write_long)
    return usage_rates.cost(
        counts, (rates.input, rates.output, rates.cache_read, rates.cache_write, rates.cache_write_long)
    )


def is_small(price: Price | None) -> bool | None:
    """Whether a model is small (True) or large (False) by its price; None in between or unknown."""
    if price is None or SMALL_USD < price.output < DEAR_USD:
        return None
    return price.output <= SMALL_USD


def look_up(model: str, at: Moment | None = None) -> Price | None:
    """The price of a model at a moment, by default now; None if the data does not have it."""
    return in_force(history(model), at or clock.now())


def in_force(prices: Sequence[Price], at: Moment) -> Price | None:
    """The price of a day among a model's prices, oldest first; the oldest for a day before all of them."""
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
    provider, listed = found
    return tuple(_price(provider.id, listed, since, period) for since, period in _periods(listed))


def written(model: str) -> bytes:
    """The same, as stored."""
    return msgspec.json.encode(history(model))


# The data as in the file


class Rule(Struct, frozen=True, gc=False, rename={"either": "or", "every": "and"}):
    """A condition on names. One of the fields is set, with lower-case names."""

    equals: str | None = None
    starts_with: str | None = None
    ends_with: str | None = None
    contains: str | None = None
    regex: str | None = None
    either: tuple["Rule", ...] | None = None
    every: tuple["Rule", ...] = ()

    def fits(self, name: str) -> bool:
        if self.equals is not None:
            return name == self.equals
        if self.either is not None:
            return any(rule.fits(name) for rule in self.either)
        if self.starts_with is not None:
            return name.startswith(self.starts_with)
        if self.contains is not None:
            return self.contains in name
        if self.ends_with is not None:
            return name.endswith(self.ends_with)
        if self.regex is not None:
            return re.search(self.regex, name) is not None
        return all(rule.fits(name) for rule in self.every)


class Tiers(Struct, frozen=True, gc=False):
    """A rate that changes with the size of the input: from a number of tokens on, smallest number first."""

    base: float
    tiers: tuple[tuple[int, float], ...]


Rate = float | Tiers | None


class Period(Struct, frozen=True, gc=False):
    """The rates of a model from a day on; without a day: always, or at some hours only."""

    start_date: str = ""
    input_mtok: Rate = None
    output_mtok: Rate = None
    cache_read_mtok: Rate = None
    cache_write_mtok: Rate = None
    cache_write_1h_mtok: Rate = None


class Listed(Struct, frozen=True, gc=False):
    """A model in a provider's list."""

    id: str
    match: Rule
    prices: tuple[Period, ...]
    context_window: int | None = None


class Provider(Struct, frozen=True, gc=False):
    """A seller of models: their maker, or a reseller."""

    id: str
    models: tuple[Listed, ...]
    model_match: Rule | None = None
    """The names that belong to it if no provider is named with them."""
    provider_match: Rule | None = None
    """Other names of the provider."""
    fallbacks: tuple[str, ...] = ()
    """Providers whose models it sells at their price."""


class Data(Struct, frozen=True, gc=False):
    providers: tuple[Provider, ...]


@functools.cache
def _data() -> Data:
    with open(FILE, "rb") as file:  # noqa: PTH123 - quick
        return msgspec.json.decode(file.read(), type=Data)


# From a name to a model


def _find(name: str) -> tuple[Provider, Listed] | None:
    for spelling in _spellings(name):
        if found := _find_as_written(spelling):
            return found
    return None


def _spellings(name: str) -> Iterator[str]:
    """A name as written, and without what agents add to it: '[1m]', the path of a cloud, a date."""
    yield name
    bare = re.sub(r"\[\w+\]$", "", name)
    if "models/" in bare:
        bare = bare.rpartition("models/")[2]
    for stem in (bare, re.sub(r"[-@](\d{8}|\d{4}-\d{2}-\d{2}|latest)$", "", bare)):
        yield stem
        # 'region.vendor.model' is a cloud's name for what it hosts.
        yield re.sub(r"^([a-z-]+\.)+(?=[a-z])", "", stem)


def _find_as_written(name: str) -> tuple[Provider, Listed] | None:
    """The providers by the beginning of the name, or the makers whose models have such names.

    A model without a provider is never looked up among resellers: their prices differ.
    """
    head, mark, rest = name.partition("/")
    if mark and (provider := _provider(head)):
        found = _find_among(_lists(provider), rest)
        return (provider, found) if found else _find_as_written(rest)
    for provider in _data().providers:
        is_maker = provider.model_match is not None and provider.model_match.fits(name)
        if (is_maker or re.match(r"([a-z-]+\.)+[a-z]", name)) and (found := _find_among([provider], name)):
            return provider, found
    return None


def _provider(name: str) -> Provider | None:
    name, providers = name.strip(), _data().providers
    exact = (provider for provider in providers if provider.id == name)
    fitting = (p for p in providers if p.provider_match is not None and p.provider_match.fits(name))
    return next(exact, None) or next(fitting, None)


def _lists(provider: Provider) -> list[Provider]:
    """A provider, followed by those whose models it also has."""
    by_id = {other.id: other for other in _data().providers}
    return [provider, *(by_id[name] for name in provider.fallbacks if name in by_id)]


def _find_among(lists: list[Provider], name: str) -> Listed | None:
    """The first model that matches: the name as it is, else with the date in it written with dashes."""
    for spelling in dict.fromkeys((name, re.sub(COMPACT_DATE, _with_dashes, name))):
        for provider in lists:
            for listed in provider.models:
                if listed.match.fits(spelling):
                    return listed
    return None


COMPACT_DATE = r"-(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)"


def _with_dashes(found: re.Match[str]) -> str:
    year, month, day = map(int, found.groups())
    try:
        return f"-{date(year, month, day)}"
    except ValueError:  # such as the 31st of February
        return found[0]


# From a model to its prices


def _periods(listed: Listed) -> Iterator[tuple[str, Period]]:
    """The days on which a model's price changed, and the price from then on; by the hour only since the last."""
    days = {"": listed.prices[0]}
    for period in listed.prices:
        if period.start_date:
            days[period.start_date] = period
        elif _output(period) >= _output(days[max(days)]):
            days[max(days)] = period
    yield from sorted(days.items())


def _output(period: Period) -> float:
    return _rate(period.output_mtok, 0) or 0.0


def _price(provider: str, listed: Listed, since: str, period: Period) -> Price:
    base = _rates(period, 0)
    return Price(
        model=listed.id,
        provider=provider,
        input=base.input,
        output=base.output,
        cache_read=base.cache_read,
        cache_write=base.cache_write,
        cache_write_long=base.cache_write_long,
        above=tuple(_rates(period, over) for over in _steps(period)),
        context_window=listed.context_window,
        since=since,
        as_of=data_date(),
    )


def _steps(period: Period) -> list[int]:
    """The sizes of input above which a rate changes."""
    tiered = [rate.tiers for rate in msgspec.structs.astuple(period) if isinstance(rate, Tiers)]
    return sorted({start for tiers in tiered for start, _ in tiers})


def _rates(period: Period, over: int) -> Rates:
    plain = _rate(period.input_mtok, over) or 0.0
    read = _rate(period.cache_read_mtok, over)
    write = _rate(period.cache_write_mtok, over)
    long = _rate(period.cache_write_1h_mtok, over)
    write = plain if write is None else write
    return Rates(
        over=over,
        input=plain,
        output=_rate(period.output_mtok, over) or 0.0,
        cache_read=plain if read is None else read,
        cache_write=write,
        cache_write_long=write if long is None else long,
    )


def _rate(rate: Rate, over: int) -> float | None:
    if isinstance(rate, Tiers):
        reached = [price for start, price in rate.tiers if 0 < start <= over]
        return reached[-1] if reached else rate.base
    return rate
