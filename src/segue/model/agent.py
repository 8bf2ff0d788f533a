"""An agent, as a value."""

from __future__ import annotations

from segue.model.value import Value


class Agent(Value, frozen=True):
    """A program or model that Segue can start, and read if it keeps transcripts."""

    name: str
    title: str
    vendor: str
    program: str
    """The executable's name on PATH; empty for an agent that ships with Segue."""
    tested: str = ""
    """The version that the tests run; empty if they run none."""
    oldest: str = ""
    """The oldest version that resumes transcripts written by Segue; empty if Segue writes none for it."""
    families: tuple[str, ...] = ()
    """Names of its model families: 'opus' is enough to address such an agent."""
    context_window: int | None = None
    """The usual number of tokens in its context window, used if the agent does not report it."""
