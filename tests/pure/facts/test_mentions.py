"""Mentions in texts."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.facts.mentions import DRAWN, LONGEST_PATH, TOKEN, Mention, mentions, names, paths, tokens


def named(text: str, kind: str) -> list[str]:
    return [mention.text for mention in mentions(text) if mention.kind == kind]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("url", "See https://example.com/a?b=c#d, and (http://localhost:3000/x).", ["https://example.com/a?b=c#d", "http://localhost:3000/x"]),
        ("url", "no scheme: example.com", []),
        ("commit", "Fixed in 09bd59e, see commit `1a2b3c4d`", ["09bd59e", "1a2b3c4d"]),
        ("commit", "HEAD: 81011037413c9efbd9c3f338388dc5c17911ed0f", ["81011037413c9efbd9c3f338388dc5c17911ed0f"]),
        ("commit", "commit defaced and 1234567 lines", []),
        ("id", "closes #123 and owner/repo#45; ENT-197, not UTF-8 or L99-107", ["#123", "owner/repo#45", "ENT-197"]),
        ("id", "color: #444444 and # 5", []),
        ("id", "session 9a996912-5eb7-4ee5-b3d9-eda41f481241.", ["9a996912-5eb7-4ee5-b3d9-eda41f481241"]),
        ("port", "on localhost:3000, 127.0.0.1:8080, port 5432, --port 9000, PORT=4000", ["3000", "8080", "5432", "9000", "4000"]),
        ("port", "a.py:120: x, report 12, localhost:99999, support 24", []),
        ("version", "v1.2.3 react@18.2.0 @scope/x@1.0.0-beta.1 ruff==0.5.0", ["v1.2.3", "react@18.2.0", "@scope/x@1.0.0-beta.1", "ruff==0.5.0"]),
        ("version", "actions/checkout@v4 and version 2.0.1", ["actions/checkout@v4", "version 2.0.1"]),
        ("version", "took 1.5 s, pass@1, me@example.com", []),
        ("path", "edit src/app/main.py, ./run.sh and package.json.", ["src/app/main.py", "./run.sh", "package.json"]),
        ("path", "`/etc/hosts.d/x` ~/notes/todo Makefile .gitignore a/b/.env", ["/etc/hosts.d/x", "~/notes/todo", "Makefile", ".gitignore", "a/b/.env"]),
        ("path", "look at @src/a.ts and src/b.ts#L12 and c.go:12:5", ["src/a.ts", "src/b.ts", "c.go"]),
        ("path", "and/or, 1.2.3, e.g. this, os.path.join, example.com, https://x.org/a.py, 3/4", []),
        ("identifier", "call parse_args, useState, HandoffContext and MAX_SIZE in os.path.join", ["parse_args", "useState", "HandoffContext", "MAX_SIZE", "os.path.join"]),
        ("identifier", "the `worktree` of `run()` and `a b`", ["worktree", "run"]),
        ("identifier", "Just plain words, URLs and JSON, e.g. in main.py on example.com", []),
        ("identifier", "XMLParser _private $scope.apply", ["XMLParser", "_private", "$scope.apply"]),
        ("identifier", "a1B2c3D4e5F6 is a hash", []),
    ],
)  # fmt: skip
def test_what_a_text_names_is_found(kind: str, text: str, expected: list[str]) -> None:
    assert named(text, kind) == expected


def test_the_quick_ways_find_what_the_whole_finds() -> None:
    text = "edit src/a.py where parse_args calls useState; src/a.py again, parse_args again"
    assert paths(text) == named(text, "path") == ["src/a.py"]
    assert names(text) == named(text, "identifier") == ["parse_args", "useState"]


def test_each_thing_is_named_once() -> None:
    found = mentions("#1 #1 v1.0 v1.0 a_b a_b a/b.py a/b.py http://x.org http://x.org port 80 port 80")
    assert len(found) == len(set(found)) == 6
    assert all(isinstance(mention, Mention) for mention in found)


WORDS = st.sampled_from(
    [
        "src/a.py",
        "https://x.org/",
        "#",
        "#12",
        "AB-1",
        "commit",
        "deadbee1",
        "1a2b3c4",
        "localhost:",
        "3000",
        "port",
        "80",
        "v1.",
        "2.3",
        "@",
        "x@1.2",
        "==",
        "`",
        "a_b",
        "aB",
        ".",
        "..",
        "/",
        "~",
        "$",
        "-",
        "\\",
    ]
)


@given(
    st.one_of(
        st.text(), st.lists(WORDS, max_size=40).map("".join), st.lists(WORDS, max_size=40).map(" ".join)
    )
)
def test_no_text_is_too_strange(text: str) -> None:
    for mention in mentions(text):
        assert mention.text
        assert not mention.text.isspace()
    assert all(0 < len(path) <= LONGEST_PATH for path in paths(text))
    assert all(name in text for name in names(text))


@pytest.mark.parametrize(
    "piece",
    [
        *("a.", "a/", "a-", "A1-", "AB-", "#1", "x@1.", "`", "http://", "a_", "port ", "deadbeef-", "v1.", "commit ", "Aa "),
        *("a.b/c#", " ", "-1.2.3.4-", "localhost:1", "==1", "version ", "\\", "0", "é", "a.py ", "commit 1a2b3c4 ", "../"),
    ],
)  # fmt: skip
def test_a_megabyte_of_malice_takes_no_longer_than_any_other(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    for read in (mentions, paths, names):
        start = time.process_time()
        read(text)
        assert time.process_time() - start < 6


@given(
    st.text(
        st.one_of(st.sampled_from("aZ9_@~./\\+$#- \n\t:\x1c\x85\xa0é漢" + DRAWN), st.characters()),
        max_size=40,
    )
)
def test_a_text_is_taken_apart_the_same_way_however_that_is_done(text: str) -> None:
    assert tokens(text) == list(dict.fromkeys(TOKEN.findall(text)))


def test_an_address_ends_with_its_link() -> None:
    text = "[![built](https://img.example/badge)](https://example.com/plugin) and file://"
    assert named(text, "url") == ["https://img.example/badge", "https://example.com/plugin"]
    assert named("https://example.com/" + "a" * 600, "url") == [], "half of an address is none"
