"""pi's transcripts are read: a tree of entries with prices, and the first version, which had no ids."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from segue.agents.pi import reader as pi
from segue.agents.shared.transcripts import index_scan
from segue.agents.shared.transcripts.reader import INTERRUPT
from segue.model import Entry, EntryKind, Mark, Origin, Relation, Scope, Source, Tokens
from tests import FIXTURES

DATA = FIXTURES / "pi"
LINES = DATA / "2026-05-04T10-00-00-000Z_7d1c0000-0000-4000-8000-00000000000b.jsonl"
FIRST_VERSION = DATA / "2026-05-04T11-00-00-000Z_8d1c0000-0000-4000-8000-00000000000c.jsonl"


def source(path: Path) -> Source:
    return Source(agent="pi", path=str(path))


def entries(path: Path = LINES) -> list[Entry]:
    return list(pi.read(source(path)))


def by_id(path: Path = LINES) -> dict[str, Entry]:
    return {entry.id: entry for entry in entries(path)}


def human(found: list[Entry]) -> list[str]:
    return [e.text for e in found if e.kind is EntryKind.PROMPT and e.origin is Origin.HUMAN]


def written(folder: Path, *records: Any) -> Path:
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def message(id: str, role: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "id": id,
        "parentId": None,
        "message": {"role": role, "content": content, **fields},
    }


def test_only_what_the_person_typed_is_theirs() -> None:
    assert human(entries()) == [
        "Make the tests pass",
        "/skill:review the parser only",
        "Another way: rewrite it",
    ]


def test_files_that_were_passed_along_are_not_the_persons_words(tmp_path: Path) -> None:
    passed = '<file name="/a.py">\nprint(1)\n</file>\n<file name="/b.py"></file>\nWhat does it do?'
    note, prompt = entries(written(tmp_path, message("u", "user", passed)))
    assert (note.tool, note.origin, prompt.text) == ("file", Origin.SYSTEM, "What does it do?")


def test_what_an_extension_says_is_a_note() -> None:
    found = by_id()
    assert (found["x1"].kind, found["x1"].origin, found["x1"].tool) == (EntryKind.NOTE, Origin.SYSTEM, "todo")


def test_one_record_gives_its_entries_in_a_chain_that_ends_with_its_own_id() -> None:
    found = [e for e in entries() if e.id.startswith("a1")]
    assert [(e.id, e.kind, e.parent) for e in found] == [
        ("a1#1", EntryKind.THOUGHT, "u1"),
        ("a1#2", EntryKind.REPLY, "a1#1"),
        ("a1#3", EntryKind.CALL, "a1#2"),
        ("a1", EntryKind.CALL, "a1#3"),
    ]


def test_results_belong_to_their_calls_and_tell_how_it_went() -> None:
    found = by_id()
    assert (found["r1"].parent, found["r1"].status, found["r1"].is_error) == ("a1#3", 2, True)
    assert (found["r2"].parent, found["r2"].status, found["r2"].tool) == ("a1", None, "read")


def test_a_command_that_the_person_ran_is_a_call_of_theirs() -> None:
    found = by_id()
    call, result = found["b1#1"], found["b1"]
    assert (call.kind, call.origin, call.text) == (EntryKind.CALL, Origin.HUMAN, '{"command":"git status"}')
    assert (result.kind, result.status, result.text, result.call) == (EntryKind.RESULT, 0, "clean", call.call)


def test_an_aborted_answer_keeps_its_words_and_says_who_stopped_it() -> None:
    found = by_id()
    assert found["a2#1"].text == "So the"
    assert found["a2#1"].spend
    assert (found["a2"].tool, found["a2"].spend) == (INTERRUPT, None)


def test_going_back_is_a_branch() -> None:
    found = by_id()
    assert found["u2#1"].parent == "b1"
    assert found["u3"].parent == "u1"
    assert found["s1"].kind is found["k1"].kind is EntryKind.SUMMARY


def test_a_limit_is_told_with_its_end() -> None:
    entry = by_id()["a3"]
    [limit] = entry.limits
    assert (entry.kind, limit.scope, limit.used_percent) == (EntryKind.LIMIT, Scope.ACCOUNT, 100)
    assert limit.resets_at == "2026-05-04T10:30:08.000000Z"


def test_another_error_is_no_limit(tmp_path: Path) -> None:
    error = message("a", "assistant", [], stopReason="error", errorMessage="529 overloaded_error")
    [entry] = entries(written(tmp_path, error))
    assert (entry.kind, entry.tool) == (EntryKind.NOTE, "error")


def test_tokens_and_prices_are_the_agents_own() -> None:
    spends = index_scan.scan(pi.read(source(LINES))).spends
    assert [(s.tokens, s.cost_usd) for s in spends] == [
        (Tokens(input=10, output=20, cache_read=300, cache_write=40), 0.05),
        (Tokens(input=1, output=2, cache_read=3, cache_write=4), 0.01),
        (Tokens(input=5, output=6, cache_read=7, cache_write=8), 0.02),
    ]
    assert {s.model for s in spends} == {"sonnet-5"}


def test_an_answer_copied_into_a_fork_is_the_same_answer() -> None:
    origin = {s.key for s in index_scan.scan(pi.read(source(LINES))).spends}
    fork = {s.key for s in index_scan.scan(pi.read(source(FIRST_VERSION))).spends}
    assert len(fork) == 2 and fork < origin


def test_the_transcript_is_described() -> None:
    transcript = index_scan.scan(pi.read(source(LINES))).transcript
    assert transcript.id == "7d1c0000-0000-4000-8000-00000000000b"
    assert (transcript.title, transcript.project) == ("Tests of the shop", "/home/ada/shop")
    assert transcript.parent == "6d1c0000-0000-4000-8000-00000000000a"
    assert (transcript.relation, transcript.interruptions) == (Relation.FORK, 1)


def test_the_first_version_is_a_line_of_entries() -> None:
    found = entries(FIRST_VERSION)
    assert human(found) == ["Make the tests pass"]
    assert [e.id for e in found if "#" not in e.id] == ["session", *(f"record:{n}" for n in range(2, 7))]
    assert found[1].parent == "session"
    assert next(e for e in found if e.id == "record:4").parent == "record:3#3"


def test_every_record_makes_an_entry_and_parents_come_first() -> None:
    reading = pi.read(source(LINES))
    found = list(reading)
    records = [json.loads(line) for line in LINES.read_text().splitlines()]
    natives = [e.native for e in found]
    assert all(record in natives for record in records)
    assert reading.unknown == {"hologram": 1}
    known: set[str] = set()
    for entry in found:
        assert entry.id not in known
        assert entry.parent is None or entry.parent in known
        known.add(entry.id)


@pytest.mark.parametrize("path", [LINES, FIRST_VERSION], ids=["linked", "first version"])
def test_a_read_in_two_steps_gives_the_same_for_a_cut_at_any_byte(tmp_path: Path, path: Path) -> None:
    content = path.read_bytes()
    whole = entries(path)
    copy = tmp_path / path.name
    for at in range(0, len(content) + 1, 11):
        copy.write_bytes(content[:at])
        first = pi.read(source(copy))
        found = list(first)
        copy.write_bytes(content)
        mark = msgspec.json.decode(msgspec.json.encode(first.mark), type=Mark)
        assert found + list(pi.read(source(copy), mark)) == whole, f"cut at {at}"


@pytest.mark.parametrize("junk", [None, 7, -1, True, "", [], {}, [None], {"text": 3}, "x" * 9000, 2**80, 1.5])
def test_no_field_can_break_it(tmp_path: Path, junk: Any) -> None:
    bad: list[Any] = [junk]
    for line in LINES.read_text().splitlines():
        good = json.loads(line)
        bad += [{**good, key: junk} for key in good]
        inner = good.get("message", {})
        bad += [{**good, "message": {**inner, key: junk}} for key in inner]
        usage = inner.get("usage", {})
        bad += [{**good, "message": {**inner, "usage": {**usage, key: junk}}} for key in usage]
        bad.append({**good, "message": {**inner, "usage": {**usage, "cost": {"total": junk}}}})
        bad.append({**good, "message": {**inner, "content": [junk, {"type": "image"}, {"type": "toolCall"}]}})
    reading = pi.read(source(written(tmp_path, *bad)))
    found = list(reading)
    assert max(Counter(e.id for e in found).values()) == 1
    msgspec.json.encode([found, reading.mark])


def test_transcripts_are_found_by_looking_at_folders(tmp_path: Path) -> None:
    folder = tmp_path / ".pi" / "agent" / "sessions" / "--home-ada-shop--"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text("{}")
    (folder / "b.txt").write_text("{}")
    (folder / "c.jsonl").mkdir()
    (folder / "d.jsonl").symlink_to(folder / "nowhere")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.jsonl")).write_text("{}")
    [found] = pi.find({"HOME": str(tmp_path)}, ())
    assert (found.path, found.agent, found.size) == (str(folder / "a.jsonl"), "pi", 2)
    moved = {"HOME": str(tmp_path), "PI_CODING_AGENT_DIR": "~/.pi/agent"}
    assert list(pi.find(moved, ())) == [found]
    assert list(pi.find({"HOME": "/nowhere"}, ())) == list(pi.find({}, ())) == []


def test_its_files_are_recognised() -> None:
    assert all(pi.recognise(path.read_bytes()[:4096]) for path in DATA.iterdir())
    others = [*(DATA.parent / "gemini").iterdir(), *(DATA.parent / "qwen").iterdir()]
    assert not any(pi.recognise(path.read_bytes()[:4096]) for path in others)
    assert not pi.recognise(b'{"type":"session.start","data":{"cwd":"/"}}')
