"""What a call does, in words that all agents share.

Agents name their tools and arguments each in their own way; what was done with them is the same few deeds.
`agents.acting` tells the acts of a call; what follows from them (`facts`) needs to know no agent.
"""

from __future__ import annotations

from enum import StrEnum

from segue.model import Value


class Deed(StrEnum):
    RUN = "run"
    """A shell command."""
    WRITE = "write"
    """A whole file."""
    EDIT = "edit"
    """Parts of a file."""
    DELETE = "delete"
    MOVE = "move"
    READ = "read"
    SEARCH = "search"
    FETCH = "fetch"
    """Something from the web."""
    PLAN = "plan"
    """The list of what is to do, or one item of it."""
    ASK = "ask"
    """A question to the person."""
    PROPOSE = "propose"
    """A plan that the person is to approve."""
    COMMIT = "commit"
    """A commit that the agent makes by itself, without a command."""
    DELEGATE = "delegate"
    """Work given to a sub-agent."""
    OTHER = "other"


ON_FILES = (Deed.READ, Deed.WRITE, Deed.EDIT, Deed.DELETE, Deed.MOVE)


class Change(Value, frozen=True):
    """One text put in the place of another."""

    old: str
    new: str
    is_everywhere: bool = False


class TodoState(StrEnum):
    OPEN = "open"
    ACTIVE = "active"
    DONE = "done"
    DROPPED = "dropped"


class Todo(Value, frozen=True):
    """One item of what is to do."""

    text: str
    """Empty where only the state of a known item changes."""
    state: TodoState | None = TodoState.OPEN
    """None where only the text of a known item changes."""
    id: str = ""
    """The agent's own, where it has one."""


class Act(Value, frozen=True):
    """One thing that a call does, or would have done: its result tells whether it came to be."""

    deed: Deed
    subject: str = ""
    """The path, command, address, pattern, question or plan; of a commit, its hash and its message."""
    to: str = ""
    """Of a move: the new path."""
    content: str | None = None
    """Of a write, an edit or a read: the whole file as it is afterwards, where that is known."""
    changes: tuple[Change, ...] = ()
    """Of an edit, in order; empty where they are not known."""
    todos: tuple[Todo, ...] = ()
    is_whole: bool = False
    """Of a plan: whether these are all items, and no others hold any more."""
    folder: str = ""
    """Of a run: where, if the call says."""
    options: tuple[str, ...] = ()
    """Of a question: the answers that were offered."""


class Verdict(StrEnum):
    ANSWERED = "answered"
    APPROVED = "approved"
    REJECTED = "rejected"
    REFUSED = "refused"
    """A call that the person did not allow."""


class Answer(Value, frozen=True):
    """What the person said to a call that waited for them."""

    verdict: Verdict
    text: str = ""
    """The answer, or the reason, in the person's own words; empty where none was given."""


class End(StrEnum):
    """How a command ended that went on."""

    PASSED = "passed"
    FAILED = "failed"
    STOPPED = "stopped"
    """Somebody ended it, or it is gone: it neither passed nor failed."""


class Going(Value, frozen=True):
    """A command, or the work of another agent, that goes on after the call that started it."""

    handle: str
    """What later calls name it by."""
    is_over: bool = False
    end: End | None = None
    """Of one that is over: how it ended; None where that is as the call that found it over."""
    status: int | None = None
    """What it exited with, where the result itself has no status."""
    report: str = ""
    """What another agent came back with, without what its program says about that."""
