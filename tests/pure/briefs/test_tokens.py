"""Token counts: never too few for a budget, additive for a packer, and unmoved by hostile text."""

from __future__ import annotations

import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from segue.briefs import tokens

SAMPLES = {
    "Please fix the failing test in src/parser/lexer.py, and don't touch the public API.": 19,
    "def add(left: int, right: int) -> int:\n    return left + right\n": 19,
    "FAILED tests/test_cli.py::test_help - AssertionError: assert 2 == 0": 18,
    "2026-03-04T05:06:07Z 0.9.12 e3b0c44298fc1c149afbf4c8996fb924": 38,
    "El servidor no responde; reinícialo mañana.": 11,
    "Сервер не отвечает, перезапустите его.": 12,
    "服务器没有响应,请重新启动。": 8,
    "┌──────────┐\n│ ok ✓ → 👍 │\n└──────────┘": 20,
}
"""What o200k counts for each, as its own vocabulary says."""

TEXT = st.text(st.characters(exclude_categories=()), max_size=200)
estimate = tokens.estimated().count


@pytest.mark.parametrize(("text", "known"), SAMPLES.items())
def test_the_estimate_is_not_short_of_o200k_and_not_far_above(text: str, known: int) -> None:
    assert known * 0.95 <= estimate(text) <= known * 2


@pytest.mark.parametrize(("text", "known"), SAMPLES.items())
def test_the_vocabulary_counts_as_o200k_does(text: str, known: int) -> None:
    exact = tokens.vocabulary()
    assert exact and exact(text) == known


@given(TEXT, TEXT)
def test_lines_count_together_what_they_count_apart_at_most(first: str, second: str) -> None:
    assert estimate(f"{first}\n{second}") <= estimate(f"{first}\n") + estimate(second)


@given(TEXT, TEXT)
@example("  ", "  indented")
@example("──", "──")
@example("don'", "t")
@example("\ud83d", "\ude00")
def test_a_cut_outside_a_word_never_lowers_the_estimate(first: str, second: str) -> None:
    if first[-1:].isascii() and first[-1:].isalpha() and second[:1].isascii() and second[:1].isalpha():
        return
    assert estimate(first + second) <= estimate(first) + estimate(second)


@given(TEXT, TEXT)
def test_a_vendors_margin_keeps_lines_additive(first: str, second: str) -> None:
    count = tokens.estimated("anthropic").count
    assert count(f"{first}\n{second}") <= count(f"{first}\n") + count(second)


@given(st.lists(TEXT, max_size=8))
def test_o200k_counts_lines_together_about_as_much_as_apart(lines: list[str]) -> None:
    count = tokens.counter().count
    apart = sum(count(f"{line}\n") for line in lines)
    assert count("".join(f"{line}\n" for line in lines)) <= apart + len(lines)


@given(TEXT)
def test_every_text_but_an_empty_one_counts(text: str) -> None:
    for counter in (tokens.counter(), tokens.estimated(), tokens.estimated("google")):
        assert (counter.count(text) > 0) == bool(text)


@given(TEXT, TEXT)
def test_the_estimate_of_more_lines_is_never_less(first: str, second: str) -> None:
    assert estimate(f"{first}\n") <= estimate(f"{first}\n{second}")


@given(TEXT)
def test_the_parts_that_are_charged_for_add_up_to_the_charge(text: str) -> None:
    parts = tokens.features(text)
    assert sum(tokens.CHARGES[name] * times for name, times in parts.items()) == tokens.thousandths(text)


@given(TEXT, st.sampled_from(["openai", "google", "alibaba", "anthropic", "someone else"]))
def test_no_vendor_counts_less_than_the_bare_measure(text: str, vendor: str) -> None:
    assert tokens.counter(vendor).count(text) >= tokens.counter().count(text)
    assert tokens.estimated(vendor).count(text) >= estimate(text)


def test_a_vendor_that_is_not_known_gets_the_widest_margin() -> None:
    text = "the quick brown fox " * 50
    widest = max(tokens.estimated(vendor).count(text) for vendor in tokens.MARGINS)
    assert tokens.estimated("nobody knows them").count(text) == widest


def test_a_counter_is_named_for_what_it_measures_by_and_what_it_adds() -> None:
    assert tokens.measured(len).name == "o200k"
    assert tokens.measured(len, "openai").name == "o200k (openai)"
    assert tokens.measured(len, "Google").name == "o200k + 29 % (google)"
    assert tokens.estimated().name == "estimate of o200k + 8 %"
    assert tokens.estimated("google").name == "estimate of o200k + 39 % (google)"


def test_a_margin_is_rounded_up() -> None:
    assert tokens.measured(len, "google").count("abc") == 4


def test_without_the_vocabulary_the_estimate_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "splintr", None)
    for cached in (tokens.counter, tokens.vocabulary):
        cached.cache_clear()
    try:
        assert tokens.counter("openai").name == tokens.estimated("openai").name
    finally:
        for cached in (tokens.counter, tokens.vocabulary):
            cached.cache_clear()


HOSTILE = {
    "one letter": "a" * 1_000_000,
    "letters without a space": "qzjxkvbw" * 125_000,
    "one sign": "─" * 300_000,
    "signs": "→─" * 150_000,
    "spaces": " " * 1_000_000,
    "NUL": "\0" * 1_000_000,
    "emoji": "👍🏽" * 100_000,
    "Chinese": "漢" * 300_000,
    "lone surrogates": "\ud800" * 300_000,
    "accents that stand alone": "e" + "\u0301" * 300_000,
    "changing case": "aB" * 500_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("kind", ["estimate", "at hand"])
def test_a_megabyte_of_hostile_text_is_counted_within_seconds(text: str, kind: str) -> None:
    counter = tokens.estimated() if kind == "estimate" else tokens.counter()
    begun = time.process_time()
    assert counter.count(text) > 0
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("name", ["letters without a space", "emoji", "Chinese", "NUL", "changing case"])
def test_noise_cannot_slip_past_a_budget(name: str) -> None:
    exact = tokens.vocabulary()
    assert exact and estimate(HOSTILE[name]) >= exact(HOSTILE[name]) * 0.8


def test_long_runs_are_not_kept_in_memory() -> None:
    before = len(tokens._charges)
    for length in range(tokens.KEPT_RUN + 1, tokens.KEPT_RUN + 400):
        tokens.thousandths("a" * length)
    assert len(tokens._charges) == before
