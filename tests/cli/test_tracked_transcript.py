"""The rest of a conversation after each agent compacts it or goes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from segue.ops.index import tracked_transcript
from segue.ops.work import transcripts
from tests.world import Conversation


def texts_in(path: Path) -> list[str]:
    return [turn.text for turn in tracked_transcript.open_tail(transcripts.recognise(path)).turns()]


@pytest.mark.parametrize(
    "about",
    [
        {"preservedMessages": {"anchorUuid": "s", "uuids": ["talk-3", "talk-4"]}},
        {"preservedSegment": {"headUuid": "talk-3", "anchorUuid": "s", "tailUuid": "talk-4"}},
    ],
)
def test_messages_that_a_compaction_preserves_stand_behind_its_summary(
    tmp_path: Path, about: dict[str, Any]
) -> None:
    talk = Conversation(tmp_path, tmp_path, "talk")
    talk.prompt("one")
    talk.reply("1")
    talk.prompt("two")
    talk.reply("2")
    talk.put("system", subtype="compact_boundary", compactMetadata={"trigger": "auto", **about})
    talk.put("user", isCompactSummary=True, message={"role": "user", "content": "S"})
    talk.prompt("three")
    assert texts_in(talk.path)[1:] == ["[Summary of what came before]\nS", "two", "2", "three"]


def rollout(path: Path, *records: tuple[str, dict[str, Any]]) -> Path:
    meta = (
        "session_meta",
        {"id": "x", "timestamp": "2026-11-16T08:00:00.000Z", "cwd": "/w", "cli_version": "0.166.0"},
    )
    lines = [
        json.dumps({"timestamp": f"2026-11-16T08:00:0{n}.000Z", "type": kind, "payload": payload})
        for n, (kind, payload) in enumerate([meta, *records])
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def person(text: str) -> tuple[str, dict[str, Any]]:
    return "event_msg", {"type": "user_message", "message": text}


def agent(text: str) -> tuple[str, dict[str, Any]]:
    return "event_msg", {"type": "agent_message", "message": text}


def test_a_rollback_takes_turns_back(tmp_path: Path) -> None:
    path = rollout(
        tmp_path / "rollout-x.jsonl",
        *(person("one"), agent("1"), person("two"), agent("2")),
        *(("event_msg", {"type": "thread_rolled_back", "num_turns": 1}), person("other"), agent("3")),
    )
    assert texts_in(path) == ["one", "1", "other", "3"]


def test_a_compaction_keeps_what_the_person_said(tmp_path: Path) -> None:
    path = rollout(
        tmp_path / "rollout-x.jsonl",
        *(
            person("one"),
            agent("1"),
            ("compacted", {"message": "S", "replacement_history": []}),
            person("two"),
        ),
    )
    assert texts_in(path) == ["one", "[Summary of what came before]\nS", "two"]


def test_a_rewind_takes_back_from_a_message_on(tmp_path: Path) -> None:
    path = tmp_path / "session-x.jsonl"
    records: list[dict[str, Any]] = [
        {"sessionId": "s", "projectHash": "h", "startTime": "2026-11-16T08:00:00.000Z", "kind": "main"},
        {"id": "m1", "timestamp": "2026-11-16T08:00:01.000Z", "type": "user", "content": [{"text": "one"}]},
        {"id": "m2", "timestamp": "2026-11-16T08:00:02.000Z", "type": "gemini", "content": "1"},
        {"$rewindTo": "m1"},
        {"id": "m3", "timestamp": "2026-11-16T08:00:03.000Z", "type": "user", "content": [{"text": "other"}]},
    ]
    path.write_text("\n".join(map(json.dumps, records)) + "\n")
    assert texts_in(path) == ["other"]
