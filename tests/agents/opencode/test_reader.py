"""OpenCode's sessions, from its database, from the files before it, and exported, are read without loss."""

from __future__ import annotations

import copy
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from segue.agents.opencode import reader as opencode
from segue.agents.opencode.limits import limit_of
from segue.agents.shared.transcripts import index_scan
from segue.agents.shared.transcripts.reader import INTERRUPT, Reading
from segue.errors import AgentError
from segue.model import Ending, Entry, EntryKind, Limit, Mark, Origin, Relation, Scope, Source, Tokens
from tests import FIXTURES

EXPORT = FIXTURES / "opencode" / "export.json"
SESSION = "ses_0001aaaaffeOne"

SCHEMA = """
create table session (id text primary key, project_id text not null, parent_id text, slug text not null,
  directory text not null, title text not null, version text not null, time_created integer not null,
  time_updated integer not null);
create table message (id text primary key, session_id text not null, time_created integer not null,
  time_updated integer not null, data text not null);
create table part (id text primary key, message_id text not null, session_id text not null,
  time_created integer not null, time_updated integer not null, data text not null);
create index message_session_time_created_id_idx on message (session_id, time_created, id);
create index part_message_id_id_idx on part (message_id, id);
create index part_session_idx on part (session_id);
"""


@pytest.fixture
def export() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(EXPORT.read_text())
    return content


class Database:
    """OpenCode's database as it writes it: the columns that it reads by, and the rest as JSON."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "opencode.db"
        folder.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute("pragma journal_mode = wal")
        self.connection.executescript(SCHEMA)

    def session(self, info: dict[str, Any]) -> None:
        names = ("id", "projectID", "parentID", "slug", "directory", "title", "version")
        time = info["time"]
        row = [*(info.get(name) for name in names), time["created"], time["updated"]]
        self.connection.execute("insert or replace into session values (?,?,?,?,?,?,?,?,?)", row)

    def message(self, info: dict[str, Any], session: str = SESSION) -> None:
        data = {name: value for name, value in info.items() if name not in ("id", "sessionID")}
        row = [info["id"], session, info["time"]["created"], info["time"]["created"], json.dumps(data)]
        self.connection.execute("insert or replace into message values (?,?,?,?,?)", row)

    def part(self, message: str, part: dict[str, Any], session: str = SESSION, at: int = 1) -> None:
        data = {name: value for name, value in part.items() if name not in ("id", "messageID", "sessionID")}
        row = [part["id"], message, session, at, at, json.dumps(data)]
        self.connection.execute("insert or replace into part values (?,?,?,?,?,?)", row)

    def fill(self, export: dict[str, Any], session: str = SESSION) -> None:
        self.session({**export["info"], "id": session})
        for message in export["messages"]:
            self.message(message["info"], session)
            for part in message["parts"]:
                self.part(message["info"]["id"], part, session)


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(tmp_path / ".local" / "share" / "opencode")
    with closing(made.connection):
        yield made


def read_file(path: Path, mark: Mark | None = None) -> tuple[list[Entry], Reading]:
    reading = opencode.read(Source(agent="opencode", path=str(path)), mark)
    return list(reading), reading


def read_content(tmp_path: Path, content: Any, mark: Mark | None = None) -> tuple[list[Entry], Reading]:
    path = tmp_path / "exported.json"
    path.write_text(json.dumps(content))
    return read_file(path, mark)


def said(entries: list[Entry], *kinds: EntryKind) -> list[tuple[str, str, str]]:
    return [(e.kind.value, e.origin.value, e.text) for e in entries if e.kind in kinds]


# What an exported session says


def test_everybodys_words_have_the_right_origin() -> None:
    entries, _ = read_file(EXPORT)

    kinds = (EntryKind.PROMPT, EntryKind.REPLY, EntryKind.THOUGHT, EntryKind.SUMMARY, EntryKind.IMAGE)
    assert said(entries, *kinds) == [
        ("prompt", "human", "Fix the rounding in @till.py"),
        ("image", "human", "screen.png, image/png, 11 bytes, sha256:b94d27b9934d3e08…"),
        ("thought", "assistant", "Look first."),
        ("reply", "assistant", "I run the tests."),
        ("image", "tool", "image/png, 5 bytes, sha256:2cf24dba5fb0a30e…"),
        ("summary", "assistant", "## Goal\nFix the rounding."),
        ("reply", "assistant", "I was about to"),
    ]


def test_injected_text_and_files_are_notes() -> None:
    entries, _ = read_file(EXPORT)

    notes = {e.id: (e.tool, e.origin, e.text) for e in entries if e.kind is EntryKind.NOTE}
    assert notes["prt_02"][:2] == ("text", Origin.SYSTEM)
    assert notes["prt_03"] == ("file", Origin.SYSTEM, "/work/shop/till old.py")
    assert notes["prt_05"] == ("agent", Origin.SYSTEM, "general")
    assert notes["prt_13"] == ("patch", Origin.SYSTEM, "/work/shop/till.py")


def test_calls_and_results_belong_together() -> None:
    entries, _ = read_file(EXPORT)
    by_id = {entry.id: entry for entry in entries}

    bash = by_id["prt_09"]
    assert (bash.kind, bash.tool, bash.call, bash.text) == (EntryKind.RESULT, "bash", "call_1", "1 failed\n")
    assert (bash.status, bash.is_error, bash.at) == (1, False, "2026-02-02T02:40:06.000000Z")
    assert bash.parent == "prt_09#1"
    assert by_id["prt_09#1"].text == '{"command":"pytest -q"}'
    read = by_id["prt_10"]
    assert (read.is_error, read.status, read.text) == (True, None, "File not found")
    assert [by_id[id].kind for id in ("prt_11#1", "prt_11#2", "prt_11")] == ["call", "result", "image"]


def test_every_record_has_an_entry_and_one_chain_passes_all(export: dict[str, Any]) -> None:
    entries, reading = read_file(EXPORT)

    ids = {SESSION, *(m["info"]["id"] for m in export["messages"])}
    ids |= {part["id"] for m in export["messages"] for part in m["parts"]}
    assert ids <= {entry.id for entry in entries}
    assert [entry.parent for entry in entries] == [None, *(entry.id for entry in entries)][:-1]
    assert all(entry.native for entry in entries)
    assert reading.unknown == {"hologram": 1}
    assert reading.lines == 1 + len(ids) - 1
    assert (reading.broken, reading.is_cut) == (0, False)


def test_tokens_are_counted_once_though_steps_and_messages_tell_them() -> None:
    entries, _ = read_file(EXPORT)

    spends = [entry.spend for entry in entries if entry.spend]
    assert [spend.tokens for spend in spends] == [
        Tokens(input=100, output=75, cache_read=900, cache_write=100),
        Tokens(input=10, output=5),
    ]
    assert [spend.cost_usd for spend in spends] == [0.012, None]
    assert {spend.model for spend in spends} == {"gpt-5.4"}


def test_every_step_of_a_long_message_counts(tmp_path: Path, export: dict[str, Any]) -> None:
    answer = export["messages"][1]
    step = copy.deepcopy(answer["parts"][6])
    answer["parts"].append({**step, "id": "prt_13b"})
    entries, _ = read_content(tmp_path, export)

    keys = [entry.spend.key for entry in entries if entry.spend]
    assert len(keys) == len(set(keys)) == 3


def test_what_the_session_tells_is_learned() -> None:
    scan = index_scan.scan(opencode.read(Source(agent="opencode", path=str(EXPORT))))

    found = scan.transcript
    assert (found.id, found.title, found.version) == (SESSION, "Fix the till", "1.14.30")
    assert (found.project, found.model, found.turns, found.calls) == ("/work/shop", "gpt-5.4", 1, 3)
    assert (found.errors, found.interruptions, found.ending) == (2, 1, Ending.INTERRUPTED)
    assert found.context_tokens == 15


def test_the_words_of_a_main_agent_are_not_a_humans(tmp_path: Path, export: dict[str, Any]) -> None:
    export["info"]["parentID"] = "ses_parent"
    export["info"]["title"] = "New session - 2026-02-02T02:40:00.000Z"
    entries, reading = read_content(tmp_path, export)

    assert not [entry for entry in entries if entry.origin is Origin.HUMAN]
    assert said(entries, EntryKind.PROMPT)[0][1] == "assistant"
    assert reading.learned["parent"] == "ses_parent"
    assert reading.learned["relation"] is Relation.SUBAGENT
    assert "title" not in reading.learned


def test_a_command_that_the_person_ran_is_theirs(tmp_path: Path) -> None:
    synthetic = {"type": "text", "text": "The following tool was executed by the user", "synthetic": True}
    tool = {"type": "tool", "tool": "bash", "callID": "c", "state": {"status": "completed", "input": {}}}
    messages = [
        {"info": {"id": "m1", "role": "user", "time": {"created": 1}}, "parts": [synthetic]},
        {"info": {"id": "m2", "role": "assistant", "time": {"created": 2, "completed": 3}}, "parts": [tool]},
    ]
    entries, _ = read_content(tmp_path, {"info": {"id": "ses_1"}, "messages": messages})

    assert said(entries, EntryKind.CALL, EntryKind.PROMPT) == [("call", "human", "{}")]


# Limits


def error(status: int | None, message: str, body: Any = "", **headers: str) -> dict[str, Any]:
    data = {
        "message": message,
        "statusCode": status,
        "isRetryable": False,
        "responseHeaders": {name.replace("_", "-"): value for name, value in headers.items()},
        "responseBody": body if isinstance(body, str) else json.dumps(body),
    }
    return {"name": "APIError", "data": data}


AT = "2026-02-02T02:40:00.000000Z"


@pytest.mark.parametrize(
    ("found", "window", "scope", "resets_at"),
    [
        (error(402, "Payment required"), "spend", "account", None),
        (error(429, "slow down", retry_after="60"), "", "account", "2026-02-02T02:41:00.000000Z"),
        (error(429, "x", retry_after_ms="1500"), "", "account", "2026-02-02T02:40:01.500000Z"),
        (
            error(429, "x", retry_after="Mon, 02 Feb 2026 03:00:00 GMT"),
            "",
            "account",
            "2026-02-02T03:00:00.000000Z",
        ),
        (
            error(
                429,
                "The usage limit has been reached",
                {"error": {"type": "usage_limit_reached", "resets_at": 1770003600}},
                x_codex_primary_window_minutes="300",
            ),
            "5h",
            "account",
            "2026-02-02T03:40:00.000000Z",
        ),
        (
            error(
                429,
                "x",
                anthropic_ratelimit_unified_representative_claim="seven_day",
                anthropic_ratelimit_unified_reset="1770003600",
            ),
            "week",
            "account",
            "2026-02-02T03:40:00.000000Z",
        ),
        (
            error(
                429,
                "You exceeded your current quota",
                {
                    "error": {
                        "details": [
                            {"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}]},
                            {"retryDelay": "34.5s"},
                        ]
                    }
                },
            ),
            "day",
            "model",
            None,  # that long the next request has to wait, not the quota
        ),
        (error(400, "Your credit balance is too low"), "spend", "account", None),
        (error(None, "insufficient_quota"), "spend", "account", None),
    ],
)
def test_a_limit_is_known_by_status_headers_and_words(
    found: dict[str, Any], window: str, scope: str, resets_at: str | None
) -> None:
    limit = limit_of(found, AT, "m1")

    assert limit is not None
    assert (limit.window, limit.scope, limit.used_percent, limit.at) == (window, scope, 100, AT)
    assert limit.resets_at == resets_at
    assert limit.model == ("m1" if scope == "model" else "")


@pytest.mark.parametrize(
    "found",
    [
        error(500, "rate limit service is down"),
        error(401, "no key"),
        {"name": "UnknownError"},
        {},
        error(None, ""),
    ],
)
def test_other_errors_are_no_limits(found: dict[str, Any]) -> None:
    assert limit_of(found, AT, "m1") is None


@pytest.mark.parametrize(
    "number", ["NaN", "inf", "-inf", "1e400", "-5", "9" * 400, 1e308, 10**400, True, [], None]
)
def test_a_number_that_makes_no_sense_is_not_used(number: object) -> None:
    found = error(429, "slow down")
    names = (
        "x-codex-primary-window-minutes",
        "retry-after",
        "retry-after-ms",
        "anthropic-ratelimit-unified-reset",
    )
    found["data"]["responseHeaders"] = dict.fromkeys(names, number)
    limit = limit_of(found, AT, "m1")
    assert limit is not None and (limit.window, limit.resets_at) == ("", None)


def test_a_message_that_a_limit_ended_is_a_limit(tmp_path: Path, export: dict[str, Any]) -> None:
    export["messages"][-1]["info"]["error"] = error(402, "Out of credits")
    retry = {"id": "prt_18", "type": "retry", "attempt": 1, "error": error(429, "slow down")}
    export["messages"][-1]["parts"].append(retry)
    entries, _ = read_content(tmp_path, export)

    expected = Limit(window="spend", scope=Scope.ACCOUNT, used_percent=100, at="2026-02-02T02:40:14.000000Z")
    last = entries[-1]
    assert (last.kind, last.id, last.text, last.limits) == (
        EntryKind.LIMIT,
        "msg_05",
        "Out of credits",
        (expected,),
    )
    [tried] = [entry for entry in entries if entry.tool == "retry"]
    assert (tried.kind, tried.text, len(tried.limits)) == (EntryKind.NOTE, "slow down", 1)


def test_a_full_context_is_told_but_no_stop(tmp_path: Path, export: dict[str, Any]) -> None:
    export["messages"][-1]["info"]["error"] = {
        "name": "ContextOverflowError",
        "data": {"message": "too long"},
    }
    entries, _ = read_content(tmp_path, export)

    assert entries[-1].kind is EntryKind.NOTE
    assert [(limit.window, limit.model) for limit in entries[-1].limits] == [("context", "gpt-5.4")]


# The database


def test_the_database_gives_what_the_export_gives(
    database: Database, home: dict[str, str], export: dict[str, Any]
) -> None:
    database.fill(export)
    [source] = opencode.find(home, [])
    entries = list(opencode.read(source))

    def shown(entry: Entry) -> tuple[Any, ...]:
        return (
            entry.id,
            entry.parent,
            entry.kind,
            entry.text,
            entry.spend,
            entry.status,
            entry.cwd,
            entry.at,
        )

    assert list(map(shown, entries)) == list(map(shown, read_file(EXPORT)[0]))
    assert source.part == SESSION
    assert source.stamp == 1770000090000 * 1_000_000
    assert list(opencode.read(source))[1:] == entries[1:]


def test_a_session_that_goes_on_has_another_stamp(
    database: Database, home: dict[str, str], export: dict[str, Any]
) -> None:
    database.fill(export)
    [before] = opencode.find(home, [])
    database.part("msg_05", {"id": "prt_19", "type": "text", "text": "more"}, at=1770000099000)
    [after] = opencode.find(home, [])

    assert after.stamp == 1770000099000 * 1_000_000
    assert after.size == before.size + 1


def test_nothing_is_given_twice(database: Database, home: dict[str, str], export: dict[str, Any]) -> None:
    database.fill({**export, "messages": export["messages"][:2]})
    [source] = opencode.find(home, [])
    first = opencode.read(source)
    before = list(first)
    database.fill(export)
    second = opencode.read(source, first.mark)
    after = list(second)

    assert before + after == list(opencode.read(source))
    assert (first.is_anew, second.is_anew, second.mark.offset) == (True, False, 0)
    assert list(opencode.read(source, second.mark)) == []


def test_a_running_call_is_given_once_and_its_result_when_it_is_there(
    database: Database, home: dict[str, str], export: dict[str, Any]
) -> None:
    database.session(export["info"])
    answer = copy.deepcopy(export["messages"][1])
    info, tool = answer["info"], answer["parts"][3]
    done = info["time"].pop("completed")
    state = tool["state"]
    database.message(info)
    [source] = opencode.find(home, [])
    mark = None
    given = []
    for now in (
        {"status": "pending", "input": {}, "raw": ""},
        {"status": "running", "input": state["input"], "time": {"start": 1}},
        {"status": "running", "input": state["input"], "metadata": {"output": "1"}, "time": {"start": 1}},
        state,
    ):
        database.part("msg_02", {**tool, "state": now})
        reading = opencode.read(source, mark)
        given.append([(entry.kind.value, entry.id) for entry in reading])
        assert reading.is_cut
        mark = reading.mark
    info["time"]["completed"] = done
    database.message(info)
    given.append([(entry.kind.value, entry.id) for entry in opencode.read(source, mark)])

    assert given == [
        [("note", SESSION)],
        [("call", "prt_09#1")],
        [],
        [("result", "prt_09")],
        [("note", "msg_02")],
    ]


def test_words_that_are_still_to_come_are_left_for_the_next_read(
    database: Database, home: dict[str, str], export: dict[str, Any]
) -> None:
    database.session(export["info"])
    database.message({"id": "m", "role": "assistant", "time": {"created": 5}})
    database.part("m", {"id": "p", "type": "text", "text": "", "time": {"start": 5}})
    [source] = opencode.find(home, [])
    first = opencode.read(source)
    assert [entry.id for entry in first] == [SESSION]
    database.part("m", {"id": "p", "type": "text", "text": "Done.", "time": {"start": 5, "end": 6}})

    assert said(list(opencode.read(source, first.mark)), EntryKind.REPLY) == [("reply", "assistant", "Done.")]


def test_what_a_killed_answer_left_is_given_when_the_person_goes_on(
    database: Database, home: dict[str, str], export: dict[str, Any]
) -> None:
    database.session(export["info"])
    database.message({"id": "m", "role": "assistant", "time": {"created": 5}})
    database.part(
        "m", {"id": "p", "type": "tool", "tool": "bash", "state": {"status": "pending", "raw": '{"c'}}
    )
    database.message({"id": "n", "role": "user", "time": {"created": 6}})
    [source] = opencode.find(home, [])

    given = {entry.id: entry for entry in opencode.read(source)}
    assert set(given) == {SESSION, "m", "p", "n"}
    assert (given["p"].kind, given["p"].text) == (EntryKind.NOTE, '{"c')


def test_after_going_back_the_read_begins_anew(
    database: Database, home: dict[str, str], export: dict[str, Any]
) -> None:
    database.fill(export)
    [source] = opencode.find(home, [])
    first = opencode.read(source)
    list(first)
    database.connection.execute("delete from part where message_id = 'msg_05'")
    database.connection.execute("delete from message where id = 'msg_05'")
    second = opencode.read(source, first.mark)
    entries = list(second)

    assert second.is_anew
    assert entries == list(opencode.read(source))
    assert "msg_05" not in second.mark.state["seen"]


def test_a_fork_spends_nothing_again_and_knows_its_origin(
    database: Database, home: dict[str, str], export: dict[str, Any]
) -> None:
    database.fill(export)
    fork = copy.deepcopy(export)
    fork["info"] |= {
        "title": "Fix the till (fork #1)",
        "time": {"created": 1770000100000, "updated": 1770000100000},
    }
    for number, message in enumerate(fork["messages"]):
        message["info"]["id"] = f"msg_9{number}"
        for part in message["parts"]:
            part["id"] = part["id"].replace("prt_", "prt_9")
    database.fill(fork, session="ses_fork")
    other = copy.deepcopy(export)
    other["info"] |= {"title": "Another", "time": {"created": 1, "updated": 1}}
    other["messages"] = [{"info": {"id": "msg_80", "role": "user", "time": {"created": 1}}, "parts": []}]
    database.fill(other, session="ses_other")
    scans = {source.part: index_scan.scan(opencode.read(source)) for source in opencode.find(home, [])}

    keys = [{spend.key for spend in scans[id].spends} for id in (SESSION, "ses_fork")]
    assert keys[0] == keys[1]
    assert len(keys[0]) == 2
    found = scans["ses_fork"].transcript
    assert (found.parent, found.relation) == (SESSION, Relation.FORK)
    assert scans[SESSION].transcript.relation is None


def test_a_session_is_read_as_it_was_at_one_moment(
    database: Database, home: dict[str, str], export: dict[str, Any]
) -> None:
    database.fill(export)
    [source] = opencode.find(home, [])
    expected = len(list(opencode.read(source)))
    entries = iter(opencode.read(source))
    next(entries)
    database.connection.execute("delete from part")

    assert 1 + len(list(entries)) == expected


def test_reading_leaves_the_database_as_it_is(
    database: Database, home: dict[str, str], export: dict[str, Any]
) -> None:
    database.fill(export)
    database.connection.close()
    before = database.path.read_bytes()
    [source] = opencode.find(home, [])
    list(opencode.read(source))

    assert database.path.read_bytes() == before


def test_a_database_at_rest_has_nothing_beside_it_after_reading(
    database: Database, home: dict[str, str], export: dict[str, Any]
) -> None:
    database.connection.execute("pragma journal_mode = wal")
    database.fill(export)
    while_open = [list(opencode.read(source)) for source in opencode.find(home, [])]
    database.connection.close()
    assert [path.name for path in database.path.parent.iterdir()] == [database.path.name]

    at_rest = [list(opencode.read(source)) for source in opencode.find(home, [])]

    assert at_rest == while_open != []
    assert [path.name for path in database.path.parent.iterdir()] == [database.path.name]


def test_a_folder_with_odd_characters_is_no_obstacle(tmp_path: Path, export: dict[str, Any]) -> None:
    data = tmp_path / "a b#c?mode=rwc&d%20é"
    made = Database(data / "opencode")
    made.fill(export)
    made.connection.close()

    [source] = opencode.find({"XDG_DATA_HOME": str(data), "HOME": "/nowhere"}, [])
    assert len(list(opencode.read(source))) > 20


def test_a_database_under_another_name_is_found(tmp_path: Path, export: dict[str, Any]) -> None:
    made = Database(tmp_path / "opencode")
    made.fill(export)
    made.connection.close()
    made.path.rename(tmp_path / "elsewhere.sqlite")

    env = {"XDG_DATA_HOME": str(tmp_path), "OPENCODE_DB": str(tmp_path / "elsewhere.sqlite")}
    assert [source.part for source in opencode.find(env, [])] == [SESSION]


@pytest.mark.parametrize("harm", ["text", "empty", "foreign", "damaged", "folder", "pipe", "gone"])
def test_a_database_that_cannot_be_read_is_named_by_find_and_refused_by_read(
    database: Database, home: dict[str, str], export: dict[str, Any], harm: str
) -> None:
    database.fill(export)
    database.connection.close()
    path = database.path
    whole = path.read_bytes()
    path.unlink()
    match harm:
        case "text":
            path.write_text("no database\n" * 1000)
        case "empty":
            path.touch()
        case "foreign":
            with closing(sqlite3.connect(path)) as other:
                other.execute("create table bookmarks (url text)")
        case "damaged":
            path.write_bytes(whole[:100] + bytes(reversed(whole[100:])))
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)

    if harm in ("folder", "pipe", "gone"):
        assert list(opencode.find(home, [])) == []
    else:
        with pytest.raises(AgentError, match=r"opencode\.db cannot be read"):
            list(opencode.find(home, []))
    with pytest.raises(AgentError):
        list(opencode.read(Source(agent="opencode", path=str(path), part=SESSION)))


def test_a_locked_database_is_refused_after_a_moment(
    database: Database, home: dict[str, str], export: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segue.agents.opencode.storage.BUSY_SECONDS", 0.05)
    database.connection.execute("pragma journal_mode = delete")
    database.fill(export)
    [source] = opencode.find(home, [])
    database.connection.execute("begin exclusive")

    with pytest.raises(AgentError, match="locked"):
        list(opencode.find(home, []))
    with pytest.raises(AgentError, match="locked"):
        list(opencode.read(source))


def test_a_session_that_was_deleted_is_refused(database: Database) -> None:
    with pytest.raises(AgentError, match="holds no session"):
        list(opencode.read(Source(agent="opencode", path=str(database.path), part="ses_gone")))
    with pytest.raises(AgentError, match="name one of them"):
        list(opencode.read(Source(agent="opencode", path=str(database.path))))


def test_rows_that_are_no_records_are_counted_and_lose_nothing_else(
    database: Database, home: dict[str, str], export: dict[str, Any]
) -> None:
    database.fill(export)
    database.connection.execute("update part set data = 'no json' where id = 'prt_01'")
    database.connection.execute("update part set data = x'ff00' where id = 'prt_02'")
    database.connection.execute("update message set data = '[]' where id = 'msg_02'")
    [source] = opencode.find(home, [])
    reading = opencode.read(source)
    ids = {entry.id for entry in reading}

    assert reading.broken == 3
    assert {"msg_02", "prt_08", "prt_09"} <= ids
    assert not {"prt_01", "prt_02"} & ids


# The files of before


def write_storage(folder: Path, export: dict[str, Any]) -> Path:
    storage = folder / ".local" / "share" / "opencode" / "storage"

    def write(path: str, content: dict[str, Any]) -> None:
        target = storage / f"{path}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(content))

    write(f"session/p1/{SESSION}", export["info"])
    for message in export["messages"]:
        write(f"message/{SESSION}/{message['info']['id']}", message["info"])
        for part in message["parts"]:
            write(f"part/{message['info']['id']}/{part['id']}", part)
    return storage


def test_the_files_before_the_database_give_the_same(
    tmp_path: Path, home: dict[str, str], export: dict[str, Any]
) -> None:
    storage = write_storage(tmp_path, export)
    [source] = opencode.find(home, [])
    reading = opencode.read(source)
    entries = list(reading)

    assert entries == read_file(EXPORT)[0]
    assert reading.learned["id"] == SESSION
    assert list(opencode.read(source, reading.mark)) == []
    part = storage / "part" / "msg_05" / "prt_17.json"
    os.utime(part, ns=(2_000_000_000 * 10**9, 2_000_000_000 * 10**9))
    assert [found.stamp for found in opencode.find(home, [])] == [2_000_000_000 * 10**9]
    part.unlink()
    assert "prt_17" not in {entry.id for entry in opencode.read(source, reading.mark)}
    (storage / "part" / "msg_01" / "prt_01.json").write_text("{")
    cut = opencode.read(source)
    assert len(list(cut)) == len(entries) - 2
    assert cut.broken == 1


def test_files_that_the_database_took_in_are_not_found_twice(
    tmp_path: Path, home: dict[str, str], database: Database, export: dict[str, Any]
) -> None:
    write_storage(tmp_path, export)
    assert len(list(opencode.find(home, []))) == 1
    database.fill(export)

    assert [source.part for source in opencode.find(home, [])] == [SESSION]


# Anything else


def test_only_its_own_files_are_recognised(export: dict[str, Any]) -> None:
    assert opencode.recognise(EXPORT.read_bytes()[:4096])
    assert opencode.recognise(json.dumps(export).encode()[:4096])
    assert opencode.recognise(json.dumps(export["info"]).encode())
    for other in (
        b"",
        b"\xff\xfe",
        b"{",
        b'{"info": {"id": "x"}}',
        b'{"id": "ses_"}',
        b'{"type":"user","uuid":"1"}',
        b"# aider",
    ):
        assert not opencode.recognise(other)


def test_without_a_home_nothing_is_found(tmp_path: Path) -> None:
    assert list(opencode.find({}, [])) == []
    assert list(opencode.find({"HOME": str(tmp_path)}, [])) == []


@pytest.mark.parametrize("content", ["", "null", "[]", "{}", '{"messages": 5}', '{"info": []', '{"id": 5}'])
def test_a_file_that_holds_no_session_gives_no_words(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    entries, _ = read_file(path)

    assert [entry for entry in entries if entry.kind is not EntryKind.NOTE] == []


JUNK: list[Any] = [None, True, 5, -1, 1e300, "x", "", [], [None], {}, {"a": None}, "\u0000", 2**70]


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places_in(inner, (*path, key))


def test_no_field_of_any_kind_breaks_the_reader(tmp_path: Path, export: dict[str, Any]) -> None:
    export["messages"][-1]["info"]["error"] = error(429, "x", {"error": {"resets_at": 5}}, retry_after="5")
    for number, place in enumerate(places_in(export)):
        harmed = copy.deepcopy(export)
        target = harmed
        for key in place[:-1]:
            target = target[key]
        target[place[-1]] = JUNK[number % len(JUNK)]
        entries, reading = read_content(tmp_path, harmed)
        assert len({entry.id for entry in entries}) == len(entries)
        assert entries or reading.broken
        again, second = read_content(tmp_path, harmed, reading.mark)
        assert again == [] or second.is_anew


def test_ids_that_occur_twice_stay_apart(tmp_path: Path, export: dict[str, Any]) -> None:
    export["messages"] += copy.deepcopy(export["messages"])
    entries, _ = read_content(tmp_path, export)

    assert len({entry.id for entry in entries}) == len(entries)
    assert "prt_09~2#1" in {entry.id for entry in entries}


def test_an_interruption_is_a_note_of_its_own_kind() -> None:
    entries, _ = read_file(EXPORT)

    assert [(e.id, e.tool) for e in entries if index_scan.is_interruption(e)] == [("msg_05", INTERRUPT)]
