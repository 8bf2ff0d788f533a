"""Prices: as the data has them, of the day of the answer, and none where the data has none."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from typing import Any

import msgspec
import pytest
from genai_prices import Usage, calc_price
from hypothesis import given, settings
from hypothesis import strategies as st

from segue import prices
from segue.model import Tokens
from segue.prices import Price, Rates, cost, history, in_force, is_small, look_up

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
    theirs = calc_price(
        Usage(
            input_tokens=plain + read + write,
            output_tokens=output,
            cache_read_tokens=read,
            cache_write_tokens=write,
            cache_write_1h_tokens=long,
        ),
        model,
        genai_request_timestamp=datetime.fromisoformat(f"{day}T12:00:00+00:00"),
    )
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


def test_neither_prices_nor_a_cost_load_the_package() -> None:
    code = (
        "import sys; from segue import prices; from segue.model import Tokens; "
        "rates = dict(input=1.0, output=1.0, cache_read=1.0, cache_write=1.0, cache_write_long=1.0); "
        "prices.cost(prices.Price(model='m', provider='p', **rates), Tokens(input=1)); "
        "prices.data_date(); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"genai_prices", "pydantic", "httpx2"} & set(done.stdout.split())
