"""Go's tests: what they log is no error, and a package that passes takes its tests with it."""

from __future__ import annotations

from textwrap import dedent

import pytest

from segue.facts import outcomes


def told(output: str) -> list[str]:
    return [problem.text for problem in outcomes.errors_in(dedent(output))]


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


def test_a_failed_go_test_that_names_no_fault_is_told_by_what_it_said_last() -> None:
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
        ("=== RUN   TestA\n    a_test.go:3: got 1, want 2\n", 0),
    ],
    ids=["only what failed logs", "told as passed", "cut at its head", "cut at its end"],
)
def test_of_an_output_that_was_cut_what_is_known_decides(output: str, expected: int) -> None:
    assert len([text for text in told(output) if "_test.go" in text]) == expected
