"""Secrets: how many of those planted are removed, what is removed that is none, and how fast (docs/redaction.md).

    ./dev bench secrets [--folder FOLDER] [--seed N] [--count N] [--own] [--show]

Plants secrets of every kind in every disguise; then looks at real transcripts (without --folder the published ones of
../shared/data, if they are there) for identifiers that were taken for secrets, and takes the time. --own leaves the
library out; --show lists the places in the transcripts that were found, with their kinds, never the secrets.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from bench.readers import PUBLISHED, files_in, unpacked
from segue import redact
from segue.redact import Finding, betterleaks
from tests.secrets_planted import COUNT, DISGUISES, SEED, is_gone, planted

KEY = b"the key of a bench: 32 bytes ..."
PLAIN_BAR, OTHER_BAR, FALSE_BAR = 0.99, 0.95, 0.005

IDENTIFIERS = {
    "commit or hash": r"(?<![\w-])(?:[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{32})(?![\w-])",
    "short commit": r"(?<![\w-])(?=[0-9a-f]*\d)[0-9a-f]{7,12}(?![\w-])",
    "uuid": r"(?<![\w-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])",
    "id of a call or message": r"(?<![\w-])(?:toolu|msg|req|call|fc|rs|ses|prt|resp|run)_\w{10,60}",
    "integrity": r"(?:sha\d{3}-|h1:)[A-Za-z0-9+/]{40,}={0,2}",
    "signature or image": r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{200,}={0,2}",
    "class": r"(?<![\w-])(?:[A-Z][a-z]+){3,}(?![\w-])",
    "path": r"(?<![\w/.-])(?:[\w.-]+/){2,}[\w.-]+",
    "slug": r"(?<![\w/-])[a-z0-9]+(?:-[a-z0-9]+){3,}(?![\w/-])",
    "name in code": r"(?<![\w-])[a-z]+(?:_[a-z0-9]+){3,}(?![\w-])",
}


@dataclass
class Survey:
    """What was seen in real transcripts."""

    characters: int = 0
    seconds: float = 0.0
    seen: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    taken: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Identifiers that were taken for secrets, or for a part of one."""
    kinds: Counter[str] = field(default_factory=Counter)


def recall(seed: int, count: int) -> dict[str, dict[str, tuple[int, int]]]:
    """For each kind and disguise: how many were removed, of how many."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for number, item in enumerate(planted(seed, count)):
        row = found.setdefault(item.kind, dict.fromkeys(DISGUISES, (0, 0)))
        for name, disguise in DISGUISES.items():
            disguised = disguise(item, number)
            gone = is_gone(disguised, redact.redact(disguised.text, key=KEY).text)
            row[name] = (row[name][0] + gone, row[name][1] + 1)
    return found


def show_recall(found: dict[str, dict[str, tuple[int, int]]]) -> list[str]:
    width = max(map(len, found)) + 2
    print("".ljust(width) + "".join(name.rjust(17) for name in DISGUISES))
    for kind, row in found.items():
        print(kind.ljust(width) + "".join(f"{gone}/{all_}".rjust(17) for gone, all_ in row.values()))
    problems, totals = [], []
    for name in DISGUISES:
        gone, all_ = (sum(row[name][side] for row in found.values()) for side in (0, 1))
        bar = PLAIN_BAR if name == "plain" else OTHER_BAR
        totals.append(f"{gone / all_:.3f}")
        if gone / all_ < bar:
            problems.append(f"recall {name}: {gone / all_:.3f}, the bar is {bar}")
    print("in all".ljust(width) + "".join(total.rjust(17) for total in totals))
    return problems


def survey(folder: Path, show: bool) -> Survey:
    result = Survey()
    for path in files_in(folder):
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        started = time.process_time()
        findings = redact.scan(text)
        result.seconds += time.process_time() - started
        result.characters += len(text)
        result.kinds.update(finding.kind for finding in findings)
        _identifiers(text, findings, result)
        for finding in findings if show else ():
            line = text.count("\n", 0, finding.start) + 1
            print(f"  {path.relative_to(folder)}:{line} {finding.kind} ({finding.encoding})")
    return result


def _identifiers(text: str, findings: tuple[Finding, ...], result: Survey) -> None:
    ends = [finding.start + finding.length for finding in findings]
    for kind, pattern in IDENTIFIERS.items():
        for found in re.finditer(pattern, text):
            name = found.group()[:200]
            result.seen[kind].add(name)
            number = bisect_left(ends, found.start() + 1)
            if number < len(ends) and findings[number].start < found.end():
                result.taken[kind].add(name)


def show_survey(result: Survey) -> list[str]:
    print(
        f"\n{result.characters / 1e6:.0f} MB of transcripts, {result.characters / 1e6 / result.seconds:.1f} MB/s of one core"
    )
    print("found:", ", ".join(f"{count} {kind}" for kind, count in result.kinds.most_common()) or "nothing")
    print(f"\n{'identifiers':26}{'different':>12}{'taken':>8}{'share':>10}")
    for kind in IDENTIFIERS:
        seen, taken = len(result.seen[kind]), len(result.taken[kind])
        print(f"{kind:26}{seen:>12,}{taken:>8}{taken / max(1, seen):>10.4%}")
    seen, taken = (sum(map(len, side.values())) for side in (result.seen, result.taken))
    print(f"{'in all':26}{seen:>12,}{taken:>8}{taken / max(1, seen):>10.4%}")
    return (
        [f"false positives: {taken / seen:.3%}, the bar is {FALSE_BAR:.1%}"]
        if taken > FALSE_BAR * seen
        else []
    )


def nothing(window: str) -> tuple[betterleaks.Answer, ...]:
    return ()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="transcripts, in folders")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--own", action="store_true", help="without the library")
    parser.add_argument("--show", action="store_true", help="list what is found in the transcripts")
    options = parser.parse_args()
    if options.own:
        betterleaks.asked = nothing
    print(
        f"{options.count} planted secrets, seed {options.seed}; {'own rules' if options.own else redact.at_hand()}\n"
    )
    problems = show_recall(recall(options.seed, options.count))
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder
        if folder is None and PUBLISHED.exists():
            folder = unpacked(PUBLISHED, Path(scratch) / "published")
        if folder is not None:
            problems += show_survey(survey(folder, options.show))
    for problem in problems:
        print("PROBLEM:", problem)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
