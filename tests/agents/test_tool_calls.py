"""What calls do, agent by agent, in the shapes in which each writes them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue import agents
from segue.agents.shared.tool_calls import classify
from segue.agents.shared.tool_calls.classify import acts_of, answer_of, going_of, is_done
from segue.agents.shared.tool_calls.tool_table import TOOLS, edited, ticked
from segue.model import EntryKind
from segue.model.tool_action import Act, Answer, Change, Deed, Todo, TodoState, Verdict
from segue.testing.tool_calls import check_told
from tests.calls import BLOCKS, PATCH, PATCHED, act, call, edit, result, said

# What agents call the same things

CALLS: list[tuple[str, str, Any, Act]] = [
    ("claude", "Bash", {"command": "make", "description": "Build"}, act(Deed.RUN, "make")),
    ("claude", "Write", {"file_path": "/a", "content": ""}, act(Deed.WRITE, "/a", content="")),
    ("claude", "Edit", {"file_path": "/a", "old_string": "x", "new_string": "y"}, edit("/a", "x", "y")),
    (
        "claude",
        "Edit",
        {"replace_all": True, "file_path": "/a", "old_string": "x", "new_string": "y"},
        edit("/a", "x", "y", is_everywhere=True),
    ),
    (
        "claude",
        "MultiEdit",
        {"file_path": "/a", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "z", "new_string": ""}]},
        act(Deed.EDIT, "/a", changes=(Change(old="x", new="y"), Change(old="z", new=""))),
    ),
    (
        "claude",
        "Edit",
        {"file_path": "/a", "old_string": "", "new_string": "all"},
        act(Deed.WRITE, "/a", content="all"),
    ),
    (
        "claude",
        "NotebookEdit",
        {"notebook_path": "/n.ipynb", "cell_id": "3", "new_source": "x = 1", "edit_mode": "replace"},
        edit("/n.ipynb", "", "x = 1"),
    ),
    ("claude", "Read", {"file_path": "/a", "offset": 1, "limit": 40}, act(Deed.READ, "/a")),
    ("claude", "Grep", {"pattern": "def ", "path": "/src", "-n": True}, act(Deed.SEARCH, "def ", folder="/src")),
    ("claude", "Glob", {"pattern": "**/*.py"}, act(Deed.SEARCH, "**/*.py")),
    ("claude", "LS", {"path": "/src"}, act(Deed.SEARCH, "/src", folder="/src")),
    ("claude", "WebFetch", {"url": "https://a.b", "prompt": "What?"}, act(Deed.FETCH, "https://a.b")),
    ("claude", "WebSearch", {"query": "python 3.14"}, act(Deed.FETCH, "python 3.14")),
    ("claude", "Agent", {"description": "Look", "prompt": "Look at all"}, act(Deed.DELEGATE, "Look")),
    ("claude", "ExitPlanMode", {"plan": "1. Do"}, act(Deed.PROPOSE, "1. Do")),
    ("claude", "TaskCreate", {"subject": "One", "description": "More"}, act(Deed.PLAN, todos=(Todo(text="One"),))),
    (
        "claude",
        "TaskUpdate",
        {"taskId": "3", "status": "in_progress"},
        act(Deed.PLAN, todos=(Todo(text="", state=TodoState.ACTIVE, id="3"),)),
    ),
    (
        "claude",
        "TaskUpdate",
        {"taskId": "3", "subject": "Other"},
        act(Deed.PLAN, todos=(Todo(text="Other", state=None, id="3"),)),
    ),
    ("claude", "TaskUpdate", {"taskId": "3", "addBlockedBy": ["1"]}, act(Deed.OTHER)),
    ("claude", "TaskList", {}, act(Deed.OTHER)),
    ("codex", "shell", {"command": ["bash", "-lc", "ls -la"], "workdir": "/w"}, act(Deed.RUN, "ls -la", folder="/w")),
    ("codex", "exec_command", {"cmd": "ls", "workdir": "/w"}, act(Deed.RUN, "ls", folder="/w")),
    ("codex", "local_shell", {"type": "exec", "command": ["git", "log", "-n 1"]}, act(Deed.RUN, "git log '-n 1'")),
    ("codex", "apply_patch", PATCH, PATCHED),
    ("codex", "apply_patch", {"input": PATCH}, PATCHED),
    ("codex", "shell", {"command": ["apply_patch", PATCH]}, PATCHED),
    ("codex", "shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}EOF"]}, PATCHED),
    ("codex", "view_image", {"path": "/a.png"}, act(Deed.READ, "/a.png")),
    ("codex", "web_search", {"type": "open_page", "url": "https://a.b"}, act(Deed.FETCH, "https://a.b")),
    ("codex", "web_search", {"type": "search", "query": "q", "queries": ["q", "r"]}, act(Deed.FETCH, "q")),
    ("codex", "spawn_agent", {"message": "Look", "agent_type": "explorer"}, act(Deed.DELEGATE, "Look")),
    ("codex", "spawn_agent", {"items": [{"type": "text", "text": "Look"}]}, act(Deed.DELEGATE, "Look")),
    ("codex", "exec", "text(await tools.exec_command({cmd: 'ls'}))", act(Deed.OTHER)),
    ("codex", "write_stdin", {"session_id": 7, "chars": ""}, act(Deed.OTHER)),
    ("codex", "update_plan", {"plan": []}, act(Deed.PLAN, is_whole=True)),
    (
        "codex",
        "update_plan",
        {"explanation": "x", "plan": [{"step": "One", "status": "completed"}, {"step": "Two", "status": "pending"}]},
        act(Deed.PLAN, todos=(Todo(text="One", state=TodoState.DONE), Todo(text="Two")), is_whole=True),
    ),
    (
        "codex",
        "apply_patch",
        {"/w/a.py": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-x\n+y\n", "move_path": None}},
        edit("/w/a.py", "x\n", "y\n"),
    ),
    (
        "codex",
        "apply_patch",
        {"/w/New.md": {"type": "add", "unified_diff": "@@ -0,0 +1,2 @@\n+x\n+y\n"}},
        act(Deed.WRITE, "/w/New.md", content="x\ny\n"),
    ),
    ("codex", "apply_patch", {"/w/a": {"type": "add", "content": "x"}}, act(Deed.WRITE, "/w/a", content="x")),
    ("codex", "apply_patch", {"/w/a": {"type": "delete", "content": "x"}}, act(Deed.DELETE, "/w/a")),
    (
        "codex",
        "apply_patch",
        {"/w/a": {"type": "update", "unified_diff": "", "move_path": "/w/b"}},
        act(Deed.MOVE, "/w/a", to="/w/b"),
    ),
    ("gemini", "run_shell_command", {"command": "ls", "dir_path": "src"}, act(Deed.RUN, "ls", folder="src")),
    ("gemini", "write_file", {"file_path": "a", "content": "x"}, act(Deed.WRITE, "a", content="x")),
    (
        "gemini",
        "replace",
        {"file_path": "a", "old_string": "x", "new_string": "y", "allow_multiple": True},
        edit("a", "x", "y", is_everywhere=True),
    ),
    ("gemini", "read_file", {"absolute_path": "/a"}, act(Deed.READ, "/a")),
    ("gemini", "list_directory", {"dir_path": "src"}, act(Deed.SEARCH, "src", folder="src")),
    ("gemini", "search_file_content", {"pattern": "x", "include": "*.py"}, act(Deed.SEARCH, "x")),
    ("gemini", "web_fetch", {"prompt": "Sum up https://a.b/c now"}, act(Deed.FETCH, "https://a.b/c")),
    ("gemini", "google_web_search", {"query": "q"}, act(Deed.FETCH, "q")),
    ("gemini", "exit_plan_mode", {"plan_filename": "p.md"}, act(Deed.PROPOSE, "p.md")),
    (
        "gemini",
        "write_todos",
        {"todos": [{"description": "One", "status": "cancelled"}]},
        act(Deed.PLAN, todos=(Todo(text="One", state=TodoState.DROPPED),), is_whole=True),
    ),
    (
        "gemini",
        "ask_user",
        {"questions": [{"question": "Which?", "header": "W", "type": "choice", "options": [{"label": "A", "description": ""}]}]},
        act(Deed.ASK, "Which?", options=("A",)),
    ),
    ("opencode", "bash", {"command": "ls", "workdir": "/w", "description": "List"}, act(Deed.RUN, "ls", folder="/w")),
    ("opencode", "write", {"filePath": "/a", "content": "x"}, act(Deed.WRITE, "/a", content="x")),
    ("opencode", "edit", {"filePath": "/a", "oldString": "x", "newString": "y"}, edit("/a", "x", "y")),
    ("opencode", "apply_patch", {"patchText": PATCH}, PATCHED),
    ("opencode", "todowrite", {"todos": [{"content": "One", "status": "in_progress", "priority": "high", "id": "1"}]},
     act(Deed.PLAN, todos=(Todo(text="One", state=TodoState.ACTIVE, id="1"),), is_whole=True)),
    ("opencode", "task", {"description": "Look", "prompt": "…", "subagent_type": "x"}, act(Deed.DELEGATE, "Look")),
    ("copilot", "create", {"path": "/a", "file_text": "x"}, act(Deed.WRITE, "/a", content="x")),
    ("copilot", "edit", {"path": "/a", "old_str": "x", "new_str": "y"}, edit("/a", "x", "y")),
    ("copilot", "view", {"path": "/a", "view_range": [1, 2]}, act(Deed.READ, "/a")),
    ("copilot", "str_replace_editor", {"command": "view", "path": "/a"}, act(Deed.READ, "/a")),
    ("copilot", "str_replace_editor", {"command": "create", "path": "/a", "file_text": "x"}, act(Deed.WRITE, "/a", content="x")),
    ("copilot", "str_replace_editor", {"command": "str_replace", "path": "/a", "old_str": "x", "new_str": "y"}, edit("/a", "x", "y")),
    ("copilot", "str_replace_editor", {"command": "insert", "path": "/a", "insert_line": 2, "new_str": "y"}, edit("/a", "", "y")),
    ("copilot", "ask_user", {"question": "Which?", "choices": ["A", "B"]}, act(Deed.ASK, "Which?", options=("A", "B"))),
    ("copilot", "rg", {"pattern": "x", "paths": ["/src"]}, act(Deed.SEARCH, "x", folder="/src")),
    ("copilot", "exit_plan_mode", {"summary": "- Do", "actions": ["interactive"]}, act(Deed.PROPOSE, "- Do")),
    ("copilot", "update_todo", {"todos": "- [x] One\n- [ ] Two\nrest"},
     act(Deed.PLAN, todos=(Todo(text="One", state=TodoState.DONE), Todo(text="Two")), is_whole=True)),
    ("qwen", "edit", {"file_path": "/a", "old_string": "x", "new_string": "y"}, edit("/a", "x", "y")),
    ("qwen", "todo_write", {"todos": [{"id": "1", "content": "One", "status": "completed"}]},
     act(Deed.PLAN, todos=(Todo(text="One", state=TodoState.DONE, id="1"),), is_whole=True)),
    ("pi", "bash", {"command": "ls", "timeout": 60}, act(Deed.RUN, "ls")),
    ("pi", "edit", {"path": "a", "oldText": "x", "newText": "y"}, edit("a", "x", "y")),
    ("pi", "edit", {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}, edit("a", "x", "y")),
    ("", "mcp__filesystem__write_file", {"path": "/a", "content": "x"}, act(Deed.WRITE, "/a", content="x")),
    ("", "mcp__fs__edit_file", {"path": "/a", "edits": [{"oldText": "x", "newText": "y"}]}, edit("/a", "x", "y")),
    ("", "mcp__fs__edit_file", {"path": "/a", "edits": [{"oldText": "x", "newText": "y"}], "dryRun": True}, act(Deed.READ, "/a")),
    ("", "fs.move_file", {"source": "/a", "destination": "/b"}, act(Deed.MOVE, "/a", to="/b")),
    ("", "mcp__fs__search_files", {"path": "/a", "pattern": "x"}, act(Deed.SEARCH, "x", folder="/a")),
    ("", "mcp__ide__replace_text", {"pathInProject": "a", "oldText": "x", "newText": "y"}, edit("a", "x", "y")),
    ("", "container.exec", {"cmd": ["bash", "-c", "ls"]}, act(Deed.RUN, "ls")),
    ("", "mcp__browser__navigate", {"url": "https://a.b"}, act(Deed.FETCH, "https://a.b")),
    ("", "mcp__tracker__create_issue", {"title": "One", "description": "x"}, act(Deed.OTHER)),
    ("", "mcp__hub__create_file", {"owner": "o", "repo": "r", "path": "a", "content": "x"}, act(Deed.OTHER)),
    ("", "mcp__x__bash", {"question": "?"}, act(Deed.OTHER)),
    ("", "powershell", {"command": ["pwsh.exe", "-NoProfile", "-Command", "dir"]}, act(Deed.RUN, "dir")),
    ("", "shell", ["bash", "-l", "-c", "ls"], act(Deed.RUN, "ls")),
    ("", "shell", {"command": ["bash", "script.sh"]}, act(Deed.RUN, "bash script.sh")),
    ("", "delete_file", {"target_file": "a"}, act(Deed.DELETE, "a")),
    ("", "edit", {"path": "a", "diff": "@@ -1 +1 @@\n-x\n+y\n"}, edit("a", "x\n", "y\n")),
    ("", "edit_file", {"target_file": "a", "code_edit": "…"}, act(Deed.EDIT, "a")),
    ("", "edit", {"edits": [{"path": "a", "old": "x", "new": "y"}, {"path": "a"}]}, edit("a", "x", "y")),
    ("", "write", {"path": "a"}, act(Deed.OTHER)),
    ("", "todo", {"todos": "nothing ticked"}, act(Deed.OTHER)),
    ("", "Skill", {"skill": "x"}, act(Deed.OTHER)),
    ("", "", "", act(Deed.OTHER)),
]  # fmt: skip


@pytest.mark.parametrize(("agent", "tool", "given", "expected"), CALLS, ids=lambda value: str(value)[:40])
def test_a_call_does_what_its_agent_means_by_it(agent: str, tool: str, given: Any, expected: Act) -> None:
    assert acts_of(call(tool, given), agent) == (expected,)


def test_a_call_that_reads_several_files_reads_each() -> None:
    acts = acts_of(call("read_many_files", {"paths": ["a", "b"]}), "gemini")
    assert [act.subject for act in acts] == ["a", "b"]


def test_each_question_of_several_is_asked() -> None:
    options = [{"label": "A", "description": "x"}, {"label": "B"}]
    asked = {"questions": [{"question": "One?", "options": options}, {"question": "Two?", "options": []}]}
    for agent, tool in (
        ("claude", "AskUserQuestion"),
        ("codex", "request_user_input"),
        ("opencode", "question"),
    ):
        assert acts_of(call(tool, asked), agent) == (
            Act(deed=Deed.ASK, subject="One?", options=("A", "B")),
            Act(deed=Deed.ASK, subject="Two?"),
        )


def test_a_command_with_a_patch_in_it_both_runs_and_changes() -> None:
    command = f"git pull && apply_patch <<'EOF'\n{PATCH}EOF"
    ran, patched = acts_of(call("shell", {"command": ["bash", "-lc", command]}), "codex")
    assert (ran.deed, ran.subject, patched) == (Deed.RUN, command, PATCHED)


def test_the_folder_of_a_command_is_that_of_its_patch() -> None:
    given = {"cmd": f"apply_patch <<'EOF'\n{PATCH}EOF", "workdir": "/w"}
    assert acts_of(call("exec_command", given), "codex")[0].subject == "/w/a.py"


def test_a_patch_is_known_for_what_it_is_whatever_the_tool() -> None:
    assert acts_of(call("some_editor", {"x": PATCH, "patch": PATCH})) == (PATCHED,)
    assert acts_of(call("some_editor", PATCH)) == (PATCHED,)


def test_a_file_is_as_its_edits_leave_it() -> None:
    everywhere = Change(old="a", new="b", is_everywhere=True)
    assert edited("aXa", (Change(old="X", new="Y"), everywhere)) == "bYb"
    assert edited("aa", (Change(old="a", new="b"),)) == "ba"
    assert edited("x", (Change(old="a", new="b"),)) is None
    assert edited("x", (Change(old="", new="b"),)) is None


def test_half_a_tick_is_under_way() -> None:
    assert [todo.state for todo in ticked("[x] a\n1. [-] b\n* [~] c\n+ [ ] d\n[link](x)")] == [
        TodoState.DONE,
        TodoState.ACTIVE,
        TodoState.ACTIVE,
        TodoState.OPEN,
    ]


# Acts that are told in words


def test_aider_edits_in_its_replies() -> None:
    assert acts_of(said(EntryKind.REPLY, BLOCKS), "aider") == (
        edit("src/app.py", "x = 1\n", "x = 2\n"),
        Act(deed=Deed.WRITE, subject="new.py", content="y = 1\n"),
    )
    assert not is_done(said(EntryKind.REPLY, BLOCKS), None, "aider")


def test_aider_edits_with_diffs_too() -> None:
    text = "Like this:\n```diff\n--- a.py\n+++ a.py\n@@ -1 +1 @@\n-x\n+y\n```\n"
    assert acts_of(said(EntryKind.REPLY, text), "aider") == (edit("a.py", "x\n", "y\n"),)


def test_a_block_of_aider_that_does_not_end_is_none() -> None:
    text = "a.py\n<<<<<<< SEARCH\nx\n" + BLOCKS
    assert acts_of(said(EntryKind.REPLY, text), "aider") == acts_of(said(EntryKind.REPLY, BLOCKS), "aider")


def test_aider_says_what_it_applied() -> None:
    applied = said(EntryKind.RESULT, "Applied edit to src/app.py", tool="edit")
    assert acts_of(applied, "aider") == (Act(deed=Deed.EDIT, subject="src/app.py"),)
    assert is_done(applied, None, "aider")
    made = said(EntryKind.RESULT, "Applied edit to src/app.py", tool="create")
    assert acts_of(made, "aider") == (Act(deed=Deed.WRITE, subject="src/app.py"),)
    commit = said(EntryKind.RESULT, "Commit 22f6ebc fix: it", tool="commit")
    assert acts_of(commit, "aider") == (Act(deed=Deed.COMMIT, subject="22f6ebc fix: it"),)
    assert acts_of(said(EntryKind.RESULT, "Did not apply edit to src/app.py (--dry-run)"), "aider") == ()


@pytest.mark.parametrize("typed", ["/run pytest -q", "!pytest -q", "/test pytest -q"])
def test_a_person_runs_commands_in_aider(typed: str) -> None:
    assert acts_of(said(EntryKind.PROMPT, typed), "aider") == (Act(deed=Deed.RUN, subject="pytest -q"),)


def test_codex_proposes_a_plan_in_its_reply() -> None:
    text = "Here it is.\n<proposed_plan>\n# Plan\n1. Do\n</proposed_plan>\nShall I?"
    assert acts_of(said(EntryKind.REPLY, text), "codex") == (Act(deed=Deed.PROPOSE, subject="# Plan\n1. Do"),)
    assert acts_of(said(EntryKind.REPLY, "No plan."), "codex") == ()


def test_what_is_no_call_does_nothing() -> None:
    for agent in ("", "claude", "pi"):
        assert acts_of(said(EntryKind.REPLY, BLOCKS), agent) == ()


# Agents of others


@pytest.fixture
def stranger(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    module = ModuleType("stranger")
    module.acts = lambda entry, result: (Act(deed=Deed.RUN, subject="own"),) if entry.tool == "own" else None  # type: ignore[attr-defined]
    module.answer = lambda call, result: Answer(verdict=Verdict.APPROVED)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "stranger", module)
    monkeypatch.setattr(agents, "_others", lambda: {"stranger": "stranger"})
    classify._own.cache_clear()
    yield "stranger"
    classify._own.cache_clear()
    agents._package.cache_clear()
    agents._lazy_agent.cache_clear()


def test_another_package_tells_what_only_it_knows(stranger: str) -> None:
    assert acts_of(call("own", {}), stranger) == (Act(deed=Deed.RUN, subject="own"),)
    assert acts_of(call("bash", {"command": "ls"}), stranger) == (Act(deed=Deed.RUN, subject="ls"),)
    assert answer_of(call("own"), result(), stranger) == Answer(verdict=Verdict.APPROVED)
    assert going_of(call("own"), result(), stranger) is None


def test_an_agent_that_nobody_knows_is_read_like_any_other() -> None:
    assert acts_of(call("bash", {"command": "ls"}), "nobody") == (Act(deed=Deed.RUN, subject="ls"),)


# Whatever it was given

AGENTS = ["", *agents.NAMES]
TOOL = st.one_of(
    st.sampled_from([*(row[1] for row in CALLS), *TOOLS, "sql", "BashOutput"]), st.text(max_size=20)
)
NAMES = st.one_of(
    st.sampled_from(
        sorted(
            {key for row in CALLS if isinstance(row[2], dict) for key in row[2]}
            | {"query", "answers", "bash_id"}
        )
    ),
    st.text(max_size=8),
)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
    | st.sampled_from([PATCH, "view", "INSERT INTO todos (id, title) VALUES ('a', 'b')", "https://a.b", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
GIVEN = st.one_of(
    st.dictionaries(NAMES, VALUE, max_size=6).map(json.dumps), VALUE.map(json.dumps), st.text(max_size=60)
)
NATIVE = st.none() | st.dictionaries(
    st.sampled_from(["toolUseResult", "toolCalls", "toolCallResult", "state", "data", "payload"]), VALUE
)


@given(st.sampled_from(AGENTS), TOOL, GIVEN, GIVEN, NATIVE, st.booleans())
def test_whatever_a_call_was_given_its_acts_say_what_they_must(
    agent: str, tool: str, text: str, output: str, native: dict[str, Any] | None, is_error: bool
) -> None:
    entry, told = call(tool, text), result(output, native, is_error=is_error)
    for acts in (acts_of(entry, agent), acts_of(entry, agent, result=told)):
        assert acts
        check_told(entry, acts)
    assert isinstance(is_done(entry, told, agent), bool)
    answer = answer_of(entry, told, agent)
    assert answer is None or (agent and answer.text.encode() is not None)
    going = going_of(entry, told, agent)
    assert going is None or going.handle


@given(
    st.sampled_from(AGENTS), st.sampled_from(list(EntryKind)), st.text() | st.sampled_from([BLOCKS, PATCH])
)
def test_whatever_an_entry_says_its_acts_say_what_they_must(agent: str, kind: EntryKind, text: str) -> None:
    check_told(said(kind, text), acts_of(said(kind, text), agent))


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("Write", json.dumps({"file_path": "/a", "content": "x" * 5_000_000})),
        ("Bash", "[" * 1_000_000),
        ("Bash", '{"command":' * 100_000),
        ("TodoWrite", json.dumps({"todos": "- [ ] " * 500_000})),
        ("web_fetch", json.dumps({"prompt": "https://" * 500_000})),
        ("sql", json.dumps({"query": "INSERT INTO todos (id) VALUES " + "('" * 500_000})),
        ("question", json.dumps({"questions": [{"question": f"{n}?"} for n in range(30_000)]})),
        (
            "MultiEdit",
            json.dumps({"file_path": "/a", "edits": [{"old_string": "x", "new_string": "xx"}] * 30_000}),
        ),
        ("Read", json.dumps({f"{n}" * 2000: n for n in range(1000)})),
    ],
    ids=range(9),
)
def test_no_call_takes_long(agent: str, tool: str, text: str) -> None:
    entry = call(tool, text)
    native = {"toolUseResult": {"filePath": "/a", "originalFile": "x" * 100_000}}
    told = result('"' + "0?" * 500_000, native)
    begun = time.process_time()
    acts_of(entry, agent, result=told)
    is_done(entry, told, agent)
    going_of(entry, told, agent)
    assert time.process_time() - begun < 5


def test_many_lines_of_a_reply_take_no_time() -> None:
    begun = time.process_time()
    for text in (
        "<<<<<<< SEARCH\n" * 200_000,
        "```diff\n" * 200_000 + "+++ ",
        "a\n=======\n" * 200_000 + "SEARCH",
    ):
        acts_of(said(EntryKind.REPLY, text), "aider")
    assert time.process_time() - begun < 5
