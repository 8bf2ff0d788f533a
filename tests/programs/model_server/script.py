"""What the scripted model says: turns as values, and the order in which they are served.

A turn is one answer to one request. A script is a list of turns for the conversation under test. Requests
that a program makes on the side (titles, routers, probes) offer no tools; they are answered without taking
a turn, so that a test does not have to know how many of them a program makes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .request import Request
from .schema import smallest_instance

MOST_COMPUTED_STEPS = 20


class ScriptError(Exception):
    """The script has no turn for a request, or a computed turn made no turn."""


@dataclass(frozen=True)
class Tokens:
    """What a reply says that it cost."""

    input: int = 100
    output: int = 10
    cached: int = 0


@dataclass(frozen=True)
class Call:
    """The model calls one tool. As a turn of its own it is a reply with this call and no text.

    `arguments` is a mapping for an ordinary tool, and a string for a tool that takes free text.
    """

    tool: str
    arguments: Mapping[str, Any] | str


@dataclass(frozen=True)
class Reply:
    """The model answers with text, tool calls beside it, or both; `headers` go with the good answer."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    tokens: Tokens = Tokens()


@dataclass(frozen=True)
class Fault:
    """An error status. A mapping is sent as JSON, a string as it is; no body means the vendor's own shape."""

    status: int
    body: Mapping[str, Any] | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Delay:
    """Wait, then serve another turn."""

    seconds: float
    then: Step


@dataclass(frozen=True)
class Hang:
    """Begin to answer with `text` (with nothing at all if empty), then stay silent and connected."""

    text: str = ""


@dataclass(frozen=True)
class Disconnect:
    """Begin to answer with `text` (with nothing at all if empty), then close the connection."""

    text: str = ""


Final = Reply | Fault | Hang | Disconnect
Turn = Final | Call | Delay
Step = Turn | Callable[[Request], "Step"]


def answer_auxiliary(request: Request) -> Turn:
    """The smallest thing that the program asked for: JSON that fits its schema, or a few words."""
    if request.schema is not None:
        return Reply(smallest_instance(request.schema))
    return Reply("Scripted reply")


def offers_tools(request: Request) -> bool:
    """True for a request of the conversation under test: only those let the model act."""
    return bool(request.tools)


class Script:
    """Turns in order, one for each main request.

    `then` answers every main request after the last turn; without it such a request is a problem.
    `is_main` decides which requests take a turn, `auxiliary` answers all the others.
    """

    def __init__(
        self,
        turns: Iterable[Step] = (),
        *,
        then: Step | None = None,
        is_main: Callable[[Request], bool] = offers_tools,
        auxiliary: Step = answer_auxiliary,
    ) -> None:
        self._turns = list(turns)
        self._served = 0
        self._then = then
        self._auxiliary = auxiliary
        self._lock = threading.Lock()
        self.is_main = is_main

    @property
    def unserved(self) -> int:
        """How many turns no request has asked for yet."""
        with self._lock:
            return len(self._turns) - self._served

    def next(self, request: Request) -> Step:
        """The step for this request; computed steps are still to be resolved."""
        if not request.main:
            return self._auxiliary
        with self._lock:
            if self._served < len(self._turns):
                self._served += 1
                return self._turns[self._served - 1]
        if self._then is None:
            raise ScriptError(
                f"the script ran out: its {len(self._turns)} turns are served, and the model was asked again"
            )
        return self._then


def compute(step: Step, request: Request) -> Turn:
    """Call computed steps until a turn comes out."""
    for _ in range(MOST_COMPUTED_STEPS):
        if not callable(step):
            return step
        step = step(request)
    raise ScriptError(
        f"a computed turn returned a function {MOST_COMPUTED_STEPS} times over, and never a turn"
    )
