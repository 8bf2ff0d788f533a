"""The real Claude Code, new and old, goes on with what Segue wrote for it; its requests show what reached the model."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segue.agents.claude import reader as agent_reader
from segue.agents.claude import target as agent
from segue.agents.claude import token_values
from segue.agents.shared.launch import Launch, Start
from segue.agents.shared.transcripts.index_scan import scan
from segue.model import Ending, EntryKind, Origin, Source
from segue.model.conversation import Conversation, Speaker, ToolUse, Turn
from segue.model.delivery import Mode
from tests.programs import claude
from tests.programs.model_server import ModelServer, Reply, Request, Script
from tests.programs.program import Program, write_new
from tests.programs.sandbox import Sandbox
from tests.programs.test_statusline import IN_A_TERMINAL

KINDS: dict[str, type[Program]] = {kind.name: kind for kind in (claude.Claude, claude.Claude20)}
NEW, OLD = "claude", pytest.param("claude-2.0", marks=pytest.mark.program("claude-2.0"))

FROM_A_FILE = 'exec "$@" < "$0"'
WITHIN_S = 60.0

BRIEF = "# Handoff h-1\n\n- not `x`: use /y and !w\n\nÜber 🙂 …\n"
LONG = "".join(f"{number}: one line of a long output\n" for number in range(1000))
TALK = Conversation(
    title="The ferry",
    branch="feature-x",
    turns=(
        Turn(
            speaker=Speaker.PERSON,
            text="canary-1: find out why ünïcode 🙂 fails, see @secret.txt",
            at="2026-11-12T09:12:37.123456Z",
        ),
        Turn(
            speaker=Speaker.AGENT,
            text="canary-2: I look.",
            at="2026-11-12T09:12:37.123456Z",
            model="another-vendors-model",
            uses=(
                ToolUse(id="call_1", tool="exec_command", arguments={"cmd": ["cat", "«a»"]}, result=LONG),
                ToolUse(
                    id="call_2",
                    tool="Edit",
                    arguments={"path": "a.py", "edits": [{"old": "x\n"}]},
                    result="canary-3: no such file",
                    is_error=True,
                ),
            ),
        ),
        Turn(speaker=Speaker.AGENT, text="canary-4: it rounds twice."),
        Turn(speaker=Speaker.PERSON, text="/compact canary-5: is what I typed"),
        Turn(speaker=Speaker.PERSON, text="canary-6: only here, please"),
        Turn(speaker=Speaker.AGENT, text="canary-7: so be it."),
    ),
)


@pytest.fixture
def program(request: pytest.FixtureRequest, programs: dict[str, Path], tmp_path: Path) -> Program:
    """The newest version, and an older one."""
    return KINDS[request.param](tmp_path / "programs")


class Target:
    """Claude Code with a private home and a model of its own, started as Segue starts it."""

    def __init__(self, program: Program, sandbox: Sandbox, workspace: Path) -> None:
        self.program = program
        self.sandbox = sandbox
        self.workspace = workspace
        self.env = {"HOME": str(sandbox.home)}
        self.id = agent.new_id("h-1")
        (workspace / "secret.txt").write_text("canary-secret")

    def write(self) -> Path:
        written = agent.write(TALK, self.id, self.workspace, str(self.program.executable), self.env)
        assert written.admit == ()
        return written.path

    def start(self, **more: Any) -> Launch:
        asked: dict[str, Any] = {"mode": Mode.HEADLESS, "prompt": BRIEF, **more}
        return agent.command(
            Start(program=str(self.program.executable), project=self.workspace, **asked), self.env
        )

    def run(self, launch: Launch, script: Script | list[Reply]) -> ModelServer:
        """A headless run to its end, with what it is given to read."""
        given = self.sandbox.root / "stdin"
        given.write_text(launch.stdin or "")
        with ModelServer(script, self.sandbox.listener) as server:
            process = self.sandbox.start(
                ["/bin/sh", "-c", FROM_A_FILE, given, *launch.argv],
                cwd=self.workspace,
                environment={**self.env, **self.program.environment(server.url), **launch.env},
                timeout=WITHIN_S,
            )
            assert process.wait() == 0, process.stdout + process.stderr
        return server


@pytest.fixture
def target(program: Program, workspace: Path) -> Iterator[Target]:
    with program.sandbox() as sandbox:
        yield Target(program, sandbox, workspace)


Block = tuple[str, dict[str, Any]]


def told(request: Request) -> list[Block]:
    """What the model was given of the conversation, block by block, without what the program says of itself."""
    found: list[Block] = []
    for message in request.body["messages"]:
        content = message["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            is_own = message["role"] == "system" or "<system-reminder>" in json.dumps(block)
            if block["type"] == "text" and not is_own:
                found.append(text(message["role"], block["text"]))
            elif not is_own:
                found.append((message["role"], {key: block[key] for key in block if key != "cache_control"}))
    return found


def text(role: str, words: str) -> Block:
    """Without blank lines at its end: the program adds one between two messages of the same person."""
    return role, {"type": "text", "text": words.rstrip()}


def expected(*said_since: Block) -> list[Block]:
    """The conversation as its model must see it, and what came since."""
    blocks: list[Block] = []
    for turn in TALK.turns:
        blocks.append(text("user" if turn.speaker is Speaker.PERSON else "assistant", turn.text))
        for use in turn.uses:
            call = {"type": "tool_use", "id": use.id, "name": use.tool, "input": use.arguments}
            blocks.append(("assistant", call))
        for use in turn.uses:
            result = {"type": "tool_result", "tool_use_id": use.id, "content": use.result}
            blocks.append(("user", {**result, **({"is_error": True} if use.is_error else {})}))
    return blocks + list(said_since)


def source(path: Path) -> Source:
    return Source(agent="claude", path=str(path))


def words_in(path: Path) -> list[tuple[Origin, str]]:
    """The words of both, as our reader finds them."""
    kinds = (EntryKind.PROMPT, EntryKind.REPLY)
    return [(entry.origin, entry.text) for entry in agent_reader.read(source(path)) if entry.kind in kinds]


@pytest.mark.parametrize("program", [NEW, OLD], indirect=True)
def test_a_written_conversation_is_gone_on_with(target: Target) -> None:
    path = target.write()
    before = path.read_bytes()
    server = target.run(target.start(resume=target.id), [Reply("canary-answer")])

    [request] = server.main_requests
    assert told(request) == expected(text("user", BRIEF))
    assert "canary-secret" not in json.dumps(request.body)
    assert "another-vendors-model" not in json.dumps(request.body)

    assert path.read_bytes().startswith(before)
    assert words_in(path)[-2:] == [(Origin.HUMAN, BRIEF), (Origin.ASSISTANT, "canary-answer")]
    turns = [turn.text for turn in TALK.turns]
    assert [words for _, words in words_in(path)[:-2]] == turns
    found = scan(agent_reader.read(source(path)))
    assert len(found.spends) == len(token_values.spends(source(path)).spends) == 1
    assert (found.transcript.id, found.transcript.ending) == (target.id, Ending.ENDED)
    notes = [entry.text for entry in agent_reader.read(source(path)) if entry.tool == "informational"]
    assert notes == [], "the program has something to complain about"

    assert target.write() == path, "a second try is the same try"
    server = target.run(target.start(resume=target.id, prompt="And now?"), [Reply("Now this.")])
    since = (text("user", BRIEF), text("assistant", "canary-answer"), text("user", "And now?"))
    assert told(server.main_requests[0]) == expected(*since)


@pytest.mark.parametrize("program", [NEW, OLD], indirect=True)
def test_a_prompt_arrives_as_words_whatever_it_begins_with(target: Target) -> None:
    target.write()
    for prompt in ("- see\n@secret.txt", "/compact it", "@secret.txt, please", "! touch ran.txt"):
        server = target.run(target.start(resume=target.id, prompt=prompt), [Reply("Yes.")])
        [request] = server.main_requests
        assert told(request)[-1] == text("user", agent.spoken(prompt))
        assert "canary-secret" not in json.dumps(request.body)
    assert not (target.workspace / "ran.txt").exists()


@pytest.mark.parametrize("program", [NEW, OLD], indirect=True)
def test_another_model_goes_on_in_the_same_transcript(target: Target) -> None:
    begun = target.run(target.start(id=target.id, model="opus", prompt="canary-first"), [Reply("I will.")])
    [path] = [Path(one.path) for one in agent_reader.find(target.env, ()) if target.id in one.path]
    before = path.read_bytes()
    server = target.run(target.start(resume=target.id, model="sonnet"), [Reply("Yes.")])

    assert ("opus" in begun.main_requests[0].model, "sonnet" in server.main_requests[0].model) == (True, True)
    said = [text("user", "canary-first"), text("assistant", "I will."), text("user", BRIEF)]
    assert told(server.main_requests[0]) == said
    assert path.read_bytes().startswith(before)
    assert [words for _, words in words_in(path)] == ["canary-first", "I will.", BRIEF, "Yes."]


@pytest.mark.parametrize("program", [NEW, OLD], indirect=True)
def test_a_question_has_no_tools_and_leaves_nothing_once_it_is_taken_away(target: Target) -> None:
    hook = {"matcher": "", "hooks": [{"type": "command", "command": "touch hook-ran.txt"}]}
    settings = {"hooks": {"UserPromptSubmit": [hook], "Stop": [hook]}}
    write_new(target.sandbox.home / ".claude" / "settings.json", json.dumps(settings))
    path = target.write()
    script = Script([Reply("canary-answer")], is_main=lambda request: "canary-1" in request.text)
    server = target.run(target.start(resume=target.id, is_question=True), script)

    [request] = server.main_requests
    assert told(request) == expected(text("user", BRIEF))
    assert request.tools == ()
    assert words_in(path)[-1] == (Origin.ASSISTANT, "canary-answer")
    assert not (target.workspace / "hook-ran.txt").exists()

    assert agent.discard(source(path), str(target.program.executable), target.env) is None
    assert not any(target.id in one.path for one in agent_reader.find(target.env, ()))
    assert not path.with_suffix("").exists()


@pytest.mark.parametrize("program", [NEW], indirect=True)
def test_a_conversation_is_found_in_a_long_folder_and_where_several_are_named(target: Target) -> None:
    target.workspace = target.workspace / ("é" * 90) / ("b.c" * 40)
    target.workspace.mkdir(parents=True)
    home = target.sandbox.home
    target.env["CLAUDE_CONFIG_DIR"] = f"{home}/one, {home}/two"
    path = target.write()
    server = target.run(target.start(resume=target.id), [Reply("canary-answer")])
    assert told(server.main_requests[0]) == expected(text("user", BRIEF))

    target.run(target.start(prompt="Another one"), [Reply("Fine.")])
    own = [one.path for one in agent_reader.find(target.env, ()) if target.id not in one.path]
    assert [Path(one).parent for one in own] == [path.parent], "the program calls the folder as we do"
    assert words_in(path)[-1] == (Origin.ASSISTANT, "canary-answer")


@pytest.mark.parametrize("program", [NEW, OLD], indirect=True)
def test_it_opens_for_a_person_with_the_conversation_and_the_prompt(target: Target) -> None:
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["sk-ant-dummy-000"]},
    }
    trusted = {str(target.workspace): {"hasTrustDialogAccepted": True}}
    write_new(target.sandbox.home / ".claude.json", json.dumps({**known, "projects": trusted}))
    path = target.write()
    prompt = "/compact\n\nand see @secret.txt"
    launch = target.start(mode=Mode.OPEN, resume=target.id, model="sonnet", prompt=prompt)
    with ModelServer([Reply("canary-answer")], target.sandbox.listener) as server:
        process = target.sandbox.start(
            [sys.executable, "-c", IN_A_TERMINAL, *launch.argv],
            cwd=target.workspace,
            environment={**target.program.environment(server.url), **launch.env},
            timeout=WITHIN_S,
        )
        deadline = time.monotonic() + WITHIN_S
        while (Origin.ASSISTANT, "canary-answer") not in words_in(path):
            assert time.monotonic() < deadline, process.stdout[-4000:]
            time.sleep(0.1)
        shown = process.stdout
        process.stop()

    [request] = server.main_requests
    assert told(request) == expected(text("user", agent.spoken(prompt)))
    assert "canary-secret" not in json.dumps(request.body)
    assert "canary-7" in shown, "the person sees what was said before"
