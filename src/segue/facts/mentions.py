"""Mentions in a text: addresses, commits, tickets, ports, versions, paths and identifiers.

It reads whole transcripts, so every pattern is linear (repetitions are possessive or bounded), and checks of
single words run once per distinct word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from segue.base.lazy_regex import lazy_pattern

LONGEST_NAME = 80
LONGEST_PATH = 250


class Mention(Struct, frozen=True):
    kind: str
    """'url', 'commit', 'id' (an issue, a ticket, a UUID), 'port', 'version', 'path' or 'identifier'."""
    text: str


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Paths and identifiers

SIGNS = "@~./\\+$#-"
"""Characters of paths, tickets and versions besides letters and digits."""
TOKEN = lazy_pattern(rf"[\w{re.escape(SIGNS)}]{{2,}}+")
APART = bytes(code if chr(code).isalnum() or chr(code) in f"_{SIGNS}" else 32 for code in range(256))
"""Table for ASCII: characters of tokens stay, all others become spaces."""
DRAWN = "→—–…’“”•·│─├└✓✔✗✅❌"
"""Other common signs: line numbers, lists and boxes."""
ENDING = lazy_pattern(r"[A-Za-z][A-Za-z0-9]{0,9}")
BARE_FILES = _words(
    "Makefile Dockerfile Gemfile Rakefile Procfile Justfile Vagrantfile Jenkinsfile LICENSE CODEOWNERS .gitignore .env"
    " .dockerignore .gitattributes .npmrc .prettierrc .eslintrc .editorconfig .nvmrc"
)
DEVICES = _words("/dev/null /dev/stdin /dev/stdout /dev/stderr /dev/tty /dev/zero /dev/random /dev/urandom")
ENDINGS = _words(
    "py pyi ipynb js jsx mjs cjs ts tsx mts cts vue svelte astro go rs rb erb php java kt kts scala groovy gradle swift"
    " m mm c h cc cpp cxx hpp hh cs fs fsx vb ex exs erl hs ml mli elm clj cljs lua pl pm r jl dart zig nim sh bash zsh"
    " fish ps1 bat sql graphql proto json jsonl json5 yaml yml toml ini cfg conf env xml html htm css scss sass less md"
    " mdx rst txt csv tsv log lock tf tfvars hcl nix cmake mk png jpg jpeg gif svg webp ico pdf db sqlite wasm patch"
    " diff snap tmpl j2 plist properties sum mod service parquet zip gz tar tgz zst whl jar exe dll so dylib feature"
)
"""A plain word with one of these after a dot is a file, not an attribute."""
NO_ATTRIBUTES = ENDINGS | _words("com org net io dev ai app co edu gov de fr uk")
"""Endings of words that are not dotted names: those, and domains."""
NAME = lazy_pattern(r"[A-Za-z_$][\w$]*+(?:\.[A-Za-z_$][\w$]*+)*+")
HUMP = lazy_pattern(r"[a-z0-9][A-Z]|[a-zA-Z0-9]_[a-zA-Z0-9]|^_++[a-z]|[A-Z]{2}[a-z]{2}")
TICKED = lazy_pattern(r"`([^`\s]{2,80}+)`")


def paths(text: str) -> list[str]:
    """File paths in a text, each once, in order: with a folder and an extension, or with the extension of a file."""
    return paths_among(tokens(text))


def tokens(text: str) -> list[str]:
    """Candidates for paths, tickets and versions, each once, in order. ASCII text is split by its bytes, which is
    fast; for other text, letters and signs must be told apart."""
    for sign in DRAWN:
        if text.isascii():
            break
        text = text.replace(sign, " ")
    if not text.isascii():
        return list(dict.fromkeys(TOKEN.findall(text)))
    words = text.encode("ascii").translate(APART).decode("ascii").split()
    return [word for word in dict.fromkeys(words) if len(word) > 1]


def paths_among(words: Iterable[str]) -> list[str]:
    likely = [word.partition("#")[0] for word in words if may_be_path(word)]
    found = (word[1:] if word[:1] == "@" and word[1:2] != "/" else word for word in likely)
    return [word for word in dict.fromkeys(word.rstrip(".-") for word in found) if _is_path(word)]


def may_be_path(word: str) -> bool:
    return "." in word or "/" in word or word in BARE_FILES


def _is_path(word: str) -> bool:
    if len(word) > LONGEST_PATH or "//" in word or "@" in word[1:] or "..." in word or word in DEVICES:
        return False
    name = word.rpartition("/")[2]
    if name in BARE_FILES:
        return True
    stem, _, ending = name.rpartition(".")
    if stem and ENDING.fullmatch(ending):
        return "/" in word or ending.lower() in ENDINGS
    # Without an extension, it needs a known start and more depth than 'and/or'.
    return word.startswith(("/", "./", "../", "~/")) and word.count("/") > 1 and name[:1].isalnum()


def names(text: str) -> list[str]:
    """Identifiers in a text, each once, in order: snake_case, camelCase, PascalCase, CONSTANT_CASE, dotted."""
    if text.isascii() and text.isidentifier():
        return [text] if _is_name(text) else []
    # Without a one-letter owner: `t.TempDir` is about the member.
    found = (word[2:] if word[1:2] == "." else word for word in dict.fromkeys(NAME.findall(text)))
    return [word for word in dict.fromkeys(found) if _is_name(word)]


def _is_name(word: str) -> bool:
    if not 3 <= len(word) <= LONGEST_NAME:
        return False
    if "." in word:
        heads = word.split(".")
        return heads[-1].lower() not in NO_ATTRIBUTES and min(map(len, heads)) > 1 and not word.isupper()
    # Words with a third of digits are hashes or encoded data.
    return HUMP.search(word) is not None and 3 * sum(map(str.isdigit, word)) < len(word)


# All mentions

URL = lazy_pattern(
    r"\b(?:https?|ssh|git|wss?|postgres(?:ql)?|redis|mongodb|file)://[^\s<>\"'`|\\^{}]{2,500}+(?![^\s<>\"'`|\\^{}])"
)
ID = lazy_pattern(
    r"(?P<uuid>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})|(?:[\w.-]+/[\w.-]+)?#[1-9]\d{0,4}"
    r"|(?P<ticket>(?!(?:UTF|ISO|SHA|RFC|UTC|GMT|HTTP|MD|AES|RSA|IEEE|PEP|BASE|GPT)-)[A-Z]{2,10}-[1-9]\d{0,6})"
)
VERSION = lazy_pattern(
    r"(?:@?[A-Za-z][\w./-]*@[\^~]?v?|v)\d{1,5}(?:\.\d{1,6}){1,3}(?:[-+][0-9A-Za-z.+-]{1,30})?|[A-Za-z][\w./-]*@v\d{1,5}"
)
PINNED = lazy_pattern(r"[A-Za-z][\w.-]{0,60}==\d[\w.+-]{0,30}")
SAID_VERSION = lazy_pattern(r"ersion:? v?(\d{1,5}(?:\.\d{1,6}){1,3})(?![\w.]*\w)")
HEX = lazy_pattern(r"(?=[a-f]*\d)[0-9a-f]{7,40}")
COMMIT = lazy_pattern(
    r"\b(?:commits?|sha|hash|revision|rev|HEAD|fixed (?:in|by)|reverts?|cherry-pick|merged?|rebased? onto|pushed|bisect"
    r"|checkout|git show|git revert)\b[\s:=(`'\"@]{1,4}+([0-9a-f]{7,40})\b",
    re.IGNORECASE,
)
ADDRESS_PORT = lazy_pattern(r":(\d{2,5})(?![\d.])")
HOSTS = ("localhost", "127.0.0.1", "0.0.0.0", "[::1]", "[::]", "host.docker.internal")  # noqa: S104 - read, not bound
NAMED_PORT = lazy_pattern(r"(?<![A-Za-z])[Pp](?:ort|ORT)s?(?: is| number)?[ =:]{1,2}+(\d{2,5})(?![\d.])")


def mentions(text: str) -> tuple[Mention, ...]:
    """All mentions in a text, each once; addresses first, identifiers last."""
    rest = _without_addresses(text)
    words = _words_of(rest)
    return tuple(dict.fromkeys((*_references(text, rest, words), *_paths_and_names(rest, words))))


def references(text: str) -> tuple[Mention, ...]:
    """Mentions by address, number or hash, each once: all except paths and identifiers."""
    rest = _without_addresses(text)
    return tuple(dict.fromkeys(_references(text, rest, _words_of(rest))))


def _without_addresses(text: str) -> str:
    return URL.sub(" ", text) if "://" in text else text


def _words_of(text: str) -> list[str]:
    """Tokens without punctuation at the end."""
    return list(dict.fromkeys(token.rstrip(".-") for token in tokens(text)))


def _references(whole: str, text: str, words: list[str]) -> Iterator[Mention]:
    yield from (Mention("port", port) for port in _ports(whole))
    if "://" in whole:
        # A linked picture: one address ends where the other begins.
        addresses = (one.rstrip(".,;:!?)]*") for found in URL.findall(whole) for one in found.split(")]("))
        yield from (Mention("url", one) for one in addresses if not one.endswith("//"))
    yield from (Mention("id", token) for token in words if ID.fullmatch(token[:200]))
    if any(HEX.fullmatch(token) for token in words):
        yield from (
            Mention("commit", sha.lower()) for sha in COMMIT.findall(text) if HEX.fullmatch(sha.lower())
        )
    yield from (Mention("version", version) for version in _versions(text, words))


def _paths_and_names(text: str, words: list[str]) -> Iterator[Mention]:
    yield from (Mention("path", path) for path in paths_among(words))
    ticked = (word.removesuffix("()") for word in TICKED.findall(text))
    quoted = [word for word in ticked if NAME.fullmatch(word) and not _is_path(word)]
    yield from (Mention("identifier", name) for name in (*quoted, *names(text)))


def _ports(text: str) -> Iterator[str]:
    told = (found[1] for found in ADDRESS_PORT.finditer(text) if text.endswith(HOSTS, 0, found.start()))
    named = NAMED_PORT.findall(text) if "ort" in text or "ORT" in text else []
    yield from (port for port in (*told, *named) if int(port) < 1 << 16)


def _versions(text: str, words: Iterable[str]) -> Iterator[str]:
    yield from (word for word in words if ("@" in word or word[:1] == "v") and VERSION.fullmatch(word[:200]))
    yield from PINNED.findall(text) if "==" in text else ()
    yield from (f"version {found}" for found in SAID_VERSION.findall(text))
