"""Each protocol is worded as its vendor words it, streamed and whole, and read into one neutral request."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest

from tests.programs.model_server import (
    Call,
    Disconnect,
    Fault,
    Message,
    ModelServer,
    Reply,
    Tokens,
    ToolResult,
)
from tests.programs.wire_samples import ANTHROPIC, CHAT, GEMINI, RESPONSES, SAMPLES, Sample, post

REPLY = Reply(
    "Looking.",
    calls=(Call("look", {"at": "ä\n"}), Call("look", {"at": "b"})),
    headers={"x-limit": "near"},
    tokens=Tokens(input=11, output=7, cached=3),
)
GIVEN = [{"at": "ä\n"}, {"at": "b"}]


@pytest.fixture(params=list(SAMPLES))
def sample(request: pytest.FixtureRequest) -> Sample:
    return SAMPLES[request.param]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_request_is_read_into_one_neutral_shape(sample: Sample, stream: bool) -> None:
    with ModelServer([Reply("ok")]) as server:
        sample.ask(server, stream=stream)
        [request] = server.requests

    assert (request.protocol, request.model, request.stream) == (sample.protocol, "m1", stream)
    assert request.tools == ("look",)
    assert request.results == (ToolResult("c1", "seen"),)
    assert request.messages == (
        Message("system", "be brief"),
        Message("user", "hello"),
        Message("assistant", 'look {"at": "this"}'),
        Message("tool", "seen"),
    )
    assert request.body == sample.request_body(stream=stream)


def test_anthropic_whole() -> None:
    with ModelServer([REPLY]) as server:
        answer = ANTHROPIC.ask(server)

    assert answer.headers["x-limit"] == "near"
    text, first, second = answer.json["content"]
    assert text == {"type": "text", "text": "Looking."}
    assert [first["input"], second["input"]] == GIVEN
    assert first["id"] != second["id"]
    assert answer.json["stop_reason"] == "tool_use"
    usage = answer.json["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["cache_read_input_tokens"]) == (11, 7, 3)


def test_anthropic_streamed() -> None:
    with ModelServer([REPLY]) as server:
        answer = ANTHROPIC.ask(server, stream=True)

    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["x-limit"] == "near"
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    kinds = [event["type"] for event in answer.events]
    assert kinds == ["message_start", "ping", *block * 3, "message_delta", "message_stop"]
    deltas = [event["delta"] for event in answer.events if event["type"] == "content_block_delta"]
    assert deltas[0] == {"type": "text_delta", "text": "Looking."}
    assert [json.loads(delta["partial_json"]) for delta in deltas[1:]] == GIVEN
    assert answer.events[-2]["usage"]["output_tokens"] == 7


def test_responses_whole() -> None:
    with ModelServer([REPLY]) as server:
        answer = RESPONSES.ask(server)

    message, first, second = answer.json["output"]
    assert message["content"][0]["text"] == "Looking."
    assert [json.loads(call["arguments"]) for call in (first, second)] == GIVEN
    assert answer.json["usage"]["input_tokens_details"] == {"cached_tokens": 3}


def test_responses_streamed() -> None:
    with ModelServer([REPLY]) as server:
        events = RESPONSES.ask(server, stream=True).events

    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[0]["type"] == "response.created"
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert [item["type"] for item in done] == ["message", "function_call", "function_call"]
    assert [json.loads(item["arguments"]) for item in done[1:]] == GIVEN
    assert events[-1]["type"] == "response.completed"
    assert events[-1]["response"]["output"] == done


def test_responses_words_free_text_as_a_custom_call() -> None:
    with ModelServer([Call("exec", "text(1)")]) as server:
        [item] = RESPONSES.ask(server).json["output"]

    assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "exec", "text(1)")


def test_responses_finds_tools_that_come_as_an_item_of_the_input() -> None:
    inner = [{"type": "custom", "name": "exec"}]
    offered = {
        "type": "additional_tools",
        "tools": [{"type": "namespace", "name": "functions", "tools": inner}],
    }
    with ModelServer([Reply("ok")]) as server:
        post(server, "/v1/responses", {"model": "m1", "input": [offered]})

        assert server.main_requests[0].tools == ("functions.exec",)


def test_chat_whole() -> None:
    with ModelServer([REPLY]) as server:
        answer = CHAT.ask(server)

    [choice] = answer.json["choices"]
    assert choice["message"]["content"] == "Looking."
    assert [json.loads(call["function"]["arguments"]) for call in choice["message"]["tool_calls"]] == GIVEN
    assert choice["finish_reason"] == "tool_calls"
    assert answer.json["usage"]["total_tokens"] == 18


def test_chat_streamed() -> None:
    with ModelServer([REPLY]) as server:
        answer = CHAT.ask(server, stream=True)

    assert answer.text.endswith("data: [DONE]\n\n")
    deltas = [event["choices"][0]["delta"] for event in answer.events]
    assert "".join(delta.get("content", "") for delta in deltas) == "Looking."
    pieces: dict[int, str] = {}
    for call in [call for delta in deltas for call in delta.get("tool_calls", [])]:
        pieces[call["index"]] = pieces.get(call["index"], "") + call["function"]["arguments"]
    assert [json.loads(pieces[index]) for index in (0, 1)] == GIVEN
    assert answer.events[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_chat_streams_usage_only_when_asked() -> None:
    asking = CHAT.request_body(stream=True) | {"stream_options": {"include_usage": True}}
    with ModelServer([REPLY, REPLY]) as server:
        plain = CHAT.ask(server, stream=True).events
        counted = post(server, CHAT.stream_path, asking).events

    assert [event for event in plain if event.get("usage")] == []
    assert counted[-1]["usage"]["prompt_tokens"] == 11


def gemini_parts(chunks: list[Any]) -> list[Any]:
    parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
    return [part for part in parts if part != {"text": ""}]


def test_gemini_whole_and_streamed_say_the_same() -> None:
    with ModelServer([REPLY, REPLY, REPLY]) as server:
        whole = GEMINI.ask(server).json
        streamed = GEMINI.ask(server, stream=True).events
        listed = post(server, GEMINI.stream_path.removesuffix("?alt=sse"), dict(GEMINI.body)).json

    for chunks in ([whole], streamed, listed):
        text, *calls = gemini_parts(chunks)
        assert text == {"text": "Looking."}
        assert [call["functionCall"]["args"] for call in calls] == GIVEN
        assert chunks[-1]["candidates"][0]["finishReason"] == "STOP"
        assert chunks[-1]["usageMetadata"]["totalTokenCount"] == 18
        assert [chunk["candidates"][0].get("finishReason") for chunk in chunks[:-1]] == [None] * (
            len(chunks) - 1
        )


@pytest.mark.parametrize("sample", [ANTHROPIC, RESPONSES, GEMINI], ids=["anthropic", "responses", "gemini"])
def test_tokens_are_counted_without_a_turn(sample: Sample) -> None:
    with ModelServer() as server:
        answer = post(server, sample.count_path, sample.request_body(stream=False))

    [(_, tokens)] = answer.json.items()
    assert tokens > 5
    assert server.main_requests == ()


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("anthropic", ("error", "type")),
        ("responses", ("error", "code")),
        ("chat", ("error", "code")),
        ("gemini", ("error", "status")),
    ],
)
def test_a_fault_without_a_body_is_in_the_vendors_shape(name: str, path: tuple[str, str]) -> None:
    with ModelServer([Fault(429, headers={"retry-after": "9"})]) as server:
        answer = SAMPLES[name].ask(server, stream=True)

    assert (answer.status, answer.headers["retry-after"]) == (429, "9")
    expected = "RESOURCE_EXHAUSTED" if name == "gemini" else "rate_limit_error"
    assert answer.json[path[0]][path[1]] == expected


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_disconnect_cuts_the_reply_before_its_end(sample: Sample, stream: bool) -> None:
    with ModelServer([Disconnect("half a sentence"), Reply("again")]) as server:
        with pytest.raises(http.client.IncompleteRead) as caught:
            sample.ask(server, stream=stream)
        again = sample.ask(server, stream=stream)

    got = caught.value.partial.decode()
    assert got
    if stream:
        assert "half a sentence" in got
        assert not any(end in got for end in ("message_stop", "completed", "[DONE]", "STOP"))
    assert "again" in again.text
    assert [exchange.outcome for exchange in server.exchanges] == ["cut off", "served"]
