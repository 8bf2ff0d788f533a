"""Qwen Code's transcripts are read: records with parents, parts like Gemini's, and files of older versions."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from segue.agents.gemini import reader as gemini
from segue.agents.qwen import reader as qwen
from segue.agents.shared.transcripts import index_scan
from segue.agents.shared.transcripts.reader import INTERRUPT
from segue.model import Ending, Entry, EntryKind, Mark, Origin, Relation, Source, Tokens
from tests import FIXTURES

DATA = FIXTURES / "qwen"
LINES = DATA / "4ba527c4-0000-4000-8000-00000000000a.jsonl"
SUBAGENT = DATA / "agent-explore-7f3c.jsonl"
OLD = DATA / "session-2026-05-04T11-00-2f1e2d3c.json"


def source(path: Path) -> Source:
    return Source(agent="qwen", path=str(path))


def entries(path: Path = LINES) -> list[Entry]:
    return list(qwen.read(source(path)))


def by_id(path: Path = LINES) -> dict[str, Entry]:
    return {entry.id: entry for entry in entries(path)}


def human(found: list[Entry]) -> list[str]:
    return [e.text for e in found if e.kind is EntryKind.PROMPT and e.origin is Origin.HUMAN]


def written(folder: Path, *records: Any) -> Path:
    path = folder / "chat.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def record(uuid: str, type: str, **fields: Any) -> dict[str, Any]:
    return {"uuid": uuid, "parentUuid": None, "timestamp": "2026-05-04T10:00:00Z", "type": type, **fields}


def text(words: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": words}]}


def test_only_what_the_person_typed_is_theirs() -> None:
    assert human(entries()) == ["Make the tests pass", "and lint too", "/about", "Use b.py", "/init"]


def test_reminders_notifications_and_a_commands_own_prompt_are_notes() -> None:
    found = by_id()
    assert found["u1#1"].tool == "system-reminder"
    assert found["n1"].tool == "notification"
    assert (found["u4"].kind, found["u4"].origin) == (EntryKind.NOTE, Origin.SYSTEM)


def test_a_prompt_that_follows_a_command_later_is_the_persons(tmp_path: Path) -> None:
    opened = {"phase": "invocation", "rawCommand": "/model"}
    told = {"phase": "result", "rawCommand": "/model", "outputHistoryItems": []}
    path = written(
        tmp_path,
        record("a", "system", subtype="slash_command", systemPayload=opened),
        record("b", "system", subtype="slash_command", systemPayload=told),
        record("c", "user", message=text("hello")) | {"timestamp": "2026-05-04T10:00:09Z"},
    )
    assert human(entries(path)) == ["/model", "hello"]


def test_what_the_program_says_was_typed_is_taken_at_its_word(tmp_path: Path) -> None:
    payload = {"displayText": "look at @a.py", "hookContext": ""}
    sent = {"role": "user", "parts": [{"text": "look at @a.py"}, {"text": "print(1)"}]}
    found = entries(written(tmp_path, record("a", "user", message=sent, systemPayload=payload)))
    assert human(found) == ["look at @a.py"]
    assert found[0].tool == "expansion" and "print(1)" in found[0].text


def test_one_record_gives_its_entries_in_a_chain_that_ends_with_its_own_id() -> None:
    found = [e for e in entries() if e.id.startswith("m1")]
    assert [(e.id, e.kind, e.parent) for e in found] == [
        ("m1#1", EntryKind.THOUGHT, "s2"),
        ("m1#2", EntryKind.REPLY, "m1#1"),
        ("m1#3", EntryKind.CALL, "m1#2"),
        ("m1", EntryKind.CALL, "m1#3"),
    ]
    assert found[1].text == "I run them."


def test_results_belong_to_their_calls_and_tell_how_it_went() -> None:
    found = by_id()
    assert (found["t1"].parent, found["t1"].status, found["t1"].is_error) == ("m1#3", 2, False)
    assert (found["t2"].parent, found["t2"].status, found["t2"].is_error) == ("m1", None, True)
    assert found["t1"].tool == "run_shell_command"


def test_a_call_that_was_not_allowed_is_an_interruption() -> None:
    found = by_id()
    assert (found["t3#1"].kind, found["t3#1"].is_error) == (EntryKind.RESULT, True)
    assert found["t3"].tool == INTERRUPT


def test_a_compression_is_a_summary() -> None:
    entry = by_id()["h1"]
    assert (entry.kind, entry.text) == (
        EntryKind.SUMMARY,
        "<state_snapshot>Make the tests pass</state_snapshot>",
    )


def test_a_refusal_for_quota_is_a_limit() -> None:
    entry = by_id()["e1"]
    [limit] = entry.limits
    assert entry.kind is EntryKind.LIMIT
    assert (limit.window, limit.used_percent) == ("day", 100)


def test_thoughts_that_are_part_of_an_answer_are_not_counted_twice() -> None:
    spends = {s.key: s.tokens for s in index_scan.scan(qwen.read(source(LINES))).spends}
    assert spends == {
        "qwen:m1": Tokens(input=600, output=50, cache_read=400),
        "qwen:m2": Tokens(input=1200, output=15),
    }


def test_what_a_sub_agent_spent_is_counted_where_the_session_tells_it(tmp_path: Path) -> None:
    counted = {"input_token_count": 100, "output_token_count": 10, "cached_content_token_count": 40}
    event = {"event.name": "qwen-code.api_response", "event.timestamp": "t", "response_id": "r1", **counted}
    path = written(
        tmp_path,
        record("a", "system", subtype="ui_telemetry", systemPayload={"uiEvent": event}),
        record(
            "b", "system", subtype="ui_telemetry", systemPayload={"uiEvent": event | {"subagent_name": "x"}}
        ),
    )
    of_the_session, of_its_helper = entries(path)
    assert of_the_session.spend is None, "its answers tell it themselves"
    assert of_its_helper.subagent == "x"
    assert of_its_helper.spend and of_its_helper.spend.tokens == Tokens(input=60, output=10, cache_read=40)
    assert all(entry.spend is None for entry in entries(SUBAGENT)), "it would be counted twice"


def test_the_prompt_of_a_command_that_is_not_recorded_is_not_the_persons(tmp_path: Path) -> None:
    made = "\nYou are Qwen Code, an interactive CLI agent. Analyze the current directory and write QWEN.md."
    assert human(entries(written(tmp_path, record("a", "user", message=text(made))))) == []


def test_the_transcript_is_described() -> None:
    transcript = index_scan.scan(qwen.read(source(LINES))).transcript
    assert transcript.id == LINES.stem
    assert (transcript.title, transcript.version) == ("Tests and lint", "0.15.10")
    assert (transcript.project, transcript.branch) == ("/home/ada/shop", "main")
    assert (transcript.context_window, transcript.ending) == (262144, Ending.LIMIT)


def test_unknown_records_are_notes_and_counted() -> None:
    reading = qwen.read(source(LINES))
    found = list(reading)
    assert reading.unknown == {"hologram": 1, "aside": 1}
    assert {e.tool for e in found if e.id in ("b1", "b2")} == {"hologram", "aside"}


def test_every_record_makes_an_entry_and_parents_come_first() -> None:
    found = entries()
    records = [json.loads(line) for line in LINES.read_text().splitlines()]
    natives = [e.native for e in found]
    assert all(record in natives for record in records)
    known: set[str] = set()
    for entry in found:
        assert entry.id not in known
        assert entry.parent is None or entry.parent in known
        known.add(entry.id)


def test_a_sub_agent_has_a_transcript_of_its_own() -> None:
    reading = qwen.read(source(SUBAGENT))
    prompt, reply = reading
    assert (prompt.origin, reply.origin) == (Origin.ASSISTANT, Origin.ASSISTANT)
    assert prompt.subagent is None
    assert reading.learned["id"] == "explore-7f3c"
    assert (reading.learned["parent"], reading.learned["relation"]) == (LINES.stem, Relation.SUBAGENT)


def test_a_fork_names_where_it_came_from_and_spends_nothing_new(tmp_path: Path) -> None:
    copied = [json.loads(line) for line in LINES.read_text().splitlines()]
    origin = {"sessionId": LINES.stem, "messageUuid": "x"}
    path = written(tmp_path, *({**one, "sessionId": "fork", "forkedFrom": origin} for one in copied))
    scan = index_scan.scan(qwen.read(source(path)))
    assert (scan.transcript.parent, scan.transcript.relation) == (LINES.stem, Relation.FORK)
    assert scan.spends == index_scan.scan(qwen.read(source(LINES))).spends


def test_an_older_transcript_is_read_like_geminis() -> None:
    reading = qwen.read(source(OLD))
    found = list(reading)
    assert human(found) == ["hello"]
    assert found[-1].text == "Hello."
    assert found[-1].spend and found[-1].spend.key == "qwen:o2"
    assert found[-1].spend.tokens == Tokens(input=60, output=9, cache_read=40)
    assert reading.learned["id"] == "2f1e2d3c-0000-4000-8000-000000000003"


def test_a_record_written_twice_gets_an_id_of_its_own(tmp_path: Path) -> None:
    one = record("a", "user", message=text("hello"))
    assert [e.id for e in entries(written(tmp_path, one, one, one))] == ["a", "a~2", "a~3"]


def test_a_read_in_two_steps_gives_the_same_for_a_cut_at_any_byte(tmp_path: Path) -> None:
    content = LINES.read_bytes()
    whole = entries()
    path = tmp_path / LINES.name
    for at in range(0, len(content) + 1, 11):
        path.write_bytes(content[:at])
        first = qwen.read(source(path))
        found = list(first)
        path.write_bytes(content)
        mark = msgspec.json.decode(msgspec.json.encode(first.mark), type=Mark)
        assert found + list(qwen.read(source(path), mark)) == whole, f"cut at {at}"


@pytest.mark.parametrize("junk", [None, 7, -1, True, "", [], {}, [None], {"text": 3}, "x" * 9000, 2**80, 1.5])
def test_no_field_can_break_it(tmp_path: Path, junk: Any) -> None:
    bad: list[Any] = [junk]
    for line in LINES.read_text().splitlines():
        good = json.loads(line)
        bad += [{**good, key: junk} for key in good]
        for name in ("message", "systemPayload", "toolCallResult", "usageMetadata"):
            bad += [{**good, name: {**good[name], key: junk}} for key in good.get(name, {})]
        bad.append({**good, "message": {"parts": [junk, {"functionResponse": junk}, {"functionCall": junk}]}})
    reading = qwen.read(source(written(tmp_path, *bad)))
    found = list(reading)
    assert max(Counter(e.id for e in found).values()) == 1
    msgspec.json.encode([found, reading.mark])


def test_transcripts_are_found_by_looking_at_folders(tmp_path: Path) -> None:
    root = tmp_path / ".qwen"
    expected = (
        "projects/-home-ada/chats/a.jsonl",
        "projects/-home-ada/subagents/a/agent-b.jsonl",
        "tmp/0a1b/chats/session-c.json",
    )
    for name in (*expected, "projects/-home-ada/chats/a.runtime.json", "settings.json"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("{}")
    found = list(qwen.find({"HOME": str(tmp_path)}, ()))
    assert sorted(Path(s.path).relative_to(root).as_posix() for s in found) == sorted(expected)
    assert {s.agent for s in found} == {"qwen"}
    moved = list(qwen.find({"HOME": "/nowhere", "QWEN_HOME": str(root)}, ()))
    assert moved == found
    assert list(qwen.find({}, ())) == []


def test_its_files_are_recognised_and_geminis_are_not() -> None:
    assert all(qwen.recognise(path.read_bytes()[:4096]) for path in DATA.iterdir())
    others = [*(DATA.parent / "gemini").iterdir(), *(DATA.parent / "pi").iterdir()]
    assert not any(qwen.recognise(path.read_bytes()[:4096]) for path in others)
    assert not gemini.recognise(OLD.read_bytes()[:4096])
    claude = b'{"parentUuid":null,"uuid":"a","sessionId":"s","type":"user","message":{"role":"user","content":"x"}}'
    assert not qwen.recognise(claude)
