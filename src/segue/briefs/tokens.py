"""Token counts without a network: by a real vocabulary if one is installed, else an estimate from the letters. Pure.

A budget is a promise, so a count errs upwards. The measure is OpenAI's public vocabulary o200k. Other vendors' tokens
are smaller, and some vendors do not publish theirs, so their counts get a margin on top. The name of a counter on a
receipt says which of the two measured, and the margin.

The sum of the counts of lines is never less than the count of the whole, unless the cut is inside a word.
`docs/tokens.md` has the figures, and `bench/tokens.py` makes them.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Callable, Iterator
from functools import cache

from msgspec import Struct

MEASURE = "o200k"
ESTIMATE = "estimate of o200k"

MARGINS = {"": 0, "none": 0, "openai": 0, "alibaba": 16, "google": 29, "anthropic": 75}
"""Per cent to add to o200k for each vendor: 99 of 100 texts stay within it.

OpenAI's own count is o200k. Google's and Alibaba's come from their open models. Anthropic publishes none: its newest
models reported it for their own words (older ones stay within 28). Without a vendor, no margin.
"""
WIDEST = max(MARGINS.values())
"""For an unknown vendor, or one whose programs run models of any vendor."""
ESTIMATE_MARGIN = 8
"""Per cent to add to the estimate: for fewer than one in a hundred texts of a brief's size this is too little."""

CHARGES = {
    "word": 860,
    "capital": 60,
    "capitals": 250,
    "long": 150,
    "longer": 400,
    "digits": 1000,
    "marks": 640,
    "mark": 200,
    "line": 1170,
    "tab": 740,
    "tabs": 90,
    "space": 100,
    "control": 1170,
    "western": 1410,
    "central": 1670,
    "greek": 410,
    "cyrillic": 380,
    "semitic": 450,
    "indic": 550,
    "eastern": 470,
    "sign": 50,
    "unlike": 1830,
    "kana": 610,
    "han": 970,
    "hangul": 730,
    "private": 1050,
    "rare": 2310,
}
"""What the estimate charges for each part of a text, in thousandths of a token.

Fitted with `bench/tokens.py --fit`: the least relative error, counting too little as worse than too much, on half of
the transcripts and of the messages in ninety languages.
"""
LONG_FROM, LONGER_FROM = 6, 16
"""A word with more lower-case letters is long; beyond the second it is likely a key or noise."""
MOST_SPACES = 4
"""More in a row cost no more."""
KEPT_RUN = 32

LEADS = (
    (0xC2, 0xC3, "western"),
    (0xC4, 0xCD, "central"),
    (0xCE, 0xCF, "greek"),
    (0xD0, 0xD3, "cyrillic"),
    (0xD4, 0xDF, "semitic"),
    (0xE0, 0xE0, "indic"),
    (0xE1, 0xE1, "eastern"),
    (0xE2, 0xE2, "sign"),
    (0xE3, 0xE3, "kana"),
    (0xE4, 0xE9, "han"),
    (0xEA, 0xED, "hangul"),
    (0xEE, 0xEF, "private"),
    (0xF0, 0xFF, "rare"),
)
"""Letters by their first byte in UTF-8, which shows the script: from, to, name of the charge."""


class Counter(Struct, frozen=True):
    """A way to count tokens, with the name for the receipt."""

    name: str
    count: Callable[[str], int]


@cache
def counter(vendor: str = "") -> Counter:
    """The best available counter for a vendor's models; without a vendor, the bare measure."""
    exact = vocabulary()
    return measured(exact, vendor) if exact else estimated(vendor)


def estimated(vendor: str = "") -> Counter:
    """The counter that needs nothing installed."""
    percent = (100 + ESTIMATE_MARGIN) * (100 + _margin(vendor))

    def count(text: str) -> int:
        return -(-thousandths(text) * percent // 10_000_000)

    return Counter(_named(ESTIMATE, round(percent / 100) - 100, vendor), count)


def remembering(counter: Counter) -> Counter:
    """The same counter with a cache."""
    return Counter(counter.name, cache(counter.count))


def measured(exact: Callable[[str], int], vendor: str = "") -> Counter:
    """A counter that uses a vocabulary."""
    percent = 100 + _margin(vendor)

    def count(text: str) -> int:
        return -(-exact(text) * percent // 100)

    return Counter(_named(MEASURE, percent - 100, vendor), count)


def _margin(vendor: str) -> int:
    return MARGINS.get(vendor.lower(), WIDEST)


def _named(base: str, percent: int, vendor: str) -> str:
    added = f" + {percent} %" if percent else ""
    return f"{base}{added} ({vendor.lower()})" if vendor else f"{base}{added}"


@cache
def vocabulary() -> Callable[[str], int] | None:
    """The function that counts o200k tokens, if the package is installed."""
    try:
        import splintr  # lazy: an optional package, slow to set up its vocabulary

        encode = splintr.Tokenizer.from_pretrained("o200k_base").encode_ordinary
    except (ImportError, AttributeError, ValueError):
        return None

    def count(text: str) -> int:
        try:
            return len(encode(text))
        except UnicodeEncodeError:
            return len(encode(text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")))

    return count


def _kinds() -> bytes:
    """The byte that stands for the kind of each byte: the first byte of a letter stands for its script."""
    table = bytearray(b"\x01" * 256)
    table[0:0x80] = b"." * 0x80
    table[0:0x20] = b"\0" * 0x20
    table[0x7F] = 0
    for first, last in (b"az", b"AZ", b"09"):
        table[first : last + 1] = bytes([first]) * (last - first + 1)
    for same in (b"\t\v\f", b"\n\r", b" "):
        for byte in same:
            table[byte] = same[0]
    for kind, (first, last, _) in enumerate(LEADS, start=0x80):
        table[first : last + 1] = bytes([kind]) * (last - first + 1)
    return bytes(table)


KINDS = _kinds()
RUN = re.compile(rb"A*a+|A+|0+|\.+|\n+|\t+| +|\0+")
SIGN = re.compile(rb"(\xe2..)(?!\1)", re.DOTALL)


class _Charges(dict[bytes, int]):
    """The charge of each run, computed on first use. Only short ones are kept: there are not many."""

    def __missing__(self, run: bytes) -> int:
        charge = sum(CHARGES[name] * times for name, times in _parts(run))
        if len(run) <= KEPT_RUN:
            self[run] = charge
        return charge


_charges = _Charges()


def thousandths(text: str) -> int:
    """The estimate for a text, in thousandths of a token."""
    raw = text.encode("utf-8", "surrogatepass")
    kinds = raw.translate(KINDS)
    charged = sum(map(_charges.__getitem__, RUN.findall(kinds)))
    if not text.isascii():
        charged += sum(CHARGES[name] * times for name, times in _foreign(raw, kinds))
    return charged


def features(text: str) -> Tally[str]:
    """The number of each charged part in a text."""
    raw = text.encode("utf-8", "surrogatepass")
    kinds = raw.translate(KINDS)
    found: Tally[str] = Tally(dict(_foreign(raw, kinds)))
    for run, times in Tally(RUN.findall(kinds)).items():
        for name, each in _parts(run):
            found[name] += each * times
    return found


def _foreign(raw: bytes, kinds: bytes) -> Iterator[tuple[str, int]]:
    for kind, (_, _, name) in enumerate(LEADS, start=0x80):
        yield name, kinds.count(kind)
    # Boxes and rules repeat one sign, and many of the same are one token.
    yield "unlike", len(SIGN.findall(raw))


def _parts(run: bytes) -> Iterator[tuple[str, int]]:
    length = len(run)
    match run[:1]:
        case b"a" | b"A":
            large = run.count(b"A")
            yield "word", 1
            yield "capital", min(large, 1)
            yield "capitals", max(0, large - 1)
            yield "long", max(0, length - large - LONG_FROM)
            yield "longer", max(0, length - large - LONGER_FROM)
        case b"0":
            yield "digits", -(-length // 3)
        case b".":
            yield "marks", 1
            yield "mark", length
        case b"\n":
            yield "line", 1
        case b"\t":
            yield "tab", 1
            yield "tabs", length - 1
        case b" ":
            yield "space", min(length, MOST_SPACES)
        case _:
            yield "control", length
