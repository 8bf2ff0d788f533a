"""HTTP for the model server: reads one request, asks the server for a turn, and plays the turn."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from .anthropic import AnthropicMessages
from .aside import answer_aside
from .chat import ChatCompletions
from .gemini import GeminiContent
from .request import Parsed, Request, estimate_tokens, mask_headers, mask_path
from .responses import OpenAIResponses
from .script import Disconnect, Fault, Final, Hang, Reply
from .wire import Kind, Wire

if TYPE_CHECKING:
    from .server import Listener

WIRES: tuple[Wire, ...] = (AnthropicMessages(), OpenAIResponses(), ChatCompletions(), GeminiContent())
LARGEST_BODY = 64 * 1024 * 1024
BODY_WITHIN_S = 60


class Handler(BaseHTTPRequestHandler):
    """One connection of a program."""

    server: Listener
    protocol_version = "HTTP/1.1"
    timeout = BODY_WITHIN_S

    def do_GET(self) -> None:
        self._serve()

    def do_HEAD(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:
        """Stay silent: the request log says it all."""

    def _serve(self) -> None:
        wire, kind = self._find_wire()
        try:
            body = self._read_body()
            parsed = wire.parse(self.path, body) if wire else Parsed()
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            self.server.model.add_problem(f"{self.command} {mask_path(self.path)} is malformed: {error!r}")
            self._send_json(400, {"error": {"message": f"malformed request: {error!r}"}})
            return
        request = self.server.model.receive(self._request(wire, kind, parsed, body))
        try:
            self._answer(wire, kind, request)
        except OSError:
            self.close_connection = True
            self.server.model.log.update(request, outcome="the program left")

    def _find_wire(self) -> tuple[Wire | None, Kind | None]:
        for wire in WIRES:
            if kind := wire.kind(self.command, self.path):
                return wire, kind
        return None, None

    def _read_body(self) -> Mapping[str, Any]:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            raw = self._read_chunks()
        else:
            raw = self.rfile.read(min(int(self.headers.get("content-length") or 0), LARGEST_BODY))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        body = json.loads(raw) if raw else {}
        if not isinstance(body, dict):
            raise ValueError("the body is not a JSON object")
        return body

    def _read_chunks(self) -> bytes:
        raw = bytearray()
        while len(raw) < LARGEST_BODY:
            size = int(self.rfile.readline(100).split(b";")[0], 16)
            raw += self.rfile.read(size)
            self.rfile.readline(100)
            if size == 0:
                return bytes(raw)
        raise ValueError("the body is too large")

    def _request(
        self, wire: Wire | None, kind: Kind | None, parsed: Parsed, body: Mapping[str, Any]
    ) -> Request:
        request = Request(
            protocol=wire.name if wire else "",
            method=self.command,
            path=mask_path(self.path),
            headers=mask_headers(self.headers.items()),
            body=body,
            at=time.time(),
            number=0,
            **{name: getattr(parsed, name) for name in Parsed.__dataclass_fields__},
        )
        return self.server.model.classify(request) if kind == "generate" else request

    def _answer(self, wire: Wire | None, kind: Kind | None, request: Request) -> None:
        if wire is not None and kind == "generate":
            self._play(wire, self.server.model.decide(request), request)
            return
        if wire is not None and kind == "count":
            self._send_json(200, {wire.count_field: estimate_tokens(request.messages)})
        else:
            self._send_json(*self.server.model.answer_aside(request, answer_aside(self.command, self.path)))
        self.server.model.log.update(request, outcome="served")

    def _play(self, wire: Wire, turn: Final, request: Request) -> None:
        outcome = "served"
        match turn:
            case Reply():
                self._reply(wire, turn, request)
            case Fault():
                self._fault(wire, turn)
            case Hang():
                self._begin(wire, turn.text, request)
                self.server.model.wait_until_closed(self.connection)
                outcome = "hung until the end"
            case Disconnect():
                self._begin(wire, turn.text, request)
                outcome = "cut off"
        self.server.model.log.update(request, outcome=outcome)

    def _reply(self, wire: Wire, reply: Reply, request: Request) -> None:
        if not request.stream:
            self._send_json(200, wire.whole(reply, request), reply.headers)
            return
        frames = wire.stream(reply, request)
        self._open_stream(frames.content_type, reply.headers)
        for frame in [*frames.head, *frames.tail, b""]:
            self._send_chunk(frame)

    def _begin(self, wire: Wire, text: str, request: Request) -> None:
        """Send the first part of a reply, never its end; the connection is not used again."""
        self.close_connection = True
        if not text:
            return
        if request.stream:
            frames = wire.stream(Reply(text), request)
            self._open_stream(frames.content_type, {})
            for frame in frames.head:
                self._send_chunk(frame)
            return
        whole = json.dumps(wire.whole(Reply(text), request)).encode()
        self._open(200, "application/json", {"content-length": str(len(whole))})
        self.wfile.write(whole[: len(whole) // 2])

    def _fault(self, wire: Wire, fault: Fault) -> None:
        if isinstance(fault.body, str):
            raw = fault.body.encode()
            headers = {"content-length": str(len(raw)), **fault.headers}
            self._open(fault.status, "text/plain; charset=utf-8", headers)
            self.wfile.write(raw)
        else:
            self._send_json(
                fault.status, wire.error(fault) if fault.body is None else fault.body, fault.headers
            )

    def _send_json(
        self, status: int, answer: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> None:
        raw = json.dumps(answer).encode()
        self._open(status, "application/json", {"content-length": str(len(raw)), **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _open_stream(self, content_type: str, headers: Mapping[str, str]) -> None:
        self._open(
            200, content_type, {"transfer-encoding": "chunked", "cache-control": "no-cache", **headers}
        )

    def _open(self, status: int, content_type: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()
