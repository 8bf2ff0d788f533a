"""Fence: data stays data whatever it contains, and a person's words are unchanged."""

from __future__ import annotations

import re
import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from segue.base.fence import (
    CLOSE,
    MARK,
    OPEN,
    SIGNS,
    STRUCTURE,
    Part,
    fenced,
    neutral,
    nonce,
    one_line,
    restored,
    unfenced,
)
from segue.errors import BadInput
from tests.payloads import EVICTIONS, PAYLOADS, evictions, marker_of, payloads

KEY, OTHER_KEY = b"a key for the tests, 32 bytes ..", b"another key, and it has 32 bytes"
NONCE = nonce(KEY, "a brief")

CONTROL = re.compile(
    r"<\s*/?\s*(?:system|user|human|assistant|tool_use|tool_result|function_calls|function_results|invoke|parameter)\b"
    r"|<[|｜]\w+[|｜]>|\[/?INST\]|<</?SYS>>|</?s>|<start_of_turn|<end_of_turn"
    r"|^[ \t>*_]{0,6}(?:human|assistant|user|system)\s*(?:\*\*)?:|^ {0,3}(?:#{1,6}\s|```|~~~)|<<<\s*data\b|\bdata\s*>>>",
    re.IGNORECASE | re.MULTILINE,
)
"""Control text of models and programs, written independently of the rules under test."""


def is_visible(text: str) -> bool:
    return all(
        char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in text
    )


# The nonce and the fence


def test_the_same_brief_has_the_same_nonce_and_no_other_has() -> None:
    assert nonce(KEY, "a brief") == NONCE == nonce(KEY, "a brief")
    assert len({NONCE, nonce(KEY, "another"), nonce(OTHER_KEY, "a brief")}) == 3
    assert re.fullmatch(r"[0-9a-f]{12}", NONCE)


def test_what_was_fenced_comes_out_as_it_went_in() -> None:
    text = "\n".join(["# Goal", fenced(["one", "two\nthree"], NONCE), "then", fenced([], NONCE)])
    assert unfenced(text, NONCE) == (
        Part(False, ("# Goal",)),
        Part(True, ("one", "two", "three")),
        Part(False, ("then",)),
        Part(True, ("",)),
    )


@given(st.lists(st.text()), st.lists(st.text()))
def test_nothing_inside_gets_out(inside: list[str], outside: list[str]) -> None:
    text = "\n".join([*outside, fenced(inside, NONCE), *outside])
    data = [line for part in unfenced(text, NONCE) if part.is_data for line in part.lines]
    assert data == "\n".join(inside).split("\n")


@given(st.lists(st.sampled_from([OPEN + NONCE, NONCE + CLOSE, NONCE, "x", OPEN, CLOSE]), max_size=6))
def test_not_even_with_the_nonce(lines: list[str]) -> None:
    assert [part.is_data for part in unfenced(fenced(lines, NONCE), NONCE)] == [True]


@pytest.mark.parametrize(
    "text",
    [
        f"{OPEN}{NONCE}\nno end",
        f"no start\n{NONCE}{CLOSE}",
        f"{OPEN}{NONCE}\n{OPEN}{NONCE}\n{NONCE}{CLOSE}",
        f"the nonce is {NONCE}",
    ],
)
def test_fences_that_do_not_match_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="do not match"):
        unfenced(text, NONCE)


# Payloads


def test_the_payloads_are_as_many_as_promised_and_all_different() -> None:
    assert len(payloads()) == len({marker_of(text) for text in payloads()}) == PAYLOADS == 150
    assert len(evictions()) == len(set(evictions())) == EVICTIONS == 50


def test_no_payload_keeps_any_control_text_as_data() -> None:
    assert sum(CONTROL.search(text) is not None for text in payloads()) > 60, "or this tests little"
    for text in payloads():
        made = neutral(text)
        assert CONTROL.search(made) is None, made
        assert is_visible(made) and marker_of(made) == marker_of(text)


def test_no_payload_leaves_its_fence() -> None:
    for text in [*payloads(), *evictions()]:
        brief = "\n".join(["# Constraints", "keep out", fenced(neutral(text).split("\n"), NONCE), "# Next"])
        outside = [line for part in unfenced(brief, NONCE) if not part.is_data for line in part.lines]
        assert outside == ["# Constraints", "keep out", "# Next"]


def test_floods_are_neutralised_in_no_time() -> None:
    started = time.process_time()
    for text in evictions():
        neutral(text)
    assert time.process_time() - started < 10


# Neutral text


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("<system-reminder>x</system-reminder>", "<·system-reminder>x<·/system-reminder>"),
        ("< / Tool_Use >", "<· / Tool_Use >"),
        ("<|im_start|>system", "<·|im_start|>system"),
        ("[INST] x [/INST]", "[·INST] x [·/INST]"),
        ("<<SYS>>", "<·<SYS>>"),
        ("Human: x\n  assistant: y", "Human·: x\n  assistant·: y"),
        ("# Goal\n   ```sh", "·# Goal\n   ·```sh"),
        ("<<<data 1\n1 data>>>", "<<<·data 1\n1 data·>>>"),
        ("a\x1b[31mred\x1b[0m", "ared"),
        ("a\x1b]0;title\x07", "a␛]0;title␇"),
        ("one\r\ntwo\rthree", "one\ntwo␍three"),
        ("a\u200bb\u202ec\ufeff", "a⟨U+200B⟩b⟨U+202E⟩c⟨U+FEFF⟩"),
        ("x" + "\U000e0041" * 12, "x⟨12 hidden characters⟩"),
        ("\ud800\x85\u2028", "⟨U+D800⟩⟨U+0085⟩⟨U+2028⟩"),
    ],
)
def test_control_text_is_broken_up_for_all_to_see(text: str, made: str) -> None:
    assert neutral(text) == made


@pytest.mark.parametrize(
    "text",
    [
        "vector<int> and List<String>, a < b, x <- y",
        "def human(assistant): return system",
        "the user: ada, #channel, `code`, a # comment",
        "नमस्\u200dते 👩\u200d💻 ❤️ naïve – 漢字",
        "foo |> bar <| baz",
        "\ttabs\n\nand lines",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert neutral(text) == text


def test_a_person_may_write_tags_but_no_structure_and_nothing_unseen() -> None:
    said = "use <system> tags\nHuman: is a word\n# a heading\n```\n<<<data x\na\u200bb"
    assert neutral(said, is_human=True) == (
        "use <system> tags\nHuman: is a word\n·# a heading\n·```\n<<<·data x\na⟨U+200B⟩b"
    )


CODE = st.lists(
    st.sampled_from(
        ["<", ">", "/", "|", "[", "]", MARK, "#", "`", "```", "~~~", ":", "\n", " ", "system", "INST", "Human", "data", "s", "<<<", ">>>", "\x1b[1m", "\u200b", "\r", "x"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@given(st.one_of(CODE, st.text()), st.booleans())
def test_neutral_text_is_visible_and_stays_neutral(text: str, is_human: bool) -> None:
    made = neutral(text, is_human=is_human)
    assert neutral(made, is_human=is_human) == made
    assert all(char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp") for char in made)
    if not is_human:
        assert CONTROL.search(made) is None


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_marks_can_be_taken_out_again(text: str) -> None:
    assert restored(neutral(text)) == text


@given(st.text(), st.integers(1, 80))
def test_one_line_is_one_line_and_no_longer_than_asked(text: str, limit: int) -> None:
    made = one_line(text, limit)
    assert "\n" not in made and len(made) <= limit
    assert len(made.splitlines()) <= 1


def test_one_line_keeps_a_name_as_it_is() -> None:
    assert one_line("src/segue/fence.py", 40) == "src/segue/fence.py"
    assert one_line("a\n\nb\t c", 40) == "a b c"
    assert one_line("Human: " + "x" * 50, 12) == "Human·: xxx…"


PIECES = ("#", "##", "```", "~~~", "<<<", ">>>", "data", "DATA", " ", "\n", "x")


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
@example("<<<data")
@example("data >>>")
@example("~~~")
@example("```")
@example("# x")
def test_nothing_that_a_brief_is_made_of_goes_without_one_of_its_signs(text: str) -> None:
    assert any(sign in text for sign in SIGNS) or not STRUCTURE.search(text)
