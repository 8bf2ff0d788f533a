"""How OpenCode is started, and what is written for it to import: pure, and on disk."""

from __future__ import annotations

import json
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.agents.opencode import default_model, target
from segue.agents.opencode import reader as opencode_reader
from segue.agents.opencode import target as opencode
from segue.agents.opencode.default_model import Model
from segue.agents.shared.launch import Start
from segue.agents.shared.transcripts.index_scan import scan
from segue.errors import AgentError
from segue.model import Ending, EntryKind, Origin, Source
from segue.model.conversation import Conversation, Speaker, ToolUse, Turn
from segue.model.delivery import Mode

ID = opencode.new_id("handoff-1")
NOW = "2026-11-16T13:00:00.000000Z"
PROMPT = "# Handoff h-1\n\nGo on."
PROJECT = Path("/home/ada/ledger")

TALK = Conversation(
    title="Rounding",
    turns=(
        Turn(speaker=Speaker.PERSON, text="Find out why ünïcode 🙂 fails", at="2026-11-12T09:12:37.123456Z"),
        Turn(
            speaker=Speaker.AGENT,
            text="I look.",
            at="2026-11-12T09:13:00.000000Z",
            model="another-vendors-model",
            uses=(
                ToolUse(id="t1", tool="Bash", arguments={"command": "pytest -q"}, result="1 failed\n"),
                ToolUse(id="t2", tool="exec_command", arguments={}, result="No such file", is_error=True),
            ),
        ),
        Turn(speaker=Speaker.AGENT, uses=(ToolUse(id="t3", tool="Read", arguments={}, result=""),)),
        Turn(speaker=Speaker.AGENT, text="It rounds twice."),
        Turn(speaker=Speaker.PERSON, text="/only here"),
    ),
)


def start(**more: Any) -> Start:
    asked: dict[str, Any] = {"program": "/bin/opencode", "project": PROJECT, "mode": Mode.HEADLESS}
    return Start(**{**asked, "prompt": PROMPT, **more})


def argv(**more: Any) -> tuple[str, ...]:
    return opencode.command(start(**more), {}).argv


def env_of(env: dict[str, str], **more: Any) -> dict[str, Any]:
    """The variables that a start adds, with what is JSON in them read."""
    added = opencode.command(start(**more), env).env
    return {name: json.loads(value) if value.startswith("{") else value for name, value in added.items()}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home of somebody who has chosen a model."""
    settings(tmp_path / ".config" / "opencode" / "opencode.json", '{"model": "local/m1"}')
    return tmp_path


def settings(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def written(home: Path, conversation: Conversation = TALK, id: str = ID, now: str = NOW) -> Path:
    env = {"HOME": str(home)}
    return target.write(conversation, id, PROJECT, "/bin/opencode", env, now=lambda: now).path


def document(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def source(path: Path, part: str = "") -> Source:
    return Source(agent="opencode", path=str(path), part=part)


Said = list[tuple[Any, ...]]


def said_in(path: Path) -> Said:
    """What our reader finds: words, calls and results, in order."""
    found: Said = []
    for entry in opencode_reader.read(source(path)):
        match entry.kind:
            case EntryKind.PROMPT | EntryKind.REPLY:
                found.append((entry.origin, entry.text))
            case EntryKind.CALL:
                found.append((entry.call, entry.tool, json.loads(entry.text)))
            case EntryKind.RESULT:
                found.append((entry.call, entry.text, entry.is_error))
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


def test_a_headless_start_reads_the_prompt_from_stdin_as_it_stands() -> None:
    for prompt in (PROMPT, "-x", "/init", "@src", "!ls", '"all of it"'):
        launch = opencode.command(start(prompt=prompt, resume=ID, model="local/m1"), {})
        assert launch.stdin == prompt
        assert launch.argv == (
            *("/bin/opencode", "run", "--format", "json", "--print-logs", "--log-level", "ERROR"),
            *("--session", ID, "--model", "local/m1"),
        )


def test_it_is_told_the_folder_that_it_works_in(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert env_of({"PWD": "/elsewhere"}, project=tmp_path / "link")["PWD"] == str(tmp_path)


def test_nobody_is_asked_where_nobody_is_there() -> None:
    own = {"OPENCODE_PERMISSION": '{"question": "allow", "bash": "ask", "*": "allow"}'}
    narrowed = env_of(own)["OPENCODE_PERMISSION"]
    assert narrowed == {
        "bash": "ask",
        "*": "allow",
        "question": "deny",
        "plan_enter": "deny",
        "plan_exit": "deny",
    }
    assert list(narrowed)[-3:] == ["question", "plan_enter", "plan_exit"], "the last rule wins"
    assert "OPENCODE_PERMISSION" not in env_of(own, mode=Mode.OPEN)


@pytest.mark.parametrize("own", ["", "not JSON", '"allow"', "[]"])
def test_permissions_that_are_none_do_no_harm(own: str) -> None:
    assert env_of({"OPENCODE_PERMISSION": own})["OPENCODE_PERMISSION"]["question"] == "deny"


def test_a_question_is_answered_by_one_who_has_no_tools() -> None:
    own = {"OPENCODE_CONFIG_CONTENT": '{"model": "local/m1", "agent": {"mine": {}}}'}
    content = env_of(own, is_question=True)["OPENCODE_CONFIG_CONTENT"]
    assert (content["model"], list(content["agent"])) == ("local/m1", ["mine", target.ANSWERER])
    assert content["agent"][target.ANSWERER]["permission"] == {"*": "deny"}
    assert argv(is_question=True)[-2:] == ("--agent", target.ANSWERER)
    assert "OPENCODE_CONFIG_CONTENT" not in env_of(own)


def test_a_prompt_for_a_person_is_one_argument_that_no_option_can_be_read_from() -> None:
    launch = opencode.command(start(mode=Mode.OPEN, prompt="--auto", model="local/m1"), {})
    assert launch.argv == ("/bin/opencode", "--model", "local/m1", "--prompt=--auto")
    assert (launch.stdin, launch.env) == (None, {})


def test_what_is_said_in_a_session_of_before_is_said_on_the_screen_that_takes_it() -> None:
    assert argv(mode=Mode.OPEN, resume=ID) == (
        *("/bin/opencode", "--mini", "--session", ID),
        f"--prompt={PROMPT}",
    )


def test_where_the_person_is_to_speak_nothing_is_said_on_the_usual_screen() -> None:
    assert argv(mode=Mode.OPEN, prompt="", resume=ID) == ("/bin/opencode", "--session", ID)


@pytest.mark.parametrize("prompt", ["/init", '"all"', "'all'"])
def test_a_prompt_for_a_terminal_begins_with_nothing_that_means_something(prompt: str) -> None:
    assert argv(mode=Mode.OPEN, prompt=prompt)[-1] == f"--prompt=\n{prompt}"
    assert "\0" not in argv(mode=Mode.OPEN, prompt="a\0b")[-1]


def test_only_the_person_widens_what_it_may_do() -> None:
    for mode in Mode:
        assert not {"--auto", "--yolo", "--dangerously-skip-permissions"} & set(argv(mode=mode))
    assert "--auto" in argv(arguments=("--auto",))


# Writing


def test_what_is_written_is_read_back_turn_by_turn(home: Path) -> None:
    path = written(home)
    assert said_in(path) == said_by(TALK)
    found = scan(opencode_reader.read(source(path)))
    assert found.spends == (), "it counts as no usage"
    told = found.transcript
    assert (told.id, told.title, told.turns, told.calls) == (ID, "Rounding", 2, 3)


def test_the_program_is_to_import_it(home: Path) -> None:
    env = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data")}
    made = opencode.write(TALK, ID, PROJECT, "/bin/opencode", env)
    assert made.path == home / "data" / "opencode" / "segue" / f"{ID}.json"
    assert made.admit == ("/bin/opencode", "import", str(made.path))
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.path.parent.stat().st_mode) == 0o700
    assert list(opencode_reader.find(env, ())) == [], "a document that nobody has imported is no session"


def test_the_same_conversation_is_the_same_document(home: Path) -> None:
    path = written(home)
    before = path.read_bytes()
    assert written(home, now="2026-12-24T13:00:00.000000Z").read_bytes() == before
    assert opencode.new_id("handoff-1") == ID != opencode.new_id("handoff-2")


def test_ids_go_up_and_stay_below_whatever_the_program_adds(home: Path) -> None:
    messages = document(written(home))["messages"]
    ids = [id for message in messages for id in (message["info"]["id"], *(p["id"] for p in message["parts"]))]
    numbers = [id.partition("_")[2][:12] for id in ids]
    assert numbers == sorted(set(numbers))
    assert all(len(id.partition("_")[2]) == 26 and id.isascii() for id in ids)
    assert numbers[-1] < "000000100000", "the program's own count milliseconds"


def test_an_answer_belongs_to_what_was_asked_before_it(home: Path) -> None:
    infos = [message["info"] for message in document(written(home))["messages"]]
    assert {info["parentID"] for info in infos if info["role"] == "assistant"} == {infos[0]["id"]}


def test_the_model_is_the_persons_own_and_never_the_one_that_spoke_before(home: Path) -> None:
    infos = [message["info"] for message in document(written(home))["messages"]]
    asked = [info["model"] for info in infos if info["role"] == "user"]
    assert asked == [{"providerID": "local", "modelID": "m1"}] * 2
    spoke = [(info["providerID"], info["modelID"]) for info in infos if info["role"] == "assistant"]
    assert spoke[:2] == [("unknown", "another-vendors-model"), ("unknown", "unknown")]


@given(
    st.lists(st.sampled_from([None, "no time", "2026-11-12T09:00:00.000000Z", "2099-01-01T00:00:00.000000Z"]))
)
def test_times_never_go_back_and_never_lie_ahead(moments: list[str | None]) -> None:
    turns = tuple(Turn(speaker=Speaker.PERSON, text="Hello", at=at) for at in moments)
    made = target._Making(ID, "/", Model("local", "m1"), 1_794_834_000_000)
    session = made.session(Conversation(turns=turns))
    times = [message["info"]["time"]["created"] for message in session["messages"]]
    assert times == sorted(times)
    assert all(0 < time <= 1_794_834_000_000 for time in times)
    assert session["info"]["time"]["created"] > 0


def test_a_conversation_without_a_title_has_its_first_words(home: Path) -> None:
    talk = Conversation(turns=(Turn(speaker=Speaker.PERSON, text="One\n two " + "x" * 100),))
    assert document(written(home, talk))["info"]["title"] == "One two …"
    assert document(written(home, Conversation()))["info"]["title"] == "Handoff"


def test_a_conversation_without_times_can_be_written(home: Path) -> None:
    turns = (Turn(speaker=Speaker.PERSON, text="Hello"), Turn(speaker=Speaker.AGENT, text="Hi"))
    found = scan(opencode_reader.read(source(written(home, Conversation(turns=turns))))).transcript
    assert (found.turns, found.ending) == (1, Ending.ENDED)


@pytest.mark.parametrize("id", ["", "../../x", "ses_1", ID + "\n", ID.replace("ses", "msg")])
def test_an_id_of_another_kind_is_refused(home: Path, id: str) -> None:
    with pytest.raises(AgentError, match="not a session id"):
        written(home, id=id)


def test_without_a_place_nothing_is_written(home: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(home / ".config")}
    with pytest.raises(AgentError, match="HOME"):
        opencode.write(TALK, ID, PROJECT, "opencode", env)
    (home / ".local").write_text("a file")
    with pytest.raises(AgentError, match="cannot be written"):
        written(home)


# The model of the person's choice


def chosen(home: Path, project: Path = PROJECT, **env: str) -> str:
    found = default_model.model_of_choice(project, {"HOME": str(home), **env})
    return f"{found.provider_id}/{found.model_id}"


def test_settings_win_in_the_programs_own_order(tmp_path: Path) -> None:
    project = tmp_path / "repository" / "part"
    state = tmp_path / ".local" / "state" / "opencode" / "model.json"
    settings(
        state, '{"recent": [{"providerID": "p", "modelID": "recent"}, {"providerID": "q", "modelID": "x"}]}'
    )
    assert chosen(tmp_path, project) == "p/recent"
    steps = {
        ".config/opencode/config.json": "p/general-old",
        ".config/opencode/opencode.json": "p/general",
        ".config/opencode/opencode.jsonc": "p/general-c",
    }
    for place, model in steps.items():
        settings(tmp_path / place, json.dumps({"model": model}))
        assert chosen(tmp_path, project) == model
    settings(tmp_path / "named.json", '{"model": "p/named"}')
    assert chosen(tmp_path, project, OPENCODE_CONFIG=str(tmp_path / "named.json")) == "p/named"
    steps = {
        "repository/opencode.json": "p/repository",
        "repository/part/opencode.jsonc": "p/part",
        "repository/.opencode/opencode.json": "p/folder",
    }
    for place, model in steps.items():
        settings(tmp_path / place, json.dumps({"model": model}))
        assert chosen(tmp_path, project, OPENCODE_CONFIG=str(tmp_path / "named.json")) == model
    settings(tmp_path / "own" / "opencode.json", '{"model": "p/own"}')
    assert chosen(tmp_path, project, OPENCODE_CONFIG_DIR=str(tmp_path / "own")) == "p/own"
    assert chosen(tmp_path, project, OPENCODE_CONFIG_CONTENT='{"model": "p/a/b"}') == "p/a/b"


def test_settings_may_have_comments_and_a_comma_too_many(home: Path) -> None:
    content = """{
      // "model": "p/line",
      "$schema": "https://opencode.ai/config.json", /* "model": "p/block", */
      "provider": {"p": {"options": {"apiKey": "sk-canary, }"}, "models": {"m": {},},}},
      "model": "p//*m", // this
    }"""
    settings(home / ".config" / "opencode" / "opencode.jsonc", content)
    assert chosen(home) == "p//*m"
    assert "canary" not in written(home).read_text(), "nothing else of the settings is passed on"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"model": 5}',
        '{"model": "plain"}',
        "{" * 5000,
        "/*" * 100_000,
        '"\\"' * 100_000,
        "\xff\0",
    ],
)
def test_settings_that_are_none_are_passed_over(home: Path, content: str) -> None:
    settings(home / ".config" / "opencode" / "opencode.jsonc", content)
    settings(home / ".local" / "state" / "opencode" / "model.json", content)
    assert chosen(home, OPENCODE_CONFIG_CONTENT=content.replace("\0", "")) == "local/m1"


def database(home: Path, *rows: tuple[str, str, int, str]) -> Path:
    """OpenCode's own, with sessions: id, slug, when it was last used, on which model."""
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as made, made:
        made.executescript(
            "create table session (id, slug, time_created, time_updated, model);"
            "create table message (id, session_id, time_created, time_updated, data);"
            "create table part (id, message_id, session_id, time_created, time_updated, data);"
        )
        made.executemany("insert into session values (?, ?, 1, ?, ?)", rows)
    return path


def test_else_it_is_the_model_that_was_used_last(tmp_path: Path) -> None:
    used = [json.dumps({"id": name, "providerID": "p", "variant": "default"}) for name in ("old", "new")]
    database(tmp_path, ("ses_1", "a", 5, used[0]), ("ses_2", "b", 9, used[1]))
    assert chosen(tmp_path) == "p/new"


def test_where_nothing_names_a_model_nothing_is_written(tmp_path: Path) -> None:
    database(tmp_path, ("ses_1", "a", 5, "null"))
    with pytest.raises(AgentError, match="name a model"):
        written(tmp_path)
    assert not (tmp_path / ".local" / "share" / "opencode" / "segue").exists()


# Taking away


def test_a_session_is_taken_away_by_the_program_itself(home: Path) -> None:
    env = {"HOME": str(home)}
    path = database(home, (ID, document(written_apart(home))["info"]["slug"], 5, "null"))
    left = written(home)
    launch = opencode.discard(source(path, ID), "/bin/opencode", env)
    assert launch and launch.argv == ("/bin/opencode", "session", "delete", ID)
    assert not left.exists()


def written_apart(home: Path) -> Path:
    settings(home / "apart" / ".config" / "opencode" / "opencode.json", '{"model": "local/m1"}')
    return written(home / "apart")


def test_what_is_gone_needs_no_program(home: Path) -> None:
    env = {"HOME": str(home)}
    left = written(home)
    assert opencode.discard(source(home / "opencode.db", ID), "opencode", env) is None
    assert not left.exists(), "the document goes, whatever became of the session"
    path = database(home, ("ses_other", "segue-x", 5, "null"))
    assert opencode.discard(source(path, ID), "opencode", env) is None


def test_what_segue_has_not_made_is_not_taken_away(home: Path) -> None:
    path = database(home, (ID, "calm-mountain", 5, "null"))
    with pytest.raises(AgentError, match="not made by Segue"):
        opencode.discard(source(path, ID), "opencode", {"HOME": str(home)})
    with pytest.raises(AgentError, match="not a session of OpenCode"):
        opencode.discard(source(path, "--help"), "opencode", {"HOME": str(home)})
