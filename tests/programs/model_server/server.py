"""The scripted model: a server in the test's own process that speaks every vendor's protocol on one port.

It refuses to be quiet about trouble: a request that the script has no turn for gets a 500 that says so, is
kept in `problems`, and makes the `with` block fail.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from http.server import ThreadingHTTPServer
from types import TracebackType
from typing import Any

from .handler import Handler
from .log import Exchange, RequestLog
from .request import Request
from .script import Call, Delay, Disconnect, Fault, Final, Reply, Script, ScriptError, Step, compute

LONGEST_HANG_S = 900
MOST_DELAYS = 20
LOOK_EVERY_S = 0.05


class ModelServer:
    """Serves a script until it is closed. Listens on the socket it is given, or on a free port of 127.0.0.1.

    The socket is duplicated, so that one listening socket can serve one server after another.
    """

    def __init__(
        self,
        script: Script | Iterable[Step] = (),
        listener: socket.socket | None = None,
        *,
        strict: bool = True,
    ) -> None:
        self.script = script if isinstance(script, Script) else Script(script)
        self.log = RequestLog()
        self._strict = strict
        self._closing = threading.Event()
        self._http = Listener(self, listener.dup() if listener else _listen())
        self.port: int = self._http.socket.getsockname()[1]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), name="model-server")
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the server is, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """Requests with the turns that they were served."""
        return self.log.exchanges

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request, those on the side too."""
        return self.log.requests

    @property
    def main_requests(self) -> tuple[Request, ...]:
        """The requests of the conversation under test."""
        return self.log.main_requests

    @property
    def problems(self) -> tuple[str, ...]:
        """What should not have happened."""
        return self.log.problems

    def texts(self) -> tuple[str, ...]:
        """All text that reached the model, one string for each request."""
        return self.log.texts()

    def close(self) -> None:
        """End every connection and every thread of the server."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.close_connections()
        self._http.server_close()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if self._strict and self.problems and kind is None:
            raise AssertionError("the scripted model had problems:\n" + "\n".join(self.problems))

    def classify(self, request: Request) -> Request:
        """Mark a request of the conversation under test."""
        return replace(request, main=self.script.is_main(request))

    def receive(self, request: Request) -> Request:
        """Keep the request in the log."""
        return self.log.add(request)

    def add_problem(self, problem: str) -> None:
        """Keep what should not have happened."""
        self.log.add_problem(problem)

    def decide(self, request: Request) -> Final:
        """The turn that this request is served; delays are over when it returns."""
        try:
            step = self.script.next(request)
            for _ in range(MOST_DELAYS):
                turn = compute(step, request)
                self.log.update(request, turn=turn)
                if not isinstance(turn, Delay):
                    return Reply(calls=(turn,)) if isinstance(turn, Call) else turn
                if self._closing.wait(turn.seconds):
                    return Disconnect()
                step = turn.then
            raise ScriptError(f"more than {MOST_DELAYS} delays in a row")
        except Exception as error:  # noqa: BLE001 - a computed turn is the test's own code: any failure is reported
            return self._refuse(request, error)

    def _refuse(self, request: Request, error: Exception) -> Fault:
        problem = str(error) if isinstance(error, ScriptError) else f"a computed turn failed: {error!r}"
        self.add_problem(f"request {request.number} ({request.method} {request.path}): {problem}")
        fault = Fault(500, {"error": {"type": "script_error", "message": f"scripted model: {problem}"}})
        self.log.update(request, turn=fault)
        return fault

    def answer_aside(
        self, request: Request, answer: Mapping[str, Any] | None
    ) -> tuple[int, Mapping[str, Any]]:
        """Status and body for a request that is not for a model."""
        if answer is not None:
            return 200, answer
        self.add_problem(f"request {request.number}: nobody foresaw {request.method} {request.path}")
        return 404, {
            "error": {"type": "not_found_error", "message": f"scripted model: no {request.path} here"}
        }

    def wait_until_closed(self, connection: socket.socket) -> None:
        """Return when the program closes the connection or the server is closed."""
        deadline = time.monotonic() + LONGEST_HANG_S
        while time.monotonic() < deadline and not self._closing.is_set():
            readable, _, _ = select.select([connection], [], [], LOOK_EVERY_S)
            if readable and not connection.recv(1, socket.MSG_PEEK):
                return
            if readable:
                time.sleep(LOOK_EVERY_S)


class Listener(ThreadingHTTPServer):
    """The HTTP side: a thread for each connection, all of them ended by `close_connections`."""

    daemon_threads = False

    def __init__(self, model: ModelServer, listener: socket.socket) -> None:
        super().__init__(listener.getsockname(), Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.model = model
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Connections break when programs are killed; what was under way is in the log."""

    def close_connections(self) -> None:
        """Wake every thread that waits for a program."""
        with self._lock:
            for connection in self._connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue


def _listen() -> socket.socket:
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    listener.set_inheritable(False)
    return listener
