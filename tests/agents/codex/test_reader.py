"""What the reader of Codex makes of rollouts of three generations, and of what may stand in them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from segue.agents.codex import reader as codex
from segue.agents.codex.parts import output_of
from segue.agents.shared.transcripts.index_scan import scan
from segue.agents.shared.transcripts.reader import INTERRUPT, Reading
from segue.conversation.tail import Tail
from segue.errors import AgentError
from segue.facts.tracker import derive
from segue.model import Ending, Entry, EntryKind, Limit, Origin, Relation, Scope, Source, Tokens, Transcript
from segue.ops.index.tracked_transcript import Meaning
from segue.ops.work import transcripts
from tests import FIXTURES

DATA = FIXTURES / "codex"
AT = "2026-11-12T09:00:00.000Z"
SESSION = "019a7000-0000-7000-8000-000000000001"

Record = dict[str, Any]


def source(path: Path) -> Source:
    return Source(agent="codex", path=str(path))


def sample(name: str) -> Reading:
    return codex.read(source(DATA / f"{name}.jsonl"))


def entries(name: str) -> list[Entry]:
    return list(sample(name))


def transcript(name: str) -> Transcript:
    return scan(sample(name)).transcript


def tokens(name: str) -> Tokens:
    return sum((spend.tokens for spend in scan(sample(name)).spends), start=Tokens())


def record(kind: str, payload: Record, at: str = AT) -> Record:
    return {"timestamp": at, "type": kind, "payload": payload}


def meta(**more: Any) -> Record:
    return record(
        "session_meta", {"id": SESSION, "cwd": "/home/ada/ledger", "cli_version": "0.142.5", **more}
    )


def event(kind: str, **more: Any) -> Record:
    return record("event_msg", {"type": kind, **more})


def item(kind: str, **more: Any) -> Record:
    return record("response_item", {"type": kind, **more})


def said(role: str, *texts: str) -> Record:
    return item("message", role=role, content=[{"type": "input_text", "text": text} for text in texts])


def completed(kind: str, **more: Any) -> Record:
    return event("item_completed", item={"type": kind, **more})


def used(total: int, last: int | None = None, **rates: Any) -> Record:
    def usage(count: int) -> Record:
        return {"input_tokens": count, "cached_input_tokens": 0, "output_tokens": 0, "total_tokens": count}

    info = {"total_token_usage": usage(total), "last_token_usage": usage(total if last is None else last)}
    return event("token_count", info=info, rate_limits=rates or None)


def written(folder: Path, records: Iterable[Record]) -> Path:
    path = folder / "rollout.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def read(folder: Path, *records: Record) -> list[Entry]:
    return list(codex.read(source(written(folder, records))))


def of(kind: EntryKind, found: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in found if entry.kind is kind]


def texts(kind: EntryKind, found: Iterable[Entry]) -> list[str]:
    return [entry.text for entry in of(kind, found)]


# What was said


@pytest.mark.parametrize("name", ["code-mode", "classic", "v0142", "v050"])
def test_what_is_written_twice_is_read_once(name: str) -> None:
    found = entries(name)
    assert texts(EntryKind.PROMPT, found) == ["Write the notes please", "Go on"]
    assert texts(EntryKind.REPLY, found) == ["Doing it.", "Done.", "Yes."]
    assert {entry.origin for entry in of(EntryKind.PROMPT, found)} == {Origin.HUMAN}


def test_context_that_the_program_adds_is_no_prompt(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        meta(),
        said("developer", "Be careful."),
        said("user", "# AGENTS.md instructions for /home/ada\n\n<INSTRUCTIONS>…", "<environment_context>…"),
        said("user", "<skill>\n<name>tdd</name>\n</skill>"),
        said("user", "<turn_aborted>\nThe user interrupted.\n</turn_aborted>"),
        said("user", "<some_new_context>\nunheard of\n</some_new_context>"),
        said("user", "Fix <b>this</b>"),
    )
    assert texts(EntryKind.PROMPT, found) == ["Fix <b>this</b>"]


def test_a_person_may_type_what_looks_like_context(tmp_path: Path) -> None:
    typed = "<environment_context>"
    found = read(tmp_path, meta(), said("user", typed), event("user_message", message=typed))
    assert texts(EntryKind.PROMPT, found) == [typed]


def test_a_file_without_events_has_its_prompts_and_replies_in_its_items(tmp_path: Path) -> None:
    found = read(tmp_path, meta(), said("user", "Hello"), said("assistant", "Hi"), said("user", "Hello"))
    assert texts(EntryKind.PROMPT, found) == ["Hello", "Hello"]
    assert texts(EntryKind.REPLY, found) == ["Hi"]


def test_the_same_words_typed_again_are_another_prompt(tmp_path: Path) -> None:
    twice = [said("user", "Go on"), event("user_message", message="Go on")] * 3
    assert texts(EntryKind.PROMPT, read(tmp_path, meta(), *twice)) == ["Go on"] * 3


def test_what_an_editor_puts_before_a_prompt_is_not_typed(tmp_path: Path) -> None:
    message = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nFix it\n"
    found = read(tmp_path, meta(), said("user", message), event("user_message", message=message))
    assert texts(EntryKind.PROMPT, found) == ["Fix it"]


def test_what_is_selected_in_an_editor_cannot_pose_as_typed(tmp_path: Path) -> None:
    mark = "## My request for Codex:\n"
    message = f"# Context from my IDE setup:\n\n## Selection:\n{mark}Never ask.\n\n{mark}Fix it\n"
    found = read(tmp_path, meta(), said("user", message), event("user_message", message=message))
    assert texts(EntryKind.PROMPT, found) == ["Fix it"]


def test_a_search_that_is_over_has_a_result(tmp_path: Path) -> None:
    searched = item("web_search_call", status="completed", action={"type": "search", "query": "rounding"})
    going = item("web_search_call", status="in_progress", action={"type": "search", "query": "cents"})
    found = read(tmp_path, meta(), searched, going)
    assert [one.kind for one in found[-3:]] == [EntryKind.CALL, EntryKind.RESULT, EntryKind.CALL]
    assert found[-2].parent == found[-3].id


def answered(folder: Path, *answers: str) -> list[Entry]:
    asked = {
        "questions": [{"id": "rounding", "question": "How to round?", "options": [{"label": "to even"}]}]
    }
    output = json.dumps({"answers": {"rounding": {"answers": answers}}})
    return read(
        folder,
        meta(),
        event("agent_message", message="Shall I go on?"),
        item("function_call", name="request_user_input", arguments=json.dumps(asked), call_id="c1"),
        item("function_call_output", call_id="c1", output=output),
    )


def test_an_answer_to_a_question_is_the_persons_word(tmp_path: Path) -> None:
    found = answered(tmp_path, "up, as ever")
    assert [(one.kind, one.origin) for one in found[-2:]] == [
        (EntryKind.RESULT, Origin.TOOL),
        (EntryKind.PROMPT, Origin.HUMAN),
    ]
    assert found[-1].text == "up, as ever"
    assert found[-2].parent == found[-3].id
    decided = [fact for fact in derive(found, Meaning("codex")) if fact.kind == "decision"]
    assert [(fact.subject, fact.value) for fact in decided] == [("How to round?", "up, as ever")]


def test_an_answer_that_was_offered_is_no_prompt(tmp_path: Path) -> None:
    found = answered(tmp_path, "to even")
    assert [(one.kind, one.origin, one.tool) for one in found[-2:]] == [
        (EntryKind.RESULT, Origin.TOOL, "request_user_input"),
        (EntryKind.NOTE, Origin.HUMAN, "answer"),
    ]
    both = answered(tmp_path, "to even", "user_note: for cents")
    assert [one.text for one in both[-2:]] == ["to even", "user_note: for cents"]
    decided = [fact for fact in derive(found, Meaning("codex")) if fact.kind == "decision"]
    assert [(fact.subject, fact.value) for fact in decided] == [("How to round?", "to even")]


def test_thoughts_are_their_summary_and_encrypted_ones_are_empty(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        item("reasoning", summary=[{"type": "summary_text", "text": "Hm."}], encrypted_content="x"),
        item("reasoning", summary=[], encrypted_content="x"),
        event("agent_reasoning", text="Hm."),
    )
    assert texts(EntryKind.THOUGHT, found) == ["Hm.", ""]


def test_an_image_is_named_and_not_kept(tmp_path: Path) -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64,aGVsbG8="}
    found = read(
        tmp_path, item("message", role="user", content=[picture, {"type": "input_text", "text": "See"}])
    )
    assert texts(EntryKind.IMAGE, found) == ["image/png, 5 bytes, sha256:2cf24dba5fb0a30e…"]
    assert [entry.id for entry in found] == ["0#1", "0"]
    assert found[1].parent == "0#1"


def test_a_compaction_is_one_summary(tmp_path: Path) -> None:
    found = entries("compaction")
    assert [text.splitlines()[-1] for text in texts(EntryKind.SUMMARY, found)] == [
        "SUMMARY of it all",
        "SUMMARY two",
    ]
    assert texts(EntryKind.REPLY, found) == ["Done."]
    old = read(tmp_path, record("compacted", {"message": "All of it."}), event("context_compacted"))
    assert texts(EntryKind.SUMMARY, old) == ["All of it."]


def test_a_summary_that_cannot_be_read_is_no_fact(tmp_path: Path) -> None:
    told, untold = (record("compacted", {"message": text}) for text in ("All of it.", " "))
    alone = derive(read(tmp_path, untold), Meaning("codex"))
    assert [fact for fact in alone if fact.kind == "summary"] == []
    later = derive(read(tmp_path, told, untold), Meaning("codex"))
    assert [fact.value for fact in later if fact.kind == "summary"] == ["All of it."]


def test_the_person_stops_a_turn(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        meta(),
        event("turn_aborted", reason="interrupted"),
        event("turn_aborted", reason="replaced"),
    )
    assert [entry.tool for entry in found[1:]] == [INTERRUPT, "turn_aborted"]


# What was done


def test_code_mode_shows_each_command_and_change_once() -> None:
    found = entries("code-mode")
    calls = {entry.call: entry for entry in of(EntryKind.CALL, found)}
    results = of(EntryKind.RESULT, found)
    assert [entry.tool for entry in calls.values()] == ["apply_patch", "exec_command", "exec_command"]
    assert [(entry.status, entry.is_error) for entry in results] == [(None, False), (1, True), (0, False)]
    assert results[2].text == "hi\n"
    assert all(result.parent == calls[result.call].id for result in results)
    assert json.loads(calls[results[1].call].text)["command"] == ["/bin/bash", "-lc", "ls -la; false"]


def test_each_call_of_code_mode_is_carried_once() -> None:
    tail = Tail()
    for entry in entries("code-mode"):
        tail.add(entry)
    uses = [use for turn in tail.turns() for use in turn.uses]
    assert [use.tool for use in uses] == ["apply_patch", "exec_command", "exec_command"]
    assert [use.is_error for use in uses] == [False, True, False]


def script(text: str, *outputs: str) -> tuple[dict[str, Any], ...]:
    """A script of code mode and its output, in a history that records no command."""
    called = item("custom_tool_call", name="exec", call_id="s1", input=text)
    shown = ["Script completed\nWall time 0.1 seconds\nOutput:\n", *outputs]
    texts = [{"type": "input_text", "text": one} for one in shown]
    return called, item("custom_tool_call_output", call_id="s1", output=texts)


def ran(status: int, output: str) -> dict[str, Any]:
    return {"chunk_id": "1", "wall_time_seconds": 0.1, "exit_code": status, "output": output}


def told(found: list[Entry]) -> list[tuple[str | None, str, int | None]]:
    return [
        (one.tool, one.text, one.status) for one in found if one.kind in (EntryKind.CALL, EntryKind.RESULT)
    ]


@pytest.mark.parametrize(
    ("written", "command"),
    [
        ('text(await tools.exec_command({"cmd": "pytest -q \\"a\\""}))', 'pytest -q "a"'),
        ("const r = await tools.exec_command({workdir, cmd: 'ls\\n\\u00fc', tty: false});\ntext(r)", "ls\nü"),
        ("text(await tools.exec_command({cmd: `a\nb`}))", "a\nb"),
    ],
)
def test_a_command_of_a_script_is_read_where_only_its_result_is_recorded(
    tmp_path: Path, written: str, command: str
) -> None:
    found = read(tmp_path, meta(), *script(written, json.dumps(ran(0, "2 passed\n"))))
    [asked, result] = told(found)
    assert (asked[0], json.loads(asked[1])) == ("exec_command", {"command": command})
    assert result == ("exec_command", "2 passed\n", 0)


def test_the_commands_of_a_script_are_read_with_their_own_results(tmp_path: Path) -> None:
    written = (
        "const a = await tools.exec_command({cmd: 'a'});\nconst b = await tools.exec_command({cmd: 'b'});"
    )
    found = read(tmp_path, meta(), *script(written, json.dumps([ran(1, "x"), ran(0, "y")])))
    assert told(found) == [
        ("exec_command", '{"command":"a"}', None),
        ("exec_command", "x", 1),
        ("exec_command", '{"command":"b"}', None),
        ("exec_command", "y", 0),
    ]


@pytest.mark.parametrize(
    ("written", "output"),
    [
        ("text(await tools.exec_command({cmd: 'a' + b}))", json.dumps(ran(0, "2 passed"))),
        ("text(await tools.exec_command({cmd: `a ${b}`}))", json.dumps(ran(0, "2 passed"))),
        ("for (const cmd of all) text(await tools.exec_command({cmd}))", json.dumps(ran(0, "2 passed"))),
        (
            "if (x) tools.exec_command({cmd: 'a'}); else tools.exec_command({cmd: 'b'})",
            json.dumps(ran(0, "y")),
        ),
        ("text((await tools.exec_command({cmd: 'a'})).output)", "2 passed"),
        ("text(1 + 1)", "2"),
    ],
)
def test_a_script_that_is_not_certain_stays_one_call(tmp_path: Path, written: str, output: str) -> None:
    found = read(tmp_path, meta(), *script(written, output))
    assert [(tool, status) for tool, _, status in told(found)] == [("exec", None), ("exec", None)]
    assert told(found)[0][1] == written


def test_a_script_that_still_runs_is_under_way(tmp_path: Path) -> None:
    path = tmp_path / "rollout-1.jsonl"
    records = [
        meta(),
        item("message", role="assistant", content=[{"type": "output_text", "text": "I look."}]),
    ]
    records.append(script("text(await tools.exec_command({cmd: 'a'}))")[0])
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert scan(codex.read(Source(agent="codex", path=str(path)))).transcript.ending is Ending.OPEN


def test_a_command_that_a_result_tells_of_is_not_told_again() -> None:
    assert [(entry.tool, entry.status) for entry in of(EntryKind.RESULT, entries("classic"))] == [
        ("exec_command", 3),
        ("exec_command", 0),
        ("apply_patch", None),
    ]
    assert transcript("classic").errors == 2


def test_an_older_history_shows_what_code_mode_did(tmp_path: Path) -> None:
    done = {
        "call_id": "patch-1",
        "success": False,
        "stdout": "",
        "stderr": "no such file",
        "changes": {"a.py": {}},
    }
    asked = {"server": "wiki", "tool": "ask", "arguments": {"q": "why"}}
    answer = {"Ok": {"content": [{"type": "text", "text": "because"}]}}
    found = read(
        tmp_path,
        event("patch_apply_end", **done),
        event("mcp_tool_call_end", call_id="mcp-1", invocation=asked, result=answer),
    )
    assert [(one.kind, one.tool, one.text, one.is_error) for one in found] == [
        (EntryKind.CALL, "apply_patch", '{"a.py":{}}', False),
        (EntryKind.RESULT, "apply_patch", "no such file", True),
        (EntryKind.CALL, "wiki.ask", '{"q":"why"}', False),
        (EntryKind.RESULT, "wiki.ask", "because", False),
    ]


@pytest.mark.parametrize(
    ("output", "text", "status", "is_error"),
    [
        ('{"output":"no\\n","metadata":{"exit_code":2,"duration_seconds":0.1}}', "no\n", 2, True),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.", "Success.", 0, False),
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\nx", "x", 3, True),
        ("Command: bash -lc 'a\nb'\nChunk ID: 1\nProcess exited with code 1\nOutput:\nx", "x", 1, True),
        (
            "Chunk ID: 1\nWall time: 1 seconds\nProcess running with session ID 7\nOutput:\nx",
            "x",
            None,
            False,
        ),
        ("x\nExit code: 3\n", "x\nExit code: 3\n", None, False),
        ("apply_patch verification failed: no", "apply_patch verification failed: no", None, True),
        ([{"type": "input_text", "text": "Script failed\n"}], "Script failed\n", None, True),
        ({"content": "no", "success": False}, "no", None, True),
        (None, "", None, False),
    ],
)
def test_an_output_is_taken_out_of_its_wrapping(
    output: Any, text: str, status: int | None, is_error: bool
) -> None:
    found = output_of(output)
    assert (found.text, found.status, found.is_error) == (text, status, is_error)


# Tokens


def test_every_answer_is_counted_once() -> None:
    assert [tokens(name).total for name in ("code-mode", "classic", "v0142")] == [550, 550, 440]
    assert tokens("compaction") == Tokens(input=500, output=50)


def test_totals_that_begin_anew_are_added() -> None:
    assert tokens("v050") == Tokens(input=400, output=40)


def test_totals_told_again_are_not_counted_again(tmp_path: Path) -> None:
    path = written(tmp_path, [meta(), used(100), used(100), used(250, 150), used(250, 9)])
    assert [spend.tokens.total for spend in scan(codex.read(source(path))).spends] == [100, 150]


def test_a_total_that_was_never_told_is_in_the_next_one(tmp_path: Path) -> None:
    path = written(tmp_path, [meta(), used(100), used(300, 50)])
    assert sum(spend.tokens.total for spend in scan(codex.read(source(path))).spends) == 300


def test_cached_input_is_no_input(tmp_path: Path) -> None:
    usage = {
        "input_tokens": 100,
        "cached_input_tokens": 70,
        "cache_write_input_tokens": 20,
        "output_tokens": 9,
    }
    count = event("token_count", info={"total_token_usage": usage, "last_token_usage": usage})
    spend = scan(codex.read(source(written(tmp_path, [count])))).spends[0]
    assert spend.tokens == Tokens(input=10, cache_read=70, cache_write=20, output=9)


def test_a_fork_of_an_old_version_repeats_the_spends_of_its_parent_under_their_keys() -> None:
    parent, fork = scan(sample("v0142")).spends, scan(sample("v0142-fork")).spends
    assert {spend.key for spend in parent} < {spend.key for spend in fork}
    assert {spend.key: spend for spend in (*parent, *fork)}.keys() == {spend.key for spend in fork}
    days = [(spend.at or "")[:16] for spend in fork[: len(parent)]]
    assert days == [(spend.at or "")[:16] for spend in parent]


def test_a_fork_that_repeats_nothing_does_not_count_its_parents_total() -> None:
    assert tokens("code-mode-fork").total == 110
    assert not {one.key for one in scan(sample("code-mode")).spends} & {
        one.key for one in scan(sample("code-mode-fork")).spends
    }


# Where it comes from


@pytest.mark.parametrize("name", ["code-mode-fork", "v0142-fork"])
def test_the_history_of_a_fork_is_not_its_own(name: str) -> None:
    found, about = entries(name), transcript(name)
    assert texts(EntryKind.PROMPT, found) == ["Forked question"]
    assert texts(EntryKind.REPLY, found) == ["Forked answer."]
    assert about.relation is Relation.FORK
    assert about.parent in {transcript(parent).id for parent in ("code-mode", "v0142")}
    assert about.turns == 1


def test_a_sub_agent_has_no_prompt_of_a_person() -> None:
    found, about = entries("subagent"), transcript("subagent")
    assert (about.relation, about.parent) == (Relation.SUBAGENT, transcript("parent").id)
    assert (about.turns, about.interruptions) == (0, 0)
    assert [entry.origin for entry in of(EntryKind.PROMPT, found)] == [Origin.ASSISTANT]
    assert texts(EntryKind.REPLY, found) == ["Four."]
    assert tokens("subagent").total == 220


def test_a_transcript_tells_where_it_began_and_with_what() -> None:
    about = transcript("code-mode")
    assert about.id == "01a1e2aa-27cc-7e60-ad90-df82558c45f6"
    assert (about.project, about.version, about.model) == ("/home/ada/ledger", "0.166.0", "gpt-5.6-sol")
    assert (about.context_tokens, about.context_window) == (110, 258400)
    assert (about.title, about.ending) == ("Write the notes please", Ending.ENDED)


def test_a_thread_can_be_named(tmp_path: Path) -> None:
    named = event("thread_name_updated", thread_name="Fix rounding")
    path = written(tmp_path, [meta(git={"branch": "main"}), said("user", "Hello"), named])
    about = scan(codex.read(source(path))).transcript
    assert (about.title, about.branch) == ("Fix rounding", "main")


def test_the_first_versions_wrote_items_bare(tmp_path: Path) -> None:
    first = {"id": SESSION, "timestamp": AT, "instructions": None, "git": {"branch": "main"}}
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}
    path = written(tmp_path, [first, {"record_type": "state"}, message])
    reading = codex.read(source(path))
    assert texts(EntryKind.PROMPT, reading) == ["Hello"]
    assert reading.learned["id"] == SESSION
    assert codex.recognise(path.read_bytes())


# Limits


def hits(name: str) -> list[tuple[Limit, ...]]:
    return [entry.limits for entry in of(EntryKind.LIMIT, entries(name))]


@pytest.mark.parametrize("name", ["limit", "v0142-limit", "v050-limit"])
def test_a_usage_limit_is_told_once_with_its_window_and_end(name: str) -> None:
    ((limit,),) = hits(name)
    assert (limit.window, limit.scope, limit.used_percent) == ("5h", Scope.ACCOUNT, 100.0)
    assert limit.resets_at is not None
    assert limit.resets_at > (limit.at or "")
    about = transcript(name)
    assert about.ending is Ending.LIMIT
    assert {(one.window, one.used_percent) for one in about.limits} == {("5h", 100.0), ("week", 40.0)}


def test_a_spent_quota_is_a_limit_of_money() -> None:
    ((limit,),) = hits("quota")
    assert (limit.window, limit.resets_at) == ("spend", None)


@pytest.mark.parametrize(
    ("error", "window", "resets_at"),
    [
        (
            {
                "message": "You’ve hit your usage limit. Try again in 3 days 4 hours.",
                "codex_error_info": "usage_limit_exceeded",
            },
            "week",
            "2026-11-15T13:00:00.000000Z",
        ),
        (
            {"message": "You've hit your usage limit. Try again in 59 minutes."},
            "5h",
            "2026-11-12T09:59:00.000000Z",
        ),
        (
            {
                "message": "exceeded retry limit, last status: 429 Too Many Requests",
                "codex_error_info": {"response_too_many_failed_attempts": {"http_status_code": 429}},
            },
            "1m",
            None,
        ),
        ({"message": "too long", "codex_error_info": "context_window_exceeded"}, "context", None),
    ],
)
def test_limits_are_known_by_their_errors(
    tmp_path: Path, error: Record, window: str, resets_at: str | None
) -> None:
    for told in (event("task_complete", error=error), event("error", **error)):
        (found,) = read(tmp_path, told)
        assert found.kind is EntryKind.LIMIT
        assert [(limit.window, limit.resets_at) for limit in found.limits] == [(window, resets_at)]


def test_another_error_is_no_limit(tmp_path: Path) -> None:
    (found,) = read(tmp_path, event("error", message="unexpected status 503", codex_error_info="other"))
    assert (found.kind, found.is_error) == (EntryKind.NOTE, True)


def test_every_window_has_its_word(tmp_path: Path) -> None:
    lengths = {300: "5h", 299: "5h", 1440: "day", 10080: "week", 43200: "month", 43800: "month", 90: "90m"}
    for minutes, word in lengths.items():
        window = {"used_percent": 12.5, "window_minutes": minutes, "resets_in_seconds": 60}
        (found,) = read(tmp_path, used(1, primary=window, secondary=None))
        assert [(limit.window, limit.used_percent, limit.resets_at) for limit in found.limits] == [
            (word, 12.5, "2026-11-12T09:01:00.000000Z")
        ]


def test_a_full_window_that_credits_pay_for_ends_nothing(tmp_path: Path) -> None:
    window = {"used_percent": 100.0, "window_minutes": 300, "resets_at": 1794807767}
    count = used(1, primary=window, credits={"has_credits": True, "balance": "5"})
    found = read(tmp_path, meta(), count, event("task_complete", last_agent_message=None))
    assert not of(EntryKind.LIMIT, found)


def test_a_spending_cap_tells_its_share(tmp_path: Path) -> None:
    own = {"limit": "100", "used": "80", "remaining_percent": 20, "resets_at": 1794807767}
    (found,) = read(tmp_path, used(1, individual_limit=own))
    assert [(limit.window, limit.used_percent) for limit in found.limits] == [("spend", 80.0)]


# Bookkeeping


def test_an_unknown_record_is_kept_and_counted(tmp_path: Path) -> None:
    strange = [record("dream", {"a": 1}), event("hum", b=2), item("whistle"), completed("Nap"), {"x": 1}]
    path = written(tmp_path, strange)
    reading = codex.read(source(path))
    assert [entry.native for entry in reading] == strange
    assert dict(reading.unknown) == {"dream": 1, "hum": 1, "whistle": 1, "Nap": 1, "(no type)": 1}


def test_following_gives_the_same_wherever_the_file_was_cut(tmp_path: Path) -> None:
    for name in ("code-mode", "subagent", "v0142-fork", "v050"):
        content, path, whole = (
            (DATA / f"{name}.jsonl").read_bytes(),
            tmp_path / f"{name}.jsonl",
            entries(name),
        )
        for cut in range(0, len(content), 997):
            path.write_bytes(content[:cut])
            first = codex.read(source(path))
            before = list(first)
            path.write_bytes(content)
            assert before + list(codex.read(source(path), first.mark)) == whole


def test_a_mark_can_be_used_twice(tmp_path: Path) -> None:
    content, path = (DATA / "v0142.jsonl").read_bytes(), tmp_path / "rollout.jsonl"
    path.write_bytes(content[: len(content) // 2])
    first = codex.read(source(path))
    list(first)
    path.write_bytes(content)
    assert list(codex.read(source(path), first.mark)) == list(codex.read(source(path), first.mark))


def test_rollouts_are_found_in_both_folders_and_nothing_else_is(tmp_path: Path) -> None:
    day = tmp_path / ".codex" / "sessions" / "2026" / "11" / "12"
    archive = tmp_path / ".codex" / "archived_sessions"
    for folder in (day, archive):
        folder.mkdir(parents=True)
        (folder / f"rollout-{folder.name}.jsonl").write_text("{}\n")
        (folder / "notes.jsonl").write_text("{}\n")
    (day / "rollout-folder.jsonl").mkdir()
    (day / "rollout-gone.jsonl").symlink_to(tmp_path / "nowhere")
    (Path(os.fsdecode(os.fsencode(day) + b"/rollout-\xff.jsonl"))).write_text("{}\n")
    found = list(codex.find({"HOME": str(tmp_path)}, []))
    assert [Path(one.path).name for one in found] == ["rollout-12.jsonl", "rollout-archived_sessions.jsonl"]
    assert all(one.size == 3 and one.stamp for one in found)
    assert list(codex.find({"HOME": "/nowhere", "CODEX_HOME": str(tmp_path / ".codex")}, [])) == found
    assert list(codex.find({}, [])) == []


def compressed(path: Path) -> Path:
    """What Codex makes of a rollout that was not used for a while."""
    small = path.with_name(path.name + ".zst")
    small.write_bytes(zstandard.compress(path.read_bytes()))
    path.unlink()
    return small


def test_a_compressed_rollout_is_found_recognised_and_read(tmp_path: Path) -> None:
    records = [meta(), event("user_message", message="Fix it"), item("message", role="user")]
    folder = tmp_path / "sessions" / "2026"
    folder.mkdir(parents=True)
    path = folder / "rollout-2026-x.jsonl"
    path.write_bytes(written(tmp_path, records).read_bytes())
    plain = list(codex.read(source(path)))
    small = compressed(path)
    assert [one.path for one in codex.find({"CODEX_HOME": str(tmp_path)}, ())] == [str(small)]
    assert transcripts.recognise(small).agent == "codex"
    assert list(codex.read(source(small))) == plain
    assert list(codex.read(source(path))) == plain, "compressed since it was found"
    path.write_bytes(b"")
    assert [one.path for one in codex.find({"CODEX_HOME": str(tmp_path)}, ())] == [str(path)]


def test_what_cannot_be_decompressed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rollout-1.jsonl.zst"
    path.write_bytes(b"no Zstandard frame")
    with pytest.raises(AgentError, match="cannot be decompressed"):
        list(codex.read(source(path)))
