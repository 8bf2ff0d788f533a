"""What the reader of Copilot CLI makes of its events."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from segue.agents.copilot import reader as copilot
from segue.agents.shared.transcripts.index_scan import scan
from segue.agents.shared.transcripts.reader import INTERRUPT, Reading
from segue.facts.tracker import derive
from segue.model import Ending, Entry, EntryKind, Origin, Relation, Scope, Source, Tokens, Transcript
from segue.ops.index.tracked_transcript import Meaning
from tests import FIXTURES

DATA = FIXTURES / "copilot"

Record = dict[str, Any]


def source(path: Path) -> Source:
    return Source(agent="copilot", path=str(path))


def sample(name: str = "events") -> Reading:
    return copilot.read(source(DATA / f"{name}.jsonl"))


def transcript(name: str = "events") -> Transcript:
    return scan(sample(name)).transcript


def event(kind: str, id: str = "e-1", parent: str | None = None, **data: Any) -> Record:
    return {"type": kind, "data": data, "id": id, "timestamp": "2026-11-12T09:00:00.000Z", "parentId": parent}


def written(folder: Path, records: Iterable[Record]) -> Path:
    path = folder / "events.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def read(folder: Path, *records: Record) -> list[Entry]:
    return list(copilot.read(source(written(folder, records))))


def of(kind: EntryKind, found: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in found if entry.kind is kind]


# What was said


def test_only_what_the_person_typed_is_theirs() -> None:
    prompts = of(EntryKind.PROMPT, sample())
    assert [(entry.origin, entry.text) for entry in prompts] == [
        (Origin.HUMAN, "Invoices are a cent off. Find out why."),
        (Origin.HUMAN, "to even, as the tax office does"),
        (Origin.ASSISTANT, "List the callers of round()."),
        (Origin.HUMAN, "Go on."),
    ]


def test_what_a_skill_or_the_autopilot_says_is_a_note() -> None:
    notes = [
        entry.text for entry in sample() if entry.kind is EntryKind.NOTE and entry.tool == "user.message"
    ]
    assert notes == [
        '<skill-context name="tdd">\nWrite the test first.\n</skill-context>',
        "You have not yet marked the task as complete.",
    ]


def test_an_attached_image_is_named_and_another_file_is_none() -> None:
    assert [(entry.text, entry.origin) for entry in of(EntryKind.IMAGE, sample())] == [
        ("/home/ada/invoice.png", Origin.HUMAN)
    ]


def test_an_answer_is_a_thought_words_and_calls_in_a_chain() -> None:
    found = [entry for entry in sample() if (entry.native or {})["data"].get("messageId") == "m-1"]
    assert [entry.kind for entry in found] == [
        EntryKind.THOUGHT,
        EntryKind.REPLY,
        EntryKind.CALL,
        EntryKind.CALL,
    ]
    last = found[-1].id
    assert [entry.id for entry in found] == [f"{last}#1", f"{last}#2", f"{last}#3", last]
    assert [entry.parent for entry in found[1:]] == [entry.id for entry in found[:-1]]
    assert [entry.text for entry in found[:2]] == [
        "A cent: rounding.",
        "I'll run the tests and look at the code.",
    ]
    assert found[2].text == '{"command":"pytest -q"}'
    assert found[3].text.startswith("*** Begin Patch\n")


def test_results_hang_on_their_calls_and_tell_their_status() -> None:
    found = list(sample())
    calls = {entry.call: entry for entry in of(EntryKind.CALL, found)}
    results = {entry.call: entry for entry in of(EntryKind.RESULT, found)}
    assert len(calls) == len(results) == 4
    assert results["call_1"].parent == calls["call_1"].id
    assert [(results[call].status, results[call].is_error) for call in calls] == [
        (1, False),
        (None, False),
        (None, False),
        (None, True),
    ]
    assert results["call_4"].text == "the agent gave no list"
    assert transcript().errors == 2


def test_a_call_that_no_answer_asked_for_is_one_when_it_starts(tmp_path: Path) -> None:
    start = event("tool.execution_start", toolCallId="c-1", toolName="bash", arguments={"command": "ls"})
    done = event(
        "tool.execution_complete", "e-2", "e-1", toolCallId="c-1", success=True, result={"content": "a.py"}
    )
    found = read(tmp_path, start, done)
    assert [(entry.kind, entry.tool, entry.parent) for entry in found] == [
        (EntryKind.CALL, "bash", None),
        (EntryKind.RESULT, "bash", "e-1"),
    ]


def test_what_a_sub_agent_does_is_marked_as_its_own() -> None:
    found = [entry for entry in sample() if entry.subagent]
    assert [(entry.kind, entry.subagent) for entry in found] == [
        (EntryKind.PROMPT, "explore-1"),
        (EntryKind.REPLY, "explore-1"),
    ]
    assert transcript().model == "gpt-5.4"


def test_a_task_that_is_complete_ends_with_its_summary(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        [event("user.message", content="Go"), event("session.task_complete", "e-2", summary="Done.")],
    )
    about = scan(copilot.read(source(path))).transcript
    assert about.ending is Ending.ENDED


def test_an_abort_by_the_person_is_an_interruption(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        event("abort", reason="user_initiated"),
        event("abort", "e-2", reason="autopilot_credit_limit"),
    )
    assert (found[0].kind, found[0].tool) == (EntryKind.NOTE, INTERRUPT)
    assert (found[1].kind, found[1].limits[0].window) == (EntryKind.LIMIT, "spend")


def test_a_compaction_is_a_summary_unless_it_failed(tmp_path: Path) -> None:
    assert [entry.text for entry in of(EntryKind.SUMMARY, sample())] == ["Invoices were rounded twice."]
    (found,) = read(tmp_path, event("session.compaction_complete", success=False, error="no room"))
    assert (found.kind, found.text) == (EntryKind.NOTE, "no room")


# Tokens


def test_output_is_counted_with_its_answer_and_not_again_at_the_end() -> None:
    spends = scan(sample()).spends
    whole = sum((spend.tokens for spend in spends), start=Tokens())
    assert whole == Tokens(input=9000 + 5000 + 1000, cache_read=38000, cache_write=1000, output=193 + 20 + 40)
    assert {spend.key for spend in spends if not spend.tokens.input} == {f"resp_{n}" for n in range(1, 7)}


def test_the_end_of_each_run_tells_of_that_run_alone() -> None:
    ends = [spend for spend in scan(sample()).spends if spend.tokens.input]
    assert [(spend.model, spend.tokens.input, spend.tokens.output) for spend in ends] == [
        ("gpt-5.4", 9000, 0),
        ("gpt-5.4-mini", 5000, 8),
        ("gpt-5.4", 1000, 0),
    ]
    assert len({spend.key for spend in ends}) == 3


def test_an_answer_whose_model_is_not_told_is_not_counted_again(tmp_path: Path) -> None:
    usage = {"inputTokens": 10, "outputTokens": 7, "cacheReadTokens": 0, "cacheWriteTokens": 0}
    path = written(
        tmp_path,
        [
            event("assistant.message", messageId="m-1", content="Hi", outputTokens=7),
            event("session.shutdown", "e-2", modelMetrics={"m": {"usage": usage}}),
        ],
    )
    whole = sum((spend.tokens for spend in scan(copilot.read(source(path))).spends), start=Tokens())
    assert whole == Tokens(input=10, output=7)


def test_a_record_for_each_call_is_all_that_counts() -> None:
    found = scan(sample("usage-records"))
    assert [spend.tokens for spend in found.spends] == [Tokens(input=100, output=10)] * 4
    assert (found.transcript.context_tokens, found.transcript.context_window) == (10574, 128000)
    assert found.unknown == {}


def test_a_sum_over_the_whole_session_counts_what_is_new_in_it(tmp_path: Path) -> None:
    def ended(id: str, figure: int, *, is_snapshot: bool) -> Record:
        usage = {"inputTokens": figure * 10, "outputTokens": figure, "cacheReadTokens": figure}
        metrics = {"modelMetrics": {"m": {"usage": usage}}}
        return event("session.shutdown", id, **({"accountingSnapshot": metrics} if is_snapshot else metrics))

    def answered(id: str, output: int) -> Record:
        return event("assistant.message", id, messageId=id, model="m", content="Hi", outputTokens=output)

    for is_snapshot in (True, False):
        first, second = ended("e-2", 7, is_snapshot=is_snapshot), ended("e-4", 12, is_snapshot=is_snapshot)
        path = written(tmp_path, [answered("e-1", 7), first, answered("e-3", 5), second])
        whole = sum((spend.tokens for spend in scan(copilot.read(source(path))).spends), start=Tokens())
        assert whole == Tokens(input=108, cache_read=12, output=12)


def test_how_full_the_context_is_is_told_at_the_end_of_a_run_only(tmp_path: Path) -> None:
    lines = (DATA / "events.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"".join(lines[:-1]))
    assert scan(copilot.read(source(path))).transcript.context_tokens is None
    assert (transcript().context_tokens, transcript().context_window) == (9500, 128000)


# Limits


def test_a_limit_that_is_hit_is_told_with_its_window_and_end() -> None:
    first, second = of(EntryKind.LIMIT, sample("limits"))
    assert [(one.window, one.scope, one.resets_at, one.is_estimate) for one in first.limits] == [
        ("week", Scope.ACCOUNT, "2026-11-12T11:30:05.000000Z", False)
    ]
    assert [(one.window, one.is_estimate) for one in second.limits] == [("month", True)]
    assert transcript("limits").ending is Ending.LIMIT


def test_the_record_of_a_failed_call_tells_how_much_of_the_month_is_used() -> None:
    failure = next(entry for entry in sample("limits") if entry.tool == "model.call_failure")
    assert [(one.window, one.used_percent, one.resets_at) for one in failure.limits] == [
        ("month", 90.0, "2026-12-01T00:00:00.000000Z")
    ]
    assert failure.kind is EntryKind.NOTE


def test_a_provider_that_asks_to_wait_is_a_limit_too() -> None:
    (found,) = of(EntryKind.LIMIT, sample("usage-records"))
    (limit,) = found.limits
    assert (limit.window, limit.is_estimate, limit.scope) == ("1m", True, Scope.ACCOUNT)
    assert (limit.resets_at or "") > (limit.at or "")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"errorType": "rate_limit", "errorCode": "user_model_rate_limited"}, ("1m", Scope.MODEL, "opus")),
        ({"errorType": "context_limit"}, ("context", Scope.MODEL, "opus")),
        ({"errorType": "query", "statusCode": 429}, ("1m", Scope.ACCOUNT, "")),
    ],
)
def test_a_limit_of_one_model_names_it(
    tmp_path: Path, data: Record, expected: tuple[str, Scope, str]
) -> None:
    found = read(
        tmp_path, event("session.model_change", newModel="opus"), event("session.error", "e-2", **data)
    )
    limit = found[1].limits[0]
    assert (limit.window, limit.scope, limit.model) == expected


# Bookkeeping


def test_a_session_tells_where_it_began_and_with_what() -> None:
    about = transcript()
    assert about.id == "5c1d0f2e-7a44-4c39-9d0b-2f6f3a1b9e01"
    assert (about.project, about.branch, about.version) == ("/home/ada/ledger", "main", "1.0.68")
    assert (about.turns, about.interruptions, about.ending) == (3, 1, Ending.ENDED)


def test_a_session_that_another_started_names_it(tmp_path: Path) -> None:
    reading = copilot.read(
        source(written(tmp_path, [event("session.start", detachedFromSpawningParentSessionId="s-0")]))
    )
    assert len(list(reading)) == 1
    assert (reading.learned["parent"], reading.learned["relation"]) == ("s-0", Relation.SUBAGENT)


def test_an_id_that_is_not_its_own_alone_gets_a_number(tmp_path: Path) -> None:
    found = read(tmp_path, event("session.idle"), event("session.idle"), {"type": "session.idle"}, {})
    assert [entry.id for entry in found] == ["e-1", "e-1~2", "event", "event~2"]
    assert [entry.parent for entry in found] == [None, "e-1", "e-1~2", "event"]


def test_an_unknown_event_is_kept_and_counted(tmp_path: Path) -> None:
    strange = event("session.dream", content="Zzz")
    reading = copilot.read(source(written(tmp_path, [strange])))
    (found,) = reading
    assert (found.kind, found.tool, found.text, found.native) == (
        EntryKind.NOTE,
        "session.dream",
        "Zzz",
        strange,
    )
    assert dict(reading.unknown) == {"session.dream": 1}


def test_following_gives_the_same_wherever_the_file_was_cut(tmp_path: Path) -> None:
    content, path, whole = (DATA / "events.jsonl").read_bytes(), tmp_path / "events.jsonl", list(sample())
    for cut in range(0, len(content), 211):
        path.write_bytes(content[:cut])
        first = copilot.read(source(path))
        before = list(first)
        path.write_bytes(content)
        assert before + list(copilot.read(source(path), first.mark)) == whole


def test_sessions_are_found_in_every_place_that_was_ever_used(tmp_path: Path) -> None:
    home, state = tmp_path / "home", tmp_path / "state"
    places = [
        home / ".copilot/history-session-state/old.jsonl",
        home / ".copilot/session-state/a/events.jsonl",
        home / ".copilot/session-state/b.jsonl",
        state / ".copilot/session-state/c/events.jsonl",
    ]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("{}\n")
    (home / ".copilot/session-state/empty").mkdir()
    env = {"HOME": str(home), "XDG_STATE_HOME": str(state)}
    assert sorted(one.path for one in copilot.find(env, [])) == sorted(map(str, places))
    named = {**env, "COPILOT_HOME": str(state / ".copilot")}
    assert [one.path for one in copilot.find(named, [])] == [str(places[3])]
    assert list(copilot.find({}, [])) == []


# What the person answered


def answered(folder: Path, result: str) -> list[Entry]:
    asked = {
        "toolCallId": "c1",
        "name": "ask_user",
        "arguments": {"question": "Which?", "choices": ["A", "B"]},
    }
    return read(
        folder,
        event("assistant.message", "e-1", content="Shall I go on?", toolRequests=[asked]),
        event("tool.execution_start", "e-2", "e-1", toolCallId="c1", toolName="ask_user"),
        event(
            "tool.execution_complete", "e-3", "e-2", toolCallId="c1", success=True, result={"content": result}
        ),
    )


def decisions(entries: list[Entry]) -> dict[str, str]:
    found = derive(entries, Meaning("copilot"))
    return {fact.subject: fact.value for fact in found if fact.kind == "decision"}


def test_an_answer_follows_the_result_that_tells_it(tmp_path: Path) -> None:
    found = answered(tmp_path, "User responded: Neither, wait.")
    assert [(one.kind, one.origin, one.text) for one in found[-2:]] == [
        (EntryKind.RESULT, Origin.TOOL, "User responded: Neither, wait."),
        (EntryKind.PROMPT, Origin.HUMAN, "Neither, wait."),
    ]
    assert [one.id for one in found[-2:]] == ["e-3#1", "e-3"]
    assert decisions(found) == {"Which?": "Neither, wait."}


def test_an_answer_that_was_offered_is_no_prompt(tmp_path: Path) -> None:
    found = answered(tmp_path, "User selected: B")
    assert (found[-1].kind, found[-1].origin, found[-1].tool) == (EntryKind.NOTE, Origin.HUMAN, "answer")
    assert decisions(found) == {"Which?": "B"}
