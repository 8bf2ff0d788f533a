"""Lazy patterns behave like ordinary patterns."""

from __future__ import annotations

import re

import pytest

from segue.base.lazy_regex import lazy_pattern


def test_a_lazy_pattern_finds_what_a_pattern_finds() -> None:
    lazy, plain = lazy_pattern(r"(?P<word>b+)\d", re.IGNORECASE), re.compile(r"(?P<word>b+)\d", re.IGNORECASE)
    text = "abB1 b2 x"
    for _first_and_again in range(2):
        assert lazy.findall(text) == plain.findall(text)
        assert [found.span("word") for found in lazy.finditer(text)] == [(1, 3), (5, 6)]
        assert lazy.sub("-", text) == "a- - x" and lazy.split(text) == plain.split(text)
        assert lazy.fullmatch(text) is None and lazy.match("b1") and lazy.search(text, 4)
    assert (lazy.pattern, lazy.flags, lazy.groups) == (plain.pattern, plain.flags, plain.groups)
    assert repr(lazy) == repr(plain)


def test_a_lazy_pattern_is_compiled_when_it_is_used_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_now = re.compile

    def counted(text: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(text)
        return compile_now(text, flags)

    monkeypatch.setattr(re, "compile", counted)
    lazy = lazy_pattern("a+")
    assert compiled == []
    assert lazy.search("caa") and lazy.search("aa") and lazy.sub("", "a") == ""
    assert compiled == ["a+"]
