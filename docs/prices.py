"""Writes src/segue/usage/prices.json: what Segue needs of the data of the package genai-prices, one model on a line.

    ./dev docs

The package takes long to load and brings an HTTP client along, so a run of Segue goes without it and reads this
file. Rules, prices and context windows stay as the package has them, in its order, since the first model that a name
fits is the one. Left out are the other units (sounds, images, pages, searches, requests), the discounts for batches,
and all that is said in words. Names in rules are in lower case, as is every name that is compared with them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import (
    ClauseAnd,
    ClauseContains,
    ClauseEndsWith,
    ClauseEquals,
    ClauseOr,
    ClauseRegex,
    ClauseStartsWith,
    ConditionalPrice,
    ModelInfo,
    ModelPrice,
    Provider,
    StartDateConstraint,
    TieredPrices,
    TimeOfDateConstraint,
)

PATH = Path(__file__).parent.parent / "src" / "segue" / "usage" / "prices.json"
PACKAGE = "genai-prices"
SOURCE = "https://github.com/pydantic/genai-prices"
KEYS = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok")


@functools.cache
def snapshot() -> str:
    """The file. Its first line, which ends the reading where only the version is asked for, is JSON but for its end."""
    package = distribution(PACKAGE)
    licence = [text for path in package.files or () if path.name == "LICENSE" for text in [path.read_text()]]
    assert len(licence) == 1, "the licence of the package has to be kept with its data"
    lines = [
        f'{{"version": {_json(package.version)},',
        f'"source": {_json(f"the data of {PACKAGE}, {SOURCE}, under the licence below")},',
        f'"written_by": {_json("./dev docs")},',
        f'"licence": [\n{_rows(_json(line) for line in licence[0].strip().splitlines())}\n],',
        f'"providers": [\n{_rows(_provider(provider) for provider in get_snapshot().providers)}\n]}}',
    ]
    return "\n".join(lines) + "\n"


def _rows(rows: Iterable[str]) -> str:
    return ",\n".join(rows)


def _json(value: object) -> str:
    return json.dumps(value, separators=(", ", ": "))


def _provider(provider: Provider) -> str:
    head = {
        "id": provider.id,
        "model_match": _rule(provider.model_match),
        "provider_match": _rule(provider.provider_match),
        "fallbacks": provider.fallback_model_providers,
    }
    models = _rows(_json(_told(_model(model))) for model in provider.models)
    return f'{_json(_told(head))[:-1]}, "models": [\n{models}\n]}}'


def _told(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _model(model: ModelInfo) -> dict[str, Any]:
    return {
        "id": model.id,
        "match": _rule(model.match),
        "context_window": model.context_window,
        "prices": [_told(dict(fields)) for fields in _prices(model.prices)],
    }


def _prices(prices: ModelPrice | list[ConditionalPrice]) -> Iterator[dict[str, Any]]:
    """Each price of a model, with the day it began or the hours it holds for."""
    if isinstance(prices, ModelPrice):
        yield _rates(prices)
        return
    for price in prices:
        yield _condition(price.constraint) | _rates(price.prices)


def _condition(constraint: StartDateConstraint | TimeOfDateConstraint | None) -> dict[str, Any]:
    if isinstance(constraint, StartDateConstraint):
        return {"start_date": constraint.start_date.isoformat()}
    if isinstance(constraint, TimeOfDateConstraint):
        return {"hours": [constraint.start_time.isoformat(), constraint.end_time.isoformat()]}
    return {}


def _rates(prices: ModelPrice) -> dict[str, Any]:
    return {key: _rate(getattr(prices, key)) for key in KEYS}


def _rate(rate: Decimal | TieredPrices | None) -> Any:
    if isinstance(rate, TieredPrices):
        return {
            "base": _number(rate.base),
            "tiers": [[tier.start, _number(tier.price)] for tier in rate.tiers],
        }
    return None if rate is None else _number(rate)


def _number(number: Decimal) -> int | float:
    return int(number) if number == int(number) else float(number)


def _rule(rule: object) -> dict[str, Any] | None:
    match rule:
        case None:
            return None
        case ClauseOr(or_=rules):
            return {"or": [_rule(inner) for inner in rules]}
        case ClauseAnd(and_=rules):
            return {"and": [_rule(inner) for inner in rules]}
        case ClauseRegex(regex=pattern):
            return {"regex": pattern}
        case ClauseEquals() | ClauseContains() | ClauseStartsWith() | ClauseEndsWith():
            return {name: text.lower() for name, text in vars(rule).items()}
    raise TypeError(f"a rule that Segue does not know: {rule}")


if __name__ == "__main__":
    PATH.write_text(snapshot())
