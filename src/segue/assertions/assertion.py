"""An assertion of an agent, the world that it is checked against, and the verdict."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from segue.assertions.evidence import Record
from segue.model import Value


class Kind(StrEnum):
    CREATED = "file created"
    CHANGED = "file changed"
    DELETED = "file deleted"
    PATH = "path exists"
    TESTS = "tests pass"
    TEST = "test passes"
    ADDED = "symbol added"
    SYMBOL = "symbol exists"
    COMMAND = "command succeeded"
    CHECK = "check passes"
    """A linter, a type checker or a build, mentioned without its command."""
    OUTPUT = "output"
    COMMIT = "commit made"
    UNTOUCHED = "file not touched"
    NOTHING_CHANGED = "no file changed"
    NO_COMMIT = "no commit made"


class Assertion(Value, frozen=True):
    """Something that an agent says it did or found, in checkable form."""

    kind: Kind
    subject: str
    """The path, symbol, command, test, commit or quoted text. Empty for "all tests"."""
    sentence: str
    entry: str = ""
    n: int = 0
    """Position of the reply among the entries, from 1."""
    place: str = ""
    """The file of a symbol, according to the agent."""
    is_exact: bool = True
    """Whether it is stated outright: with the file of a symbol, about all tests, about output that was seen."""
    count: int | None = None
    """The number of tests that pass, according to the agent."""


class Verdict(StrEnum):
    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    UNKNOWN = "unknown"


class Checked(Value, frozen=True):
    """An assertion with its verdict and the evidence, in one sentence."""

    assertion: Assertion
    verdict: Verdict
    evidence: str


class Seen(Value, frozen=True):
    """The current state of a file that an assertion names."""

    names: tuple[str, ...] = ()
    """The existing files that the name can mean, relative to the worktree's root."""
    is_outside: bool = False
    """Whether it is outside the worktree, where little is known."""
    is_changed: bool | None = None
    """Whether it changed after the work was handed over; None if unknown."""
    is_gone: bool = False
    """Whether the repository shows that such a file was deleted after the work was handed over."""


class TestRun(Value, frozen=True):
    """A run of the project's own tests by Segue."""

    __test__ = False  # pytest would collect it

    command: str
    status: int | None
    """None if it was stopped before its end."""
    summary: str = ""
    """How many tests passed and failed, if the output says."""
    failing: tuple[str, ...] = ()


class World(Protocol):
    """The facts that assertions are checked against. An unknown fact is None."""

    record: Record
    """What the transcript shows."""
    tests: TestRun | None

    def file(self, path: str) -> Seen:
        """Look up a path as an agent writes it: relative to its folder or to the root, or only the end of a path."""

    def holding(self, symbol: str, names: tuple[str, ...] = ()) -> tuple[str, ...] | None:
        """Find the files that contain a word, among these or all files; None if they cannot be searched."""

    def commit(self, sha: str) -> bool | None:
        """Whether a commit exists. Without an id: whether any was made after the work was handed over."""
