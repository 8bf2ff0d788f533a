"""Prices: as the data has them, of the day of the answer, and none where the data has none."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import pytest
from genai_prices import Usage, calc_price
from genai_prices.data_snapshot import find_provider_by_id, get_snapshot
from genai_prices.types import ModelInfo, ModelPrice, StartDateConstraint, TimeOfDateConstraint
from hypothesis import given, settings
from hypothesis import strategies as st

from segue.model import Tokens
from segue.usage import prices
from segue.usage import rates as usage_rates
from segue.usage.ledger import CLASSES, size_in
from segue.usage.prices import Price, Rates, cost, history, in_force, is_small, look_up

NOW = "2026-11-16T09:30:00.000000Z"
MODELS = [
    "claude-opus-4-20250514",
    "claude-opus-4-1-20250805",
    "claude-opus-4-5-20251101",
    "claude-opus-4-6",
    "claude-opus-4-7",
    "claude-opus-4.8",
    "claude-sonnet-4-20250514",
    "claude-sonnet-4-5-20250929",
    "claude-sonnet-4-6",
    "claude-haiku-4-5-20251001",
    "claude-3-opus-20240229",
    "gpt-4o",
    "gpt-5.1-codex",
    "gpt-5.4",
    "gpt-5.4-mini",
    "gpt-5.5",
    "gpt-5.6-sol",
    "gemini-2.5-flash",
    "gemini-2.5-pro",
    "gemini-3-flash-preview",
    "gemini-3.1-pro-preview",
    "o3",
]
"""Names that agents wrote into transcripts, and some whose price has changed or depends on the size of the input."""

TRANSCRIPTS = [
    *("<synthetic>", "opus", "sonnet", "haiku", "aide-gpt-5", "gpt-5.3-codex-spark"),
    *("claude-3-sonnet", "claude-opus-4-5", "claude-sonnet-4-5", "claude-sonnet-4.6", "claude-opus-4-8"),
    "anthropic/claude-opus-4-5-20251101",
    "litellm_proxy/neulab/gpt-4o-2024-08-06",
]
"""What else stands for a model in transcripts: names that are found, and some that have no price."""

AROUND = [
    *("{}", " {} ", "{}[1m]", "{}@20251101", "{}-20251101", "{}-2025-11-01", "{}-20250231", "{}-latest"),
    *("{}:thinking", "{}-v1:0", "x{}", "{}x", "models/{}", "publishers/google/models/{}", "us.anthropic.{}"),
    *(
        "anthropic/{}",
        "openai/{}",
        "OpenAI /{}",
        "google/{}",
        "vertex_ai/{}",
        "azure/{}",
        "bedrock/{}",
        "aws/{}",
    ),
    *("openrouter/{}", "openrouter/anthropic/{}", "litellm/{}", "nobody/{}", "huggingface-groq/{}", "/{}"),
]
"""What agents, proxies and clouds put around a name, and what nobody should."""

DAYS = ["2025-05-01", "2025-12-01", "2026-03-12", "2026-03-13", "2026-11-16", "2027-06-01"]
COUNTS = st.integers(0, 2_000_000)


@pytest.fixture
def plain() -> Price:
    rates: dict[str, Any] = {
        "input": 3.0,
        "output": 15.0,
        "cache_read": 0.3,
        "cache_write": 3.75,
        "cache_write_long": 6.0,
    }
    double = Rates(over=200_000, **{name: 2 * rate for name, rate in rates.items()})
    return Price(model="m", provider="p", above=(double,), **rates)


# Cost


@settings(deadline=None)
@given(st.sampled_from(MODELS), st.sampled_from(DAYS), COUNTS, COUNTS, COUNTS, COUNTS, st.floats(0, 1))
def test_an_answer_costs_what_the_package_itself_computes(
    model: str, day: str, plain: int, output: int, read: int, write: int, share: float
) -> None:
    long = int(write * share)
    price = look_up(model, f"{day}T12:00:00.000000Z")
    assert price is not None
    tokens = Tokens(input=plain, output=output, cache_read=read, cache_write=write, cache_write_long=long)
    moment = datetime.fromisoformat(f"{day}T12:00:00+00:00")
    theirs = calc_price(usage_of(tokens), model, genai_request_timestamp=moment)
    assert cost(price, tokens) == pytest.approx(float(theirs.total_price), rel=1e-9, abs=1e-15)


def test_each_kind_of_token_has_its_rate(plain: Price) -> None:
    tokens = Tokens(input=1000, output=200, cache_read=5000, cache_write=400, cache_write_long=100)
    expected = (1000 * 3 + 200 * 15 + 5000 * 0.3 + 300 * 3.75 + 100 * 6) / 1_000_000
    assert cost(plain, tokens) == pytest.approx(expected)


def test_above_a_size_of_the_input_all_tokens_have_the_other_rate(plain: Price) -> None:
    at, above = Tokens(cache_read=200_000, output=10), Tokens(cache_read=200_000, input=1, output=10)
    assert cost(plain, at) == pytest.approx((200_000 * 0.3 + 150) / 1_000_000)
    assert cost(plain, above) == pytest.approx(2 * (200_000 * 0.3 + 3 + 150) / 1_000_000)


def test_output_does_not_count_towards_the_size(plain: Price) -> None:
    assert cost(plain, Tokens(output=300_000)) == pytest.approx(4.5)


def test_more_tokens_kept_for_an_hour_than_written_are_no_discount(plain: Price) -> None:
    assert cost(plain, Tokens(cache_write=10, cache_write_long=99)) == pytest.approx(60 / 1_000_000)


def test_where_the_data_has_no_rate_for_the_cache_its_tokens_are_input() -> None:
    price = look_up("gpt-5.4", NOW)
    assert price is not None and price.cache_write == price.cache_write_long == price.input


# Against the package


def usage_of(tokens: Tokens) -> Usage:
    return Usage(
        input_tokens=tokens.input + tokens.cache_read + tokens.cache_write,
        output_tokens=tokens.output,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
        cache_write_1h_tokens=tokens.cache_write_long,
    )


def their_costs(info: ModelInfo, tokens: Tokens, day: str) -> Iterator[float]:
    """What the package computes for each hour of a day, or for one where all are alike; without fees for requests."""
    conditions = [] if isinstance(info.prices, ModelPrice) else [price.constraint for price in info.prices]
    by_hour = any(isinstance(condition, TimeOfDateConstraint) for condition in conditions)
    for hour in range(24) if by_hour else [12]:
        rates = vars(info.get_prices(datetime.fromisoformat(f"{day}T{hour:02}:00:00+00:00")))
        price = ModelPrice(**{key: rate for key, rate in rates.items() if key != "requests_kcount"})
        yield float(price.calc_price(usage_of(tokens))["total_price"])


def last_change(info: ModelInfo) -> str:
    conditions = [] if isinstance(info.prices, ModelPrice) else [price.constraint for price in info.prices]
    days = [each.start_date.isoformat() for each in conditions if isinstance(each, StartDateConstraint)]
    return max(days, default="")


@pytest.mark.parametrize("day", ["2023-05-01", *DAYS])
def test_every_model_of_the_package_has_its_price_of_each_day_and_size(day: str) -> None:
    """By the dearest hour since the last change; nobody says that prices went by the hour before it."""
    compared = 0
    for theirs, ours in zip(get_snapshot().providers, prices._data().providers, strict=True):
        for info, listed in zip(theirs.models, ours.models, strict=True):
            kept = tuple(prices._price(ours.id, listed, *period) for period in prices._periods(listed))
            price = in_force(kept, f"{day}T12:00:00.000000Z")
            assert price is not None
            assert (price.model, price.context_window) == (info.id, info.context_window)
            for size in {1000, *(rates.over + more for rates in price.above for more in (0, 1))}:
                tokens = Tokens(
                    input=size - size // 2,
                    cache_read=size // 4,
                    cache_write=size // 2 - size // 4,
                    cache_write_long=size // 8,
                    output=777,
                )
                dearest = max if day >= last_change(info) else min
                expected = dearest(their_costs(info, tokens, day))
                assert cost(price, tokens) == pytest.approx(expected, rel=1e-9, abs=1e-15), (info.id, size)
                compared += 1
    assert compared > 2000


def as_the_package_finds(name: str) -> tuple[str, str] | None:
    spellings = prices._spellings(name.strip().lower())
    return next(filter(None, map(as_the_package_finds_as_written, spellings)), None)


def as_the_package_finds_as_written(name: str) -> tuple[str, str] | None:
    providers = get_snapshot().providers
    head, mark, rest = name.partition("/")
    if mark and (provider := find_provider_by_id(providers, head)):
        info = provider.find_model(rest, all_providers=providers)
        return (provider.id, info.id) if info else as_the_package_finds_as_written(rest)
    for provider in providers:
        is_maker = provider.model_match is not None and provider.model_match.is_match(name)
        if (is_maker or re.match(r"([a-z-]+\.)+[a-z]", name)) and (info := provider.find_model(name)):
            return provider.id, info.id
    return None


@pytest.mark.parametrize("around", AROUND)
def test_a_name_leads_to_the_model_that_the_package_finds(around: str) -> None:
    for name in (around.format(name) for name in MODELS + TRANSCRIPTS):
        assert found(name) == as_the_package_finds(name), name


def test_every_model_of_the_package_is_found_where_the_package_finds_it() -> None:
    for provider in get_snapshot().providers:
        for info in provider.models:
            for name in (info.id, f"{provider.id}/{info.id}"):
                assert found(name) == as_the_package_finds(name), name


PIECES = sorted(
    {piece for model in MODELS + TRANSCRIPTS for piece in re.split(r"(?<=[-/.])|(?=[-/.])", model)}
    | {
        "us.",
        "anthropic",
        "amazon.",
        "models/",
        "@20251101",
        "-20251211",
        "-latest",
        "[1m]",
        "azure/",
        ":free",
    }
    | {
        "mistral",
        "grok",
        "kimi",
        "glm-",
        "-tts",
        "composer-2.5",
        "[fast=true]",
        "İ",
        "ß",
        "Σ",
        "٣",
        " ",
        "-2025١٢11",
    }
)


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=9).map("".join))
def test_whatever_a_name_is_put_together_from_the_package_agrees(name: str) -> None:
    assert found(name) == as_the_package_finds(name)


# Names


def found(name: str) -> tuple[str, str] | None:
    price = look_up(name, NOW)
    return (price.provider, price.model) if price else None


@pytest.mark.parametrize("model", MODELS)
def test_every_model_that_agents_name_has_a_price(model: str) -> None:
    price = look_up(model, NOW)
    assert price is not None and 0 < price.input < price.output


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("Claude-Opus-4-5-20251101", "anthropic", "claude-opus-4-5"),
        ("anthropic/claude-opus-4.5", "anthropic", "claude-opus-4-5"),
        ("claude-sonnet-4-5[1m]", "anthropic", "claude-sonnet-4-5"),
        ("claude-opus-4-5@20251101", "anthropic", "claude-opus-4-5"),
        ("models/gemini-2.5-pro", "google", "gemini-2.5-pro"),
        ("projects/p/locations/l/publishers/google/models/gemini-2.5-pro", "google", "gemini-2.5-pro"),
        ("openai/gpt-5-2025-08-07", "openai", "gpt-5"),
        ("openrouter/anthropic/claude-sonnet-4", "openrouter", "anthropic/claude-sonnet-4"),
        ("vertex_ai/claude-3-5-sonnet@20240620", "google", "claude-3-5-sonnet"),
    ],
)
def test_a_name_is_found_with_what_agents_put_around_it(name: str, provider: str, model: str) -> None:
    assert found(name) == (provider, model)


@pytest.mark.parametrize("prefix", ["", "bedrock/", "arn:aws:bedrock:us-east-1::inference-profile/"])
def test_what_a_cloud_rents_out_has_the_clouds_price(prefix: str) -> None:
    price = look_up(f"{prefix}us.anthropic.claude-sonnet-4-5-20250929-v1:0", NOW)
    assert price is not None and (price.provider, price.input) == ("aws", 3.3)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "<synthetic>",
        "my-model",
        "opus",
        "aide-gpt-5",
        "gpt-5.3-codex-spark",
        "/",
        "a/b/c",
        "ollama/llama3",
    ],
)
def test_what_the_data_does_not_know_has_no_price(name: str) -> None:
    assert look_up(name, NOW) is None and history(name) == ()


@given(st.text(max_size=300) | st.just("x" * 10**6))
def test_no_name_is_too_odd_to_be_looked_for(name: str) -> None:
    assert isinstance(history(name), tuple)


# Time


def test_an_answer_is_priced_as_of_its_day() -> None:
    tokens = Tokens(cache_read=250_000, output=1000)
    before, after = (
        look_up("claude-opus-4-6", f"{day}T23:59:59.999999Z") for day in ("2026-03-12", "2026-03-13")
    )
    assert before is not None and after is not None
    assert cost(before, tokens) > cost(after, tokens)
    assert (before.since, after.since) == ("", "2026-03-13")


def test_a_history_is_in_order_and_its_first_price_holds_before_all_of_them() -> None:
    kept = history("gpt-5.6-sol")
    assert len(kept) > 1 and [price.since for price in kept] == sorted(price.since for price in kept)
    assert in_force(kept, "1999-01-01T00:00:00.000000Z") == kept[0]
    assert in_force((), NOW) is None


def test_without_a_moment_the_price_is_todays() -> None:
    assert look_up("o3") == history("o3")[-1]


# Size, context, and what is said


@pytest.mark.parametrize(
    ("output", "expected"),
    [(0.5, True), (6.0, True), (6.1, None), (19.9, None), (20.0, False), (75.0, False)],
)
def test_a_models_size_is_told_by_its_price(plain: Price, output: float, expected: bool | None) -> None:
    assert is_small(msgspec.structs.replace(plain, output=output)) is expected
    assert is_small(None) is None


def test_a_context_window_is_told_where_the_data_has_it() -> None:
    known, unknown = look_up("claude-opus-4-5-20251101", NOW), look_up("gemini-3.1-pro-preview", NOW)
    assert known is not None and known.context_window == 200_000
    assert unknown is not None and unknown.context_window is None


@pytest.mark.parametrize("model", MODELS)
def test_a_price_can_be_written_down_and_kept(model: str) -> None:
    kept: Any = msgspec.json.decode(msgspec.json.encode(history(model)), type=tuple[Price, ...])
    assert kept == history(model)
    assert {price.as_of for price in kept} == {prices.data_date()}


def test_a_notice_names_the_models_and_the_data() -> None:
    assert prices.notice([]) == prices.notice([""]) == ""
    assert prices.notice(["b", "a", "b"]) == (
        f"no price known for a, b (price data: {prices.data_date()}; update Segue)"
    )
    assert "a, b, c and 2 more" in prices.notice("abcde")


# The file


def test_a_model_is_found_without_the_package() -> None:
    code = (
        "import sys; sys.modules['genai_prices'] = sys.modules['pydantic'] = None; "
        "from segue.usage import prices; assert prices.look_up('gpt-5.4'); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"httpx2", "anyio", "importlib.metadata"} & set(done.stdout.split())


def test_neither_a_cost_nor_the_stamp_reads_all_of_the_file() -> None:
    code = (
        "from segue.usage import prices; from segue.model import Tokens; "
        "rates = dict(input=1.0, output=1.0, cache_read=1.0, cache_write=1.0, cache_write_long=1.0); "
        "prices.cost(prices.Price(model='m', provider='p', **rates), Tokens(input=1)); "
        "print(prices.stamp(), prices.data_date(), prices._data.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*prices.stamp().split(), *prices.data_date().split(), "0"]


def test_the_file_says_which_data_it_is_and_whose() -> None:
    text = Path(prices.FILE).read_text()
    told = json.loads(text)
    assert (
        prices.data_date() == f"genai-prices {told['version']}" == f"genai-prices {version('genai-prices')}"
    )
    assert told["version"] in prices.stamp() and "/pydantic/genai-prices" in told["source"]
    assert "MIT" in told["licence"][0] and any("Copyright (c) Pydantic" in line for line in told["licence"])


def test_the_file_has_each_model_on_a_line_of_its_own() -> None:
    lines = Path(prices.FILE).read_text().splitlines()
    models = [
        model["id"] for provider in json.loads("".join(lines))["providers"] for model in provider["models"]
    ]
    assert models == [json.loads(line.rstrip(","))["id"] for line in lines if '"prices": ' in line]


@pytest.mark.parametrize("model", MODELS)
def test_kept_prices_cost_what_prices_cost(model: str) -> None:
    kept = json.loads(prices.written(model))
    tokens = Tokens(input=7, output=11, cache_read=13, cache_write=17, cache_write_long=5)
    for size_class in range(len(CLASSES) + 1):
        for day in ("1970-01-01", *(price.since for price in history(model) if price.since), "2026-11-16"):
            price = in_force(history(model), day)
            rates = usage_rates.rates_of(kept, size_in(size_class), day)
            assert (price is None) == (rates is None)
            if price and rates:
                expected = prices.cost_at(price.rates(size_in(size_class)), tokens)
                assert usage_rates.cost((7, 11, 13, 17, 5), rates) == expected
