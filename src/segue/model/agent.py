"""An agent: a program or model that Segue can start or read."""

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
    """The version that the tests run; empty where they run none."""
    oldest: str = ""
    """The oldest version that goes on with transcripts that Segue writes, where it writes any."""
    families: tuple[str, ...] = ()
    """What the models are called that it is made for: 'opus' is enough to name such an agent."""
    context_window: int | None = None
    """How many tokens its sessions usually hold, for where it does not tell."""
