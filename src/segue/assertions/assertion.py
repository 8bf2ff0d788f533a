"""What an agent asserts, what the world shows of it, and what is found of the two together."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from segue.assertions.evidence import Record
from segue.model import Value


class Kind(StrEnum):
    """What kind of thing is asserted."""

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
    """A linter, a type checker or a build, named as such and not by its command."""
    OUTPUT = "output"
    COMMIT = "commit made"
    UNTOUCHED = "file not touched"
    NOTHING_CHANGED = "no file changed"
    NO_COMMIT = "no commit made"


class Assertion(Value, frozen=True):
    """Something that an agent says it did or found, in checkable form."""

    kind: Kind
    subject: str
    """The path, symbol, command, test, commit or quoted text; empty for 'all tests'."""
    sentence: str
    entry: str = ""
    n: int = 0
    """How many entries came before the reply that says it."""
    place: str = ""
    """Of a symbol: the file that it is said to be in."""
    is_exact: bool = True
    """Whether it is said outright: the place in the same breath, all tests and not some, an output that was seen."""
    count: int | None = None
    """Of tests: how many are said to pass."""


class Verdict(StrEnum):
    SUPPORTED = "supported"
    UNSUPPORTED = "unsupported"
    UNKNOWN = "unknown"


class Checked(Value, frozen=True):
    """An assertion with what the world says to it."""

    assertion: Assertion
    verdict: Verdict
    evidence: str
    """In one sentence."""


class Seen(Value, frozen=True):
    """A file that an assertion names, as it is."""

    names: tuple[str, ...] = ()
    """The files that it can be, as seen from the worktree's root; none where there is no such file."""
    is_outside: bool = False
    """Whether it lies outside of the worktree: of that little is known."""
    is_changed: bool | None = None
    """Whether it was changed since the work was handed over; None where nothing tells."""
    is_gone: bool = False
    """Whether the repository shows that such a file was deleted since."""


class TestRun(Value, frozen=True):
    """A run of the project's own tests by Segue."""

    __test__ = False  # no test class, whatever its name says

    command: str
    status: int | None
    """None where it was not let to its end."""
    summary: str = ""
    """How many passed and failed, if it says."""
    failing: tuple[str, ...] = ()


class World(Protocol):
    """What assertions are held against. Whatever it cannot tell, it leaves open."""

    record: Record
    """What the transcript shows."""
    tests: TestRun | None

    def file(self, path: str) -> Seen:
        """A path as an agent names it: from the folder of the work, from the root, or by its end alone."""

    def holding(self, symbol: str, names: tuple[str, ...] = ()) -> tuple[str, ...] | None:
        """The files that a word stands in, of these or of all; None where that cannot be found out."""

    def commit(self, sha: str) -> bool | None:
        """Whether there is such a commit; with no name, whether any was made since the work was handed over."""
