"""How well token counts hold: the estimate against o200k, o200k against other vendors, and how fast both are.

    ./dev bench tokens [FOLDER] [--messages FOLDER] [--fit]

Counts the text of every transcript in the folder that a reader recognises, and for other scripts the translated
messages (*.mo) of the programs on this machine. Without a folder, takes the published transcripts of ../shared/data, if
they are there. Needs `splintr-rs`, which has the vocabularies. Fails if the estimate falls short of o200k for more
than one in a hundred texts of a brief's size, or a vendor's margin for more than two.

`--fit` prints the charges of the estimate anew, from half of the files; the figures are of the other half.
"""

from __future__ import annotations

import argparse
import gettext
import math
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import splintr

from bench.readers import PUBLISHED, claimed_by, files_in, unpacked
from segue import agents
from segue.briefs import tokens
from segue.model import Entry, EntryKind, Origin
from segue.testing.sample import source_of

SEED = 7
MOST_OF_A_FILE = 400_000
LONGEST_TEXT = 200_000
SHORTEST = 30
"""Texts of fewer tokens have no relative error worth the name; they still count in the totals."""
BRIEF = 8_000
"""About the characters of a brief of 2,000 tokens, made of pieces no longer than this:"""
PIECE = 1_500
MESSAGES_EACH = 300
MESSAGES_TOGETHER = 5
OPEN_MODELS = {
    "alibaba": ("qwen3",),
    "google": ("gemma3",),
    "others": ("llama3", "mistral_v3", "deepseek_v3", "glm4"),
}
MOST_SHORT = 0.01
MOST_OVER = 0.02
TOO_LITTLE_WEIGHS = 3
"""In the fit: how much worse it is to count too little than too much."""
FIXED = {"digits": 1000, "longer": 400}
"""o200k has a token for every three digits and joins them to nothing; of letters without sense it makes one of two."""

Count = Callable[[str], int]


@dataclass(frozen=True)
class Text:
    group: str
    """An agent's name, or a language's."""
    file: str
    text: str

    @property
    def is_held_out(self) -> bool:
        return random.Random(f"{SEED} {self.file}").random() < 0.5


def transcripts(folder: Path) -> Iterator[tuple[str, Path, list[Entry]]]:
    for path in files_in(folder):
        for name in claimed_by(path.read_bytes())[:1]:
            reader = agents.reader(name)
            yield name, path, list(reader.read(source_of(reader, path)))


def texts_of(name: str, path: Path, entries: Iterable[Entry], seen: set[int]) -> Iterator[Text]:
    size = 0
    for entry in entries:
        if not entry.text or len(entry.text) > LONGEST_TEXT or hash(entry.text) in seen:
            continue
        seen.add(hash(entry.text))
        size += len(entry.text)
        if size > MOST_OF_A_FILE:
            return
        yield Text(name, str(path), entry.text)


def messages(folder: Path) -> Iterator[Text]:
    """Translated messages with letters of their own, a few hundred of each language."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("LC_MESSAGES/*.mo")):
        try:
            with path.open("rb") as file:
                catalog = gettext.GNUTranslations(file)
        except (OSError, UnicodeDecodeError, ValueError, LookupError):
            continue
        language = path.parent.parent.name.split(".")[0]
        found[language] += (
            text
            for text in vars(catalog)["_catalog"].values()
            if isinstance(text, str) and len(text) > 20 and not text.isascii()
        )
    for language, every in sorted(found.items()):
        if len(every) < MESSAGES_EACH or language.startswith("en"):
            continue
        chosen = random.Random(f"{SEED} {language}").sample(every, MESSAGES_EACH)
        for start in range(0, MESSAGES_EACH, MESSAGES_TOGETHER):
            some = "\n".join(chosen[start : start + MESSAGES_TOGETHER])
            yield Text(language, f"{language} {start}", some)


def quantile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else math.nan


def brief_sized(texts: Iterable[Text]) -> list[Text]:
    """Pieces of one file's texts, in an order of chance, until they are as long as a brief."""
    files: dict[tuple[str, str], list[str]] = defaultdict(list)
    for text in texts:
        files[text.group, text.file].append(text.text[:PIECE])
    found = []
    for (group, file), pieces in files.items():
        random.Random(f"{SEED} {file}").shuffle(pieces)
        some = ""
        for piece in pieces:
            some += piece + "\n"
            if len(some) >= BRIEF:
                found.append(Text(group, file, some))
                some = ""
    return found


def compared(label: str, texts: Sequence[Text], count: Count, truth: Count) -> float:
    """One line of figures; the share of texts that are counted short."""
    pairs = [(count(text.text), truth(text.text)) for text in texts]
    large = [(ours - theirs) / theirs for ours, theirs in pairs if theirs >= SHORTEST]
    total = sum(ours for ours, _ in pairs) / max(1, sum(theirs for _, theirs in pairs)) - 1
    sizes = [abs(error) for error in large]
    short = sum(error < 0 for error in large) / max(1, len(large))
    print(
        f"  {label:22} {len(large):6}  {total:+7.1%}  {quantile(sizes, 0.5):6.1%}  {quantile(sizes, 0.9):6.1%}"
        f"  {short:7.1%}  {quantile(large, 0.01):+7.1%}"
    )
    return short


def errors(texts: list[Text], spoken: list[Text], exact: Count) -> list[str]:
    """The estimate, with its margin, against o200k, on files that it was not fitted to."""
    estimate = tokens.estimated().count
    held_out = [text for text in texts if text.is_held_out]
    print(f"\n{tokens.estimated().name} against o200k, texts that were not fitted to:")
    print(f"  {'':22} {'texts':>6}  {'total':>7}  {'p50':>6}  {'p90':>6}  {'short':>7}  {'p1':>7}")
    for name in sorted({text.group for text in held_out}):
        compared(name, [text for text in held_out if text.group == name], estimate, exact)
    compared("all", held_out, estimate, exact)
    briefs = brief_sized(held_out)
    short = compared("all, of a brief's size", briefs, estimate, exact)
    compared("the same by chars / 4", briefs, lambda text: -(-len(text) // 4), exact)
    compared("the same by bytes / 3", briefs, lambda text: -(-len(text.encode()) // 3), exact)
    languages([text for text in spoken if text.is_held_out], estimate, exact)
    return [f"the estimate is short for {short:.1%} of texts of a brief's size"] if short > MOST_SHORT else []


def languages(spoken: list[Text], count: Count, truth: Count) -> None:
    """How far the estimate is off for each language, the ones it is short for first."""
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for text in spoken:
        totals[text.group][0] += count(text.text)
        totals[text.group][1] += truth(text.text)
    off = sorted((ours / theirs - 1, language) for language, (ours, theirs) in totals.items())
    print(f"  in {len(off)} languages, p50 {quantile([error for error, _ in off], 0.5):+.1%}, short for:")
    short = [f"{language} {error:+.0%}" for error, language in off if error < 0]
    for start in range(0, len(short), 10):
        print("    " + ", ".join(short[start : start + 10]))


def open_models(texts: list[Text], exact: Count) -> list[str]:
    """What vendors' open models count for what o200k counts as 100."""
    briefs = brief_sized(texts)
    base = [exact(text.text) for text in briefs]
    problems = []
    print(f"\nOpen models' own count over o200k, {len(briefs)} texts of a brief's size:")
    for vendor, names in OPEN_MODELS.items():
        for name in names:
            encode = splintr.Tokenizer.from_pretrained(name).encode_ordinary
            ratios = [len(encode(text.text)) / count for text, count in zip(briefs, base, strict=True)]
            print(f"  {name:14} p50 {quantile(ratios, 0.5):.2f}  p99 {quantile(ratios, 0.99):.2f}")
            problems += over_margin(vendor, ratios)
    return problems


def over_margin(vendor: str, ratios: list[float]) -> list[str]:
    margin = tokens.MARGINS.get(vendor, tokens.WIDEST)
    over = sum(ratio > 1 + margin / 100 for ratio in ratios) / len(ratios)
    return [f"{vendor}: {over:.1%} of texts are over the margin of {margin} %"] if over > MOST_OVER else []


def reported(everything: Iterable[tuple[str, Path, list[Entry]]], exact: Count) -> None:
    """What models reported for answers that are words alone. Where they thought in secret, the most tells nothing."""
    found: dict[str, list[float]] = defaultdict(list)
    for _, _, entries in everything:
        for answer, spent, model in answers(entries):
            count = sum(exact(entry.text) for entry in answer)
            # A report of less than half was written when the answer began, and never corrected.
            if count >= 2 * SHORTEST and spent > count / 2:
                found[model].append(spent / count)
    print("\nTokens that models reported for their own words, over o200k:")
    for model, ratios in sorted(found.items()):
        shown = "  ".join(f"p{share} {quantile(ratios, share / 100):.2f}" for share in (10, 50, 90))
        print(f"  {model:30} {len(ratios):4} answers  {shown}  most {max(ratios):.2f}")


def answers(entries: list[Entry]) -> Iterator[tuple[list[Entry], int, str]]:
    """Answers of which every part is a reply, with the tokens and the model that they report."""
    spans: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        if entry.spend:
            spans.setdefault(entry.spend.key, []).append(place)
    for key, places in spans.items():
        first, last = places[0], places[-1]
        while first > 0 and is_part(entries[first - 1], key):
            first -= 1
        while last + 1 < len(entries) and is_part(entries[last + 1], key):
            last += 1
        answer, spend = entries[first : last + 1], entries[places[-1]].spend
        if spend and all(is_words(entry) for entry in answer):
            yield answer, spend.tokens.output, spend.model


def is_words(entry: Entry) -> bool:
    """A reply, or a note without words: some agents report what an answer used in one."""
    return entry.kind is EntryKind.REPLY or (entry.kind is EntryKind.NOTE and not entry.text)


def is_part(entry: Entry, key: str) -> bool:
    return entry.origin is Origin.ASSISTANT and (entry.spend is None or entry.spend.key == key)


def sums(texts: list[Text], exact: Count) -> None:
    """Lines counted one by one against the text as a whole."""
    print("\nLines counted one by one, over the whole text:")
    briefs = brief_sized(texts)[:500]
    for label, count in (("o200k", exact), ("estimate", tokens.estimated().count)):
        whole = [count(text.text) for text in briefs]
        apart = [sum(map(count, text.text.splitlines(keepends=True))) for text in briefs]
        worst = min(a - w for a, w in zip(apart, whole, strict=True))
        print(f"  {label:10} {sum(apart) / sum(whole) - 1:+.1%} in total, at the worst {worst:+} tokens")


def speed(texts: list[Text], exact: Count) -> None:
    sample = [text.text for text in texts[:: max(1, len(texts) // 3000)]]
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in sample)
    line = "- src/parser/tokens.py: edited, and its tests pass"
    print(f"\nSpeed on {size / 1e6:.1f} MB, and for one line of {len(line)} characters:")
    for label, count in (("o200k", exact), ("estimate", tokens.estimated().count)):
        begun = time.perf_counter()
        for text in sample:
            count(text)
        lasted = time.perf_counter() - begun
        begun = time.perf_counter()
        for _ in range(20_000):
            count(line)
        each = (time.perf_counter() - begun) / 20_000
        print(f"  {label:10} {size / 1e6 / lasted:6.1f} MB/s  {each * 1e6:5.1f} µs")


def fitted(texts: list[Text], exact: Count, rounds: int = 12) -> dict[str, int]:
    """The charges with the least relative error, none below nothing, too little weighing more than too much."""
    names = list(tokens.CHARGES)
    rows = []
    for text in texts:
        if not text.is_held_out and (count := exact(text.text)):
            found = tokens.features(text.text)
            rows.append(([found[name] for name in names], count, 1 / max(count, 20) ** 1.5))
    charges = [tokens.CHARGES[name] / 1000 for name in names]
    for _ in range(rounds):
        charges = _least(rows, charges, [names.index(name) for name in FIXED])
    return {
        name: FIXED.get(name, round(100 * charge) * 10) for name, charge in zip(names, charges, strict=True)
    }


def _least(rows: list[tuple[list[int], int, float]], charges: list[float], fixed: list[int]) -> list[float]:
    """One round: weights by which texts the present charges fall short of, then descent along each charge."""
    width = range(len(charges))
    grams = [[0.0] * len(charges) for _ in width]
    right = [0.0] * len(charges)
    for row, count, weight in rows:
        used = [(place, times) for place, times in enumerate(row) if times]
        if sum(charges[place] * times for place, times in used) < count:
            weight *= TOO_LITTLE_WEIGHS
        for place, times in used:
            right[place] += weight * times * count
            gram = grams[place]
            for other, others in used:
                gram[other] += weight * times * others
    new = list(charges)
    for _ in range(400):
        for place in width:
            if place not in fixed and grams[place][place]:
                ahead = right[place] - sum(grams[place][other] * new[other] for other in width)
                new[place] = max(0.0, new[place] + ahead / grams[place][place])
    return new


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--messages", type=Path, default=Path("/usr/share"))
    parser.add_argument("--fit", action="store_true")
    options = parser.parse_args()
    exact = tokens.vocabulary()
    if exact is None or (options.folder is None and not PUBLISHED.exists()):
        print("Needs splintr-rs and a folder of transcripts.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        everything = list(transcripts(options.folder or unpacked(PUBLISHED, Path(scratch) / "published")))
    seen: set[int] = set()
    texts = [text for one in everything for text in texts_of(*one, seen)]
    spoken = list(messages(options.messages))
    print(f"Seed {SEED}: {len(texts):,} texts of transcripts, {len(spoken):,} of messages")
    if options.fit:
        for name, charge in fitted(texts + spoken, exact).items():
            print(f'    "{name}": {charge},')
        return 0
    problems = errors(texts, spoken, exact) + open_models(texts, exact)
    reported(everything, exact)
    sums(texts, exact)
    speed(texts, exact)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
