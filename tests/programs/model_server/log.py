"""What reached the server and what it served: the proof of what context a model was given."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from .request import Request
from .script import Turn


@dataclass(frozen=True)
class Exchange:
    """A request, the turn it was served (None: no turn was needed or there was none), and how that went."""

    request: Request
    turn: Turn | None = None
    outcome: str = "under way"


class RequestLog:
    """Every exchange in the order of arrival, safe to read while programs are running."""

    def __init__(self) -> None:
        self._exchanges: list[Exchange] = []
        self._problems: list[str] = []
        self._changed = threading.Condition()

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """Requests with the turns that they were served."""
        with self._changed:
            return tuple(self._exchanges)

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request, those on the side too."""
        return tuple(exchange.request for exchange in self.exchanges)

    @property
    def main_requests(self) -> tuple[Request, ...]:
        """The requests of the conversation under test."""
        return tuple(request for request in self.requests if request.main)

    @property
    def problems(self) -> tuple[str, ...]:
        """What should not have happened: a script that ran out, a path that nobody foresaw, a broken turn."""
        with self._changed:
            return tuple(self._problems)

    def texts(self) -> tuple[str, ...]:
        """All text that reached a model, one string for each request."""
        return tuple(request.text for request in self.requests)

    def saw(self, text: str) -> bool:
        """True if this text reached a model in any request."""
        return any(text in told for told in self.texts())

    def wait_for(self, wanted: Callable[[Request], bool], timeout: float) -> Request:
        """The first request that is wanted, as soon as it is here; TimeoutError if it does not come."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                for exchange in self._exchanges:
                    if wanted(exchange.request):
                        return exchange.request
                left = deadline - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    raise TimeoutError(
                        f"no such request within {timeout} s; {len(self._exchanges)} others came"
                    )

    def add(self, request: Request) -> Request:
        """Keep a request and give it its number."""
        with self._changed:
            request = replace(request, number=len(self._exchanges))
            self._exchanges.append(Exchange(request))
            self._changed.notify_all()
        return request

    def update(self, request: Request, *, turn: Turn | None = None, outcome: str | None = None) -> None:
        """Note what a request was served, or how that went."""
        with self._changed:
            before = self._exchanges[request.number]
            self._exchanges[request.number] = replace(
                before, turn=turn or before.turn, outcome=outcome or before.outcome
            )
            self._changed.notify_all()

    def add_problem(self, problem: str) -> None:
        """Keep what should not have happened."""
        with self._changed:
            self._problems.append(problem)
