"""Go's tests: logs are not errors, and a passing package includes its tests."""

from __future__ import annotations

from textwrap import dedent

import pytest

from segue.facts.output import command_output
from tests.pure.facts.test_tracker import ran, values


def told(output: str) -> list[str]:
    return [problem.text for problem in command_output.errors_in(dedent(output))]


VERBOSE = """
    === RUN   TestGood
        good_test.go:10: no error: as it should be
        good_test.go:12: ✓ all is well
    --- PASS: TestGood (0.01s)
    === RUN   TestBad
        bad_test.go:20: Phase 2: Starting session
        bad_test.go:23: ✓ Shadow branch deleted, no error
        bad_test.go:29: User commits (a checkpoint should be made)
        bad_test.go:31: Phase 3: git rebase failed: exit status 128
        bad_test.go:35: test completed successfully
    --- FAIL: TestBad (0.02s)
    FAIL
    FAIL\texample.com/a\t0.3s
    """


def test_what_a_go_test_logs_is_an_error_only_if_it_failed_and_says_so() -> None:
    assert told(VERBOSE) == ["bad_test.go:31: Phase 3: git rebase failed: exit status 128"]


def test_a_failed_go_test_that_names_no_fault_is_reported_by_what_it_said_last() -> None:
    output = """
        --- FAIL: TestBad (0.02s)
            bad_test.go:20: Initial HEAD: 18ecb26
            bad_test.go:31: the trailer is there twice
            bad_test.go:32: ✓ cleaned up
        FAIL
        """
    assert told(output) == ["bad_test.go:31: the trailer is there twice"]


def test_what_each_part_of_a_go_test_logs_is_its_own() -> None:
    output = """
        === RUN   TestBoth
        === RUN   TestBoth/one
            both_test.go:3: got 1, want 2
        === RUN   TestBoth/two
            both_test.go:3: got 2, want 2
        --- FAIL: TestBoth (0.00s)
            --- FAIL: TestBoth/one (0.00s)
            --- PASS: TestBoth/two (0.00s)
        FAIL
        """
    assert told(output) == ["both_test.go:3: got 1, want 2"]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("    a_test.go:3: got 1, want 2\n--- FAIL: TestB (0.00s)\n    b_test.go:4: no\n", 2),
        ("    a_test.go:3: got 1, want 2\n--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.0s)\n", 0),
        ("    a_test.go:3: got 1, want 2\nFAIL\texample.com/a\t0.1s\n", 1),
        ("=== RUN   TestA\n    a_test.go:3: got 1, want 2\n", 1),
    ],
    ids=["only what failed logs", "told as passed", "cut at its head", "cut at its end"],
)
def test_of_an_output_that_was_cut_what_is_known_decides(output: str, expected: int) -> None:
    assert len([text for text in told(output) if "_test.go" in text]) == expected


def test_a_package_is_no_test() -> None:
    output = "--- FAIL: TestX (0.1s)\nFAIL\nFAIL\texample.com/a\t0.3s\nok  \texample.com/b\t0.1s\n"
    assert command_output.tests_in(output) == {"TestX": False}
    assert command_output.tests_in("FAIL\texample.com/a [build failed]\n") == {}
    assert command_output.packages_in(output) == {"example.com/a": False, "example.com/b": True}
    assert command_output.packages_in("ok  \texample.com/a\t0.2s [no tests to run]\n") == {}


def failing(first: str, output: str, *then: tuple[str, str, int]) -> list[str]:
    entries = ran(first, output, 1)
    for command, said, status in then:
        entries += ran(command, said, status)
    return [name for name, value in values(entries, "test").items() if value == "failing"]


FAILED = """--- FAIL: TestX (0.1s)
    --- FAIL: TestX/one (0.1s)
        x_test.go:3: got 1, want 2
FAIL
FAIL\texample.com/a\t0.3s
--- FAIL: TestY (0.1s)
FAIL
FAIL\texample.com/b\t0.3s
"""
OK = "ok  \texample.com/a\t0.1s\n"


def test_a_package_that_passes_takes_its_tests_with_it() -> None:
    assert failing("go test ./...", FAILED) == ["TestX/one", "TestY"]
    assert failing("go test ./...", FAILED, ("go test ./a", OK, 0)) == ["TestY"]
    assert failing("go test ./...", FAILED, ("make ci", OK + "FAIL\texample.com/c\t1s\n", 1)) == ["TestY"]
    entries = [*ran("go test ./...", FAILED, 1), *ran("go test ./a", OK)]
    assert set(values(entries, "error").values()) == {"resolved"}


@pytest.mark.parametrize(
    ("command", "is_left"),
    [
        ("go test -run 'TestX' ./a", False),
        ("go test -run 'TestOther|TestX/one' ./a", False),
        ("go test -run '^TestX$' ./a", False),
        ("go test -run TestX.* ./a", False),
        ("go test -run . ./a", False),
        ("go test -run TestOther ./a", True),
        ("go test -run=^$ ./a", True),
        ("go test -run 'TestX.+Z' ./a", True),
        ("go test -run TestX/two ./a", True),
        ("go test -skip TestX ./a", True),
        ("go test -short ./a", True),
    ],
)
def test_a_package_that_passes_says_nothing_of_tests_that_were_left_out(command: str, is_left: bool) -> None:
    assert ("TestX/one" in failing("go test ./...", FAILED, (command, OK, 0))) is is_left


def test_a_package_that_passes_without_some_of_its_files_says_nothing_of_those() -> None:
    first = "go test -tags=integration ./..."
    assert "TestX/one" in failing(first, FAILED, ("go test ./a", OK, 0))
    assert "TestX/one" not in failing(first, FAILED, ("go test -tags=integration ./a", OK, 0))
    assert "TestX/one" not in failing(first, FAILED, ("make test", "$ go test -tags=integration\n" + OK, 0))


def test_where_no_package_is_reported_the_folder_that_was_tested_stands_for_it() -> None:
    output = "--- FAIL: TestX (0.1s)\n"
    passed = "ok  \texample.com/x/a\t0.1s\nok  \texample.com/x/a/b\t0.1s\n"
    assert failing("go test ./a/... | grep FAIL", output, ("make test", passed, 0)) == []
    assert failing("go test ./c/... | grep FAIL", output, ("make test", passed, 0)) == ["TestX"]


def test_an_assertion_that_is_reported_over_several_lines_is_one_error() -> None:
    output = """
        --- FAIL: TestPhase (0.05s)
            phase_test.go:32:
                \tError Trace:\t/work/app/phase_test.go:32
                \tError:      \tNot equal:
                \t            \texpected: "active"
                \t            \tactual  : "idle"
                \t
                \t            \tDiff:
                \t            \t--- Expected
                \tTest:       \tTestPhase
                \tMessages:   \tit should be active
        FAIL
        """
    (text,) = told(output)
    assert text == 'phase_test.go:32: Not equal: expected: "active" actual : "idle" (it should be active)'


@pytest.mark.parametrize(
    ("test", "command"),
    [
        ("TestFooBar", "go test -run 'TestFoo$' ./a"),
        ("TestFooBar", "go test -run '(TestFoo|TestBaz)$' ./a"),
        ("TestFooBar", "go test -run '^(TestFoo|TestBaz)$' ./a"),
        ("TestFoo", "go test -run '^Foo' ./a"),
        ("TestFoo", "go test -run 'TestFoo.+' ./a"),
        ("TestFoo", "go test -list . ./a"),
        ("TestFoo", "go test -list ."),
    ],
)
def test_a_test_that_was_not_run_still_fails(test: str, command: str) -> None:
    first = ran("go test ./a", f"--- FAIL: {test} (0.01s)\nFAIL\nFAIL\texample.com/a\t0.3s\nFAIL\n", 1)
    assert values([*first, *ran(command, "ok  \texample.com/a\t0.3s\n")], "test") == {test: "failing"}


@pytest.mark.parametrize(
    "pattern",
    ["FooBar$", "^TestFoo", "^TestFooBar$", "^(TestA|TestFooBar)$", "Foo", "TestFoo.*$", "TestFoo.+", "."],
)
def test_a_test_that_a_pattern_takes_in_passes_with_its_package(pattern: str) -> None:
    first = ran("go test ./a", "--- FAIL: TestFooBar (0.01s)\nFAIL\nFAIL\texample.com/a\t0.3s\nFAIL\n", 1)
    then = ran(f"go test -run '{pattern}' ./a", "ok  \texample.com/a\t0.3s\n")
    assert values([*first, *then], "test") == {"TestFooBar": "passing"}


def test_a_test_that_a_run_broke_off_in_is_what_it_failed_with() -> None:
    output = "=== RUN   TestGood\n    a_test.go:9: no error\n--- PASS: TestGood (0.01s)\n"
    output += "=== RUN   TestA\n    a_test.go:3: got 1, want 2\n"
    assert told(output) == ["a_test.go:3: got 1, want 2"]
    assert values(ran("go test -v ./a", output, 1), "error") == {"a_test.go got #, want": "open"}
    # `head` may have cut off the passing ones.
    begun = "=== RUN   TestA\n    a_test.go:3: got 1, want 2\n"
    assert values(ran("go test -v ./a | head -2", begun), "error") == {}
