"""Tests and errors in the output of a command.

Each format of a tool is one row of a table, tried line by line. At most `LONGEST_LINE` characters of a line are
read and every row is anchored, so reading takes linear time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec
from msgspec import Struct

from segue.base.lazy_regex import lazy_pattern
from segue.base.text import begun
from segue.facts.output import go_test_output

LONGEST_LINE = 500
LONGEST_NAME = 200
LONGEST_TEXT = 240
MOST_PROBLEMS = 8
MOST_LINES = 100_000
"""Of a longer output, half of this from each end is read."""


class Tally(Struct, frozen=True):
    """Number of passed and failed tests by the runner's own count; errors count as failed."""

    passed: int
    failed: int


class Problem(Struct, frozen=True):
    """One problem, on one line."""

    text: str
    path: str = ""
    line: int = 0
    code: str = ""
    """The tool's code for the problem: 'TS2345', 'E0432', 'ModuleNotFoundError'."""
    test: str = ""
    """The test that failed with it, if known."""
    by: Literal["", "tool", "test"] = ""
    """Source of the format: a compiler or linter, a test runner, or any other program."""


ANSI = lazy_pattern(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b]*+(?:\x07|\x1b\\)?|[@-Z\\-_])")


def _lines(output: str) -> list[str]:
    plain = ANSI.sub("", output) if "\x1b" in output else output
    lines = [begun(line, LONGEST_LINE).rstrip() for line in plain.split("\n")]
    half = MOST_LINES // 2
    return lines if len(lines) <= MOST_LINES else lines[:half] + lines[-half:]


# Tests by name

TOOK = lazy_pattern(r"\s*+(?:[(\[]\d[\d.,]*+ ?[mμµn]?s(?:ec)?[)\]]|\d[\d.,]*+ ?ms|\d++\.\d++s)$")
"""Duration after a test's name."""
FLAT = [
    lazy_pattern(row)
    for row in (
        # pytest: verbose, parallel, summary
        r"(?P<name>[^\s:]+\.py::\S.*?) (?P<word>PASSED|FAILED|ERROR|XPASS)(?: .*)?$",
        r"(?:\[gw\d+\] )?(?:\[ *\d+%\] )?(?P<word>PASSED|FAILED|ERROR) (?P<name>[^\s:]+\.py(?:::\S.*?)?)(?: - .*)?$",
        r"(?P<name>[^\s:]+\.py) (?P<word>[.sx]++) +\[ *\d+%\]$",
        # unittest: progress and summary
        r"(?P<leaf>\w++) \((?P<place>[\w.]++)\) \.\.\. (?P<word>ok|FAIL|ERROR)$",
        r"(?P<word>FAIL|ERROR): (?P<leaf>\w++) \((?P<place>[\w.]++)\)",
        # go
        r"\s*+--- (?P<word>PASS|FAIL): (?P<name>\S++) \([\d.]+s\)$",
        r"=== (?P<word>FAIL): \S++ (?P<name>\S++) \([\d.]+s\)$",
        # cargo, nextest
        r"test (?P<name>\S++(?: - .+)?) \.\.\. (?P<word>ok|FAILED)$",
        r"\s++(?P<word>PASS|FAIL) \[ *[\d.]+s\] (?:\([ \d/]+\) )?(?P<name>\S++ \S++)$",
        # deno
        r"(?P<name>[^\s].*) \.\.\. (?P<word>ok|FAILED) \(\d+m?s\)$",
        # gtest, ctest
        r"\[ +(?P<word>OK|FAILED) +\] (?P<name>[\w/]++\.[\w/]++)(?:, where .*)?(?: \(\d+ ms\))?$",
        r" *\d+/\d+ Test +#\d+: (?P<name>\S++) [. *]*(?P<word>Passed|Failed|Exception|Timeout)\b",
        # gradle, maven
        r"(?P<name>[\w.$]++ > .+) (?P<word>PASSED|FAILED)$",
        r"\[ERROR\] (?P<name>[\w.$]++(?:\([\w.$]+\))?)\s+(?:-- )?Time elapsed: .*<<< (?P<word>FAILURE|ERROR)!",
        # dotnet
        r"\s++(?P<word>Passed|Failed) (?P<name>[\w.]++\(?.*) \[[^\]]+\]$",
        r"\[xUnit\.net [\d:.]+\]\s+(?P<name>\S.*) \[(?P<word>FAIL)\]$",
        # xctest, swift-testing
        r"Test Case '(?:-\[)?(?P<name>[^'\]]++)\]?' (?P<word>passed|failed) \(",
        r"\W*+Test (?!run )(?P<name>[^\s].*) (?P<word>passed|failed) after ",
        # bun, TAP
        r"\((?P<word>pass|fail)\) (?P<name>.+)$",
        r"\s*+(?P<word>ok|not ok) \d+ (?:- )?(?P<name>[^\s#][^#]*)(?:# (?:time|duration).*)?$",
        # rspec, minitest, phpunit, exunit: failures
        r"(?P<word>rspec) \S++ # (?P<name>.+)$",
        r"(?P<name>[\w:]++#test_\w++)(?P<word>) \[[^\]]+:\d+\]:$",
        r"\d+\) (?P<name>[\w\\]++::\w++.*)(?P<word>)$",
        r"\s++\d+\) (?P<name>test .+ \([\w.]+\))(?P<word>)$",
        # vitest, pest: all tests, and failures
        r"\s*+(?P<word>[✓✔×✗✖]) (?P<name>\S++ > .+)$",
        r"\s*+(?:FAIL|FAILED) ++(?:\|[^|]*\| )?(?P<name>\S++ ++> .+)(?P<word>)$",
    )
]
PASSING = {"passed", "ok", "pass", "xpass", "✓", "✔"}
VERDICT = lazy_pattern(
    r"PASS|FAIL|ERROR|OK|\bok\b|[Pp]ass|[Ff]ail|Exception|Timeout|%\]|^rspec |#test_|^\s*+\d+\) |[✓✔×✗✖] \S++ > "
)
"""Required in a line that names a test."""
MARKED = lazy_pattern(
    r"(?P<indent>\s*+)(?:(?P<good>[✓✔√])|[✕✖×✗✘⨯❌]|(?P<number>\d{1,4})\))\s++(?P<name>\S.*)$"
)
SUITE = lazy_pattern(
    r"\s*+(?P<word>PASS|FAIL|[✓✔√❯×✗✖]) ++(?:\|[^|]*\| )?(?P<name>[\w@./\\-]+\.[a-z]{1,4})"
    r"(?: \(\d+(?: tests?)?(?P<more>[^)]*)\).*| \([\d.]+ m?s\)|)$"
)
"""A test file with its result, as in jest and vitest."""
HEADING = lazy_pattern(r"(?P<indent>\s*+)(?P<mark>[▶❯] )?(?P<name>[^\s●⎯│|].*)$")
BULLET = lazy_pattern(r"\s++● (?P<name>\S.* › .+)$")
ENDED = lazy_pattern(r"\s++\d+ (?:passing|failing)\b")
MARKS_TESTS = lazy_pattern(
    r"\s++\d+ (?:passing|failing)\b|▶ |ℹ (?:tests|pass) \d|Test Suites: |\s*+Tests:? ++\d+ \w|Running \d+ tests? using"
    r"|\d+ tests, \d+ fail"
)
"""Lines of runners that mark tests with ✓ and ✕; other programs use these marks for anything."""
JOINT = lazy_pattern(r"::| > | › |/|\[")
"""Separator between a suite and its members."""


def tests_in(output: str) -> dict[str, bool]:
    """The tests named in an output and whether they pass; suites too, if the runner names only those."""
    lines = _lines(output)
    found: dict[str, bool] = {}
    for name, is_passing in (*_flat(lines), *_tree(lines)):
        if name := _clean(name):
            found[name] = found.get(name, True) and is_passing
    failing = [name for name, is_passing in found.items() if not is_passing]
    told = {name[: joint.start()] for name in failing for joint in JOINT.finditer(name)}
    for suite, *headings, test in (name.split(" > ") for name in failing if name.count(" > ") > 1):
        # Some runners name a test both with and without its headings.
        told |= {f"{suite} > {test}"} if headings else set()
    return {name: is_passing for name, is_passing in found.items() if name not in told}


def packages_in(output: str) -> dict[str, bool]:
    """The packages that a runner reports as a whole, and whether they pass."""
    return go_test_output.packages(_lines(output)) if "\t" in output else {}


def homes_in(output: str) -> dict[str, str]:
    """The package of each failed test, if known."""
    return go_test_output.homes(_lines(output)) if "--- FAIL" in output else {}


def covers(suite: str, test: str) -> bool:
    """Whether a test belongs to a suite: a file, a class, a heading, or the test itself."""
    return test.startswith(suite) and (suite == test or JOINT.match(test, len(suite)) is not None)


def _clean(name: str) -> str:
    while name.endswith(("s", "s)", "s]")) and (shorter := TOOK.sub("", name)) != name:
        name = shorter
    return begun(name.strip().strip('"'), LONGEST_NAME)


def _flat(lines: list[str]) -> Iterator[tuple[str, bool]]:
    for line in filter(VERDICT.search, lines):
        for row in FLAT:
            if match := row.match(line):
                told = match.groupdict()
                word = told["word"].lower()
                is_passing = word in PASSING or (bool(word) and not word.strip(".sx"))
                name = told.get("name") or told["place"]
                if "leaf" in told and not name.endswith(f".{told['leaf']}"):
                    name = f"{name}.{told['leaf']}"
                yield name, is_passing
                break


def _tree(lines: list[str]) -> Iterator[tuple[str, bool]]:
    """Tests marked ✓ and ✕ under headings, named by their path from the file."""
    if not any(SUITE.match(line) or MARKS_TESTS.match(line) for line in lines):
        return
    suite, joint, is_over = "", " > ", False
    headings: list[tuple[int, str]] = []
    for at, line in enumerate(lines):
        if match := SUITE.match(line):
            suite, headings, joint = match["name"], [], " › " if match["word"].isalpha() else " > "
            yield suite, match["word"] in "PASS✓✔√" or ("failed" not in line and match["word"] == "❯")
        elif match := BULLET.match(line):
            yield joint.join(filter(None, (suite, match["name"]))), False
        elif ENDED.match(line):
            is_over = True
        elif match := MARKED.match(line):
            indent, name = len(match["indent"]), _clean(match["name"])
            if is_over:
                yield _numbered(lines, at, name) if match["number"] else "", False
            elif (indent or not match["number"]) and " > " not in name and not name.endswith(" tests:"):
                way = (heading for depth, heading in headings if depth < indent)
                yield joint.join(filter(None, (suite, *way, name))), bool(match["good"])
        elif (match := HEADING.match(line)) and (match["mark"] or len(match["indent"]) > 1):
            indent = len(match["indent"])
            headings = [item for item in headings if item[0] < indent][:DEEPEST]
            headings.append((indent, _clean(re.sub(r" \(\d+\)$", "", match["name"]))))


DEEPEST = 12
"""Maximum number of headings above a test."""


def _numbered(lines: list[str], at: int, first: str) -> str:
    """Name of a failure that spans several lines, the last of which ends with a colon."""
    said = [first]
    for line in lines[at + 1 : at + 9]:
        if said[-1].endswith(":") or not line.strip():
            break
        said.append(line.strip())
    return " > ".join(said).removesuffix(":") if said[-1].endswith(":") else ""


# Tests by number

TALLIES = [
    (lazy_pattern(row), is_sum)
    for row, is_sum in (
        (r"test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed", True),
        (r"\s*+Summary \[.*\] \d+ tests? run: (?P<passed>\d+) passed(?:.*, (?P<failed>\d+) failed)?", True),
        (r"(?:ok|FAILED) \| (?P<passed>\d+) passed.*\| (?P<failed>\d+) failed", True),
        (r"\s*+Tests:? ++(?:(?P<failed>\d+) failed\b)?(?:.*?(?P<passed>\d+) passed\b)?.*(?:total|\))$", True),
        (r".*(?:Failed|Passed)! +- Failed: +(?P<failed>\d+), Passed: +(?P<passed>\d+)", True),
        (r"Test summary: total: (?P<total>\d+), failed: (?P<failed>\d+)", True),
        (r".*\bTests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+)"
         r"(?:, Skipped: (?P<skipped>\d+))?", False),
        (r"(?P<total>\d+) tests? completed(?:, (?P<failed>\d+) failed)?(?:, (?P<skipped>\d+) skipped)?", True),
        (r"(?P<total>\d+) runs?, \d+ assertions?, (?P<failed>\d+) failures?, (?P<errors>\d+) errors?"
         r"(?:, (?P<skipped>\d+) skips)?", True),
        (r"(?:\d+ \w+, )?(?P<total>\d+) (?:examples?|tests?|specs?), (?P<failed>\d+) failures?", True),
        (r"OK \((?P<passed>\d+) tests?,", True),
        (r"Tests: (?P<total>\d+), Assertions: \d+(?:, Errors: (?P<errors>\d+))?(?:, Failures: (?P<failed>\d+))?", True),
        (r".*Executed (?P<total>\d+) tests?, with (?:(?P<skipped>\d+) tests? skipped and )?"
         r"(?P<failed>\d+) failure", False),
        (r".*Test run with (?P<total>\d+) tests? .*?(?:passed|failed) after \S+ seconds"
         r"(?: with (?P<failed>\d+) issue)?", True),
        (r"\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)", True),
        (r"DONE (?P<total>\d+) tests?(?:, (?P<skipped>\d+) skipped)?(?:, (?P<failed>\d+) failures?)?", True),
        (r"\[ FAIL (?P<failed>\d+) \| WARN \d+ \| SKIP \d+ \| PASS (?P<passed>\d+) \]", False),
        (r"\[ +(?:PASSED +\] (?P<passed>\d+)|FAILED +\] (?P<failed>\d+)) tests?", True),
        (r"\s++(?:(?P<passed>\d+) passing|(?P<failed>\d+) failing)\b", True),
        (r"\s*+(?:(?P<passed>\d+) pass|(?P<failed>\d+) fail)$", True),
        (r"[ℹ#] (?:pass (?P<passed>\d+)|fail (?P<failed>\d+))$", True),
        (r" ++(?:(?P<passed>\d+) passed(?: \([\d.]+m?s\))?|(?P<failed>\d+) failed)$", True),
        (r"All (?P<passed>\d+) tests? passed\.$", True),
    )
]  # fmt: skip
"""One line each, the most reliable first, and whether several such lines are added up or the last one is the
total."""
PYTEST = lazy_pattern(r"=* ?(?P<counts>(?:\d+ [a-z]+, )*\d+ [a-z]+) in [\d.]+s")
UNITTEST = lazy_pattern(r"Ran (?P<total>\d+) tests? in [\d.]+s$|(?:OK|FAILED)(?: \((?P<counts>.*)\))?$")
COUNTED = lazy_pattern(r"(\d+) (passed|failed|errors?)\b|(failures|errors|skipped)=(\d+)")
GO = lazy_pattern(r"--- (?:PASS|FAIL):|(?:ok *|FAIL)\t")
TALLYING = lazy_pattern(
    r"\d.*\d|\d pass|\d fail|(?:pass|fail) \d|(?:OK|FAILED)\b|--- |ok *\t|FAIL(?:\t|$)|[Tt]ests?\b"
)
"""Required in a line with a count."""


def tally_in(output: str) -> Tally | None:
    """Number of passed and failed tests; None without a runner's summary. Packages are counted if the runner
    counts only those."""
    lines = [line for line in _lines(output) if TALLYING.search(line)]
    for read in (_pytest, _unittest, _go):
        if tally := read(lines):
            return tally
    for row, is_sum in TALLIES:
        if matches := [match for line in lines if (match := row.match(line))]:
            return _added(matches if is_sum else matches[-1:])
    return None


def _pytest(lines: list[str]) -> Tally | None:
    told = [match["counts"] for line in lines if (match := PYTEST.match(line))]
    counts = [
        (int(number[:9]), word) for text in told for number, word, _, _ in COUNTED.findall(text) if number
    ]
    passed = sum(number for number, word in counts if word == "passed")
    return Tally(passed, sum(number for number, _ in counts) - passed) if counts else None


def _unittest(lines: list[str]) -> Tally | None:
    told = [match for line in lines if (match := UNITTEST.match(line))]
    totals = [int(match["total"][:9]) for match in told if match["total"]]
    counts = [
        (word, int(count[:9]))
        for match in told
        for _, _, word, count in COUNTED.findall(match["counts"] or "")
    ]
    failed = sum(number for word, number in counts if word != "skipped")
    return Tally(max(0, sum(totals) - sum(number for _, number in counts)), failed) if totals else None


def _go(lines: list[str]) -> Tally | None:
    """Count tests if passing ones are listed, otherwise packages with tests. A failure without a name counts as
    one."""
    ran = [line for line in lines if "[no test" not in line]
    told = Counter(match.group().strip() for line in ran if (match := GO.match(line)))
    failed = max(told["FAIL"], told["--- FAIL:"], "FAIL" in ran)
    return Tally(told["--- PASS:"] or told["ok"], failed) if told else None


def _added(matches: Iterable[re.Match[str]]) -> Tally:
    passed = failed = 0
    for match in matches:
        count = {name: int(number[:9]) for name, number in match.groupdict().items() if number}
        wrong = count.get("failed", 0) + count.get("errors", 0)
        failed += wrong
        passed += count.get("passed", max(0, count.get("total", 0) - wrong - count.get("skipped", 0)))
    return Tally(passed, failed)


# Errors

PATH = r"(?P<path>(?:[A-Za-z]:)?[^\s:()\"'\[\]]+\.[A-Za-z]\w{0,9})"
EXCEPTION = r"(?P<code>(?:[A-Za-z_][\w$]*+\.)*+[A-Z]\w*(?:Error|Exception|Failure|Interrupt|Timeout|Exit))"
THROWN = r"(?:E +|Uncaught |Caused by: |Unhandled \w+: |Exception in thread \".*\" )?"
BIOME = r"(?P<code>(?:lint|parse|format|assist|check)(?:/\S+)?)"
BLAMED, SAID, GENERAL, FOLLOWS, COUNTS = range(5)
"""Ranks: problems with a place or a code first. Consequences of other errors are reported only if nothing else is
found, error counts only after those."""
ROWS = [
    (rank, lazy_pattern(row))
    for rank, row in (
        (COUNTS, r".*\b[Ff]ound \d+ errors?\b|[✖×✘] \d+ problems?\b|\d+ errors? generated"),
        (FOLLOWS, r"make(?:\[\d+\])?: \*\*\* |.*\bELIFECYCLE\b|BUILD FAILED"),
        (FOLLOWS, r"error(?: Command failed|: (?:could not compile|aborting due|test failed, to |Recipe |script ))"),
        (BLAMED, rf"{PATH}\((?P<line>\d+),\d+\): (?:fatal )?error (?P<code>[A-Z]+\d+):(?P<tool>)"),
        (BLAMED, rf"{PATH}:(?P<line>\d+):\d+ - error (?P<code>[A-Z]+\d+):(?P<tool>)"),
        (BLAMED, rf"{PATH}:(?P<line>\d+):(?:\d+:)? (?:fatal )?error: .+?(?:  ?\[(?P<code>[\w-]+)\])?(?P<tool>)$"),
        (BLAMED, rf"{PATH}:(?P<line>\d+):\d+: (?:(?P<code>[A-Z]+\d+):? )?\S(?P<tool>)"),
        (BLAMED, rf"(?: at )?{PATH}(?::(?P<line>\d+):\d+)? {BIOME}(?P<more>)(?P<tool>) .*━"),
        (BLAMED, rf"\[ERROR\] {PATH}:\[(?P<line>\d+),\d+\] (?P<tool>)"),
        (BLAMED, rf"e: (?:file://)?{PATH}:(?: ?\()?(?P<line>\d+)[:,] ?\d+(?P<tool>)"),
        (BLAMED, rf"{PATH}:(?P<line>\d+):in .*\((?P<code>[A-Z][\w:]+)\)$"),
        (BLAMED, rf"(?:PHP )?(?:Fatal|Parse) error: .+ in {PATH}(?: on line |:)(?P<line>\d+)"),
        (BLAMED, rf"CMake Error at {PATH}:(?P<line>\d+) \(.*\):(?P<more>)(?P<tool>)"),
        (BLAMED, r"error\[(?P<code>[\w:-]+)\]: \S(?P<tool>)|error: \S"),
        (BLAMED, r"(?P<code>[A-Z]{1,4}\d{3,4}) (?:\[\*\] )?[A-Z`](?P<tool>)"),
        (BLAMED, rf"{THROWN}{EXCEPTION}(?: \[\w+\])?(?::|$)"),
        (BLAMED, r"E +(?:assert\b|Failed:|fixture ')(?P<tested>)"),
        (BLAMED, r"\*\* \((?P<code>[\w.]+)\) \S|(?:[✘✖X×] \[ERROR\]|ERROR in) \S(?P<tool>)|panic: \S"),
        (BLAMED, rf"thread '.*' (?:\(\d+\) )?panicked at (?:'.*', )?{PATH}:(?P<line>\d+):\d+(?P<more>:?)$"),
        (BLAMED, r"\s*+expect\(.*\)\.\w(?P<tested>)"),
        (SAID, r"(?:fatal|FATAL|FATAL ERROR|Fatal error): \S|curl: \(\d+\) |E: \S"),
        (SAID, r"\s*+(?:ERR_[A-Z_]+ |! \[|CONFLICT \()"),
        (SAID, r".*: (?:command not found|not found|No such file or directory|Permission denied|Is a directory)$"),
        (SAID, r".*(?:: No such file or directory|: Permission denied|onnection refused|yntax error|parse error)\b"),
        (SAID, r".*\b(?:undefined reference to|undefined symbol|Segmentation fault|core dumped|[Oo]ut of memory)\b"),
        (SAID, r"\s*+(?:❌|⛔|🚫)\W{0,4}\w(?=\S*+ \S++ \S)(?!.*(?:: 0$|\bexit(?:ed with)? (?:code|status) ))"),
        (SAID, r"npm (?:ERR!|error) (?:Missing script|code |need auth |.*ERESOLVE|404|enoent)"),
        (SAID, r"go: .*(?:cannot|no required|unknown)|.*: import cycle not allowed"),
        (GENERAL, r"\s++(?P<path>[\w./-]+_test\.\w+):(?P<line>\d+): \S(?P<tested>)"),
        (GENERAL, r".*\b[Cc]overage\b.*\b(?:less than|not reached|not met)\b(?P<tool>)"),
        (GENERAL, r"(?:\S+: )?(?:\w+ )?\[?(?:[Ee]rror|ERROR|ERR)\]?(?:!|:| -) \S"),
        (GENERAL, r".*\blevel=(?:error|fatal)\b|\w++: \*\*\*\* "),
        (GENERAL, r"(?:Cannot|Could not|cannot|could not|Failed to|Unable to|Unknown|Invalid|Missing) \S"),
        (FOLLOWS, r"npm (?:ERR!|error) |\[ERROR\] |.*\bexit(?:ed with)? (?:code|status) [1-9]"),
    )
]  # fmt: skip
TELLING = lazy_pattern(
    r"(?i)error|fail|exception|panic|fatal|not found|no such|denied|refused|undefined|cannot|could not|unable|unknown"
    r"|invalid|missing|segmentation|memory|conflict|reject|elifecycle|assert|expect|:\d+:|[A-Z]\d{3}|interrupt|timeout"
    r"|exit|━| ERR|not allowed|❌|⛔|🚫|problem|need auth|coverage"
)
HARMLESS = lazy_pattern(
    r"(?i)\b(?:0|no) (?:errors?|failures?|problems?)\b|: warning\b"
    r"|^\W*+(?:[\w./-]++:[\d:]*+ )?(?:warn(?:ing)?|note|info|hint)\b|^npm \S++ A complete log of this run"
)
FROM = lazy_pattern(r"(?:\[[\w:.@/-]++\] |[\w@./-]++(?: [\w-]++|:[A-Za-z][\w-]*+)?: |[\w-]++ ++\| )")
"""Prefix that names the speaker in mixed output."""
FRAME = lazy_pattern(r'\s+File "(?P<path>[^"\n]+)", line (?P<line>\d+)')
PLACE = lazy_pattern(rf"[(\[│|]*(?:file://)?{PATH}:(?P<line>\d+)(?::\d+)?\W*$")
FOREIGN = lazy_pattern(
    r"site-packages|dist-packages|/lib/python|node_modules|node:|<frozen|<string>|/usr/|\.cargo/|rustc/|internal/"
)
STYLISH = lazy_pattern(r"\s+(?P<line>\d+):\d+ +error +\S.*?(?: {2,}(?P<code>\S+))?$")
FILE_ALONE = lazy_pattern(rf"{PATH}$")
NEAR = 15
"""Number of lines after a message in which its place may stand."""


QUOTED = lazy_pattern(r"\s*+>? ?\d{1,6} ?[|│] ")
"""A numbered source line, as tools show around an error."""


def errors_in(output: str, most: int = MOST_PROBLEMS, *, has_failed: bool = True) -> tuple[Problem, ...]:
    """Problems in the output of a failed command, one line each, the most significant first. In output of a
    successful command, such words mean nothing. With `has_failed=False`, tests without a verdict count for nothing
    either."""
    found: dict[str, tuple[int, Problem]] = {}
    for rank, problem in _problems(go_test_output.folded(_lines(output)), has_failed=has_failed):
        found.setdefault(subject_of(problem), (rank, problem))
    ranked = sorted(found.values(), key=lambda item: item[0])
    # Consequences and counts are reported only without other problems.
    first = ranked[0][0] if ranked else FOLLOWS
    told = [problem for rank, problem in ranked if rank < FOLLOWS or rank == first]
    return tuple(told[:most])


def _problems(lines: list[str], *, has_failed: bool) -> Iterator[tuple[int, Problem]]:
    places, logged = _Places(lines), go_test_output.logged(lines, has_failed=has_failed)
    listed, before = "", ""
    frame = ("", "")
    for at, line in enumerate(lines):
        if QUOTED.match(line) or (at in logged and logged[at] is None):
            continue
        if match := FRAME.match(line):
            is_ours = not frame[0] or not FOREIGN.search(match["path"])
            frame = (match["path"], match["line"]) if is_ours else frame
        elif match := FILE_ALONE.match(line):
            listed = match["path"]
        elif listed and (match := STYLISH.match(line)):
            problem = _problem(line, listed, match["line"], match["code"] or "")
            yield BLAMED, msgspec.structs.replace(problem, by="tool")
        elif TELLING.search(line) and not HARMLESS.search(line) and not line[:2] == before[:2] == "E ":
            rank, told = _told(line)
            path, number = told.get("path", ""), told.get("line", "")
            if told and not path and rank == BLAMED:
                (path, number), frame = frame if frame[0] else places.after(at), ("", "")
            if told:
                more = places.said_after(at) if told.get("more") is not None else ""
                problem = _problem(f"{line} {more}", path, number, told.get("code", ""))
                yield rank, msgspec.structs.replace(problem, test=logged.get(at) or "", by=_by(line, told))
        before = line


def _told(line: str) -> tuple[int, dict[str, str]]:
    """Groups of the first row that matches a line; empty if none does."""
    speaker = FROM.match(line)
    for said in (line, line[speaker.end() :]) if speaker else (line,):
        for rank, row in ROWS:
            if match := row.match(said):
                marks = (name for name in ("tool", "tested") if match.groupdict().get(name) is not None)
                return rank, {**match.groupdict(""), "by": next(marks, "")}
    return FOLLOWS, {}


def _by(line: str, told: dict[str, str]) -> Literal["", "tool", "test"]:
    if told["by"] == "tool":
        return "tool"
    return "test" if told["by"] or line.startswith("E  ") else ""


class _Places:
    """Places in an output; each line is parsed once, however many messages stand before it."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.known: dict[int, tuple[str, str]] = {}

    def after(self, at: int) -> tuple[str, str]:
        """The first place inside the project in the lines after a message."""
        for number in range(at + 1, min(at + 1 + NEAR, len(self.lines))):
            if number not in self.known:
                self.known[number] = self._in(self.lines[number])
            if self.known[number][0]:
                return self.known[number]
        return "", ""

    def _in(self, line: str) -> tuple[str, str]:
        for word in line.split() if ":" in line and not FOREIGN.search(line) else ():
            if match := PLACE.match(word):
                return match["path"], match["line"]
        return "", ""

    def said_after(self, at: int) -> str:
        return next((line.strip(" ×✖") for line in self.lines[at + 1 : at + 4] if line.strip()), "")


def _problem(line: str, path: str, number: str, code: str) -> Problem:
    said = " ".join(re.sub(r"^E {2,}|^ at |━+", " ", line).split())
    where = f"{path}:{number}: " if path and number and path not in said else ""
    return Problem(begun(where + said, LONGEST_TEXT), path, int(number[:9] or 0), code)


def subject_of(problem: Problem) -> str:
    """Subject of a problem without line numbers, so that a moved problem is recognised."""
    said = problem.text.replace(problem.path, "", 1) if problem.path else problem.text
    said = re.sub(r"0x[0-9a-f]+|\b(?=[a-f]{0,40}\d)[0-9a-f]{7,40}\b|\d+", "#", said).strip("#:(), ")
    return begun(f"{problem.path} {said}".strip(), 200)
