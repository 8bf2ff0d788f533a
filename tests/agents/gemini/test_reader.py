"""Gemini CLI's transcripts are read as they were meant: every word once, and whose it was."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.agents.gemini import parts
from segue.agents.gemini import reader as gemini
from segue.agents.shared.transcripts import index_scan
from segue.agents.shared.transcripts.reader import INTERRUPT, Reading
from segue.model import Ending, Entry, EntryKind, Mark, Origin, Relation, Scope, Source, Tokens
from tests import FIXTURES

DATA = FIXTURES / "gemini"
LINES = DATA / "session-2026-05-04T10-00-0f1e2d3c.jsonl"
DOCUMENT = DATA / "session-2026-05-04T11-00-1f1e2d3c.json"
SUBAGENT = DATA / "helper-7.jsonl"
SESSION = {"sessionId": "s", "projectHash": "p", "startTime": "2026-05-04T10:00:00Z", "kind": "main"}


def source(path: Path) -> Source:
    return Source(agent="gemini", path=str(path))


def entries(path: Path) -> list[Entry]:
    return list(gemini.read(source(path)))


def written(folder: Path, *records: Any) -> Path:
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in (SESSION, *records)))
    return path


def said(id: str, text: Any, **fields: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": "2026-05-04T10:00:01Z", "type": "user", "content": text, **fields}


def answered(id: str, text: Any, **fields: Any) -> dict[str, Any]:
    return said(id, text, **fields) | {"type": "gemini", "model": "m1"}


def called(id: str, name: str, output: str, **fields: Any) -> dict[str, Any]:
    response = {"functionResponse": {"id": id, "name": name, "response": {"output": output}}}
    return {"id": id, "name": name, "args": {}, "result": [response], "status": "success", **fields}


def human(found: list[Entry]) -> list[str]:
    return [e.text for e in found if e.kind is EntryKind.PROMPT and e.origin is Origin.HUMAN]


def read_in_two(path: Path, at: int, content: bytes) -> tuple[list[Entry], Reading]:
    """Read what there is up to a byte, then the rest, with the mark as a store would keep it."""
    path.write_bytes(content[:at])
    first = gemini.read(source(path))
    found = list(first)
    mark = msgspec.json.decode(msgspec.json.encode(first.mark), type=Mark)
    path.write_bytes(content)
    second = gemini.read(source(path), mark)
    return found + list(second), second


# What was said


def test_only_what_the_person_typed_is_theirs() -> None:
    assert human(entries(LINES)) == [
        "Make the tests pass, see @Makefile",
        "Not that file.\n",
        "/review",
        "Go on",
        "Thanks",
    ]


def test_what_the_program_put_in_the_persons_place_is_kept_as_a_note() -> None:
    notes = {e.tool: e for e in entries(LINES) if e.kind is EntryKind.NOTE}
    for name in (
        "session_context",
        "referenced_files",
        "hook_context",
        "expansion",
        "continue",
        "acknowledgement",
    ):
        assert notes[name].origin is Origin.SYSTEM
        assert notes[name].text
    assert "pytest" in notes["referenced_files"].text


HOOK = "<hook_context>Do as the &lt;hook&gt; says</hook_context>"
"""What a hook said, as the program puts it around the words: it escapes both signs."""


@pytest.mark.parametrize(
    ("texts", "typed", "hooks"),
    [
        ([f"{HOOK}\n\nNever push."], "Never push.", [HOOK]),
        (["Never push.", HOOK], "Never push.", [HOOK]),
        ([f"{HOOK}\n\nNever push.", HOOK], "Never push.", [HOOK, HOOK]),
        ([HOOK], None, [HOOK]),
        ([f"{HOOK}\n\n{HOOK} Never push."], f"{HOOK} Never push.", [HOOK]),
        ([f"{HOOK}\n\n{HOOK}"], HOOK, [HOOK]),
        ([f"{HOOK}\n\nWhat ends </hook_context>?"], "What ends </hook_context>?", [HOOK]),
        ([f"{HOOK} Never push."], f"{HOOK} Never push.", []),
        ([f"Never write {HOOK}"], f"Never write {HOOK}", []),
        (
            ["<hook_context>never</hook_context> push</hook_context>"],
            "<hook_context>never</hook_context> push</hook_context>",
            [],
        ),
        (["<hook_context> is never to be closed"], "<hook_context> is never to be closed", []),
    ],
)
def test_what_a_hook_says_is_no_persons_and_takes_no_word_of_theirs(
    tmp_path: Path, texts: list[str], typed: str | None, hooks: list[str]
) -> None:
    found = entries(written(tmp_path, said("u1", [{"text": text} for text in texts])))
    assert human(found) == ([typed] if typed else [])
    notes = [(e.text, e.origin) for e in found if e.tool == "hook_context"]
    assert notes == [(hook, Origin.SYSTEM) for hook in hooks]
    assert found[-1].id == "u1"


@given(st.text(), st.booleans(), st.booleans())
def test_whatever_is_typed_beside_a_hooks_words_is_read_as_it_was_typed(
    typed: str, before: bool, after: bool
) -> None:
    hypothesis.assume(before or after)
    texts = [f"{HOOK}\n\n{typed}" if before else typed, *([HOOK] if after else [])]
    found, hooks = parts.apart([{"text": text} for text in texts])
    assert found == [typed] and hooks == [HOOK] * (before + after)


def test_what_the_program_shows_of_a_message_is_typed_but_for_what_a_hook_said(tmp_path: Path) -> None:
    shown = {"displayContent": [{"text": f"{HOOK}\n\nNever push, see @Makefile"}]}
    sent = [{"text": f"{HOOK}\n\nNever push, see Makefile"}, {"text": HOOK}]
    found = entries(written(tmp_path, said("u1", sent, **shown)))
    assert human(found) == ["Never push, see @Makefile"]


def test_a_prompt_that_the_program_shows_again_was_typed_once(tmp_path: Path) -> None:
    shown = {"displayContent": [{"text": "Count to ten"}]}
    path = written(
        tmp_path,
        said("u1", [{"text": "Count to ten"}]),
        said("u2", [{"text": "System: Potential loop detected. Details: Repeating content"}], **shown),
        said("u3", [{"text": "The hook says: run the tests first"}], **shown),
        said("u4", [{"text": "Count to ten"}]),
    )
    found = entries(path)
    assert human(found) == ["Count to ten", "Count to ten"]
    assert [e.id for e in found if e.tool == "continue"] == ["u2", "u3"]


def test_a_command_typed_twice_is_two_prompts(tmp_path: Path) -> None:
    review = {"displayContent": [{"text": "/review"}]}
    path = written(tmp_path, *(said(id, [{"text": "Look at all."}], **review) for id in ("u1", "u2")))
    assert human(entries(path)) == ["/review", "/review"]


def test_a_message_written_again_adds_only_what_is_new() -> None:
    found = [e for e in entries(LINES) if e.id.startswith("a1")]
    assert [(e.id, e.kind) for e in found] == [
        ("a1#1", EntryKind.THOUGHT),
        ("a1", EntryKind.REPLY),
        ("a1#call:run-1", EntryKind.CALL),
        ("a1#result:run-1", EntryKind.RESULT),
        ("a1#call:read-1", EntryKind.CALL),
        ("a1#result:read-1", EntryKind.RESULT),
    ]
    assert [e.parent for e in found] == [
        "q1",
        "a1#1",
        "a1",
        "a1#call:run-1",
        "a1#result:run-1",
        "a1#call:read-1",
    ]


def test_a_call_and_its_result_are_told_with_how_it_went() -> None:
    found = {e.id: e for e in entries(LINES)}
    call, result, missing = found["a1#call:run-1"], found["a1#result:run-1"], found["a1#result:read-1"]
    assert (call.tool, call.call, call.text) == ("run_shell_command", "run-1", '{"command":"make test"}')
    assert (result.call, result.status, result.is_error) == ("run-1", 2, False)
    assert (missing.tool, missing.status, missing.is_error) == ("read_file", None, True)


def test_an_exit_code_in_a_file_is_not_a_result_of_a_command(tmp_path: Path) -> None:
    read = called("r", "read_file", "Exit Code: 3")
    ran = called(
        "s", "run_shell_command", "Output: Exit Code: 7\nExit Code: 9\nExit Code: 4\nBackground PIDs: 5"
    )
    found = entries(written(tmp_path, answered("a", "", toolCalls=[read, ran])))
    assert [e.status for e in found if e.kind is EntryKind.RESULT] == [None, 4]


def test_what_a_command_printed_begins_on_a_line_of_its_own(tmp_path: Path) -> None:
    ran = called("s", "run_shell_command", "Command: git status\nOutput: On branch main\nExit Code: 0")
    quiet = called("t", "run_shell_command", "Command: true\nOutput: (empty)")
    found = entries(written(tmp_path, answered("a", "", toolCalls=[ran, quiet])))
    told = [e.text.split("\n")[1:] for e in found if e.kind is EntryKind.RESULT]
    assert told == [["Output:", "On branch main", "Exit Code: 0"], ["Output: (empty)"]]


def test_a_result_that_is_sent_to_the_model_is_not_told_twice() -> None:
    found = entries(LINES)
    assert Counter(e.call for e in found if e.kind is EntryKind.RESULT) == {
        "run-1": 1,
        "read-1": 1,
        "write-1": 1,
    }
    assert next(e for e in found if e.id == "f1").tool == "functionResponse"


def test_a_result_that_is_only_sent_to_the_model_is_told(tmp_path: Path) -> None:
    call = {"functionCall": {"id": "c", "name": "read_file", "args": {"file_path": "a"}}}
    sent = called("c", "read_file", "content")["result"]
    found = entries(written(tmp_path, answered("a", [{"text": "Reading."}, call]), said("u", sent)))
    assert [(e.id, e.kind, e.parent) for e in found[1:]] == [
        ("a", EntryKind.REPLY, None),
        ("a#call:c", EntryKind.CALL, "a"),
        ("u", EntryKind.RESULT, "a#call:c"),
    ]


def test_a_call_that_comes_to_stand_among_the_words_is_told_once(tmp_path: Path) -> None:
    call = {"functionCall": {"id": "c", "name": "read_file", "args": {}}}
    thought = {"text": "**Read** first", "thought": True}
    thoughts = [{"subject": "Read", "description": "first"}]
    done = called("c", "read_file", "content")
    path = written(
        tmp_path,
        answered("a", "Reading.", thoughts=thoughts),
        {"$set": {"messages": [answered("a", [thought, {"text": "Reading."}, call], thoughts=thoughts)]}},
        answered("a", [thought, {"text": "Reading."}, call], thoughts=thoughts, toolCalls=[done]),
        said("u", done["result"]),
    )
    found = [e.kind for e in entries(path) if e.kind is not EntryKind.NOTE]
    assert found == [EntryKind.THOUGHT, EntryKind.REPLY, EntryKind.CALL, EntryKind.RESULT]


def test_a_picture_is_a_reference() -> None:
    [picture] = [e for e in entries(LINES) if e.kind is EntryKind.IMAGE]
    digest = hashlib.sha256(b"hello").hexdigest()
    assert picture.text == f"image/png, 5 bytes, sha256:{digest[:16]}…"


# What changes the history


def test_going_back_starts_a_branch_before_the_message() -> None:
    found = {e.id: e for e in entries(LINES)}
    assert found["q2#1"].parent == found["q3#1"].parent == "i1"
    assert "a3" in found, "what was taken back happened all the same"


def test_a_resumed_history_adds_nothing_and_goes_on_from_its_end() -> None:
    found = entries(LINES)
    assert [e.id for e in found].count("a1") == 1
    assert next(e for e in found if e.id == "q4#1").parent == "q3"
    assert all(e.id != "a1_response" for e in found)


def test_a_compression_is_a_summary_in_the_conversation() -> None:
    found = {e.id: e for e in entries(LINES)}
    assert (found["s1"].kind, found["s1"].origin, found["s1"].parent) == (
        EntryKind.SUMMARY,
        Origin.ASSISTANT,
        "a4",
    )
    assert found["q5"].parent == "s2"


def test_every_record_makes_an_entry_and_every_id_is_there_once() -> None:
    reading = gemini.read(source(LINES))
    found = list(reading)
    records = [json.loads(line) for line in LINES.read_text().splitlines()]
    natives = [e.native for e in found]
    assert reading.lines == len(records)
    assert all(record in natives for record in records)
    assert max(Counter(e.id for e in found).values()) == 1
    known: set[str] = set()
    for entry in found:
        assert entry.parent is None or entry.parent in known
        known.add(entry.id)


def test_the_same_line_twice_is_kept_as_a_note(tmp_path: Path) -> None:
    found = entries(written(tmp_path, said("u", "hello"), said("u", "hello")))
    assert [(e.kind, e.tool) for e in found[1:]] == [(EntryKind.PROMPT, None), (EntryKind.NOTE, "repeated")]


def test_an_unknown_type_is_a_note_and_counted() -> None:
    reading = gemini.read(source(LINES))
    [unknown] = [e for e in reading if e.tool == "hologram"]
    assert (unknown.kind, unknown.text) == (EntryKind.NOTE, "?")
    assert reading.unknown == {"hologram": 1}


# What was spent, and what stopped it


def test_tokens_are_counted_once_and_in_one_field_each() -> None:
    spends = index_scan.scan(gemini.read(source(LINES))).spends
    assert {s.key: s.tokens for s in spends} == {
        "gemini:a1": Tokens(input=600, output=50, cache_read=400),
        "gemini:a2": Tokens(input=1210, output=5),
        "gemini:a3": Tokens(input=400, output=4, cache_read=900),
        "gemini:a4": Tokens(input=400, output=10, cache_read=1000),
    }
    assert sum(s.tokens.total for s in spends) == 1050 + 1215 + 1304 + 1410


def test_tokens_that_come_after_the_words_are_not_lost(tmp_path: Path) -> None:
    late = answered("a", "Hello.", tokens={"input": 9, "output": 2, "total": 11})
    path = written(tmp_path, answered("a", "Hello.", tokens=None), late, late)
    found = entries(path)
    assert [e.text for e in found if e.kind is EntryKind.REPLY] == ["Hello."]
    assert [s.tokens for s in index_scan.scan(gemini.read(source(path))).spends] == [
        Tokens(input=9, output=2)
    ]


def test_a_daily_quota_is_a_limit_of_the_model() -> None:
    [limit] = next(e for e in entries(LINES) if e.kind is EntryKind.LIMIT).limits
    assert (limit.window, limit.scope, limit.model) == ("day", Scope.MODEL, "gemini-2.5-pro")
    assert (limit.used_percent, limit.resets_at, limit.at) == (100, None, "2026-05-04T10:00:40.000000Z")


@pytest.mark.parametrize(
    ("text", "window", "model", "resets_at"),
    [
        ("Usage limit reached for all Pro models.", "", "pro", None),
        (
            "[API Error: You have exhausted your capacity on this model. Your quota will reset after 1h30m.]",
            "",
            "m1",
            "2026-05-04T11:30:01.000000Z",
        ),
        ("[API Error: Resource exhausted]", "", "", None),
        ("Quota exceeded for quota metric 'Gemini 2.5 Pro Requests' per day", "day", "gemini-2.5-pro", None),
        ("You have reached your daily gemini-2.5-pro quota limit.", "day", "gemini-2.5-pro", None),
        ("You exceeded your daily quota. Please retry in 1.5s.", "day", "", None),
        ("Rate limit exceeded. Please retry in 90s.", "", "", "2026-05-04T10:01:31.000000Z"),
        (
            "Daily quota exceeded, resets in ~2 hours. Retry in 3.25s.",
            "day",
            "",
            "2026-05-04T12:00:01.000000Z",
        ),
    ],
)
def test_a_limit_is_known_by_its_words(
    tmp_path: Path, text: str, window: str, model: str, resets_at: str | None
) -> None:
    path = written(tmp_path, answered("a", "x"), said("e", text) | {"type": "error"})
    [limit] = entries(path)[-1].limits
    assert (limit.window, limit.model, limit.resets_at) == (window, model, resets_at)
    assert limit.scope is (Scope.MODEL if model else Scope.ACCOUNT)


def test_words_about_a_quota_in_an_answer_are_no_limit(tmp_path: Path) -> None:
    found = entries(written(tmp_path, answered("a", "You have exhausted your daily quota on this model.")))
    assert found[-1].kind is EntryKind.REPLY


def test_a_cancelled_call_is_one_interruption() -> None:
    notes = [e for e in entries(LINES) if e.tool == INTERRUPT]
    assert [e.id for e in notes] == ["a2#stop"]


def test_a_cancelled_request_is_an_interruption(tmp_path: Path) -> None:
    path = written(tmp_path, said("u", "hi"), said("i", "Request cancelled.") | {"type": "info"})
    assert index_scan.scan(gemini.read(source(path))).transcript.ending is Ending.INTERRUPTED


# The transcript as a whole


def test_the_transcript_is_described() -> None:
    transcript = index_scan.scan(gemini.read(source(LINES))).transcript
    assert transcript.id == "0f1e2d3c-0000-4000-8000-000000000001"
    assert transcript.title == "Make the tests pass"
    assert (transcript.turns, transcript.calls, transcript.errors) == (5, 3, 3)
    assert transcript.model == "gemini-2.5-pro"


def test_a_sub_agents_prompt_is_the_assistants(tmp_path: Path) -> None:
    path = tmp_path / "chats" / "parent-1" / "helper-7.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(SUBAGENT.read_bytes())
    reading = gemini.read(source(path))
    assert human(list(reading)) == []
    assert reading.learned["relation"] is Relation.SUBAGENT
    assert (reading.learned["parent"], reading.learned["project"]) == ("parent-1", "/home/ada/shop")


@pytest.mark.parametrize("told", ["beside", "by name", "by hash"])
def test_the_project_is_found_beside_the_transcript(tmp_path: Path, told: str) -> None:
    name = hashlib.sha256(b"/home/ada/shop").hexdigest() if told == "by hash" else "shop"
    path = tmp_path / ".gemini" / "tmp" / name / "chats" / LINES.name
    path.parent.mkdir(parents=True)
    path.write_bytes(LINES.read_bytes())
    if told == "beside":
        path.parents[1].joinpath(".project_root").write_text("/home/ada/shop\n")
    else:
        listed = {"projects": {"/elsewhere": "other", "/home/ada/shop": "shop"}}
        (tmp_path / ".gemini" / "projects.json").write_text(json.dumps(listed))
    reading = gemini.read(source(path))
    list(reading)
    assert reading.learned["project"] == "/home/ada/shop"


def test_a_project_that_cannot_be_told_is_left_open(tmp_path: Path) -> None:
    path = tmp_path / ".gemini" / "tmp" / "shop" / "chats" / LINES.name
    path.parent.mkdir(parents=True)
    path.write_bytes(LINES.read_bytes())
    os.mkfifo(path.parents[1] / ".project_root")
    (tmp_path / ".gemini" / "projects.json").write_text("[}")
    assert index_scan.scan(gemini.read(source(path))).transcript.project == ""


# Documents of older versions


def test_a_document_is_read_like_lines() -> None:
    found = entries(DOCUMENT)
    assert human(found) == ["add a line to notes.txt", "/stats"]
    assert [e.kind for e in found][1:6] == [
        EntryKind.PROMPT,
        EntryKind.THOUGHT,
        EntryKind.CALL,
        EntryKind.RESULT,
        EntryKind.REPLY,
    ]
    assert found[-1].kind is EntryKind.LIMIT


def test_a_document_that_grew_gives_what_is_new(tmp_path: Path) -> None:
    whole = json.loads(DOCUMENT.read_text())
    path = tmp_path / DOCUMENT.name
    for count in range(len(whole["messages"]) + 1):
        path.write_text(json.dumps({**whole, "messages": whole["messages"][:count]}, indent=2))
        first = gemini.read(source(path))
        found = list(first)
        path.write_bytes(DOCUMENT.read_bytes())
        second = gemini.read(source(path), first.mark)
        assert found + list(second) == entries(path)
        assert second.mark.offset == 0
        assert not second.is_anew
        assert list(gemini.read(source(path), second.mark)) == []


def test_what_changed_in_a_document_is_given_again(tmp_path: Path) -> None:
    whole = json.loads(DOCUMENT.read_text())
    calls = whole["messages"][1].pop("toolCalls")
    path = tmp_path / DOCUMENT.name
    path.write_text(json.dumps(whole, indent=2))
    first = gemini.read(source(path))
    list(first)
    whole["messages"][1]["toolCalls"] = calls
    whole["messages"][2]["content"] = "The line is there now."
    path.write_text(json.dumps(whole, indent=2))
    assert [(e.id, e.parent) for e in gemini.read(source(path), first.mark)] == [
        ("d2#call:w1", "d2"),
        ("d2#result:w1", "d2#call:w1"),
        ("d3", "d2#result:w1"),
    ]


def test_a_document_under_the_name_of_lines_is_still_one(tmp_path: Path) -> None:
    path = tmp_path / "full.jsonl"
    path.write_bytes(DOCUMENT.read_bytes())
    assert [e.id for e in entries(path)] == [e.id for e in entries(DOCUMENT)]


# Following, and bad weather


def test_a_read_in_two_steps_gives_the_same_for_a_cut_at_any_byte(tmp_path: Path) -> None:
    content = LINES.read_bytes()
    whole = entries(LINES)
    path = tmp_path / LINES.name
    for at in range(0, len(content) + 1, 7):
        found, _ = read_in_two(path, at, content)
        assert found == whole, f"cut at {at}"


def test_a_mark_can_be_used_more_than_once(tmp_path: Path) -> None:
    path = tmp_path / LINES.name
    content = LINES.read_bytes()
    path.write_bytes(content[:2000])
    first = gemini.read(source(path))
    list(first)
    path.write_bytes(content)
    assert list(gemini.read(source(path), first.mark)) == list(gemini.read(source(path), first.mark))


def test_another_file_in_its_place_is_read_from_its_start(tmp_path: Path) -> None:
    path = written(tmp_path, said("u1", "hello"), said("u2", "hello again"))
    first = gemini.read(source(path))
    list(first)
    path.write_text(
        json.dumps({**SESSION, "sessionId": "other"}) + "\n" + json.dumps(said("u9", "x" * 300)) + "\n"
    )
    second = gemini.read(source(path), first.mark)
    assert human(list(second)) == ["x" * 300]
    assert second.is_anew
    assert second.learned["id"] == "other"


@pytest.mark.parametrize("junk", [None, 7, -1, True, "", [], {}, [None], {"text": 3}, "x" * 9000, 2**80, 1.5])
def test_no_field_can_break_it(tmp_path: Path, junk: Any) -> None:
    good = answered(
        "a", "x", tokens={"input": 1}, thoughts=[{"subject": "s"}], toolCalls=[called("c", "t", "o")]
    )
    bad: list[Any] = [junk, {"$set": junk}, {"$rewindTo": junk}, {"$set": {"messages": [junk]}}]
    bad += [{**good, key: junk, "id": f"a-{key}"} for key in good]
    bad += [
        {**good, "id": f"c-{key}", "toolCalls": [{**good["toolCalls"][0], key: junk}]}
        for key in good["toolCalls"][0]
    ]
    bad += [
        said("u", junk),
        said("v", [junk]),
        said("w", "x", displayContent=junk),
        {**SESSION, "directories": junk},
    ]
    reading = gemini.read(source(written(tmp_path, *bad)))
    found = list(reading)
    assert max(Counter(e.id for e in found).values()) == 1
    msgspec.json.encode([found, reading.mark])


# Finding


def test_transcripts_are_found_by_looking_at_folders(tmp_path: Path) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "shop" / "chats"
    (chats / "parent-1").mkdir(parents=True)
    for name in ("session-a.jsonl", "session-a.json", "session-b.json", "parent-1/helper.jsonl", "notes.txt"):
        (chats / name).write_text("{}")
    (chats / "folder.jsonl").mkdir()
    (chats / "gone.jsonl").symlink_to(chats / "nowhere")
    Path(os.fsdecode(os.fsencode(chats) + b"/session-\xff.jsonl")).write_text("{}")
    found = list(gemini.find({"HOME": str(tmp_path)}, ()))
    names = {Path(s.path).relative_to(chats).as_posix() for s in found}
    assert names == {"session-a.jsonl", "session-b.json", "parent-1/helper.jsonl"}
    assert all(s.agent == "gemini" and s.size == 2 and s.stamp for s in found)


def test_the_programs_own_variable_moves_its_folder(tmp_path: Path) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "shop" / "chats"
    chats.mkdir(parents=True)
    (chats / "session-a.jsonl").write_text("{}")
    assert len(list(gemini.find({"HOME": "/nowhere", "GEMINI_CLI_HOME": str(tmp_path)}, ()))) == 1
    assert list(gemini.find({"HOME": "/nowhere"}, ())) == list(gemini.find({}, ())) == []


def test_its_files_are_recognised() -> None:
    assert all(gemini.recognise(path.read_bytes()[:4096]) for path in (LINES, DOCUMENT, SUBAGENT))
    others = [DATA.parent / "qwen", DATA.parent / "pi"]
    assert not any(
        gemini.recognise(path.read_bytes()[:4096]) for folder in others for path in folder.iterdir()
    )
    assert not gemini.recognise(b"") and not gemini.recognise(b"# Notes")
