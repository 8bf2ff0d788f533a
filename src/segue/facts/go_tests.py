"""What the output of `go test` tells beyond its verdicts: whose words a line is, and why a test failed.

Go writes what a test logs and what it fails with in the same form. Which is which is told by the test that a line
belongs to, and by its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from segue.patterns import lazy_pattern

MARK = lazy_pattern(
    r"\s*+(?:(?P<begins>=== (?:RUN|CONT|NAME))|--- (?P<word>PASS|FAIL|SKIP):|=== (?P<failed>FAIL): \S++)"
    r"\s++(?P<name>\S++)"
)
LOGGED = lazy_pattern(r"\s++[\w./-]{1,200}_test\.go:\d++:(?P<said>.*)$")
WRONG = lazy_pattern(
    r"(?i)\b(?:got|wanted|want|expect\w*|unexpected\w*|must|fail\w*|err|errors?|never|missing|mismatch\w*|cannot|invalid"
    r"|wrong|differs?|timed? ?out|unable|undefined|panic\w*|no|nil)\b|(?<!may )\bnot\b|n't\b|!=|Error Trace:"
    r"|\bshould\b(?![^(]*\)\W*$)"
)
"""Words that a test fails with. What should come, in brackets, is only announced."""
WELL = lazy_pattern(
    r"(?i)\W{0,9}[✓✔✅☑]|\W{0,9}(?:phase|step|stage|part) \d|.*\b(?:successfully|completed?|passed|done|ok)\W{0,9}$"
)
"""What goes well, or just goes on. A mark is said of nothing else; words are, of what was wanted."""
TICKED = lazy_pattern(r"\W{0,9}[✓✔✅☑]")


def logged(lines: Sequence[str]) -> dict[int, str | None]:
    """Of each line that a test logged, by its number: the test that failed with it, which may not be known and then is
    empty; None if the test did not fail, or did not fail with that."""
    found = {at: match["said"] for at, line in enumerate(lines) if (match := _logged(line))}
    if not found:
        return {}
    owners, is_failed = _owners(lines, found)
    told: dict[int, str | None] = dict.fromkeys(found)
    blocks: dict[str, list[int]] = {}
    for at, owner in owners.items():
        if is_failed.get(owner, False):
            blocks.setdefault(owner, []).append(at)
    for owner, block in blocks.items():
        wrong = [at for at in block if WRONG.search(found[at]) and not TICKED.match(found[at])]
        # A test ends with what is fatal to it.
        wrong = wrong or [at for at in block if not WELL.match(found[at])][-1:]
        told |= dict.fromkeys(wrong, owner)
    return told


def _logged(line: str) -> re.Match[str] | None:
    return LOGGED.match(line) if "_test.go:" in line else None


def _owners(lines: Sequence[str], found: dict[int, str]) -> tuple[dict[int, str], dict[str, bool]]:
    """The test that each logged line belongs to, and which tests failed. The unknown one failed where only those that
    fail say anything."""
    owners: dict[int, str] = {}
    is_failed: dict[str, bool] = {}
    owner, is_verbose = "", False
    first = None
    for at, line in enumerate(lines):
        if at in found:
            owners[at] = owner
        elif match := MARK.match(line) if "=== " in line or "--- " in line else None:
            owner, word = match["name"], match["word"] or match["failed"]
            first = first or match
            is_verbose = is_verbose or word in (None, "PASS", "SKIP")
            if word:
                is_failed[owner] = is_failed.get(owner, False) or word == "FAIL"
    if is_verbose and first and first["word"]:
        # What stands before the first verdict belongs to it.
        owners = {at: owner or first["name"] for at, owner in owners.items()}
    return owners, is_failed | {"": not is_verbose}
