"""How many tokens a text is, without a network: by a real vocabulary where one is installed, else by its letters. Pure.

A budget is a promise, so a count errs upwards. The measure is OpenAI's public vocabulary o200k; other vendors cut
text finer, some without publishing how, and their counts are this one with a margin on top. The name of a counter
says which of the two measured, and how much was added, so that a receipt can tell.

A packer adds up lines: what two texts count apart is never less than what they count together, unless the cut goes
through the middle of a word. `docs/tokens.md` has the figures, and `bench/tokens.py` makes them.
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
"""Per cent to add to o200k for a vendor's own count: what 99 of 100 texts stay within.

OpenAI's is o200k itself. Google's and Alibaba's are those of their open models. Anthropic publishes none: it is what
its newest models reported for their own words (older ones stay within 28). Of the nameless measure nothing is asked.
"""
WIDEST = max(MARGINS.values())
"""For a vendor that is not known, or whose programs run the models of any other."""
ESTIMATE_MARGIN = 8
"""Per cent to add to the estimate: brief-sized texts that it falls short of by more are fewer than one in a hundred."""

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

Fitted with `bench/tokens.py --fit`: the least relative error, too little counting more than too much, on half of the
transcripts and of the messages in ninety languages.
"""
LONG_FROM, LONGER_FROM = 6, 16
"""From how many small letters on a word is long; longer than the second it is hardly a word, but a key or noise."""
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
"""Letters by their first byte in UTF-8, which tells the script: from, to, what they are charged as."""


class Counter(Struct, frozen=True):
    """A way to count tokens, by a name that goes on the receipt."""

    name: str
    count: Callable[[str], int]


@cache
def counter(vendor: str = "") -> Counter:
    """The best counter at hand for a vendor's models; without a vendor, the bare measure."""
    exact = vocabulary()
    return measured(exact, vendor) if exact else estimated(vendor)


def estimated(vendor: str = "") -> Counter:
    """The counter that needs nothing installed."""
    percent = (100 + ESTIMATE_MARGIN) * (100 + _margin(vendor))

    def count(text: str) -> int:
        return -(-thousandths(text) * percent // 10_000_000)

    return Counter(_named(ESTIMATE, round(percent / 100) - 100, vendor), count)


def remembering(counter: Counter) -> Counter:
    """The same, for who counts the same texts again."""
    return Counter(counter.name, cache(counter.count))


def measured(exact: Callable[[str], int], vendor: str = "") -> Counter:
    """A counter by a vocabulary's own count."""
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
    """The count of o200k's own tokens, where the package that brings it is installed."""
    try:
        import splintr  # lazy: an optional package, and it takes a while to set up its vocabulary

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
    """For each byte the one that stands for its kind: a letter's first byte stands for its script."""
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
    """What runs cost, reckoned when they are first met. Only short ones are kept: of those there are not many."""

    def __missing__(self, run: bytes) -> int:
        charge = sum(CHARGES[name] * times for name, times in _parts(run))
        if len(run) <= KEPT_RUN:
            self[run] = charge
        return charge


_charges = _Charges()


def thousandths(text: str) -> int:
    """What the estimate charges for a text, in thousandths of a token."""
    raw = text.encode("utf-8", "surrogatepass")
    kinds = raw.translate(KINDS)
    charged = sum(map(_charges.__getitem__, RUN.findall(kinds)))
    if not text.isascii():
        charged += sum(CHARGES[name] * times for name, times in _foreign(raw, kinds))
    return charged


def features(text: str) -> Tally[str]:
    """How often a text has each part that the estimate charges for."""
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
