"""What all readers share: values that are nested, marks that are kept, files that are none, ids and parents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue import agents
from segue.agents.claude import reader as claude
from segue.agents.demo import reader as demo
from segue.agents.pi import reader as pi
from segue.agents.qwen import reader as qwen
from segue.agents.shared.transcripts import entry_links, image_ref, limit_text
from segue.agents.shared.transcripts.reader import (
    DEEPEST,
    Reading,
    decode_any,
    items_in,
    moment_of,
    second_of,
    source_of,
    sources_like,
    status_of,
    tokens_within,
)
from segue.base import clock
from segue.model import Entry, EntryKind, Mark, Origin, Source, Tokens
from segue.testing.entries import check_walks

READERS = {"claude": claude, "qwen": qwen, "pi": pi, "demo": demo}


# Values


@given(
    st.one_of(
        st.datetimes().map(lambda when: when.isoformat(timespec="milliseconds") + "Z"),
        st.datetimes(timezones=st.timezones()).map(str),
        st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ", fullmatch=True),
        st.text(max_size=30),
        st.floats(),
        st.integers(),
        st.none(),
    )
)
def test_a_time_is_the_same_as_a_number_and_as_text(written: object) -> None:
    moment = moment_of(written)
    assert second_of(written) == (int(clock.parse(moment).timestamp()) if moment else 0)


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def at_depth(frames: int, content: bytes) -> Any:
    """What is decoded by one who was called by so many others."""
    return at_depth(frames - 1, content) if frames else decode_any(content)


@pytest.mark.parametrize("frames", [0, 300, 600])
def test_how_deeply_a_value_may_be_nested_does_not_depend_on_who_reads_it(frames: int) -> None:
    assert at_depth(frames, nested(DEEPEST)) is not None
    assert at_depth(frames, nested(DEEPEST + 1)) is None
    assert at_depth(frames, nested(100_000)) is None


def test_brackets_in_words_and_beside_each_other_are_no_depth() -> None:
    words = {"text": "[{" * 10_000, "list": [[] for _ in range(1000)]}
    assert decode_any(json.dumps(words).encode()) == words


@pytest.mark.parametrize(
    ("value", "status"),
    [(0, 0), (-1, -1), (137, 137), (True, None), (1 << 40, None), ("1", None), (1.0, None)],
)
def test_an_exit_status_is_a_number_that_can_be_one(value: Any, status: int | None) -> None:
    assert status_of(value) == status


def test_tokens_that_are_counted_within_others_are_counted_once() -> None:
    assert tokens_within(100, 60, 30, 5) == Tokens(input=10, output=5, cache_read=60, cache_write=30)
    assert tokens_within(100, 200, 30, 5) == Tokens(output=5, cache_read=100)


def test_a_picture_is_named_and_not_kept() -> None:
    assert image_ref.reference("image/png", "aGVsbG8=") == "image/png, 5 bytes, sha256:2cf24dba5fb0a30e…"
    assert image_ref.reference("", "no base64") == image_ref.reference("image", "no base64")


# Marks


def test_reading_changes_nothing_in_a_mark_that_was_handed_in() -> None:
    mark = Mark(offset=5, state={"calls": {"a": [1, {"b": 2}]}, "n": 1})

    def entries(reading: Reading) -> Any:
        reading.mark.state["calls"]["a"][1]["b"] = 3
        reading.mark.state["n"] = 2
        return iter(())

    reading = Reading(Source(agent="demo", path="/nowhere"), mark, entries)
    list(reading)
    assert mark.state == {"calls": {"a": [1, {"b": 2}]}, "n": 1}
    assert reading.mark.state == {"calls": {"a": [1, {"b": 3}]}, "n": 2}


# Files


def test_only_an_ordinary_file_with_a_name_that_can_be_written_is_a_source(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n")
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl"))).write_text("{}\n")
    found = source_of("pi", tmp_path / "a.jsonl")
    assert found is not None and (found.path, found.size) == (str(tmp_path / "a.jsonl"), 3)
    assert found.stamp == (tmp_path / "a.jsonl").stat().st_mtime_ns
    assert list(sources_like("pi", tmp_path, ["*.jsonl"])) == [found]
    assert [source for item in items_in(tmp_path) if (source := source_of("pi", item))] == [found]
    assert source_of("pi", "a\0b") is None and items_in("a\0b") == items_in(tmp_path / "nowhere") == []


# Ids and parents


def record_of(agent: str, id: str, parent: str | None) -> dict[str, Any]:
    """A record of each agent that names its parents, with two pieces where it can have them."""
    call = {"id": f"call-{id}", "name": "shell"}
    match agent:
        case "claude":
            content = [{"type": "text", "text": "x"}, {"type": "tool_use", "input": {}, **call}]
            return {"type": "assistant", "uuid": id, "parentUuid": parent, "message": {"content": content}}
        case "qwen":
            parts = [{"text": "x"}, {"functionCall": call}]
            return {"type": "assistant", "uuid": id, "parentUuid": parent, "message": {"parts": parts}}
        case "pi":
            blocks = [{"type": "text", "text": "x"}, {"type": "toolCall", **call}]
            message = {"role": "assistant", "content": blocks}
            return {"type": "message", "id": id, "parentId": parent, "message": message}
    return {"id": id, "kind": "reply", "origin": "assistant", "text": "x", "parent": parent}


def entries_of(agent: str, folder: Path, links: list[tuple[str, str | None]]) -> list[Entry]:
    path = folder / "a.demo.jsonl"
    path.write_text("".join(json.dumps(record_of(agent, *link)) + "\n" for link in links))
    return list(agents.reader(agent).read(Source(agent=agent, path=str(path))))


def roots_of(entries: list[Entry]) -> dict[str, str | None]:
    """What each record hangs on: the parent of the first of its entries."""
    first: dict[str, str | None] = {}
    for entry in entries:
        first.setdefault(entry.id.partition("#")[0], entry.parent)
    return first


@pytest.mark.parametrize("agent", READERS)
@pytest.mark.parametrize(
    ("links", "roots"),
    [
        ([("a", "a")], {"a": None}),
        ([("a", "b"), ("b", "a")], {"a": "b", "b": None}),
        ([("a", "b"), ("b", "c"), ("c", "a")], {"a": "b", "b": "c", "c": None}),
        ([("b", "c"), ("a", "b"), ("c", "a")], {"b": "c", "a": "b", "c": None}),
        ([("a", "elsewhere"), ("b", "a")], {"a": "elsewhere", "b": "a"}),
        ([("a", None), ("c", "b"), ("b", "a")], {"a": None, "c": "b", "b": "a"}),
        ([("a", None), ("c", "b"), ("d", "a"), ("b", "d")], {"a": None, "c": "b", "d": "a", "b": "d"}),
    ],
)
def test_parents_may_come_later_but_never_lead_around_in_a_ring(
    agent: str, tmp_path: Path, links: list[tuple[str, str | None]], roots: dict[str, str | None]
) -> None:
    found = entries_of(agent, tmp_path, links)
    check_walks({entry.id: entry.parent for entry in found})
    assert roots_of(found) == roots


def test_a_result_that_its_call_hangs_on_does_not_hang_on_its_call(tmp_path: Path) -> None:
    call = record_of("qwen", "a", "b")
    answer = {"functionResponse": {"id": "call-a", "name": "shell", "response": {"output": "x"}}}
    result = {"type": "tool_result", "uuid": "b", "parentUuid": None, "message": {"parts": [answer]}}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(call) + "\n" + json.dumps(result) + "\n")
    found = list(qwen.read(Source(agent="qwen", path=str(path))))
    assert [(entry.id, entry.parent) for entry in found] == [("a#1", "b"), ("a", "a#1"), ("b", None)]


ids = st.sampled_from(["a", "b", "c", "d", "e", "a~2", "b~2", "a#1"])


@given(links=st.lists(st.tuples(ids, ids, st.booleans()), max_size=30))
def test_whatever_is_linked_to_what_ids_are_unique_and_walks_end(links: list[tuple[str, str, bool]]) -> None:
    state: dict[str, Any] = {}
    parents: dict[str, str | None] = {}
    for name, parent, is_result in links:
        kind = EntryKind.RESULT if is_result else EntryKind.CALL
        piece = entry_links.bare(kind, Origin.TOOL, "", call=name[0])
        for entry in entry_links.chained(state, name, parent, [entry_links.note("x"), piece]):
            assert entry.id not in parents
            parents[entry.id] = entry.parent
    check_walks(parents)


def test_what_hangs_on_what_never_came_is_forgotten_in_time() -> None:
    state: dict[str, Any] = {}
    for number in range(5000):
        entry_links.link(state, str(number), f"never-{number}")
    assert (
        len(state["links"]) <= 2 * entry_links.REMEMBERED
        and len(state["awaited"]) <= 2 * entry_links.REMEMBERED
    )


def test_an_id_that_comes_ten_thousand_times_takes_no_longer_than_others() -> None:
    state: dict[str, Any] = {}
    found = [entry_links.unused(state, "a") for _ in range(10_000)]
    assert len(set(found)) == 10_000 and found[:3] == ["a", "a~2", "a~3"]


# What is loaded


@pytest.mark.parametrize("name", [*filter(agents.can_be_read, agents.NAMES)])
def test_finding_an_agent_loads_nothing_that_only_reading_needs(name: str) -> None:
    code = (
        f"import sys, segue.agents; from pathlib import Path; reader = segue.agents.reader({name!r});"
        f"list(reader.find({{'HOME': '/nowhere'}}, [Path('/nowhere')])); reader.recognise(b'{{}}'); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    parsing = {
        "records",
        "rollout",
        "messages",
        "session",
        "events",
        "content",
        "blocks",
        "tool_calls",
        "target",
    }
    assert not {
        module for module in loaded if module.startswith("segue.agents.") and module.split(".")[-1] in parsing
    }
    assert not loaded & {
        "segue.facts",
        "segue.briefs",
        "segue.conversation",
        "segue.store",
        "click",
        "subprocess",
    }
    assert ("sqlite3" in loaded) == (name == "opencode")


# Limits

AT = "2026-11-16T04:40:00.000000Z"


@pytest.mark.parametrize(
    ("said", "ends"),
    [
        ("You've hit your limit. Try again in ~30 min.", "2026-11-16T05:10:00.000000Z"),
        ("resets in about ~2h", "2026-11-16T06:40:00.000000Z"),
        ("Retry after ≈ 45s", "2026-11-16T04:40:45.000000Z"),
    ],
)
def test_a_length_that_is_told_roughly_is_understood(said: str, ends: str) -> None:
    assert limit_text.reset_in(said, AT) == ends


@pytest.mark.parametrize(
    ("said", "window", "model", "ends"),
    [
        ("429 Too Many Requests, retry in 20s", "", "", "2026-11-16T04:40:20.000000Z"),
        ("Requests per day exceeded for this model. Please retry in 20s.", "day", "m1", None),
        ('Daily quota exceeded {\\"retryDelay\\": \\"34.5s\\"}', "day", "", None),
        ("Daily limit reached, try again in 2 hours", "day", "", "2026-11-16T06:40:00.000000Z"),
        ("Your credit balance is too low", "spend", "", None),
    ],
)
def test_a_provider_says_which_limit_it_is(said: str, window: str, model: str, ends: str | None) -> None:
    limit = limit_text.limit_in(said, AT, "m1")
    assert (limit.window, limit.model, limit.resets_at, limit.used_percent) == (window, model, ends, 100)


# The demonstration agent


def test_a_record_that_is_no_entry_is_a_note_and_keeps_its_place_across_a_break(tmp_path: Path) -> None:
    reply = record_of("demo", "a", None)
    odd: list[Any] = [{**reply, "kind": "none"}, {**reply, "text": 5}, {**reply, "origin": "human"}, {"x": 1}]
    path = tmp_path / "a.demo.jsonl"
    lines = [json.dumps(record) + "\n" for record in (reply, *odd, {"usage": {}}, reply)]
    path.write_text("".join(lines))
    whole = demo.read(source := Source(agent="demo", path=str(path)))
    entries = list(whole)
    assert [(entry.id, entry.tool) for entry in entries] == [
        ("a", None),
        *((f"note-{number}", "record") for number in range(2, 6)),
        ("note-6", "usage"),
        ("a~2", None),
    ]
    assert (whole.broken, whole.unknown) == (0, {"record": 4})
    for cut in range(len(lines) + 1):
        path.write_text("".join(lines[:cut]))
        before = demo.read(source)
        start = list(before)
        path.write_text("".join(lines))
        assert start + list(demo.read(source, before.mark)) == entries
