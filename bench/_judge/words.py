"""Paths, identifiers, sentences and word sequences in any text. Every pattern here is linear."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
TOKEN = re.compile(r"[\w./@~+-]{3,200}")
SPELLED = re.compile(r"(?<=[\s\"'`(])\\[nrt]|(?<=[\w,;)}\]>])\\[nrt](?=[A-Z])")
"""The end of a line as code spells it, and not a folder of a path with backslashes."""
PIECES = re.compile(r"[./@~+]")
EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")
HUMPS = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]|^[A-Z][a-z0-9]+[A-Z]")
SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
FENCE = re.compile(r"^\s*(```|~~~)")
PASTED = re.compile(
    r"^\s*(?:[>|$#%]|\d+\s*[+|:-]\s|[+-]\s{2,}|\d{4}-\d\d-\d\d|\d\d:\d\d|at \S+\(|File \"|[A-Z]+:? +\[|[\[{<])"
)
GENERIC = {
    "index", "main", "mod", "__init__", "readme", "package", "setup", "init", "lib", "types", "utils", "config",
    "test", "tests", "page", "app", "route", "skill",
}  # fmt: skip
VERSION = re.compile(r"^v?\d+(?:\.\d+)+$")
DRIVEN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]:\\[^\s\"'`<>|*?]+")


def words(text: str) -> list[str]:
    """Lower-case words without marks: what is compared when two texts should say the same."""
    return [word.replace("’", "'") for word in WORD.findall(text.lower())]


def grams(sequence: list[str], size: int) -> set[tuple[str, ...]]:
    if len(sequence) < size:
        return {tuple(sequence)} if sequence else set()
    return {tuple(sequence[start : start + size]) for start in range(len(sequence) - size + 1)}


def sentences(text: str) -> Iterator[str]:
    """Sentences that a person wrote: not code in a fence, not quoted or pasted lines, not a table."""
    fenced = False
    for line in text.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and not PASTED.match(line):
            for sentence in SENTENCE.split(line):
                if sentence.strip():
                    yield sentence.strip(" \t-*•")


def is_path(token: str) -> bool:
    name = token.rpartition("/")[2]
    if "/" in token:
        return bool(name) and not token.startswith(("//", "http")) and ".." not in name
    return bool(EXTENSION.search(name)) and not VERSION.match(name) and len(name) > 4


def is_identifier(token: str) -> bool:
    """A name that somebody made up: humps, underscores or hyphens between letters; not a plain word or number."""
    core = token.strip("_-.+")
    if len(core) < 5 or not core[0].isalpha() or core.count("-") > 4:
        return False
    if "_" in core or HUMPS.search(core):
        return True
    return "-" in core and core.replace("-", "").isalnum() and core.count("-") >= 2


def slashed(text: str) -> str:
    """A text in which paths of Windows are written with slashes, as some write them anyhow."""
    if ":\\" not in text:
        return text
    return DRIVEN.sub(lambda found: found[0].replace("\\\\", "/").replace("\\", "/"), text)


def file_key(path: str) -> str:
    """A file by its name, with the folder where the name says little."""
    parts = [part for part in path.rstrip("/").split("/") if part not in ("", ".", "~")]
    if not parts:
        return ""
    stem = parts[-1].partition(".")[0].lower()
    return "/".join(parts[-2:]) if stem in GENERIC and len(parts) > 1 else parts[-1]


def references(text: str, folder: str = "") -> Iterator[str]:
    """What a text refers to: files by key, as seen from a folder, and identifiers; as often as it does."""
    if len(folder) > 1 and folder in text:
        text = re.sub(rf"(?<![\w./~-]){re.escape(folder.rstrip('/'))}/", "", text)
    for token in TOKEN.findall(SPELLED.sub(" ", text) if "\\" in text else text):
        yield from _named(token)


@lru_cache(maxsize=200_000)
def _named(token: str) -> tuple[str, ...]:
    token = token.strip(".-/+")
    name = token.rpartition("/")[2]
    if EXTENSION.search(name) and is_path(token) and ("/" in token or not _is_member(name)):
        return (file_key(token),)
    return tuple(piece.strip("_-") for piece in PIECES.split(token) if is_identifier(piece))


def _is_member(name: str) -> bool:
    """Whether 'a.b' is rather a member of something than a file: what follows the dot is no usual extension."""
    extension = name.rpartition(".")[2]
    return extension not in EXTENSIONS


EXTENSIONS = {
    "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "dart", "env", "ex", "exs", "go", "gradle", "h", "hpp", "hs",
    "html", "ini", "ipynb", "java", "js", "json", "jsonl", "jsx", "kt", "lock", "log", "lua", "md", "mdx", "mjs", "ml",
    "mod", "php", "pl", "png", "proto", "ps1", "py", "pyi", "r", "rb", "rs", "rst", "scala", "scss", "sh", "snap",
    "sol", "sql", "sum", "svelte", "svg", "swift", "tf", "tmpl", "toml", "ts", "tsx", "txt", "vue", "xml", "yaml",
    "yml", "zig", "zsh",
}  # fmt: skip


def strings(value: object) -> Iterator[str]:
    """Every string inside a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for part in value.values() for text in strings(part))
    elif isinstance(value, Iterable):
        yield from (text for part in value for text in strings(part))


def flat(text: str) -> str:
    """Lower-case, with every run of white space and marks of emphasis as one space."""
    return " ".join(re.sub(r"[\s`*]+", " ", text.lower()).split())
