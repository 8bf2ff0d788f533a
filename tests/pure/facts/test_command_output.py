"""Command output: each sample is a tool's real output, shortened."""

from __future__ import annotations

import time
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.facts.output import command_output
from segue.facts.output.command_output import (
    MOST_PROBLEMS,
    Problem,
    Tally,
    covers,
    errors_in,
    subject_of,
    tally_in,
)

RUNS: dict[str, tuple[str, dict[str, bool], Tally | None]] = {
    "pytest, in full": (
        """
        test_a.py::test_ok PASSED                                                [ 14%]
        test_a.py::test_bad FAILED                                               [ 28%]
        test_a.py::test_p[a b] FAILED                                            [ 42%]
        test_a.py::test_err ERROR                                                [ 71%]
        test_a.py::test_later SKIPPED (not now)                                  [ 85%]
        test_a.py::TestC::test_v PASSED                                          [100%]
        ==================================== ERRORS ====================================
        __________________________ ERROR at setup of test_err __________________________
        E   RuntimeError: boom
        =========================== short test summary info ============================
        FAILED test_a.py::test_bad - AssertionError: no
        FAILED test_a.py::test_p[a b] - AssertionError: assert 'a b' == 'c'
        ERROR test_a.py::test_err - RuntimeError: boom
        ========== 2 failed, 2 passed, 1 skipped, 1 error in 2.76s ==========
        """,
        {
            "test_a.py::test_ok": True,
            "test_a.py::test_bad": False,
            "test_a.py::test_p[a b]": False,
            "test_a.py::test_err": False,
            "test_a.py::TestC::test_v": True,
        },
        Tally(2, 3),
    ),
    "pytest, in short": (
        """
        tests/test_a.py ..F.                                                     [ 40%]
        tests/test_b.py .....s                                                   [100%]
        FAILED tests/test_a.py::test_bad - assert 1 == 2
        1 failed, 8 passed, 1 skipped in 0.31s
        """,
        {"tests/test_a.py::test_bad": False, "tests/test_b.py": True},
        Tally(8, 1),
    ),
    "pytest, in parallel": (
        """
        [gw0] [ 50%] PASSED tests/test_a.py::test_one
        [gw1] [100%] FAILED tests/test_a.py::test_two
        """,
        {"tests/test_a.py::test_one": True, "tests/test_a.py::test_two": False},
        None,
    ),
    "unittest": (
        """
        test_u (test_a.TestC.test_u)
        A doc line ... FAIL
        test_v (test_a.TestC.test_v) ... ok
        test_w (test_a.TestC) ... ERROR

        ======================================================================
        FAIL: test_u (test_a.TestC.test_u)
        ----------------------------------------------------------------------
        Ran 4 tests in 0.001s

        FAILED (failures=1, errors=1, skipped=1)
        """,
        {"test_a.TestC.test_u": False, "test_a.TestC.test_v": True, "test_a.TestC.test_w": False},
        Tally(1, 2),
    ),
    "jest": (
        """
        FAIL j/sum.test.js
          ● sum › deep › subtracts

            expect(received).toBe(expected) // Object.is equality

        PASS j/ok.test.js (5.2 s)

        Test Suites: 1 failed, 1 passed, 2 total
        Tests:       1 failed, 1 skipped, 2 passed, 4 total
        """,
        {"j/sum.test.js › sum › deep › subtracts": False, "j/ok.test.js": True},
        Tally(2, 1),
    ),
    "jest, in full": (
        """
        FAIL j/sum.test.js
          sum
            ✓ adds (15 ms)
            ○ skipped later
            deep
              ✕ subtracts (2 ms)
            ✓ adds again

          ● sum › deep › subtracts
        """,
        {
            "j/sum.test.js › sum › adds": True,
            "j/sum.test.js › sum › deep › subtracts": False,
            "j/sum.test.js › sum › adds again": True,
        },
        None,
    ),
    "vitest": (
        """
         \x1b[31m❯\x1b[39m v/sum.test.mjs \x1b[2m(\x1b[22m2 tests\x1b[2m | \x1b[22m\x1b[31m1 failed\x1b[39m)\x1b[32m 36ms
             \x1b[32m✓\x1b[39m adds\x1b[32m 6\x1b[2mms\x1b[22m\x1b[39m
               × subtracts 27ms
         ✓ v/ok.test.mjs (1 test) 3ms

        ⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯

         FAIL  v/sum.test.mjs > sum > deep > subtracts
        AssertionError: expected 1 to be 2 // Object.is equality

         Test Files  1 failed | 1 passed (2)
              Tests  1 failed | 2 passed (3)
        """,
        {
            "v/sum.test.mjs > sum > deep > subtracts": False,
            "v/sum.test.mjs > adds": True,
            "v/ok.test.mjs": True,
        },
        Tally(2, 1),
    ),
    "vitest, in full": (
        """
         ✓ v/sum.test.mjs > sum > adds 2ms
         × v/sum.test.mjs > sum > deep > subtracts 11ms
           → expected 1 to be 2 // Object.is equality
        """,
        {"v/sum.test.mjs > sum > adds": True, "v/sum.test.mjs > sum > deep > subtracts": False},
        None,
    ),
    "mocha": (
        """
        > mocha

          Array
            #indexOf()
              ✔ finds
              1) should fail


          1 passing (10ms)
          1 failing

          1) Array
               #indexOf()
                 should fail:

              AssertionError [ERR_ASSERTION]: 1 == 2
        """,
        {"Array > #indexOf() > finds": True, "Array > #indexOf() > should fail": False},
        Tally(1, 1),
    ),
    "node, its own runner": (
        """
        ▶ suite
          ✔ adds (0.5ms)
          ✖ subtracts (1.2ms)
        ▶ suite (3ms)
        ℹ tests 2
        ℹ pass 1
        ℹ fail 1
        """,
        {"suite > adds": True, "suite > subtracts": False},
        Tally(1, 1),
    ),
    "TAP": (
        """
        TAP version 13
        ok 1 - adds # time=0.9ms
        not ok 2 - subtracts
          ---
          error: '1 == 2'
          ...
        ok 3 - later # SKIP not now
        1..3
        # pass 1
        # fail 1
        """,
        {"adds": True, "subtracts": False},
        Tally(1, 1),
    ),
    "bun": (
        """
        src/sum.test.ts:
        (pass) sum > adds [0.12ms]
        (fail) sum > subtracts [1.50ms]

         1 pass
         1 fail
        Ran 2 tests across 1 file. [17.00ms]
        """,
        {"sum > adds": True, "sum > subtracts": False},
        Tally(1, 1),
    ),
    "deno": (
        """
        running 2 tests from ./sum_test.ts
        adds ... ok (1ms)
        subtracts ... FAILED (3ms)

        FAILED | 1 passed | 1 failed (12ms)
        """,
        {"adds": True, "subtracts": False},
        Tally(1, 1),
    ),
    "go": (
        """
        === RUN   TestSum
        --- FAIL: TestSum (0.00s)
            --- PASS: TestSum/adds (0.00s)
            --- FAIL: TestSum/subtracts (0.00s)
                sum_test.go:12: got 1, want 2
        FAIL
        FAIL\texample.com/sum\t0.004s
        ok  \texample.com/other\t(cached)
        ?   \texample.com/none\t[no test files]
        """,
        {
            "TestSum/adds": True,
            "TestSum/subtracts": False,
        },
        Tally(1, 1),
    ),
    "go, in full": (
        """
        --- PASS: TestOne (0.00s)
        --- PASS: TestTwo (0.01s)
        --- FAIL: TestThree (0.01s)
        """,
        {"TestOne": True, "TestTwo": True, "TestThree": False},
        Tally(2, 1),
    ),
    "cargo": (
        """
        running 3 tests
        test tests::skipped ... ignored
        test tests::works ... ok
        test tests::breaks ... FAILED
        test src/lib.rs - add (line 3) ... ok

        failures:
            tests::breaks

        test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.45s
        test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
        """,
        {"tests::works": True, "tests::breaks": False, "src/lib.rs - add (line 3)": True},
        Tally(2, 1),
    ),
    "nextest": (
        """
                PASS [   0.005s] demo tests::works
                FAIL [   0.006s] demo tests::breaks
             Summary [   0.010s] 2 tests run: 1 passed, 1 failed, 0 skipped
        """,
        {"demo tests::works": True, "demo tests::breaks": False},
        Tally(1, 1),
    ),
    "rspec": (
        """
        Failures:

          1) Calculator#add returns the sum
             Failure/Error: expect(1).to eq(2)

        5 examples, 1 failure

        Failed examples:

        rspec ./spec/calculator_spec.rb:5 # Calculator#add returns the sum
        """,
        {"Calculator#add returns the sum": False},
        Tally(4, 1),
    ),
    "minitest": (
        """
          1) Failure:
        SumTest#test_subtracts [test/sum_test.rb:7]:
        Expected: 2
          Actual: 1

        2 runs, 2 assertions, 1 failures, 0 errors, 0 skips
        """,
        {"SumTest#test_subtracts": False},
        Tally(1, 1),
    ),
    "phpunit": (
        r"""
        There was 1 failure:

        1) Tests\SumTest::testSubtracts
        Failed asserting that 1 matches expected 2.

        FAILURES!
        Tests: 5, Assertions: 8, Failures: 1.
        """,
        {r"Tests\SumTest::testSubtracts": False},
        Tally(4, 1),
    ),
    "exunit": (
        """
          1) test subtracts (SumTest)
             test/sum_test.exs:7
             Assertion with == failed

        1 doctest, 3 tests, 1 failure
        """,
        {"test subtracts (SumTest)": False},
        Tally(2, 1),
    ),
    "gradle": (
        """
        SumTest > adds() PASSED
        com.example.SumTest > subtracts() FAILED
            org.opentest4j.AssertionFailedError at SumTest.java:12

        2 tests completed, 1 failed
        """,
        {"SumTest > adds()": True, "com.example.SumTest > subtracts()": False},
        Tally(1, 1),
    ),
    "maven": (
        """
        [ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.05 s <<< FAILURE! - in com.example.SumTest
        [ERROR] com.example.SumTest.subtracts  Time elapsed: 0.01 s  <<< FAILURE!
        [ERROR] Tests run: 7, Failures: 1, Errors: 1, Skipped: 2
        """,
        {"com.example.SumTest.subtracts": False},
        Tally(3, 2),
    ),
    "dotnet": (
        """
          Passed Demo.SumTests.Adds [3 ms]
          Failed Demo.SumTests.Subtracts(a: 1, b: 2) [12 ms]
        Failed!  - Failed:     1, Passed:     4, Skipped:     0, Total:     5, Duration: 20 ms - Demo.dll (net8.0)
        """,
        {"Demo.SumTests.Adds": True, "Demo.SumTests.Subtracts(a: 1, b: 2)": False},
        Tally(4, 1),
    ),
    "xctest": (
        """
        Test Case '-[DemoTests.SumTests testAdds]' passed (0.001 seconds).
        Test Case 'SumTests.testSubtracts' failed (0.002 seconds)
        Executed 2 tests, with 1 failure (0 unexpected) in 0.003 (0.004) seconds
        """,
        {"DemoTests.SumTests testAdds": True, "SumTests.testSubtracts": False},
        Tally(1, 1),
    ),
    "swift-testing": (
        """
        ✔ Test "adds" passed after 0.001 seconds.
        ✘ Test subtracts() failed after 0.001 seconds with 1 issue.
        ✘ Test run with 2 tests in 1 suite failed after 0.002 seconds with 1 issue.
        """,
        {"adds": True, "subtracts()": False},
        Tally(1, 1),
    ),
    "ctest": (
        """
            Start 1: adds
        1/2 Test #1: adds .............................   Passed    0.01 sec
        2/2 Test #2: subtracts ........................***Failed    0.02 sec

        50% tests passed, 1 tests failed out of 2
        """,
        {"adds": True, "subtracts": False},
        Tally(1, 1),
    ),
    "gtest": (
        """
        [ RUN      ] Sum.Adds
        [       OK ] Sum.Adds (0 ms)
        [  FAILED  ] Sum.Subtracts (1 ms)
        [  PASSED  ] 1 test.
        [  FAILED  ] 1 test, listed below:
        [  FAILED  ] Sum.Subtracts
        """,
        {"Sum.Adds": True, "Sum.Subtracts": False},
        Tally(1, 1),
    ),
    "playwright": (
        """
        Running 2 tests using 1 worker

          ✓  1 [chromium] › a.spec.ts:3:1 › has a title (1.2s)
          ✘  2 [chromium] › a.spec.ts:9:1 › has a link (30.0s)

          1 failed
            [chromium] › a.spec.ts:9:1 › has a link
          1 passed (31.5s)
        """,
        {
            "1 [chromium] › a.spec.ts:3:1 › has a title": True,
            "2 [chromium] › a.spec.ts:9:1 › has a link": False,
        },
        Tally(1, 1),
    ),
    "testthat": (
        "[ FAIL 1 | WARN 0 | SKIP 2 | PASS 15 ]",
        {},
        Tally(15, 1),
    ),
}


@pytest.mark.parametrize("runner", RUNS)
def test_every_runner_is_understood(runner: str) -> None:
    output, tests, tally = RUNS[runner]
    assert command_output.tests_in(dedent(output)) == tests
    assert tally_in(dedent(output)) == tally


def test_one_failure_among_passes_of_the_same_name_is_a_failure() -> None:
    assert command_output.tests_in(
        "--- PASS: TestX (0.0s)\n--- FAIL: TestX (0.0s)\n--- PASS: TestX (0.0s)"
    ) == {"TestX": False}


def test_what_a_tool_marks_as_done_is_no_test() -> None:
    output = "✓ Compiled successfully\n✗ Upload failed\n  ✔ Generated the client (1.2s)\nok\n"
    assert command_output.tests_in(output) == {}
    assert tally_in(output) is None


def test_a_file_whose_tests_fail_is_not_reported_beside_them() -> None:
    told = command_output.tests_in(
        "FAIL a.test.js\n  ● sum › adds\nFAIL b.test.js\n  ● Test suite failed to run\n"
    )
    assert told == {"a.test.js › sum › adds": False, "b.test.js": False}


@pytest.mark.parametrize(
    ("suite", "test", "expected"),
    [
        ("a.py", "a.py::test_x", True),
        ("a.py::test_x", "a.py::test_x[1]", True),
        ("a.test.ts", "a.test.ts > sum > adds", True),
        ("TestX", "TestX/adds", True),
        ("TestX", "TestX", True),
        ("TestX", "TestXY", False),
        ("b.py", "a.py::test_x", False),
    ],
)
def test_a_suite_covers_what_is_in_it(suite: str, test: str, expected: bool) -> None:
    assert covers(suite, test) is expected


PROBLEMS = [
    ("src/a.ts(12,5): error TS2345: Argument of type 'x' is not good.", "src/a.ts", 12, "TS2345"),
    ("src/a.ts:12:5 - error TS2304: Cannot find name 'x'.", "src/a.ts", 12, "TS2304"),
    ("main.c:3:10: fatal error: foo.h: No such file or directory", "main.c", 3, ""),
    ("pkg/a.py:3: error: Incompatible return value type  [return-value]", "pkg/a.py", 3, "return-value"),
    ("a.py:1:8: F401 `os` imported but unused", "a.py", 1, "F401"),
    ("./sum.go:7:2: undefined: foo", "./sum.go", 7, ""),
    ("Foo.java:12: error: cannot find symbol", "Foo.java", 12, ""),
    ("[ERROR] /p/Foo.java:[12,5] cannot find symbol", "/p/Foo.java", 12, ""),
    ("e: file:///p/Foo.kt:12:5 Unresolved reference: bar", "/p/Foo.kt", 12, ""),
    ("Program.cs(3,9): error CS0103: The name 'x' does not exist", "Program.cs", 3, "CS0103"),
    ("app.rb:3:in 'foo': undefined method 'bar' for nil (NoMethodError)", "app.rb", 3, "NoMethodError"),
    ("PHP Fatal error:  Uncaught Error: no in /p/a.php on line 9", "/p/a.php", 9, ""),
    ("** (CompileError) lib/x.ex:12: undefined function foo/0", "", 0, "CompileError"),
    ("error[E0425]: cannot find value `c` in this scope\n --> src/lib.rs:1:41\n  |", "src/lib.rs", 1, "E0425"),
    ("F401 [*] `os` imported but unused\n --> a.py:1:8\n", "a.py", 1, "F401"),
    ("thread 'tests::breaks' (18788) panicked at src/lib.rs:6:27:\nassertion failed", "src/lib.rs", 6, ""),
    ("panic: runtime error: index out of range\n\ngoroutine 1 [running]:\n\t/p/main.go:9 +0x1d", "/p/main.go", 9, ""),
    ("/p/a.js\n  12:5  error  'x' is not defined  no-undef\n", "/p/a.js", 12, "no-undef"),
    ("a.ts:3:1 lint/style/useConst ━━━━━━\n\n  × Use const.\n", "a.ts", 3, "lint/style/useConst"),
    (" at a.tsx:1:1 assist/source/organizeImports  FIXABLE  ━━━━━━\n\n  × The imports are not sorted.\n", "a.tsx", 1, "assist/source/organizeImports"),
    (" at a.tsx format ━━━━━━\n\n  × Formatter would have printed:\n", "a.tsx", 0, "format"),
    ("❌ Refusing to publish prerelease @x/core@4.4.1-next.1 to latest", "", 0, ""),
    ("TypeError: x is not a function\n    at f (node_modules/y/i.js:1:2)\n    at g (src/a.js:9:3)", "src/a.js", 9, "TypeError"),
    ("E   AssertionError: no\nE   assert 1 == 2\n\ntest_a.py:3: AssertionError", "test_a.py", 3, "AssertionError"),
    ("✘ [ERROR] Could not resolve \"./x\"\n\n    src/a.ts:1:20:\n", "src/a.ts", 1, ""),
    ("web build: src/a.ts(12,5): error TS2345: no", "src/a.ts", 12, "TS2345"),
    ("bash: line 1: foo: command not found", "", 0, ""),
    ("cat: x.txt: No such file or directory", "", 0, ""),
    ("fatal: not a git repository (or any of the parent directories): .git", "", 0, ""),
    ('npm error Missing script: "tset"', "", 0, ""),
    ("curl: (7) Failed to connect to localhost port 3000", "", 0, ""),
    ("CONFLICT (content): Merge conflict in README.md", "", 0, ""),
    ("Error: Cannot find module 'x'", "", 0, ""),
]  # fmt: skip


@pytest.mark.parametrize(("output", "path", "line", "code"), PROBLEMS)
def test_an_error_is_reported_with_its_place_and_kind(output: str, path: str, line: int, code: str) -> None:
    (problem, *others) = errors_in(f"Starting\n{output}\nDone\n")
    assert (problem.path, problem.line, problem.code, others) == (path, line, code, [])
    assert path in problem.text
    assert "\n" not in problem.text


def test_a_traceback_is_reported_by_its_last_line_and_the_innermost_frame_of_the_project() -> None:
    output = dedent("""
        Traceback (most recent call last):
          File "/home/me/app/main.py", line 3, in <module>
            run()
          File "/home/me/app/run.py", line 12, in run
            import requests
          File "/usr/lib/python3.11/site-packages/x.py", line 99, in x
            raise
        ModuleNotFoundError: No module named 'requests'
        """)
    text = "/home/me/app/run.py:12: ModuleNotFoundError: No module named 'requests'"
    assert errors_in(output) == (Problem(text, "/home/me/app/run.py", 12, "ModuleNotFoundError"),)


def test_warnings_and_clean_reports_are_no_errors() -> None:
    output = """
        warning: unused variable: `x`
        a.c:3:1: warning: implicit declaration
        npm warn deprecated error-thing@1.0.0
        Found 0 errors in 12 files
        no problems found
        note: required by this error
        """
    assert errors_in(dedent(output)) == ()


def test_what_follows_from_an_error_is_reported_only_when_it_stands_alone() -> None:
    after = "make: *** [Makefile:3: all] Error 1"
    assert [problem.text for problem in errors_in(f"a.c:1:2: error: no\n{after}")] == ["a.c:1:2: error: no"]
    assert [problem.text for problem in errors_in(after)] == [after]


def test_the_telling_ones_come_first_and_there_are_only_a_few() -> None:
    output = "Error: something\nfatal: other\n" + "".join(
        f"a{n}.py:1:1: E{n} wrong\n" for n in range(900, 920)
    )
    found = errors_in(output)
    assert len(found) == MOST_PROBLEMS
    assert all(problem.path for problem in found)


def test_the_same_error_on_another_line_is_the_same_subject() -> None:
    first, second = errors_in("a.py:3:1: F401 `os` unused"), errors_in("a.py:17:1: F401 `os` unused")
    assert subject_of(first[0]) == subject_of(second[0])
    other = errors_in("b.py:3:1: F401 `os` unused")
    assert subject_of(other[0]) != subject_of(first[0])
    assert len(errors_in("a.py:3:1: F401 `os` unused\na.py:17:1: F401 `os` unused")) == 1


WORDS = st.sampled_from(
    [
        "PASS",
        "FAIL",
        "ok",
        "not",
        "FAILED",
        "a.py::x",
        "a.test.ts",
        ">",
        "›",
        "✓",
        "✕",
        "1)",
        "12",
        "3",
        "passed,",
        "failed",
        "in",
        "0.1s",
        "error:",
        "E0425",
        "a.c:1:2:",
        "Tests:",
        "...",
        "---",
        ":",
        "(",
        ")",
        "[",
        "]",
        "\x1b[31m",
        "\x1b]",
        "==",
        "\n",
        "\t",
        "",
        "File",
        '"x",',
        "line",
        "3",
        "Error:",
        "warning",
        "━",
        "0x1f",
        "#test_",
        "rspec",
        "Ran",
        "tests",
        "OK",
    ]
)


@given(st.one_of(st.text(), st.lists(WORDS, max_size=60).map(" ".join)))
def test_no_output_is_too_strange(output: str) -> None:
    assert all(name for name in command_output.tests_in(output))
    tally = tally_in(output)
    assert tally is None or (tally.passed >= 0 and tally.failed >= 0)
    for problem in errors_in(output):
        assert subject_of(problem)
        assert "\n" not in problem.text


HOSTILE = [
    "a.py::" * 170_000,
    "error: " * 140_000,
    ("x" * 499 + "\n") * 2_000,
    ("error: " + "a.b:" * 120 + "\n") * 2_000,
    ("a/" * 240 + ".py PASSED\n") * 2_000,
    "\x1b[" * 500_000,
    "FAIL a.test.ts > x\n" * 50_000,
    ("  " * 100 + "✓ x\n") * 5_000 + "  1 passing\n",
    "Traceback\n" * 100_000,
    "(" * 1_000_000,
    "1 passed, " * 100_000,
    "".join(f"--- FAIL: Test{n} (0.0s)\n" for n in range(40_000)),
    "    a_test.go:1: got x\n" * 45_000,
    "    a_test.go:1:\n \tError Trace:\tx\n \tError:\tno\n \t \ty\n" * 18_000,
    "FAIL\ta.b/c\t1s\n--- FAIL: TestX (0.1s)\n" * 25_000,
    "❌ a b c\n" * 90_000,
]


@pytest.mark.parametrize("output", HOSTILE, ids=range(len(HOSTILE)))
def test_a_megabyte_of_malice_takes_no_longer_than_any_other(output: str) -> None:
    for read in (
        command_output.tests_in,
        tally_in,
        errors_in,
        command_output.packages_in,
        command_output.homes_in,
    ):
        start = time.process_time()
        read(output)
        assert time.process_time() - start < 6, read.__name__


def test_packages_without_tests_are_no_tests_that_passed() -> None:
    none = "ok  \texample.com/a\t0.2s [no tests to run]\n"
    assert tally_in(none) is None
    assert tally_in(none + "ok  \texample.com/b\t0.3s\n") == Tally(1, 0)


def test_code_that_is_shown_around_an_error_is_no_error_itself() -> None:
    output = "599 |   expect(error).toBe(0);\n> 600 |   throw new Error('x');\nerror: expect(received).toBe(expected)"
    assert [problem.text for problem in errors_in(output)] == ["error: expect(received).toBe(expected)"]


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("Found 4 errors.\nerror: script \"lint\" exited with code 1", ['error: script "lint" exited with code 1']),
        ("Found 4 errors.", ["Found 4 errors."]),
        ("✖ 3 problems (3 errors, 0 warnings)\nnpm error Lifecycle script `x` failed", ["npm error Lifecycle script `x` failed"]),
        ("npm error code ENEEDAUTH\nnpm error need auth You need to be logged in\nnpm error A complete log of this run can be found in: /x", ["npm error code ENEEDAUTH", "npm error need auth You need to be logged in"]),
        ("npm error A complete log of this run can be found in: /x", []),
        ("✅ Passed: 3\n❌ Failed: 0", []),
        ("❌ second-review\n1/2 ❌ second-review | Error: no answer", []),
    ],
)  # fmt: skip
def test_a_line_that_names_an_error_is_worth_more_than_one_that_counts(output: str, told: list[str]) -> None:
    assert [problem.text for problem in errors_in(output)] == told
