"""What a person typed while Claude Code was busy is a prompt once, however often it was written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude.test_reader import (
    SESSION,
    Record,
    assistant,
    call,
    chained,
    kinds,
    read,
    typed,
    user,
)


def queue(operation: str, content: Any = None) -> Record:
    record = {"type": "queue-operation", "operation": operation, "sessionId": SESSION}
    return {**record, "timestamp": "2026-03-02T09:00:01.000Z"} | ({"content": content} if content else {})


BUSY = (user("start", "u1"), assistant(call(), id="r1", parent="u1"))
IDLE = (user("start", "u1"), assistant({"type": "text", "text": "done"}, id="r1", parent="u1"))
NOTICE = "<task-notification><task-id>b1</task-id></task-notification>"


@pytest.mark.parametrize(
    "then",
    [
        [],
        [queue("remove")],
        [queue("remove"), chained("attachment", "a1", "r1", attachment={"type": "queued_command", "prompt": "and this"})],
        [queue("dequeue"), user("and this", "u2", "r1")],
        [queue("dequeue"), user([{"type": "text", "text": "[Request interrupted by user]"}], "u2"), user("and this", "u3")],
        [queue("popAll", "and this"), user("and this", "u2", "r1")],
        [queue("popAll", "and this"), queue("enqueue", "and this"), queue("remove")],
        [queue("enqueue", NOTICE), queue("remove"), queue("remove")],
        [queue("dequeue"), *2 * [queue("enqueue", "and this"), queue("dequeue")], user("and this", "u2", "r1")],
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", [BUSY, IDLE])
def test_what_was_typed_meanwhile_is_a_prompt_once(
    tmp_path: Path, before: tuple[Record, ...], then: list[Record]
) -> None:
    entries = read(tmp_path, *before, queue("enqueue", "and this"), *then)
    if then or before is BUSY:
        assert typed(entries) == ["start", "and this"]
    assert any("and this" in entry.text for entry in entries)


def test_it_is_a_prompt_where_it_was_typed_and_a_note_where_it_was_delivered(tmp_path: Path) -> None:
    entries = read(
        tmp_path, *BUSY, queue("enqueue", "and this"), queue("dequeue"), user("and this", "u2", "r1")
    )
    assert [(entry.kind.value, entry.tool, entry.parent) for entry in entries[2:]] == [
        ("prompt", None, "r1"),
        ("note", "dequeue", None),
        ("note", "queued", "r1"),
    ]


def test_a_headless_prompt_is_the_record_that_the_answer_follows(tmp_path: Path) -> None:
    entries = read(tmp_path, queue("enqueue", "say hi"), queue("dequeue"), user("say hi", "u1"))
    assert kinds(entries) == ["note", "note", "prompt"]
    assert entries[-1].id == "u1"


def test_the_same_words_typed_again_are_a_prompt_again(tmp_path: Path) -> None:
    entries = read(tmp_path, *BUSY, queue("enqueue", "go on"), queue("remove"), user("go on", "u2"))
    assert typed(entries) == ["start", "go on", "go on"]
    entries = read(
        tmp_path, *BUSY, queue("enqueue", "go on"), queue("dequeue"), user("go on", "u2"), user("go on", "u3")
    )
    assert typed(entries) == ["start", "go on", "go on"]


def test_several_that_are_delivered_together_are_not_told_again(tmp_path: Path) -> None:
    both = [queue("enqueue", "one"), queue("enqueue", "two"), queue("dequeue"), queue("dequeue")]
    assert typed(read(tmp_path, *BUSY, *both, user("one\ntwo", "u2"))) == ["start", "one", "two"]
    assert typed(read(tmp_path, *BUSY, *both, user("one", "u2"), user("two", "u3"))) == [
        "start",
        "one",
        "two",
    ]


def test_a_queued_notice_is_not_the_persons(tmp_path: Path) -> None:
    task = '{"task_id":"b1","description":"Run tests","task_type":"local_bash"}'
    attached = chained("attachment", "a1", attachment={"type": "queued_command", "prompt": NOTICE})
    assert typed(read(tmp_path, *BUSY, queue("enqueue", task), queue("enqueue", NOTICE), attached)) == [
        "start"
    ]
