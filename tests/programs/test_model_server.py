"""The scripted model keeps its promises: order, faults, time, silence, and a log that can be trusted."""

from __future__ import annotations

import http.client
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.programs.model_server import (
    Call,
    Delay,
    Disconnect,
    Fault,
    Hang,
    ModelServer,
    Reply,
    Request,
    Script,
    Step,
)
from tests.programs.wire_samples import ANTHROPIC, CHAT, GEMINI, SAMPLES, Sample, post


def said(sample: Sample, server: ModelServer) -> str:
    answer = sample.ask(server)
    assert answer.status == 200, answer
    return str(answer.json["choices"][0]["message"]["content"])


def test_turns_are_served_in_order_whatever_the_protocol() -> None:
    with ModelServer([Reply(f"turn-{number}") for number in range(len(SAMPLES))]) as server:
        answers = [sample.ask(server, stream=True).text for sample in SAMPLES.values()]
        assert server.script.unserved == 0

    assert all(f"turn-{number}" in answer for number, answer in enumerate(answers))
    assert [exchange.request.protocol for exchange in server.exchanges] == list(SAMPLES)


def test_a_script_that_ran_out_is_a_loud_problem() -> None:
    server = ModelServer([Reply("only")])
    with pytest.raises(AssertionError, match="the script ran out: its 1 turns are served"), server:
        CHAT.ask(server)
        answer = CHAT.ask(server)

    assert answer.status == 500
    assert "the script ran out" in answer.text
    [problem] = server.problems
    assert problem.startswith("request 1 (POST /v1/chat/completions)")


def test_the_failure_of_a_test_is_not_hidden_by_a_problem() -> None:
    with pytest.raises(ZeroDivisionError), ModelServer() as server:
        CHAT.ask(server)
        raise ZeroDivisionError


def test_then_answers_all_that_follows() -> None:
    with ModelServer(Script([Reply("first")], then=Fault(503))) as server:
        assert said(CHAT, server) == "first"
        assert [CHAT.ask(server).status for _ in range(3)] == [503, 503, 503]


def test_a_request_on_the_side_takes_no_turn() -> None:
    with ModelServer([Reply("the answer")]) as server:
        aside = CHAT.ask(server, tools=False)
        assert aside.json["choices"][0]["message"]["content"] == "Scripted reply"
        assert said(CHAT, server) == "the answer"

    assert [request.main for request in server.requests] == [False, True]


def test_a_script_can_serve_requests_without_tools() -> None:
    with ModelServer(Script([Reply("the answer")], is_main=lambda request: True)) as server:
        assert CHAT.ask(server, tools=False).json["choices"][0]["message"]["content"] == "the answer"


def test_a_script_can_answer_requests_on_the_side() -> None:
    with ModelServer(Script(auxiliary=lambda request: Reply(f"a title for {request.model}"))) as server:
        assert "a title for m1" in CHAT.ask(server, tools=False).text


def test_a_request_for_json_on_the_side_gets_json_of_that_shape() -> None:
    wanted = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "model": {"enum": ["flash", "pro"]},
            "sure": {"type": "boolean"},
            "why": {"type": "string"},
        },
        "required": ["title", "model", "sure"],
    }
    bodies: dict[str, dict[str, Any]] = {
        "anthropic": {"output_config": {"format": {"type": "json_schema", "schema": wanted}}},
        "responses": {"text": {"format": {"type": "json_schema", "schema": wanted}}},
        "chat": {"response_format": {"type": "json_schema", "json_schema": {"schema": wanted}}},
        "gemini": {"generationConfig": {"responseJsonSchema": wanted}},
    }
    with ModelServer() as server:
        for name, extra in bodies.items():
            sample = SAMPLES[name]
            answer = post(server, sample.whole_path, sample.request_body(stream=False, tools=False) | extra)
            assert r"{\"title\": \"scripted\", \"model\": \"flash\", \"sure\": false}" in answer.text


def test_a_turn_can_be_computed_from_the_request() -> None:
    def echo(request: Request) -> Step:
        return Call("look", {"heard": request.said("user"), "result": request.results[0].text})

    with ModelServer([echo]) as server:
        answer = ANTHROPIC.ask(server)
        [exchange] = server.exchanges

    assert answer.json["content"][0]["input"] == {"heard": "hello", "result": "seen"}
    assert exchange.turn == Call("look", {"heard": "hello", "result": "seen"})


def test_a_computed_turn_that_fails_is_a_problem() -> None:
    def broken(request: Request) -> Step:
        raise LookupError("canary")

    with ModelServer([broken], strict=False) as server:
        assert CHAT.ask(server).status == 500

    assert "LookupError('canary')" in server.problems[0]


def test_a_computed_turn_without_end_is_a_problem() -> None:
    def endless(request: Request) -> Step:
        return endless

    with ModelServer([endless], strict=False) as server:
        assert CHAT.ask(server).status == 500

    assert "never a turn" in server.problems[0]


def test_faults_are_sent_as_they_are_written() -> None:
    with ModelServer(
        [Fault(529, {"own": ["shape"]}), Fault(503, "<html>busy</html>", {"x-a": "b"})]
    ) as server:
        first, second = CHAT.ask(server), CHAT.ask(server)

    assert (first.status, first.json) == (529, {"own": ["shape"]})
    assert (second.status, second.text, second.headers["x-a"]) == (503, "<html>busy</html>", "b")


def test_a_delay_is_waited_for() -> None:
    with ModelServer([Delay(0.3, lambda request: Delay(0.2, Reply("late")))]) as server:
        began = time.monotonic()
        assert said(CHAT, server) == "late"
        assert time.monotonic() - began >= 0.5


@pytest.mark.parametrize("text", ["", "half"], ids=["nothing at all", "in the middle of a reply"])
def test_a_hang_lasts_until_the_program_leaves(text: str) -> None:
    with ModelServer([Hang(text), Reply("next")]) as server:
        with pytest.raises(TimeoutError):
            CHAT.ask(server, stream=True, timeout=0.5)
        assert said(CHAT, server) == "next"

    assert [exchange.turn for exchange in server.exchanges] == [Hang(text), Reply("next")]


def test_a_disconnect_with_nothing_said_closes_the_connection() -> None:
    with ModelServer([Disconnect()]) as server, pytest.raises(http.client.RemoteDisconnected):
        CHAT.ask(server)


def test_closing_ends_hangs_delays_and_threads() -> None:
    before = threading.active_count()
    server = ModelServer([Hang(), Delay(600, Reply("never"))])
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(CHAT.ask, server) for _ in range(2)]
        server.log.wait_for(lambda request: request.number == 1, timeout=10)
        began = time.monotonic()
        server.close()
        assert time.monotonic() - began < 5
        assert all(isinstance(one.exception(10), OSError | http.client.HTTPException) for one in asked)

    assert threading.active_count() == before


def test_requests_at_once_get_a_turn_each() -> None:
    turns = [Delay(0.05, Reply(f"turn-{number}")) for number in range(24)]
    with ModelServer(turns) as server, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: said(CHAT, server), range(24)))
        assert sorted(request.number for request in server.requests) == list(range(24))

    assert sorted(answers) == sorted(f"turn-{number}" for number in range(24))


def test_the_log_holds_no_credentials() -> None:
    with ModelServer([Reply("ok")] * len(SAMPLES)) as server:
        for sample in SAMPLES.values():
            name, value = sample.credential
            post(server, sample.whole_path, sample.request_body(stream=False), headers={name: value})
        post(server, GEMINI.count_path + "?key=canary-secret", dict(GEMINI.body))

    assert "canary-secret" not in repr(server.exchanges)
    assert "canary-secret" not in repr([(request.headers, request.body) for request in server.requests])
    assert server.requests[1].headers["authorization"] == "Bearer ***"
    assert server.requests[-1].path.endswith("?key=***")


def test_the_log_tells_what_reached_the_model() -> None:
    with ModelServer([Reply("ok")]) as server:
        began = time.time()
        CHAT.ask(server)

    assert server.texts() == ('be brief\nhello\nlook {"at": "this"}\nseen',)
    assert server.log.saw("hello")
    assert not server.log.saw("goodbye")
    assert began <= server.requests[0].at <= time.time()
    assert server.exchanges[0].turn == Reply("ok")


def test_waiting_for_a_request_that_does_not_come_ends() -> None:
    with ModelServer() as server, pytest.raises(TimeoutError, match="no such request"):
        server.log.wait_for(lambda request: True, timeout=0.1)


def test_lists_of_models_are_answered_and_unforeseen_paths_are_a_problem() -> None:
    with ModelServer(strict=False) as server:
        assert post(server, "/v1/models", b"", method="GET").json["data"]
        assert post(server, "/v1beta/models?key=x", b"", method="GET").json["models"]
        assert post(server, "/", b"", method="HEAD").status == 200
        assert not server.problems
        assert post(server, "/v1/surprise", {}).status == 404

    assert server.problems == ("request 3: nobody foresaw POST /v1/surprise",)


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"messages": [{}]}'], ids=["cut", "a list", "no role"])
def test_a_malformed_request_is_a_problem(body: bytes) -> None:
    with ModelServer(strict=False) as server:
        assert post(server, CHAT.whole_path, body).status == 400

    assert "malformed" in server.problems[0]
