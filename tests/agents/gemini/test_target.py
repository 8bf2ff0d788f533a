"""How Gemini CLI is started, and what is written for it to go on with: pure, and on disk."""

from __future__ import annotations

import hashlib
import json
import re
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.agents.gemini import reader as gemini_reader
from segue.agents.gemini import target as gemini
from segue.agents.gemini.target import MAKER, NO_TOOLS
from segue.agents.shared.launch import Start
from segue.agents.shared.transcripts.index_scan import scan
from segue.errors import AgentError
from segue.model import Ending, EntryKind, Origin, Source
from segue.model.conversation import Conversation, Speaker, ToolUse, Turn
from segue.model.delivery import Mode

ID = gemini.new_id("handoff-1")
PROMPT = "# Handoff h-1\n\nGo on."
REFERENCE = re.compile(r'(?<!\\)@(?:(?:"(?:[^"]*)")|(?:\\.|[^ \t\n\r,;!?()\[\]{}.]|\.(?!$|[ \t\n\r])))+')
"""What the program takes for a reference to a file."""
OWN_WORDS = [
    "/rewind is what broke it",
    "? what now",
    " \n/help",
    "<session_context>\nquoted\n</session_context>",
    "<hook_context>quoted",
    "<hook_context>quoted</hook_context>",
    "<hook_context>quoted</hook_context>\n\nand asked about",
    "<system-reminder>quoted",
    "--- Content from referenced files ---\nquoted",
    "Fix it\n--- Content from referenced files ---\nquoted",
    "I ran the following shell command:\n```sh\nls\n```",
]
"""What a person may well have typed, and the program, or our reader, would take for something else."""

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
        *(Turn(speaker=Speaker.PERSON, text=text) for text in OWN_WORDS),
    ),
)


def start(**more: Any) -> Start:
    asked: dict[str, Any] = {"program": "/bin/gemini", "project": Path("/nowhere"), "mode": Mode.HEADLESS}
    return Start(**{**asked, "prompt": PROMPT, **more})


def argv(**more: Any) -> tuple[str, ...]:
    return gemini.command(start(**more), {}).argv


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "My Ledger_2"
    folder.mkdir(parents=True)
    return folder


def written(home: Path, project: Path, conversation: Conversation = TALK, id: str = ID) -> Path:
    return gemini.write(conversation, id, project, "/bin/gemini", {"HOME": str(home)}).path


def source(path: Path) -> Source:
    return Source(agent="gemini", path=str(path))


Said = list[tuple[Any, ...]]


def said_in(path: Path) -> Said:
    """What our reader finds: words, calls and results, in order."""
    found: Said = []
    for entry in gemini_reader.read(source(path)):
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
        found += [(use.id, use.tool, use.arguments) for use in turn.uses]
        found += [(use.id, use.result, use.is_error) for use in turn.uses]
    return found


# Starting


def test_a_headless_start_reads_the_prompt_from_stdin() -> None:
    launch = gemini.command(start(model="gemini-3-pro", resume=ID), {})
    assert launch.argv == (
        *("/bin/gemini", "--resume", ID, "--model", "gemini-3-pro"),
        *("--output-format", "stream-json"),
    )
    assert (launch.stdin, launch.env) == (PROMPT, {})


def test_a_new_transcript_is_told_its_id_and_a_resumed_one_is_not() -> None:
    assert argv(id=ID)[1:3] == ("--session-id", ID)
    assert "--session-id" not in argv(id=ID, resume=ID)


def test_a_prompt_for_a_person_is_one_argument_that_no_option_can_be_read_from() -> None:
    launch = gemini.command(start(mode=Mode.OPEN, resume=ID, prompt="--yolo"), {})
    assert launch.argv == ("/bin/gemini", "--resume", ID, "--prompt-interactive=--yolo")
    assert launch.stdin is None


def test_where_the_person_is_to_speak_nothing_is_said() -> None:
    assert argv(mode=Mode.OPEN, prompt="") == ("/bin/gemini",)


def test_only_the_person_widens_what_it_may_do() -> None:
    for mode in Mode:
        assert not {"--yolo", "-y", "--approval-mode", "--skip-trust"} & set(argv(mode=mode))
    assert "--yolo" in argv(arguments=("--yolo",))


def test_a_question_is_answered_without_tools() -> None:
    assert argv(is_question=True)[1:3] == ("--policy", str(NO_TOOLS))
    assert 'toolName = "*"\ndecision = "deny"' in NO_TOOLS.read_text()


@given(st.text(alphabet=st.sampled_from('@\\/ \n\t."a-_,;!?()[]{}é')))
def test_nothing_that_is_said_refers_to_a_file_or_is_a_command(prompt: str) -> None:
    said = gemini.spoken(prompt)
    assert not REFERENCE.search(said)
    assert not said.strip().startswith("/")
    assert gemini.spoken(said) == said
    assert said.replace("\\@", "@").replace("\\/", "/", 1) == prompt.replace("\\@", "@").replace(
        "\\/", "/", 1
    )


def test_a_prompt_without_such_words_is_said_as_it_stands() -> None:
    plain = "# Handoff\n\nsrc/a.py, a / b, @ home, a@ b, \\@escaped, !x, é 🙂\n"
    assert gemini.spoken(plain) == plain
    assert gemini.spoken("mail a@b.org about @src") == "mail a\\@b.org about \\@src"
    assert "\0" not in argv(mode=Mode.OPEN, prompt="a\0b")[-1]


# Writing


def test_what_is_written_is_read_back_turn_by_turn(tmp_path: Path, project: Path) -> None:
    path = written(tmp_path, project)
    assert said_in(path) == said_by(TALK)
    found = scan(gemini_reader.read(source(path))).transcript
    assert (found.id, found.title, found.project) == (ID, "Rounding", str(project))
    assert found.turns == 1 + len(OWN_WORDS)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])).filter(str.strip))
def test_whatever_the_person_typed_is_read_back_as_theirs(text: str) -> None:
    talk = Conversation(turns=(Turn(speaker=Speaker.PERSON, text=text),))
    with tempfile.TemporaryDirectory() as home:
        assert said_in(written(Path(home), Path(home), talk)) == [(Origin.HUMAN, text)]


def test_a_result_belongs_to_its_call(tmp_path: Path, project: Path) -> None:
    found = list(gemini_reader.read(source(written(tmp_path, project))))
    calls = {entry.call: entry.id for entry in found if entry.kind is EntryKind.CALL}
    results = {entry.call: entry.parent for entry in found if entry.kind is EntryKind.RESULT}
    assert results == calls


def test_it_counts_as_no_usage(tmp_path: Path, project: Path) -> None:
    assert scan(gemini_reader.read(source(written(tmp_path, project)))).spends == ()


def test_a_message_that_the_program_would_leave_out_is_marked_as_no_thought(
    tmp_path: Path, project: Path
) -> None:
    records = [json.loads(line) for line in written(tmp_path, project).read_text().splitlines()]
    marked = [record["content"][0] for record in records if "thought" in str(record.get("content"))]
    assert marked == [{"text": text, "thought": False} for text in OWN_WORDS[:7]]


def test_it_is_found_where_the_program_looks_for_it(tmp_path: Path, project: Path) -> None:
    path = written(tmp_path, project)
    assert path == tmp_path.joinpath(
        *(".gemini", "tmp", "my-ledger-2", "chats", f"session-2026-11-12T09-12-{ID}.jsonl")
    )
    assert [one.path for one in gemini_reader.find({"HOME": str(tmp_path)}, ())] == [str(path)]
    about = json.loads(path.read_text().splitlines()[0])
    assert about["projectHash"] == hashlib.sha256(str(project).encode()).hexdigest()
    assert "lastUpdated" not in about, "the program would clear it away for its age"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_it_goes_to_the_home_that_the_program_was_given(tmp_path: Path, project: Path) -> None:
    env = {"HOME": "/nonexistent", "GEMINI_CLI_HOME": str(tmp_path)}
    assert gemini.write(TALK, ID, project, "gemini", env).path.is_relative_to(tmp_path / ".gemini")
    with pytest.raises(AgentError, match="HOME"):
        gemini.write(TALK, ID, project, "gemini", {})


def test_the_same_conversation_is_the_same_file(tmp_path: Path, project: Path) -> None:
    first, second = written(tmp_path / "a", project), written(tmp_path / "b", project)
    assert first.read_bytes() == second.read_bytes()
    assert first.relative_to(tmp_path / "a") == second.relative_to(tmp_path / "b")
    assert gemini.new_id("handoff-1") == ID != gemini.new_id("handoff-2")


def test_a_second_writing_leaves_what_the_agent_has_added(tmp_path: Path, project: Path) -> None:
    path = written(tmp_path, project)
    with path.open("a") as file:
        file.write('{"$set":{"lastUpdated":"2026-11-12T10:00:00.000Z"}}\n')
    before = path.read_bytes()
    assert written(tmp_path, project) == path
    assert path.read_bytes() == before


def test_another_conversation_is_not_written_over(tmp_path: Path, project: Path) -> None:
    path = written(tmp_path, project)
    before = path.read_bytes()
    other = Conversation(turns=(Turn(speaker=Speaker.PERSON, text="Something else"),))
    with pytest.raises(AgentError, match="another conversation"):
        written(tmp_path, project, other)
    assert path.read_bytes() == before


def test_a_conversation_without_times_can_be_written(tmp_path: Path, project: Path) -> None:
    turns = (Turn(speaker=Speaker.PERSON, text="Hello", at="no time"), Turn(speaker=Speaker.AGENT, text="Hi"))
    path = written(tmp_path, project, Conversation(turns=turns))
    found = scan(gemini_reader.read(source(path))).transcript
    assert (found.turns, found.ending) == (1, Ending.ENDED)


@pytest.mark.parametrize("id", ["", "../../x", "latest", "1", ID + "\n"])
def test_an_id_of_another_kind_is_refused(tmp_path: Path, project: Path, id: str) -> None:
    with pytest.raises(AgentError, match="not a session id"):
        written(tmp_path, project, id=id)
    assert not (tmp_path / ".gemini").exists()


def test_a_place_that_cannot_be_written_to_is_told(tmp_path: Path, project: Path) -> None:
    (tmp_path / ".gemini").write_text("a file")
    with pytest.raises(AgentError, match="cannot write a session"):
        written(tmp_path, project)


# The name of the folder


def own(root: Path, place: str, name: str, owner: Path | str) -> None:
    folder = root / ".gemini" / place / name
    folder.mkdir(parents=True)
    (folder / ".project_root").write_text(str(owner))


def register(root: Path, projects: Any) -> None:
    (root / ".gemini").mkdir(exist_ok=True)
    (root / ".gemini" / "projects.json").write_text(json.dumps({"projects": projects}))


def name_of(path: Path) -> str:
    return path.parent.parent.name


def test_a_registered_folder_has_its_name(tmp_path: Path, project: Path) -> None:
    register(tmp_path, {str(project): "ledger-old", "/elsewhere": "my-ledger-2"})
    assert name_of(written(tmp_path, project)) == "ledger-old"


def test_a_folder_is_known_by_what_is_marked_as_its_own(tmp_path: Path, project: Path) -> None:
    own(tmp_path, "history", "something", project)
    assert name_of(written(tmp_path, project)) == "something"


@pytest.mark.parametrize("place", ["tmp", "history"])
def test_a_name_that_another_folder_owns_is_not_used(tmp_path: Path, project: Path, place: str) -> None:
    register(tmp_path, {str(project): "my-ledger-2", "/third": "my-ledger-2-1"})
    own(tmp_path, place, "my-ledger-2", "/another/my-ledger-2")
    path = written(tmp_path, project)
    assert name_of(path) == "my-ledger-2-2"
    assert (path.parent.parent / ".project_root").read_text() == str(project)
    assert name_of(written(tmp_path, project)) == "my-ledger-2-2", "now it is its own"


@pytest.mark.parametrize("projects", [{"/x": "../../etc"}, {"/x": 5}, [], "x", None])
def test_a_list_that_the_program_would_not_believe_is_not_believed(
    tmp_path: Path, project: Path, projects: Any
) -> None:
    register(tmp_path, {**projects, str(project): "elsewhere"} if isinstance(projects, dict) else projects)
    assert name_of(written(tmp_path, project)) == "my-ledger-2"


def test_a_name_whose_owner_cannot_be_told_is_not_used(tmp_path: Path, project: Path) -> None:
    (tmp_path / ".gemini" / "tmp" / "my-ledger-2" / ".project_root").mkdir(parents=True)
    assert name_of(written(tmp_path, project)) == "my-ledger-2-1"


def test_a_folder_is_the_one_that_a_link_leads_to(tmp_path: Path, project: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    path = written(tmp_path, tmp_path / "link")
    assert path == written(tmp_path, project)


def test_a_folder_without_a_name_has_one(tmp_path: Path) -> None:
    (tmp_path / "你好").mkdir()
    assert name_of(written(tmp_path, tmp_path / "你好")) == "project"


# Taking away


def test_only_that_session_is_taken_away(tmp_path: Path, project: Path) -> None:
    env = {"HOME": str(tmp_path)}
    path, other = written(tmp_path, project), written(tmp_path, project, id=gemini.new_id("handoff-2"))
    for _ in range(2):
        assert gemini.discard(source(path), "gemini", env) is None
        assert not path.exists()
    assert other.exists()
    assert (other.parent.parent / ".project_root").exists()


def test_what_segue_has_not_made_is_not_taken_away(tmp_path: Path, project: Path) -> None:
    env = {"HOME": str(tmp_path / "a")}
    path = written(tmp_path / "a", project)
    elsewhere = written(tmp_path / "b", project)
    content = path.read_text()
    for text in (content.replace(MAKER, "someone", 1), content.replace(ID, gemini.new_id("x"), 1), ""):
        path.write_text(text)
        with pytest.raises(AgentError, match="not made by Segue"):
            gemini.discard(source(path), "gemini", env)
    for one in (elsewhere, path.with_name("notes.jsonl")):
        one.write_text(content)
        with pytest.raises(AgentError, match="not a session of Gemini CLI"):
            gemini.discard(source(one), "gemini", env)
    assert path.exists() and elsewhere.exists()


# What the program leaves beside a session


def beside(path: Path, id: str = ID, more: str = "") -> Path:
    """The empty file that the program leaves when it resumes a session."""
    left = path.with_name(f"session-2026-11-16T13-33-{id[:8]}.jsonl")
    about = {"sessionId": id, "projectHash": "x", "startTime": "2026-11-16T13:33:00.000Z", "kind": "main"}
    context = {"id": "1", "type": "user", "content": [{"text": "<session_context>\n…</session_context>"}]}
    left.write_text(
        "".join(json.dumps(one) + "\n" for one in (about, {"$set": {"messages": [context]}})) + more
    )
    return left


def test_the_empty_file_beside_a_session_is_removed(tmp_path: Path, project: Path) -> None:
    path = written(tmp_path, project)
    left = beside(path)
    gemini.tidy(ID, {"HOME": str(tmp_path)})
    assert path.exists() and not left.exists()


def test_a_file_with_words_in_it_stays(tmp_path: Path, project: Path) -> None:
    path = written(tmp_path, project)
    left = beside(path, more='{"id":"2","type":"user","content":"Go on"}\n')
    gemini.tidy(ID, {"HOME": str(tmp_path)})
    assert path.exists() and left.exists()


def test_an_empty_file_of_another_session_stays(tmp_path: Path, project: Path) -> None:
    path = written(tmp_path, project)
    left = beside(path, id=ID[:-1] + "x")
    gemini.tidy(ID, {"HOME": str(tmp_path)})
    assert left.exists()


def test_an_empty_file_that_is_all_there_is_stays(tmp_path: Path, project: Path) -> None:
    path = written(tmp_path, project)
    left = beside(path)
    path.unlink()
    gemini.tidy(ID, {"HOME": str(tmp_path)})
    gemini.tidy("../../*", {"HOME": str(tmp_path)})
    assert left.exists()
