"""The action of a tool call, in words that all agents share.

Each agent has its own names for tools and arguments, but they do the same few things. `agents.shared.tool_calls`
reads the actions of a call, so that `facts` needs to know no agent.
"""

from __future__ import annotations

from enum import StrEnum

from segue.model import Value


class Deed(StrEnum):
    RUN = "run"
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
    """The todo list, or one item of it."""
    ASK = "ask"
    PROPOSE = "propose"
    """A plan for the user to approve."""
    COMMIT = "commit"
    """A commit that the agent makes itself, without a command."""
    DELEGATE = "delegate"
    OTHER = "other"


ON_FILES = (Deed.READ, Deed.WRITE, Deed.EDIT, Deed.DELETE, Deed.MOVE)


class Change(Value, frozen=True):
    """One text replaced with another."""

    old: str
    new: str
    is_everywhere: bool = False


class TodoState(StrEnum):
    OPEN = "open"
    ACTIVE = "active"
    DONE = "done"
    DROPPED = "dropped"


class Todo(Value, frozen=True):
    text: str
    """Empty if only the state of a known item changes."""
    state: TodoState | None = TodoState.OPEN
    """None if only the text of a known item changes."""
    id: str = ""
    """The agent's own id, if it has one."""


class Act(Value, frozen=True):
    """One action of a call, done or attempted: the result shows whether the call succeeded."""

    deed: Deed
    subject: str = ""
    """The path, command, address, pattern, question or plan; of a commit, its hash and message."""
    to: str = ""
    """Of a move: the new path."""
    content: str | None = None
    """Of a write, an edit or a read: the whole file afterwards, if known."""
    changes: tuple[Change, ...] = ()
    """Of an edit, in order; empty if unknown."""
    todos: tuple[Todo, ...] = ()
    is_whole: bool = False
    """Of a plan: whether these are all items, and replace earlier ones."""
    folder: str = ""
    """Of a run: the folder, if the call names one."""
    options: tuple[str, ...] = ()
    """Of a question: the offered answers."""


class Verdict(StrEnum):
    ANSWERED = "answered"
    APPROVED = "approved"
    REJECTED = "rejected"
    REFUSED = "refused"
    """A call that the user did not allow."""


class Answer(Value, frozen=True):
    """The user's answer to a call that waited for them."""

    verdict: Verdict
    text: str = ""
    """The answer or the reason in the user's own words; empty if they gave none."""


class End(StrEnum):
    """How a background command ended."""

    PASSED = "passed"
    FAILED = "failed"
    STOPPED = "stopped"
    """It was stopped, or is gone: it neither passed nor failed."""


class Going(Value, frozen=True):
    """A background command, or the work of another agent, that continues after the call that started it."""

    handle: str
    """The name that later calls use for it."""
    is_over: bool = False
    end: End | None = None
    """Of a finished one: how it ended; None if that is as in the result of the call that found it finished."""
    status: int | None = None
    """Its exit status, if the result itself has none."""
    report: str = ""
    """The answer of another agent, without its program's own words."""
