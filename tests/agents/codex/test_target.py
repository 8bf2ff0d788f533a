"""How Codex is started, and what is written for it to go on with: pure, and on disk."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from segue import agents
from segue.agents.codex import reader as codex_reader
from segue.agents.codex import target as codex
from segue.agents.codex.target import FAILED, MAKER, UNTIMED
from segue.agents.shared.launch import Start
from segue.agents.shared.transcripts.index_scan import scan
from segue.errors import AgentError
from segue.model import Ending, EntryKind, Origin, Source
from segue.model.conversation import Conversation, Speaker, ToolUse, Turn
from segue.model.delivery import Mode

ID = codex.new_id("handoff-1")
AT = "2026-11-12T09:12:37.123456Z"
PROMPT = "# Handoff h-1\n\nGo on."

TALK = Conversation(
    branch="feature-x",
    turns=(
        Turn(speaker=Speaker.PERSON, text="Find out why ünïcode 🙂 fails", at=AT),
        Turn(
            speaker=Speaker.AGENT,
            text="I look.",
            at="2026-11-12T09:13:00.000000Z",
            model="another-vendors-model",
            uses=(
                ToolUse(id="toolu_1", tool="Bash", arguments={"command": "pytest -q"}, result="1 failed\n"),
                ToolUse(id="toolu_2", tool="Edit", arguments={}, result="No such file", is_error=True),
            ),
        ),
        Turn(speaker=Speaker.AGENT, uses=(ToolUse(id="t3", tool="Read", arguments={}, result=""),)),
        Turn(speaker=Speaker.AGENT, text="It rounds twice."),
        Turn(speaker=Speaker.PERSON, text="<environment_context>only quoted</environment_context>"),
    ),
)


def start(**more: Any) -> Start:
    asked: dict[str, Any] = {"program": "/bin/codex", "project": Path("/nowhere"), "mode": Mode.HEADLESS}
    return Start(**{**asked, "prompt": PROMPT, **more})


def argv(**more: Any) -> tuple[str, ...]:
    return codex.command(start(**more), {}).argv


def written(home: Path, conversation: Conversation = TALK, id: str = ID) -> Path:
    env = {"HOME": str(home)}
    return codex.write(conversation, id, Path("/home/ada/ledger"), "/bin/codex", env).path


def source(path: Path) -> Source:
    return Source(agent="codex", path=str(path))


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


Said = list[tuple[Any, ...]]


def said_in(path: Path) -> Said:
    """What our reader finds: words, calls and results, in order."""
    found: Said = []
    for entry in codex_reader.read(source(path)):
        match entry.kind:
            case EntryKind.PROMPT | EntryKind.REPLY:
                found.append((entry.origin, entry.text))
            case EntryKind.CALL:
                found.append((entry.call, entry.tool, json.loads(entry.text)))
            case EntryKind.RESULT:
                found.append((entry.call, entry.text.removeprefix(FAILED), entry.is_error))
    return found


def said_by(conversation: Conversation) -> Said:
    found: Said = []
    for turn in conversation.turns:
        origin = Origin.HUMAN if turn.speaker is Speaker.PERSON else Origin.ASSISTANT
        found += [(origin, turn.text)] if turn.text else []
        for use in turn.uses:
            found += [(use.id, use.tool, use.arguments), (use.id, use.result, use.is_error)]
    return found


# Starting


def test_a_headless_start_reads_the_prompt_from_stdin() -> None:
    launch = codex.command(start(model="gpt-5.6-sol"), {})
    assert launch.stdin == PROMPT
    assert launch.argv == (
        "/bin/codex",
        "exec",
        "--json",
        "--skip-git-repo-check",
        "-m",
        "gpt-5.6-sol",
        "-",
    )
    assert launch.env == {}


def test_options_stand_before_resume_where_every_version_takes_them() -> None:
    assert argv(resume=ID, model="m")[4:] == ("-m", "m", "resume", ID, "-")


def test_a_prompt_for_a_person_is_one_argument_after_all_options() -> None:
    launch = codex.command(start(mode=Mode.OPEN, resume=ID, model="m"), {})
    assert launch.argv == ("/bin/codex", "resume", ID, "-m", "m", "--", PROMPT)
    assert launch.stdin is None


@pytest.mark.parametrize("prompt", ["-x", "--help", "/compact", "@file", "exec", "- a\n- b"])
def test_a_prompt_is_never_an_option_or_a_command(prompt: str) -> None:
    assert argv(mode=Mode.OPEN, prompt=prompt)[-2:] == ("--", prompt)


def test_a_prompt_for_a_terminal_never_begins_with_what_runs_a_command() -> None:
    assert argv(mode=Mode.OPEN, prompt="!rm -r x")[-1] == "\n!rm -r x"
    assert codex.command(start(prompt="!rm -r x"), {}).stdin == "!rm -r x"
    assert "\0" not in argv(mode=Mode.OPEN, prompt="a\0b")[-1]


def test_where_the_person_is_to_speak_nothing_is_said() -> None:
    assert argv(mode=Mode.OPEN, prompt="") == ("/bin/codex",)


@pytest.mark.parametrize("is_file", [False, True])
def test_the_check_for_a_repository_is_left_in_place_where_there_is_one(
    tmp_path: Path, *, is_file: bool
) -> None:
    project = tmp_path / "a" / "b"
    project.mkdir(parents=True)
    assert "--skip-git-repo-check" in argv(project=project)
    git = tmp_path / ".git"
    git.write_text("gitdir: elsewhere\n") if is_file else git.mkdir()
    assert "--skip-git-repo-check" not in argv(project=project)


@pytest.mark.parametrize("mode", Mode)
def test_a_question_changes_nothing_and_asks_for_no_approval(mode: Mode) -> None:
    line = " ".join(argv(mode=mode, is_question=True))
    assert "-s read-only" in line and 'approval_policy="never"' in line
    assert "read-only" not in " ".join(argv(mode=mode))


def test_a_question_starts_none_of_the_servers_that_the_person_has_set_up(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    env = {"CODEX_HOME": str(tmp_path)}

    def switched_off() -> list[str]:
        words = codex.command(start(is_question=True), env).argv
        return [word for word in words if word.startswith("mcp_servers.")]

    assert switched_off() == []
    config.write_text(
        '[mcp_servers.b]\nurl = "http://x"\n[mcp_servers.a-1]\ncommand = "x"\n'
        '[mcp_servers.half]\nenabled = true\n[mcp_servers."c.d=1"]\ncommand = "x"\n'
    )
    assert switched_off() == ["mcp_servers.a-1.enabled=false", "mcp_servers.b.enabled=false"]
    assert not [word for word in codex.command(start(), env).argv if "mcp_servers" in word]
    for broken in (b"\xff", b"mcp_servers = 3", b"[mcp_servers", b"mcp_servers.a = 1"):
        config.write_bytes(broken)
        assert switched_off() == []


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("is_question", [False, True])
def test_no_permission_is_widened_unless_the_person_did(mode: Mode, *, is_question: bool) -> None:
    asked = {"mode": mode, "is_question": is_question, "resume": ID, "model": "m"}
    wide = ("--dangerously", "--full-auto", "--yolo", "--approve", "workspace-write", "danger-full-access")
    assert not [word for word in argv(**asked) if word.startswith(wide)]
    given = argv(**asked, arguments=("-c", "x=1"))
    assert given[given.index("x=1") - 1] == "-c" and given.index("x=1") < len(given) - 1


# Writing


def test_a_seed_always_gives_the_same_id_and_another_seed_another() -> None:
    assert codex.new_id("a") == codex.new_id("a") != codex.new_id("b")
    assert len(codex.new_id("")) == 36


def test_it_can_be_given_a_whole_conversation() -> None:
    assert agents.can_be_handed_work("codex")
    assert agents.writer("codex") is not None


def test_what_is_written_is_found_and_read_back_as_it_was_said(tmp_path: Path) -> None:
    path = written(tmp_path)
    [found] = codex_reader.find({"HOME": str(tmp_path)}, [])
    assert found.path == str(path)
    assert said_in(path) == said_by(TALK)
    told = scan(codex_reader.read(found))
    assert (told.unknown, told.transcript.broken) == ({}, 0)
    transcript = told.transcript
    assert (transcript.id, transcript.project, transcript.branch) == (ID, "/home/ada/ledger", "feature-x")
    assert (transcript.turns, transcript.calls, transcript.errors) == (2, 3, 1)
    assert (transcript.started_at, transcript.ending) == (AT, Ending.OPEN)


def test_what_was_spent_elsewhere_is_not_counted_again(tmp_path: Path) -> None:
    found = scan(codex_reader.read(source(written(tmp_path))))
    assert found.spends == () and found.reports == ()
    assert found.transcript.context_tokens is None


def test_nothing_that_codex_would_take_up_again_is_written(tmp_path: Path) -> None:
    content = written(tmp_path).read_text()
    taken_up = ("another-vendors-model", "turn_context", "sandbox", "approval")
    assert [word for word in taken_up if word in content] == []


def test_the_history_is_paginated_so_that_codex_records_the_commands_of_code_mode(tmp_path: Path) -> None:
    found = records(written(tmp_path))
    assert found[0]["payload"]["history_mode"] == "paginated"
    assert [record["ordinal"] for record in found] == list(range(len(found)))


def test_every_message_is_shown_in_the_task_that_it_is_part_of(tmp_path: Path) -> None:
    events = [record["payload"] for record in records(written(tmp_path)) if record["type"] == "event_msg"]
    shown = [(event["type"], event["turn_id"], event.get("item", {}).get("type")) for event in events]
    assert shown == [
        ("task_started", "turn-1", None),
        ("item_completed", "turn-1", "UserMessage"),
        ("item_completed", "turn-1", "AgentMessage"),
        ("item_completed", "turn-1", "AgentMessage"),
        ("task_complete", "turn-1", None),
        ("task_started", "turn-5", None),
        ("item_completed", "turn-5", "UserMessage"),
        ("task_complete", "turn-5", None),
    ]
    ids = [event["item"]["id"] for event in events if "item" in event]
    assert len(set(ids)) == len(ids)


def test_a_call_comes_with_its_result_under_one_id(tmp_path: Path) -> None:
    items = [one["payload"] for one in records(written(tmp_path)) if one["type"] == "response_item"]
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    assert calls == ["toolu_1", "toolu_2", "t3"]
    assert calls == [item["call_id"] for item in items if item["type"] == "function_call_output"]
    assert [item["type"] for item in items[2:6]] == ["function_call", "function_call_output"] * 2


def test_a_failure_is_told_in_the_output_once(tmp_path: Path) -> None:
    uses = (
        ToolUse(id="a", tool="T", arguments={}, result="nothing there", is_error=True),
        ToolUse(id="b", tool="T", arguments={}, result=f"{FAILED}nothing there", is_error=True),
    )
    talk = Conversation(turns=(Turn(speaker=Speaker.AGENT, uses=uses),))
    outputs = [
        one["payload"]["output"]
        for one in records(written(tmp_path, talk))
        if one["payload"].get("type") == "function_call_output"
    ]
    assert outputs == [f"{FAILED}nothing there"] * 2


def test_it_is_put_where_codex_looks_under_the_time_of_the_first_turn(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert path == tmp_path / ".codex/sessions/2026/11/12" / f"rollout-2026-11-12T09-12-37-{ID}.jsonl"
    other = tmp_path / "elsewhere"
    env = {"HOME": str(tmp_path), "CODEX_HOME": str(other)}
    assert codex.write(TALK, ID, tmp_path, "", env).path.is_relative_to(other / "sessions")


@pytest.mark.parametrize("at", [None, "", "yesterday"])
def test_a_conversation_without_times_is_written_all_the_same(tmp_path: Path, at: str | None) -> None:
    talk = Conversation(turns=(Turn(speaker=Speaker.PERSON, text="Go on", at=at),))
    path = written(tmp_path, talk)
    assert said_in(path) == said_by(talk)
    assert {one["timestamp"] for one in records(path)} == {UNTIMED}


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_written_again_it_stays_as_it_is(tmp_path: Path) -> None:
    path = written(tmp_path)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    assert written(tmp_path) == path
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_what_codex_has_added_since_is_never_lost(tmp_path: Path) -> None:
    path = written(tmp_path)
    with path.open("a") as file:
        file.write('{"type":"event_msg","payload":{}}\n')
    before = path.read_bytes()
    assert written(tmp_path) == path
    assert path.read_bytes() == before
    later = Turn(speaker=Speaker.PERSON, text="Another", at="2026-11-13T00:00:00.000000Z")
    with pytest.raises(AgentError, match="another conversation"):
        written(tmp_path, Conversation(turns=(later,)))
    assert [path] == list(tmp_path.rglob("rollout-*")) and path.read_bytes() == before


def compressed(path: Path) -> Path:
    """What Codex makes of a rollout that was not used for a while."""
    small = path.with_name(path.name + ".zst")
    small.write_bytes(zstandard.compress(path.read_bytes()))
    path.unlink()
    return small


def test_what_codex_compressed_since_is_not_written_beside_it(tmp_path: Path) -> None:
    small = compressed(written(tmp_path))
    assert written(tmp_path) == small
    later = Turn(speaker=Speaker.PERSON, text="Another", at="2026-11-13T00:00:00.000000Z")
    with pytest.raises(AgentError, match="another conversation"):
        written(tmp_path, Conversation(turns=(later,)))
    small.write_bytes(b"no Zstandard frame")
    with pytest.raises(AgentError, match="another conversation"):
        written(tmp_path)
    assert [small] == list(tmp_path.rglob("rollout-*"))


def test_without_a_home_nothing_is_written(tmp_path: Path) -> None:
    for env in ({}, {"HOME": ""}, {"CODEX_HOME": "a\0b"}):
        with pytest.raises(AgentError, match="CODEX_HOME"):
            codex.write(TALK, ID, tmp_path, "", env)


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / ".codex").write_text("a file")
    with pytest.raises(AgentError, match="cannot be written"):
        written(tmp_path)


def test_what_is_no_text_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="not valid text"):
        written(tmp_path, Conversation(turns=(Turn(speaker=Speaker.PERSON, text="\ud800"),)))
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_a_project_is_written_down_as_codex_sees_it_from_inside(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    path = codex.write(TALK, ID, tmp_path / "link", "", {"HOME": str(tmp_path)}).path
    assert records(path)[0]["payload"]["cwd"] == str((tmp_path / "real").resolve())


def test_an_id_that_is_none_is_refused(tmp_path: Path) -> None:
    for id in ("", "../../x", "*", ID.upper()):
        with pytest.raises(AgentError, match="not a session id"):
            written(tmp_path, TALK, id)


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
NAMES = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    turns: list[Turn] = []
    for number in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            turns.append(Turn(speaker=Speaker.PERSON, text=draw(WORDS)))
            continue
        uses = tuple(
            ToolUse(
                id=f"c{number}-{position}",
                tool=draw(NAMES),
                arguments=draw(st.dictionaries(WORDS, VALUES, max_size=3)),
                result=draw(WORDS),
                is_error=draw(st.booleans()),
            )
            for position in range(draw(st.integers(0, 3)))
        )
        text = draw(WORDS) if not uses or draw(st.booleans()) else ""
        turns.append(Turn(speaker=Speaker.AGENT, text=text, uses=uses))
    return Conversation(turns=tuple(turns))


@given(talk=conversations())
def test_any_conversation_is_read_back_as_it_was_said(
    talk: Conversation, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = written(tmp_path_factory.mktemp("home"), talk)
    assert said_in(path) == said_by(talk)


# Taking away


def test_what_was_written_is_taken_away_and_nothing_else(tmp_path: Path) -> None:
    path, other = written(tmp_path), written(tmp_path, TALK, codex.new_id("other"))
    assert codex.discard(source(path), "", {"HOME": str(tmp_path)}) is None
    assert not path.exists() and other.exists()
    assert codex.discard(source(path), "", {"HOME": str(tmp_path)}) is None


def test_what_codex_compressed_since_is_taken_away_by_either_name(tmp_path: Path) -> None:
    path = written(tmp_path)
    for name in (path, path.with_name(path.name + ".zst")):
        small = compressed(written(tmp_path))
        assert codex.discard(source(name), "", {"HOME": str(tmp_path)}) is None
        assert not small.exists()
        assert codex.discard(source(name), "", {"HOME": str(tmp_path)}) is None
    small = compressed(written(tmp_path))
    small.write_bytes(b"no Zstandard frame")
    with pytest.raises(AgentError, match="cannot be decompressed"):
        codex.discard(source(small), "", {"HOME": str(tmp_path)})
    assert small.exists()


def test_a_session_that_codex_made_itself_is_never_taken_away(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_text(path.read_text().replace(f'"originator":"{MAKER}"', '"originator":"codex_exec"'))
    with pytest.raises(AgentError, match="not made by Segue"):
        codex.discard(source(path), "", {"HOME": str(tmp_path)})
    assert path.exists()


@pytest.mark.parametrize("content", [b"", b"\xff\n", b"[1]\n", b'{"payload": 3}\n', b"[" * 5000])
def test_a_file_that_tells_nothing_of_itself_stays(tmp_path: Path, content: bytes) -> None:
    path = written(tmp_path)
    path.write_bytes(content)
    with pytest.raises(AgentError, match="not made by Segue"):
        codex.discard(source(path), "", {"HOME": str(tmp_path)})
    assert path.exists()


def test_nothing_outside_its_sessions_is_taken_away(tmp_path: Path) -> None:
    path = written(tmp_path / "a")
    outside = tmp_path / path.name
    outside.write_bytes(path.read_bytes())
    (tmp_path / "a/.codex/sessions/link").symlink_to(tmp_path)
    named = path.with_name("rollout.jsonl")
    named.write_bytes(path.read_bytes())
    for wrong in (outside, tmp_path / "a/.codex/sessions/link" / path.name, named):
        with pytest.raises(AgentError, match="not a session of Codex"):
            codex.discard(source(wrong), "", {"HOME": str(tmp_path / "a")})
    assert outside.exists() and named.exists()


def test_a_file_of_another_session_is_not_taken_for_this_one(tmp_path: Path) -> None:
    path = written(tmp_path)
    renamed = path.with_name(path.name.replace(ID, codex.new_id("other")))
    path.rename(renamed)
    with pytest.raises(AgentError, match="not made by Segue"):
        codex.discard(source(renamed), "", {"HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("config", "provider"),
    [
        ("", "openai"),
        ('model_provider = "local"', "local"),
        ('profile = "p"\nmodel_provider = "a"\n[profiles.p]\nmodel_provider = "b"', "b"),
        ("not toml [", "openai"),
        ("model_provider = 5", "openai"),
    ],
)
def test_the_persons_own_provider_is_named(tmp_path: Path, config: str, provider: str) -> None:
    home = tmp_path / ".codex"
    home.mkdir()
    (home / "config.toml").write_text(config)
    id = codex.new_id("x")
    written = codex.write(TALK, id, tmp_path, "codex", {"HOME": str(tmp_path)})
    assert json.loads(written.path.read_text().splitlines()[0])["payload"]["model_provider"] == provider
