"""Open errors: what closes one, and what does not."""

from __future__ import annotations

import pytest

from segue.model import Entry
from segue.shell import commands
from tests.pure.facts.test_tracker import ran, values

UNUSED = "# app/cli\ncli/a.go:34:2: declared and not used: runner\n"
TYPES = "src/a.ts(3,1): error TS2345: no\n"


def open_errors(*runs: list[Entry]) -> list[str]:
    entries = [entry for run in runs for entry in run]
    return [subject for subject, value in values(entries, "error").items() if value == "open"]


def failing(*names: str) -> str:
    return "".join(f"FAILED {name} - boom\nE   ValueError: {name}\n" for name in names) + (
        f"{len(names)} failed, 1 passed in 0.1s\n"
    )


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("git checkout HEAD -- cli/a.go && go build ./...", "go build ./..."),
        ("go vet ./... && go build ./...", "go vet ./... && go build -o app ./..."),
        ("go build -v ./...", "go build ./... 2>&1 | head -20"),
        ("go build ./cli", "go build ./..."),
        ("go build -tags=integration ./cli", "go build -tags=integration ./..."),
    ],
)
def test_an_error_of_a_build_is_over_when_a_build_that_takes_it_in_passes(first: str, then: str) -> None:
    assert open_errors(ran(first, UNUSED, 1))
    assert open_errors(ran(first, UNUSED, 1), ran(then)) == []


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("go build ./...", "go build ./other"),
        ("go build ./...", "cd ../other && go build ./..."),
        ("go build -tags=integration ./...", "go build ./..."),
        ("go vet ./... && go build ./...", "go vet ./..."),
        ("go build ./...", "go list ./..."),
        ("tsc --project=a", "tsc --project=b"),
    ],
)
def test_an_error_stays_open_when_something_else_passes(first: str, then: str) -> None:
    assert open_errors(ran(first, UNUSED, 1), ran(then))


def test_what_a_test_failed_with_is_over_when_the_test_passes_in_any_run() -> None:
    output = "--- FAIL: TestResume (0.4s)\n    resume_test.go:454: output should contain 'x'\nFAIL\n"
    first = ran("make integration-test", output, 1)
    assert open_errors(first) == ["resume_test.go output should contain 'x'"]
    other = ran("go test -v -run TestOther ./cli", "--- PASS: TestOther (0.1s)\nPASS\n")
    assert open_errors(first, other)
    same = ran("go test -v -run TestResume ./cli", "--- PASS: TestResume (0.1s)\nPASS\n")
    assert open_errors(first, other, same) == []


def test_an_error_is_over_when_all_the_tests_that_its_run_failed_with_pass() -> None:
    first = ran("pytest tests -q", failing("tests/a.py::x", "tests/b.py::y"), 1)
    one = ran("pytest tests/a.py -v", "tests/a.py::x PASSED\n1 passed in 0.1s\n")
    other = ran("pytest tests/b.py -v", "tests/b.py::y PASSED\n1 passed in 0.1s\n")
    assert len(open_errors(first, one)) == 2
    assert open_errors(first, one, other) == []


def test_an_error_is_over_when_the_same_check_shows_others_and_not_that_one() -> None:
    first = ran("uv run pytest tests/a.py", "E   TypeError: no\n" + failing("tests/a.py::x"), 1)
    again = ran("uv run pytest tests/a.py", failing("tests/a.py::x"), 1)
    assert open_errors(first, again) == ["ValueError: tests/a.py::x"]
    types = ran("npx tsc", TYPES + "src/b.ts(3,1): error TS2345: no\n", 1)
    assert open_errors(types, ran("npx tsc 2>&1 | head -20", TYPES, 1)) == ["src/a.ts error TS#: no"]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("npx tsc | head -1", "src/b.ts(3,1): error TS2345: no"),
        ("npx tsc | grep b.ts", "src/b.ts(3,1): error TS2345: no"),
        ("npx tsc", "src/b.ts(3,1): error TS2345: no\n… [12 lines truncated] …"),
        ("npx tsc", "src/b.ts(3,1): error TS2345: no\n" * 1000),
        ("npx tsc", "src/b.ts(3,1): error TS1005: ';' expected."),
        ("npx tsc", ""),
    ],
)
def test_an_error_that_may_be_hidden_stays_open(command: str, output: str) -> None:
    assert "src/a.ts error TS#: no" in open_errors(ran("npx tsc", TYPES, 1), ran(command, output, 1))


def test_a_script_that_stops_at_its_first_step_shows_nothing_of_the_others() -> None:
    first = ran("npm run check", TYPES, 1)
    assert len(open_errors(first, ran("npm run check", "src/b.ts(1,1): error TS2345: no", 1))) == 2


SLIPS = [
    ("mux bun run x", "error: unrecognized subcommand 'bun'", "mux add x"),
    ("mux add x --base main", "error: unexpected argument '--base' found", "mux add y"),
    ("bd close 1 --mine", "Error: unknown flag: --mine", "bd close 2"),
    ("git add x", "fatal: Unable to create '/w/.git/index.lock': File exists.", "git add y"),
    ("docker compose up", "no configuration file provided: not found", "docker compose up -d"),
    ("python -c 'import a; a.b'", "ImportError: cannot import name 'b' from 'a'", "python -c 'import a'"),
    (
        "NODE_PATH=/x node --input-type=module -e 'a()'",
        "TypeError: a is not",
        "node --input-type=module -e 'b()'",
    ),
]


@pytest.mark.parametrize(("command", "output", "then"), SLIPS)
def test_a_slip_ends_with_the_next_call_that_the_program_takes(command: str, output: str, then: str) -> None:
    first = ran(command, output, 2)
    assert len(open_errors(first)) == 1
    assert open_errors(first, ran(then)) == []
    assert len(open_errors(first, ran("mux add x --help"), ran("bd show 1"), ran("python app.py"))) == 1


@pytest.mark.parametrize(("command", "output", "then"), SLIPS)
def test_a_slip_is_soon_not_reported(command: str, output: str, then: str) -> None:
    later = [entry for n in range(60) for entry in ran(f"ls {n}")]
    assert open_errors(ran(command, output, 2), later) == []
    assert open_errors(ran("npm run build", "Error: boom", 1), later) == ["Error: boom"]


def test_the_same_try_with_other_options_settles_what_it_failed_with() -> None:
    first = ran("mux wait core cli --timeout 180", "Timeout waiting for: core, cli", 1)
    assert open_errors(first) and open_errors(first, ran("mux wait core --timeout 900"))
    assert open_errors(first, ran("mux wait core cli --timeout 900")) == []


def test_a_line_that_names_a_test_is_no_error_beside_it() -> None:
    assert open_errors(ran("go test ./a 2>&1 | grep FAIL", "--- FAIL: TestX (0.08s)\nFAIL\n", 1)) == []
    why = "FAILED tests/a.py::test_x - boom: nothing there"
    assert open_errors(ran("pytest -q", f"{why}\n1 failed in 0.1s\n", 1)) == [why]
    assert open_errors(ran("go test ./a | tail -1", "FAIL\texample.com/a\t5.4s\n", 1)) == []


def test_the_same_error_with_another_hash_is_the_same() -> None:
    runs = [ran("make e2e", f"Error: branch entire/{name} is gone", 1) for name in ("7e74725", "7891d64")]
    assert len(open_errors(*runs)) == 1


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("git stash && go build ./... | head -3", ["git stash", "go build ./..."]),
        ("make lint; make test", ["make lint", "make test"]),
        ("cd web && make test", ["cd web && make test"]),
        ("for i in 1 2; do make; done", ["for i in 1 2; do make; done"]),
    ],
)
def test_who_can_have_said_what_a_chain_printed(command: str, parts: list[str]) -> None:
    assert commands.chained(command, "/work/app") == parts


def test_a_marked_line_that_names_a_test_is_reported_as_the_test() -> None:
    output = (
        "  sums\n    ✓ adds\n    ❌ subtracts\n\n  1 passing\n  1 failing\n\n  1) sums\n       subtracts:\n"
    )
    assert open_errors(ran("npx mocha", output, 1)) == []


@pytest.mark.parametrize(
    ("command", "output", "then"),
    [
        (
            "npm publish",
            "npm error need auth This command requires you to be logged in",
            "npm publish --dry-run",
        ),
        ("pytest", "E   KeyError: 'a'\n1 failed in 0.1s", "pytest --collect-only"),
        ("terraform apply -auto-approve", "Error: AccessDenied: no", "terraform apply -help"),
        ("python train.py", "ValueError: no", "python train.py --help"),
        ("python train.py", "ValueError: no", "python train.py -h"),
        ("python train.py --epochs 100", "RuntimeError: out of memory", "python train.py --epochs 1"),
        ("python train.py --epochs 100", "RuntimeError: out of memory", "python train.py"),
        ("python migrate.py 3", "ValueError: no", "python migrate.py 2"),
        ("git push", "error: failed to push some refs to 'x'", "git push -n"),
        ("make app", "a.c:3:1: error: no", "make app -n"),
        ("npx jest", "TypeError: no\nTests: 1 failed, 1 total", "npx jest --listTests"),
        ("cargo test", "error[E0432]: unresolved import", "cargo test -- --list"),
        ("ruff check .", "a.py:1:1: F401 `a` imported but unused", "ruff check . --exit-zero"),
    ],
)
def test_an_error_stays_open_when_a_command_only_shows_what_it_would_do_or_does_another_thing(
    command: str, output: str, then: str
) -> None:
    first = ran(command, output, 1)
    assert open_errors(first)
    assert open_errors(first, ran(then)) == open_errors(first)
    assert open_errors(first, ran(then), ran(command)) == []


@pytest.mark.parametrize(
    ("command", "then"),
    [
        ("git commit -m 'add --help'", "git commit -m 'add --help'"),
        ("psql -h localhost -f a.sql", "psql -h localhost -f a.sql -q"),
        ("npm publish --dry-run", "npm publish --dry-run"),
        ("pytest", "pytest -n 4 --color=1"),
    ],
)
def test_an_error_is_over_when_the_same_is_done_in_another_manner(command: str, then: str) -> None:
    assert open_errors(ran(command, "ValueError: no", 1), ran(then)) == []


def test_a_test_that_is_only_listed_still_fails() -> None:
    first = ran("pytest", failing("tests/a.py::x"), 1)
    assert values([*first, *ran("pytest --collect-only", "1 test collected")], "test") == {
        "tests/a.py::x": "failing"
    }


GO_B = "# app/b\nb/b.go:3:2: undefined: x\n"


@pytest.mark.parametrize(
    ("command", "first", "then"),
    [
        (
            "mypy src",
            "src/a.py:3: error: no  [arg-type]\nFound 1 error in 1 file\n",
            "src/b.py:9: error: invalid syntax  [syntax]\nFound 1 error in 1 file (errors prevented further checking)\n",
        ),
        ("go build ./...", GO_B, "# app/a\na/a.go:3:2: undefined: y\n"),
        ("go vet ./...", GO_B, "# app/a\na/a.go:3:2: undefined: y\n"),
        ("go build ./b", GO_B, "# app/b\nb/c.go:3:2: undefined: y\nb/c.go:9:2: too many errors\n"),
        ("gcc -c a.c b.c", "b.c:3:1: error: no\n", "a.c:3:1: error: no\n"),
        (
            "npx eslint .",
            "/w/src/a.js\n  3:1  error  'x' is not defined  no-undef\n",
            "/w/src/a.js\n  1:1  error  Parsing error: Unexpected token\n",
        ),
        (
            "pytest -q",
            "E   KeyError: 'a'\nFAILED tests/a.py::x - no\n1 failed in 0.1s\n",
            "E   ValueError: no\nFAILED tests/b.py::y - no\n!!! stopping after 1 failures !!!\n1 failed in 0.1s\n",
        ),
        ("npx tsc && npx eslint .", "/w/a.js\n  3:1  error  'x' is not defined  no-undef\n", TYPES),
    ],
)
def test_a_check_that_stops_early_shows_nothing_of_what_it_did_not_look_at(
    command: str, first: str, then: str
) -> None:
    before = open_errors(ran(command, first, 1))
    assert before
    assert set(before) < set(open_errors(ran(command, first, 1), ran(command, then, 1)))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("pytest --cov", "ERROR: Coverage failure: total of 70 is less than fail-under=80\n"),
        ("pytest --cov", "FAIL Required test coverage of 80% not reached. Total coverage: 70.00%\n"),
        ("npm test", TYPES),
        ("npm test", "/w/a.js\n  3:1  error  'x' is not defined  no-undef\n"),
    ],
)
def test_what_no_test_made_does_not_end_with_the_tests(command: str, said: str) -> None:
    (alone,) = open_errors(ran(command, said, 1))
    first = ran(command, said + failing("tests/a.py::x"), 1)
    again = ran("pytest tests/a.py -v", "tests/a.py::x PASSED\n1 passed in 0.1s\n")
    assert set(open_errors(first)) > {alone}
    assert open_errors(first, again) == [alone]


CRASH = (
    'Traceback (most recent call last):\n  File "/work/app/scripts/run.py", line 3, in <module>\n    a["b"]\n'
    "KeyError: 'b'\n"
)
NODE = "server.js:10\n  boom()\n  ^\n\nReferenceError: boom is not defined\n    at main (/work/app/server.js:10:3)\n"


@pytest.mark.parametrize(
    ("command", "output", "check", "other"),
    [
        (
            "pytest -q && python scripts/run.py",
            f"3 passed in 0.1s\n{CRASH}",
            "pytest -q",
            "python scripts/run.py",
        ),
        ("npm run lint && node server.js", NODE, "npm run lint", "node server.js"),
    ],
)
def test_an_exception_is_not_over_when_the_check_before_the_program_that_raised_it_passes(
    command: str, output: str, check: str, other: str
) -> None:
    first = ran(command, output, 1)
    assert len(open_errors(first)) == 1
    assert len(open_errors(first, ran(check))) == 1
    assert open_errors(first, ran(check), ran(other)) == []


def test_what_a_check_said_in_a_chain_is_over_when_the_check_passes() -> None:
    test = "E   KeyError: 'a'\ntests/test_a.py:3: KeyError\n"
    assert open_errors(ran("git add . && pytest -q", test, 1), ran("pytest -q")) == []
    assert open_errors(ran("git add . && npx tsc", TYPES, 1), ran("npx tsc")) == []
