"""The context that is handed over: what goes into the package comes out the same, or not at all."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from segue.errors import BadInput
from segue.model import Entry, EntryKind, Origin, Preserve, Spend, Tokens, context
from segue.model.context import (
    CompressedContext,
    HandoffContext,
    compress,
    decompress,
    deserialize,
    serialize,
)
from segue.model.task import TaskContext, TaskEdit, difference
from segue.ops.briefs import context as brief_context

NOW = "2026-11-16T09:30:00.000000Z"
TEXT = st.text(max_size=40)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
TASK = st.builds(
    TaskContext,
    primary_goal=TEXT,
    sub_goals=TEXTS,
    constraints=TEXTS,
    progress=st.floats(0, 1),
    next_steps=TEXTS,
    critical_context=TEXTS,
)
ENTRY = st.builds(
    Entry,
    id=TEXT,
    kind=st.sampled_from(EntryKind),
    origin=st.sampled_from(Origin),
    text=TEXT,
    parent=st.none() | TEXT,
    tool=st.none() | TEXT,
    status=st.none() | st.integers(0, 255),
    is_error=st.booleans(),
    spend=st.none() | st.builds(Spend, key=TEXT, model=TEXT, tokens=st.builds(Tokens, output=st.integers(0))),
    native=st.none() | OBJECT,
)
CONTEXT = st.builds(
    HandoffContext,
    session_id=TEXT,
    timestamp=st.just(NOW),
    source_model=TEXT,
    target_model=TEXT,
    handoff_reason=TEXT,
    preservation_level=st.sampled_from(Preserve),
    current_task=TASK,
    memory_graph=OBJECT,
    active_patterns=st.lists(OBJECT, max_size=2).map(tuple),
    user_preferences=OBJECT,
    pending_subagents=st.lists(OBJECT, max_size=2).map(tuple),
    learning_state=OBJECT,
    conversation_history=st.lists(ENTRY, max_size=4).map(tuple),
)


def a_context(**more: Any) -> HandoffContext:
    base = {"session_id": "s-1", "timestamp": NOW, "source_model": "large", "target_model": "small"}
    return HandoffContext(**{**base, **more})


def an_entry(number: int, text: str = "words") -> Entry:
    return Entry(id=f"e-{number}", kind=EntryKind.REPLY, origin=Origin.ASSISTANT, text=text)


@given(CONTEXT)
def test_what_is_serialized_comes_back_the_same(one: HandoffContext) -> None:
    assert deserialize(serialize(one)) == one


@given(CONTEXT)
@example(a_context(memory_graph={"conversationHistory": []}))
def test_what_is_compressed_comes_back_the_same(one: HandoffContext) -> None:
    packed = compress(one)
    assert decompress(packed) == one
    assert packed.stored == len(packed.data) and packed.size == len(serialize(one).encode())


@given(CONTEXT, st.lists(ENTRY, max_size=4))
def test_a_history_given_apart_is_packed_as_if_it_were_inside(
    one: HandoffContext, entries: list[Entry]
) -> None:
    whole = msgspec.structs.replace(one, conversation_history=tuple(entries))
    assert compress(one, iter(entries)) == compress(whole)


@given(CONTEXT)
def test_a_context_is_the_json_that_it_would_be_in_one_piece(one: HandoffContext) -> None:
    assert serialize(one).encode() == msgspec.json.encode(one)


def test_a_context_has_every_field_under_the_name_that_others_know_it_by() -> None:
    written = json.loads(serialize(a_context()))
    assert sorted(written) == [
        "activePatterns",
        "conversationHistory",
        "currentTask",
        "handoffReason",
        "learningState",
        "memoryGraph",
        "pendingSubagents",
        "preservationLevel",
        "sessionId",
        "sourceModel",
        "targetModel",
        "timestamp",
        "userPreferences",
    ]
    assert sorted(written["currentTask"]) == [
        "constraints",
        "criticalContext",
        "nextSteps",
        "primaryGoal",
        "progress",
        "subGoals",
    ]


def test_the_hash_names_the_content_and_not_how_it_was_compressed() -> None:
    one = a_context(conversation_history=tuple(an_entry(n) for n in range(100)))
    packed = compress(one)
    again = zstandard.ZstdCompressor(level=19).compress(serialize(one).encode())
    other = CompressedContext(data=again, size=packed.size, stored=len(again), hash=packed.hash)
    assert packed.data != again and decompress(other) == one


# What is damaged


WHOLE = compress(a_context(conversation_history=tuple(an_entry(n, f"line {n}") for n in range(50))))


@given(st.integers(0, len(WHOLE.data) - 1), st.integers(1, 255))
def test_a_changed_byte_never_gives_another_context(place: int, by: int) -> None:
    data = bytearray(WHOLE.data)
    data[place] ^= by
    try:
        found = decompress(msgspec.structs.replace(WHOLE, data=bytes(data)))
    except BadInput:
        return
    assert found == decompress(WHOLE)


@given(st.integers(0, len(WHOLE.data) - 1))
def test_a_context_that_is_cut_short_is_refused(length: int) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        decompress(msgspec.structs.replace(WHOLE, data=WHOLE.data[:length]))


@pytest.mark.parametrize(
    "lie",
    [{"size": WHOLE.size - 1}, {"size": WHOLE.size + 1}, {"size": -1}, {"size": 2**60}, {"hash": "0" * 64}],
    ids=str,
)
def test_what_it_says_of_itself_must_be_true(lie: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        decompress(msgspec.structs.replace(WHOLE, **lie))


def test_a_small_package_cannot_fill_the_memory() -> None:
    data = zstandard.ZstdCompressor(level=3).compress(bytes(400_000_000))
    bomb = CompressedContext(data=data, size=1000, stored=len(data), hash="0" * 64)
    tracemalloc.start()
    try:
        with pytest.raises(BadInput, match="size is not what it says"):
            decompress(bomb)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@given(st.binary(max_size=60) | TEXT)
def test_what_is_no_context_is_refused_with_a_sentence(text: str | bytes) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        deserialize(text)


@pytest.mark.parametrize("progress", [-0.1, 1.1])
def test_progress_beyond_its_ends_is_refused(progress: float) -> None:
    text = serialize(a_context()).replace('"progress":0.0', f'"progress":{progress}')
    with pytest.raises(BadInput, match="cannot be read"):
        deserialize(text)


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        deserialize('{"memoryGraph":' * 100_000)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.sampled_from(["null", "NaN"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(TEXT, ANY_JSON, max_size=3), st.dictionaries(TEXT, ANY_JSON, max_size=3))
@example({"x": [math.nan, {"y": math.inf}]}, {"null": None})
@example({}, {"input": {"id": -math.inf, "é": "NaN"}})
def test_numbers_that_json_has_no_word_for_come_back_the_same(
    graph: dict[str, Any], native: dict[str, Any]
) -> None:
    entry = msgspec.structs.replace(an_entry(1), native=native)
    one = a_context(memory_graph=graph, conversation_history=(entry, an_entry(2)))
    assert repr(decompress(compress(one))) == repr(one)
    assert repr(deserialize(serialize(one))) == repr(one)


@pytest.mark.parametrize("damage", ['"\\ud800"', "NaN,", "-NaN", '{"a":' * 100_000, "1" * 10_000])
def test_what_is_damaged_is_refused_beside_such_numbers_too(damage: str) -> None:
    text = serialize(a_context(memory_graph={"x": math.nan})).replace("NaN", f"[NaN,{damage}]")
    with pytest.raises(BadInput, match="cannot be read"):
        deserialize(text)


def test_a_number_that_is_too_long_to_be_written_is_refused() -> None:
    with pytest.raises(BadInput, match="cannot be written"):
        compress(a_context(memory_graph={"x": 10**5000}))


def test_what_is_no_text_is_refused_and_not_bent() -> None:
    with pytest.raises(BadInput, match="cannot be written"):
        compress(a_context(handoff_reason="\ud800"))


def test_a_long_history_is_not_held_while_it_is_packed() -> None:
    def entries() -> Iterator[Entry]:
        for number in range(20_000):
            yield an_entry(number, f"{number} said again and again " * 50)

    tracemalloc.start()
    try:
        packed = compress(a_context(), entries())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert packed.size > 25_000_000 and peak < 3 * packed.stored + 2_000_000


def test_a_context_that_is_too_large_is_not_unpacked() -> None:
    with pytest.raises(BadInput, match="too large"):
        decompress(msgspec.structs.replace(WHOLE, size=context.LARGEST + 1))


# Packages in files


PACKAGE = msgspec.msgpack.encode(WHOLE)


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        PACKAGE[:-1],
        PACKAGE.replace(WHOLE.hash[:3].encode(), b"\xff\xff\xff"),
        PACKAGE.replace(b"hash", b"\xff\xff\xff\xff"),
        b"\x81\xa1x" + b"\x91" * 200_000,
        b"\x81\xa4data\xc6\xff\xff\xff\xff",
    ],
    ids=["empty", "cut", "a hash that is no text", "a name that is no text", "deep", "long"],
)
def test_a_file_that_is_no_package_is_called_so(tmp_path: Path, damaged: bytes) -> None:
    file = tmp_path / "work.segue"
    file.write_bytes(damaged)
    with pytest.raises(BadInput, match="is not a package"):
        brief_context.unpacked(file)


@given(st.lists(st.tuples(st.integers(0, len(PACKAGE) - 1), st.integers(0, 255)), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_gives_the_same_context_or_an_error(
    tmp_path: Path, changes: list[tuple[int, int]]
) -> None:
    damaged = bytearray(PACKAGE)
    for place, value in changes:
        damaged[place] = value
    file = tmp_path / "work.segue"
    file.write_bytes(damaged)
    try:
        found = brief_context.unpacked(file)
    except BadInput:
        return
    assert found == decompress(WHOLE)


# What a person says of a task


@given(TASK, TASK)
def test_what_differs_between_two_tasks_makes_the_one_of_the_other(
    one: TaskContext, other: TaskContext
) -> None:
    said = difference(one, other)
    assert (said.over(one) if said else one) == other


@given(TASK)
def test_a_person_who_says_nothing_changes_nothing(task: TaskContext) -> None:
    assert TaskEdit().over(task) == task and difference(task, task) is None


def test_a_person_can_empty_a_list() -> None:
    assert TaskEdit(constraints=()).over(TaskContext(constraints=("never",))).constraints == ()
