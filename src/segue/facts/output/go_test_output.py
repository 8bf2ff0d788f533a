"""Output of `go test` beyond verdicts: the owner of a line, reasons of failures, results of packages.

Go prints logs and failures of a test in the same format; the test that a line belongs to, and its words, tell them
apart. For a passing package Go names no tests: tests that failed in it before are matched by the package line of
that run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from segue.base.lazy_regex import lazy_pattern

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
"""Words of failures. A bracketed expectation is only an announcement."""
WELL = lazy_pattern(
    r"(?i)\W{0,9}[✓✔✅☑]|\W{0,9}(?:phase|step|stage|part) \d|.*\b(?:successfully|completed?|passed|done|ok)\W{0,9}$"
)
"""Progress and success. Marks are always success; words may describe an expectation."""
PACKAGE = lazy_pattern(r"(?P<word>ok|FAIL) *+\t(?P<name>[\w./~-]++)(?P<rest>\s.*)?$")
CHOSEN = lazy_pattern(r"(?<!\S)-(?:test\.)?run[ =](?:\"([^\"]*+)\"|'([^']*+)'|(\S++))")
LEFT_OUT = lazy_pattern(r"(?<!\S)--?(?:test\.)?(?:skip|short|list|ignore|deselect|exclude)\b")
"""Signs that a run, of any runner, leaves out tests."""
LITERAL = lazy_pattern(r"\^?[\w ]*+(?:\.[*+]?)?\$?")
EITHER = lazy_pattern(r"(\^?)\(([^()]*+)\)(\$?)")
FOLDER = lazy_pattern(r"(?<!\S)\./([\w./-]*+)")
LABELLED = lazy_pattern(r" *+\t\s*+(?:(?P<label>Error Trace:|Error:|Test:|Messages:)\s++)?(?P<said>.*)$")
LONGEST_FOLDED = 200
TICKED = lazy_pattern(r"\W{0,9}[✓✔✅☑]")


def logged(lines: Sequence[str], *, has_failed: bool = True) -> dict[int, str | None]:
    """Logged lines by number, each with the test that failed with it (empty if unknown); None if the test did not
    fail, or not with this line. If a failed run ends before a test's verdict, that test counts as failed."""
    found = {
        at: match["said"]
        for at, line in enumerate(lines)
        if "_test.go:" in line and (match := LOGGED.match(line))
    }
    if not found:
        return {}
    owners, is_failed, unsaid = _owners(lines, found)
    is_failed |= dict.fromkeys(unsaid if has_failed else (), True)
    told: dict[int, str | None] = dict.fromkeys(found)
    blocks: dict[str, list[int]] = {}
    for at, owner in owners.items():
        if is_failed.get(owner, False):
            blocks.setdefault(owner, []).append(at)
    for owner, block in blocks.items():
        wrong = [at for at in block if WRONG.search(found[at]) and not TICKED.match(found[at])]
        # A fatal message is the last one.
        wrong = wrong or [at for at in block if not WELL.match(found[at])][-1:]
        told |= dict.fromkeys(wrong, owner)
    return told


def folded(lines: list[str]) -> list[str]:
    """Join each labelled multi-line assertion into its first line."""
    if not any("Error Trace:" in line for line in lines):
        return lines
    found, start, label = list(lines), -1, ""
    told: dict[str, str] = {}
    for at, line in enumerate(lines):
        match = LABELLED.match(line)
        if match and match["label"] == "Error Trace:" and at:
            start, told = at - 1, {}
        if match is None or start < 0:
            start = start if not line.strip() else -1
            continue
        label = match["label"] or ("" if match["said"].startswith("Diff:") else label)
        told[label] = f"{told.get(label, '')} {match['said']}"[:LONGEST_FOLDED]
        found[at] = ""
        said, why = (" ".join(told.get(name, "").split()) for name in ("Error:", "Messages:"))
        found[start] = f"{lines[start].rstrip()} {said}" + (f" ({why})" if why else "")
    return found


def _owners(lines: Sequence[str], found: dict[int, str]) -> tuple[dict[int, str], dict[str, bool], set[str]]:
    """The test of each logged line, the tests that failed, and those still running at the end without a verdict.
    (Where output was truncated, earlier tests may have lost their verdict.) An unknown test counts as failed if
    only failing tests are printed."""
    owners: dict[int, str] = {}
    is_failed: dict[str, bool] = {}
    owner, is_verbose = "", False
    first, unsaid = None, set[str]()
    for at, line in enumerate(lines):
        if at in found:
            owners[at] = owner
        elif match := MARK.match(line) if "=== " in line or "--- " in line else None:
            owner, word = match["name"], match["word"] or match["failed"]
            first = first or match
            is_verbose = is_verbose or word in (None, "PASS", "SKIP")
            unsaid.add(owner)
            if word:
                unsaid = set()
                is_failed[owner] = is_failed.get(owner, False) or word == "FAIL"
    if is_verbose and first and first["word"]:
        # Lines before the first verdict belong to it.
        owners = {at: owner or first["name"] for at, owner in owners.items()}
    return owners, is_failed | {"": not is_verbose}, unsaid - is_failed.keys()


def packages(lines: Sequence[str]) -> dict[str, bool]:
    """The packages whose tests were run, and whether they pass."""
    found: dict[str, bool] = {}
    for line in lines:
        match = PACKAGE.match(line) if "\t" in line else None
        if match and "[no test" not in (match["rest"] or ""):
            found[match["name"]] = found.get(match["name"], True) and match["word"] == "ok"
    return found


def homes(lines: Sequence[str]) -> dict[str, str]:
    """The package of each failed test: the next one in the output."""
    found: dict[str, str] = {}
    waiting: list[str] = []
    for line in lines:
        if "--- FAIL" in line and (match := MARK.match(line)):
            waiting.append(match["name"])
        elif "\t" in line and (match := PACKAGE.match(line)):
            found |= dict.fromkeys(waiting if match["word"] == "FAIL" else (), match["name"])
            waiting = []
    return found


def runs(command: str, test: str) -> bool:
    """Whether a command runs a test of its packages. A selection by more than plain words may leave it out."""
    if LEFT_OUT.search(command):
        return False
    chosen = [match[1] or match[2] or match[3] or "" for match in CHOSEN.finditer(command)]
    return all(any(_chooses(pattern, test) for pattern in _alternatives(said)) for said in chosen)


def _alternatives(said: str) -> list[str]:
    """`^(A|B)$` is `^A$` or `^B$`."""
    if match := EITHER.fullmatch(said):
        return [f"{match[1]}{one}{match[3]}" for one in match[2].split("|")]
    return said.split("|")


def _chooses(pattern: str, test: str) -> bool:
    levels = test.split("/")
    for number, said in enumerate(pattern.split("/")):
        if said in ("", "^$") or not LITERAL.fullmatch(said):
            return False
        level = levels[number] if number < len(levels) else ""
        # As in Go: plain words that a name may contain, begin or end with.
        if not re.search(said.replace(" ", "_"), level):
            return False
    return True


def stands_for(command: str, packages: dict[str, bool]) -> bool:
    """Whether all packages that a command names have passed."""
    named = [match[1] for match in FOLDER.finditer(command)]
    folders = [folder.removesuffix("...").strip("/") for folder in named]
    for folder, said in zip(folders, named, strict=True):
        inner = f"/{folder}/" if said.endswith("...") else "\0"
        meant = [
            passed
            for name, passed in packages.items()
            if f"/{name}/".endswith(f"/{folder}/") or inner in name
        ]
        if not folder or not meant or not all(meant):
            return False
    return bool(folders)
