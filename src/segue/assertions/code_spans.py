"""What a piece of code in prose is: a path, a symbol, a command, a commit, or only a text."""

from __future__ import annotations

import posixpath
import re
from enum import StrEnum

from segue.base.lazy_regex import lazy_pattern
from segue.facts.mentions import BARE_FILES, ENDINGS
from segue.model import Value
from segue.shell import commands

LONGEST = 300


def _named(words: str) -> frozenset[str]:
    return frozenset(words.split())


class What(StrEnum):
    PATH = "path"
    SYMBOL = "symbol"
    TEST = "test"
    COMMAND = "command"
    COMMIT = "commit"
    TEXT = "text"


class Span(Value, frozen=True):
    """A piece of code in prose."""

    what: What
    text: str
    """As it is meant: a path without its lines, a symbol without what it is called with."""
    said: str
    """As it stands there."""
    is_sure: bool = True
    """Whether it is what it seems whatever stands around it; a plain word is a symbol only where prose says so."""
    has_line: bool = False


LINES = lazy_pattern(
    r"(?P<path>[^\s:#]+?)(?:(?::\d+(?:[-:,]\d+(?::\d+)?)*(?:-\d+(?::\d+)?)?)|#L\d+(?:-L?\d+)?)$"
)
PATH = lazy_pattern(r"(?:\.{1,2}/|~/|/)?[\w@.+\[\]()$ -]+(?:/[\w@.+\[\]()$-]+)*/?")
CALL = lazy_pattern(
    r"(?P<name>[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)*)(?P<call>\((?P<inner>[^()]*)\))?"
)
TEST = lazy_pattern(r"(?:[\w./-]+\.\w+::)?(?:\w+::)*test_\w+(?:\[[^\]]*\])?|Test[A-Z]\w+(?:/\w+)*")
HUMP = lazy_pattern(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|^_+[a-z]|^[A-Z]{2,}[a-z]{2}")
SHA = lazy_pattern(r"(?=[a-f]*\d)[0-9a-f]{7,40}")
VAGUE = lazy_pattern(r"[*?<>{}|…]|\.\.\.|\bYYYY\b|\bXX+\b|\bfoo\b|\bexample\.|/path/to|://")
"""What stands for something else: a pattern, a placeholder, an address."""
PRODUCT = lazy_pattern(r"(?:[A-Z][a-z]+)\.(?:js|ts|io|net|py|rs|sh|md)")
"""Next.js and the like, where nobody marks it as code."""
LITERALS = _named(
    "None True False null true false undefined NaN self this string int bool float str dict list"
)
ATTRIBUTES = _named("patch log env service feature properties so r m pl diff exe d")
"""What may end the name of a file, and as well that of a function in a module."""
CODE = _named(
    "py pyi js jsx mjs cjs ts tsx mts cts vue svelte go rs rb php java kt scala swift m c h cc cpp hpp cs ex exs"
    " erl hs ml lua pl r jl dart zig nim sh bash sql proto css scss md rst tf"
)
"""Endings of what belongs to a project and is not made by running it."""


def of_code(said: str) -> Span:
    """What stands between two ticks."""
    text = said.strip()
    if not text or len(text) > LONGEST or "\n" in text:
        return Span(what=What.TEXT, text=text, said=said)
    if test := _test(text):
        return Span(what=What.TEST, text=test, said=said)
    if path := path_in(text):
        return Span(what=What.PATH, text=path, said=said, has_line=path != text.rstrip("/"))
    if SHA.fullmatch(text):
        return Span(what=What.COMMIT, text=text, said=said)
    if is_command(text):
        return Span(what=What.COMMAND, text=text, said=said)
    return _symbol(text) or Span(what=What.TEXT, text=text, said=said)


def of_word(word: str) -> Span | None:
    """What a word in prose is that nobody marked as code; None for a plain word."""
    if PRODUCT.fullmatch(word) or "://" in word:
        return None
    plain = word.rstrip(".,")
    if plain.endswith("()"):
        return _symbol(plain)
    if "/" not in plain and "_" in plain and "." not in plain:
        return of_code(plain) if TEST.fullmatch(plain) else _symbol(plain)
    path = path_in(plain)
    name = path.rpartition("/")[2]
    is_file = "." in name[1:] and name.rpartition(".")[2].lower() in ENDINGS and not name.startswith(".")
    return Span(what=What.PATH, text=path, said=word, has_line=path != plain) if path and is_file else None


def _test(text: str) -> str:
    return text.removesuffix("()") if TEST.fullmatch(text.removesuffix("()")) else ""


def path_in(text: str) -> str:
    """The path that a text is, without the lines that it points to; empty where it is none."""
    text = text.removeprefix("file://").strip("\"'")
    found = LINES.fullmatch(text)
    path = found["path"] if found else text
    if (
        VAGUE.search(path)
        or (" " in path and "/" not in path)
        or " /" in path
        or not PATH.fullmatch(path)
        or "(" in path
    ):
        return ""
    is_folder = path.endswith("/")
    name = path.rstrip("/").rpartition("/")[2]
    if name in BARE_FILES:
        return path
    stem, dot, ending = name.rpartition(".")
    is_file = bool(dot) and bool(stem) and (ending.lower() in ENDINGS or ("/" in path and bool(found)))
    if ending in ATTRIBUTES and "/" not in path and not found:
        return ""
    if is_file and " " not in name:
        return posixpath.normpath(path)
    return path.rstrip("/") if is_folder and path.count("/") > 1 and not path.startswith(("/", "@")) else ""


def is_command(text: str) -> bool:
    """Whether a text is a command that someone could type: of several words, or a program that needs no other."""
    words = text.split()
    if VAGUE.search(text.replace("./...", "")) or not words or not re.match(r"[\w./$-]+$", words[0]):
        return False
    purpose = commands.purpose(text)
    if len(words) == 1:
        return purpose in ("test", "build", "lint") and text not in ("test", "build", "task", "type")
    is_own = words[0] in commands.SCRIPTED or words[0].startswith(("./", "python", "node", "uv"))
    return purpose not in ("", "run") or (purpose == "run" and is_own)


def _symbol(text: str) -> Span | None:
    found = CALL.fullmatch(text)
    if found is None or found["name"] in LITERALS:
        return None
    name = re.split(r"\.|::|#|->", found["name"])[-1]
    if not 2 <= len(name) <= 80:
        return None
    is_sure = found["call"] is not None or HUMP.search(name) is not None
    return Span(what=What.SYMBOL, text=name, said=text, is_sure=is_sure)
