"""How Claude Code is started, and what is written for it to go on with: pure, and on disk."""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue import agents
from segue.agents.claude import reader as claude_reader
from segue.agents.claude import target as claude
from segue.agents.claude import token_scan, token_values
from segue.agents.claude.target import folder_name
from segue.agents.claude.transcript_writer import NO_OUTPUT, UNTIMED, records
from segue.agents.shared.launch import Start
from segue.agents.shared.transcripts.index_scan import scan
from segue.agents.shared.transcripts.reader import found_from
from segue.base import clock
from segue.errors import AgentError
from segue.model import Ending, EntryKind, Origin, Source
from segue.model.conversation import Conversation, Speaker, ToolUse, Turn
from segue.model.delivery import Mode

ID = claude.new_id("handoff-1")
OWN = "11111111-2222-4333-8444-555555555555"
"""An id that the program itself might have chosen."""
AT = "2026-11-12T09:12:37.123456Z"
PROMPT = "# Handoff h-1\n\nGo on."
PERSON, AGENT = Speaker.PERSON, Speaker.AGENT

TALK = Conversation(
    title="The ferry",
    branch="feature-x",
    turns=(
        Turn(speaker=PERSON, text="Find out why ünïcode 🙂 fails, see @notes.md", at=AT),
        Turn(
            speaker=AGENT,
            text="I look.",
            at=AT,
            model="another-vendors-model",
            uses=(
                ToolUse(id="call_1", tool="exec_command", arguments={"cmd": ["ls", "-l"]}, result="1 failed\n"),
                ToolUse(id="call_2", tool="Edit", arguments={}, result="No such file", is_error=True),
            ),
        ),
        Turn(speaker=AGENT, uses=(ToolUse(id="c3", tool="read", arguments={"a": {"b": None}}, result=""),)),
        Turn(speaker=PERSON, text="/compact is what I typed"),
        Turn(speaker=PERSON, text="- and this", at="2026-11-12T09:12:37.000000Z"),
        Turn(speaker=AGENT, text="It rounds twice."),
    ),
)  # fmt: skip


def start(**more: Any) -> Start:
    asked: dict[str, Any] = {"program": "/bin/claude", "project": Path("/nowhere"), "mode": Mode.HEADLESS}
    return Start(**{**asked, "prompt": PROMPT, **more})


def argv(**more: Any) -> tuple[str, ...]:
    return claude.command(start(**more), {}).argv


def written(home: Path, conversation: Conversation = TALK, id: str = ID, project: Path | None = None) -> Path:
    env = {"HOME": str(home)}
    return claude.write(conversation, id, project or Path("/home/ada/ferry"), "/bin/claude", env).path


def source(path: Path) -> Source:
    return Source(agent="claude", path=str(path))


Said = list[tuple[Any, ...]]


def said_in(path: Path) -> Said:
    """What our reader finds: words, calls and results, in order."""
    found: Said = []
    for entry in claude_reader.read(source(path)):
        match entry.kind:
            case EntryKind.PROMPT | EntryKind.REPLY:
                found.append((entry.origin, entry.text))
            case EntryKind.CALL:
                found.append((entry.call, entry.tool, json.loads(entry.text)))
            case EntryKind.RESULT:
                found.append((entry.call, entry.tool, entry.text, entry.is_error))
    return found


def said_by(conversation: Conversation) -> Said:
    found: Said = []
    for turn in conversation.turns:
        origin = Origin.HUMAN if turn.speaker is PERSON else Origin.ASSISTANT
        found += [(origin, turn.text)] if turn.text else []
        found += [(use.id, use.tool, use.arguments) for use in turn.uses]
        found += [(use.id, use.tool, use.result, use.is_error) for use in turn.uses]
    return found


# Starting


def test_a_headless_start_reads_the_prompt_from_stdin() -> None:
    launch = claude.command(start(model="sonnet"), {})
    stream = ("-p", "--output-format", "stream-json", "--verbose")
    assert launch.argv == ("/bin/claude", *stream, "--model=sonnet")
    assert (launch.stdin, launch.env) == (PROMPT, {})


def test_a_transcript_is_gone_on_with_or_begun_under_an_id() -> None:
    assert f"--resume={OWN}" in argv(resume=OWN)
    assert f"--session-id={ID}" in argv(id=ID)
    assert not any(word.startswith("--session-id") for word in argv(resume=OWN, id=ID))


@pytest.mark.parametrize("id", ["--dangerously-skip-permissions", "/tmp/evil.jsonl", "agent-a1", f"{OWN}\n"])
def test_what_is_no_id_is_never_passed(id: str, tmp_path: Path) -> None:
    for asked in ({"resume": id}, {"id": id}):
        with pytest.raises(AgentError, match="is not a session id"):
            argv(**asked)
    with pytest.raises(AgentError, match="is not a session id"):
        written(tmp_path, id=id)
    assert list(tmp_path.iterdir()) == []


def test_a_prompt_for_a_person_is_one_argument_after_all_options() -> None:
    launch = claude.command(
        start(mode=Mode.OPEN, resume=OWN, model="opus", arguments=("--tools", "Bash")), {}
    )
    assert launch.argv[1:] == (f"--resume={OWN}", "--model=opus", "--tools", "Bash", "--", PROMPT)
    assert launch.stdin is None


def test_where_the_person_is_to_speak_nothing_is_said() -> None:
    assert argv(mode=Mode.OPEN, prompt="") == argv(mode=Mode.OPEN, prompt=" \n") == ("/bin/claude",)


def test_a_question_is_asked_headless_and_without_tools() -> None:
    for mode in Mode:
        launch = claude.command(start(mode=mode, is_question=True), {})
        assert launch.stdin == PROMPT
        assert {"-p", "--tools=", "--strict-mcp-config", "--max-turns=1"} <= set(launch.argv)


def test_permissions_are_only_what_the_person_passed() -> None:
    for asked in ({}, {"mode": Mode.OPEN}, {"is_question": True}, {"resume": OWN, "model": "opus"}):
        assert not re.search("dangerously|bypass|allowed|permission", " ".join(argv(**asked)))
    assert argv(arguments=("--permission-mode", "plan"))[-2:] == ("--permission-mode", "plan")


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("/compact now", "\\/compact now"),
        (" \n\ufeff/x", " \n\ufeff\\/x"),
        ("@~/.ssh/id_rsa", "\\@~/.ssh/id_rsa"),
        ('see\n@"a b"\tand、@c', 'see\n\\@"a b"\tand、\\@c'),
        ("ada@example.org, `@x`, (@y), a @ b, ada@", "ada@example.org, `@x`, (@y), a @ b, ada@"),
        ("a /b", "a /b"),
        ("! ls", "! ls"),
        ("# @", "# @"),
        ("a\0b\ud800", "a\ufffdb?"),
    ],
)
def test_a_prompt_is_words_and_nothing_else(prompt: str, said: str) -> None:
    assert claude.spoken(prompt) == said
    assert claude.command(start(prompt=prompt), {}).stdin == said


@given(st.text(st.sampled_from("@/\\ab. \n。") | st.characters(), max_size=40))
def test_no_prompt_reads_a_file_or_runs_a_command(prompt: str) -> None:
    said = claude.spoken(prompt)
    assert claude.spoken(said) == said
    assert not re.search(r"(?:^|[\s\ufeff\u3001\u3002])@\S", said)
    assert not said.lstrip(" \n\t\ufeff").startswith("/")
    for mode in Mode:
        launch = claude.command(start(mode=mode, prompt=prompt), {})
        assert all("\0" not in word and word.encode() for word in launch.argv)


@pytest.mark.parametrize("prompt", ["doctor", "exit", "update\n"])
def test_a_single_word_is_no_command_of_the_program(prompt: str) -> None:
    assert argv(mode=Mode.OPEN, prompt=prompt)[-1] == f"{prompt.strip()}."
    assert claude.command(start(prompt=prompt), {}).stdin == prompt


def test_the_folder_that_is_written_to_is_the_one_that_the_program_is_told(tmp_path: Path) -> None:
    for named, told in (
        (f"{tmp_path}/one", None),
        (f"{tmp_path}/one, ~/two", f"{tmp_path}/one"),
        ("~/two", f"{tmp_path}/two"),
        ("three", f"{tmp_path}/project/three"),
        (" ,", None),
    ):
        env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": named}
        asked = start(project=tmp_path / "project")
        assert claude.command(asked, env).env == ({"CLAUDE_CONFIG_DIR": told} if told else {}), named
        path = claude.write(TALK, ID, asked.project, "", env).path
        kept_in = told or (named if named.startswith("/") else f"{tmp_path}/.claude")
        assert path.parents[2] == Path(kept_in), named


# Writing


def test_an_id_is_the_same_for_the_same_seed_and_a_uuid() -> None:
    assert claude.new_id("a") == claude.new_id("a") != claude.new_id("b")
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", ID)


def test_what_is_written_is_read_as_the_same_turns(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert said_in(path) == said_by(TALK)
    told = scan(claude_reader.read(source(path))).transcript
    assert (told.id, told.title, told.project) == (ID, "The ferry", "/home/ada/ferry")
    assert (told.branch, told.ending, told.parent) == ("feature-x", Ending.ENDED, "")
    assert claude_reader.recognise(path.read_bytes()[:4096])
    [found] = claude_reader.find({"HOME": str(tmp_path)}, ())
    assert found.path == str(path)


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<"), min_size=1).filter(
    str.strip
)
USES = st.builds(
    ToolUse,
    id=st.uuids().map(str),
    tool=st.text("abcXYZ_-09", min_size=1, max_size=64),
    arguments=st.dictionaries(st.text(), st.none() | st.integers(-9, 9) | st.text() | st.lists(st.text())),
    result=st.text(),
)
TIMES = st.none() | st.datetimes().map(lambda at: at.isoformat(timespec="microseconds") + "Z")
TURNS = st.lists(
    st.builds(Turn, speaker=st.just(PERSON), text=WORDS, at=TIMES)
    | st.builds(
        Turn, speaker=st.just(AGENT), text=WORDS, uses=st.lists(USES, max_size=3).map(tuple), at=TIMES
    ),
    min_size=1,
    max_size=8,
).map(tuple)


@given(TURNS)
def test_any_conversation_is_read_back(turns: tuple[Turn, ...]) -> None:
    with tempfile.TemporaryDirectory() as home:
        conversation = Conversation(turns=turns)
        assert said_in(written(Path(home), conversation)) == said_by(conversation)


@given(TURNS)
def test_every_record_follows_the_one_before_it_in_name_and_time(turns: tuple[Turn, ...]) -> None:
    found = records(Conversation(turns=turns), ID, "/x")
    assert [one["parentUuid"] for one in found] == [None, *(one["uuid"] for one in found[:-1])]
    times = [one["timestamp"] for one in found]
    assert times == sorted(set(times))
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", at) for at in times)
    known = [clock.parse(turn.at) for turn in turns if turn.at]
    assert clock.parse(times[-1]) <= max([*known, UNTIMED])


def test_each_block_is_a_record_and_those_of_one_answer_bear_one_id() -> None:
    found = [one["message"] for one in records(TALK, ID, "/x")[:-1]]
    assert [one["role"] for one in found] == (
        ["user", *["assistant"] * 3, *["user"] * 2, "assistant", "user", "user", "user", "assistant"]
    )
    ids = [one["id"] for one in found if one["role"] == "assistant"]
    assert ids[0] == ids[1] == ids[2] and len(set(ids)) == 3
    assert all(isinstance(one["content"], str) or len(one["content"]) == 1 for one in found)


def test_what_the_vendor_would_refuse_is_not_written() -> None:
    failed = ToolUse(id="c", tool="t", arguments={}, result=" \n", is_error=True)
    turns = (Turn(speaker=PERSON, text=" "), Turn(speaker=AGENT, text="\n", uses=(failed,)))
    call, result = records(Conversation(turns=turns), ID, "/x")
    assert call["message"]["content"][0]["type"] == "tool_use"
    assert result["message"]["content"][0]["content"] == NO_OUTPUT


def test_nothing_counts_as_used(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert not token_values.spends(source(path)).spends
    assert not token_scan.rows(found_from(source(path)))[0]
    assert scan(claude_reader.read(source(path))).transcript.model in (None, "")
    assert b'"usage"' not in path.read_bytes() and b"another-vendors-model" not in path.read_bytes()


def test_only_this_user_can_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = written(tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [item.name for item in path.parent.iterdir()] == [f"{ID}.jsonl"]


def test_a_second_time_changes_nothing_whatever_the_agent_has_added(tmp_path: Path) -> None:
    path = written(tmp_path)
    first = path.stat()
    assert written(tmp_path) == path
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (first.st_ino, first.st_mtime_ns)
    with path.open("ab") as file:
        file.write(b'{"type":"user"}\n')
    gone_on = path.read_bytes()
    written(tmp_path)
    assert path.read_bytes() == gone_on


def test_another_conversation_under_the_same_id_stays(tmp_path: Path) -> None:
    path = written(tmp_path)
    kept = path.read_bytes()
    with pytest.raises(AgentError, match="another conversation"):
        written(tmp_path, Conversation(turns=TALK.turns[:1]))
    assert path.read_bytes() == kept


@pytest.mark.parametrize(
    "conversation",
    [Conversation(title="x"), Conversation(turns=(Turn(speaker=PERSON, text="\ud800"),))],
    ids=["nothing", "no-text"],
)
def test_what_cannot_be_written_is_said(tmp_path: Path, conversation: Conversation) -> None:
    with pytest.raises(AgentError):
        written(tmp_path, conversation)
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_text("no folder")
    with pytest.raises(AgentError, match="cannot be written"):
        written(tmp_path)
    with pytest.raises(AgentError, match="HOME"):
        claude.write(TALK, ID, tmp_path, "", {})


def test_a_project_is_named_as_it_really_is(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    path = written(tmp_path, project=tmp_path / "link")
    assert path == written(tmp_path, project=tmp_path / "real")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/home/ada/a.b_c d-é", "-home-ada-a-b-c-d--"),
        ("/x/😀", "-x---"),
        ("/" + "z" * 199, "-" + "z" * 199),
        ("/tmp/work/" + "z" * 191, "-tmp-work-" + "z" * 190 + "-ljfnkt"),
        (
            "/tmp/work/" + "a" * 100 + "/" + "c.d_é" * 30,
            "-tmp-work-" + "a" * 100 + "-" + "c-d--" * 17 + "c-d--rrgneg",
        ),
    ],
)
def test_the_folder_of_a_project_has_the_name_that_the_program_gives_it(folder: str, name: str) -> None:
    # As the real program named them.
    assert folder_name(folder) == name


# Taking away


def test_a_transcript_that_segue_made_can_be_taken_away(tmp_path: Path) -> None:
    path = written(tmp_path)
    other = written(tmp_path, id=claude.new_id("another"))
    side = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    side.parent.mkdir(parents=True)
    side.write_text("{}\n")
    for _ in range(2):
        assert claude.discard(source(path), "", {"HOME": str(tmp_path)}) is None
    assert list(path.parent.iterdir()) == [other]


def test_nothing_else_is_taken_away(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    path = written(tmp_path)
    elsewhere = tmp_path / "elsewhere" / path.name
    deeper = path.parent / "deeper" / path.name
    kept = [
        path.with_name(f"{OWN}.jsonl"),
        path.with_name(f"{ID}.json"),
        path.with_name("agent-a1.jsonl"),
        elsewhere,
        deeper,
    ]
    for one in kept:
        one.parent.mkdir(exist_ok=True)
        one.write_bytes(path.read_bytes())
        with pytest.raises(AgentError, match="not made by Segue"):
            claude.discard(source(one), "", env)
    with pytest.raises(AgentError):
        claude.discard(source(path), "", {"HOME": str(tmp_path / "other")})
    around = f"{path.parent}/../../../elsewhere/{path.name}"
    with pytest.raises(AgentError):
        claude.discard(source(Path(around)), "", env)
    assert all(one.exists() for one in (path, *kept))


def test_what_a_link_leads_to_stays(tmp_path: Path) -> None:
    path = written(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "work").write_text("x")
    path.with_suffix("").symlink_to(tmp_path / "mine")
    claude.discard(source(path), "", {"HOME": str(tmp_path)})
    assert not path.exists() and (tmp_path / "mine" / "work").exists()


def test_it_can_be_handed_work_and_whole_conversations() -> None:
    assert agents.can_be_handed_work("claude")
    assert agents.writer("claude")
