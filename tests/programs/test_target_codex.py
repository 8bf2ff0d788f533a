"""The real Codex, new and old, goes on with what Segue wrote for it; its requests show what reached the model."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from segue.agents.codex import reader as agent_reader
from segue.agents.codex import target as agent
from segue.agents.codex.target import FAILED
from segue.agents.shared.launch import Launch, Start
from segue.agents.shared.transcripts import index_scan
from segue.model import Ending, EntryKind, Origin, Source
from segue.model.conversation import Conversation, Speaker, ToolUse, Turn
from segue.model.delivery import Mode
from tests.programs import codex
from tests.programs.model_server import ModelServer, Reply, Script
from tests.programs.program import Program
from tests.programs.sandbox import Sandbox

KINDS: dict[str, type[Program]] = {kind.name: kind for kind in (codex.Codex, codex.Codex050)}
NEW, OLD = "codex", pytest.param("codex-0.50", marks=pytest.mark.program("codex-0.50"))

FROM_A_FILE = 'exec "$@" < "$0"'
IN_A_TERMINAL = """
import pty, sys
sys.exit(pty.spawn(["sh", "-c", 'stty rows 50 cols 160; exec "$@"', "sh", *sys.argv[1:]]))
"""
WITHIN_S = 60.0

BRIEF = "# Handoff h-1\n\n- not `x`: use /y, @z and !w\n\nÜber 🙂 …\n"
LONG = "".join(f"{number}: one line of a long output\n" for number in range(1000))
TALK = Conversation(
    branch="feature-x",
    turns=(
        Turn(
            speaker=Speaker.PERSON,
            text="canary-1: find out why ünïcode 🙂 fails",
            at="2026-11-12T09:12:37.123456Z",
        ),
        Turn(
            speaker=Speaker.AGENT,
            text="canary-2: I look.",
            at="2026-11-12T09:13:00.000000Z",
            model="another-vendors-model",
            uses=(
                ToolUse(id="toolu_1", tool="Bash", arguments={"command": "cat «a»"}, result=LONG),
                ToolUse(
                    id="toolu_2",
                    tool="Edit",
                    arguments={"file_path": "a.py", "edits": [{"old": "x\n"}]},
                    result="canary-3: no such file",
                    is_error=True,
                ),
            ),
        ),
        Turn(speaker=Speaker.AGENT, text="canary-4: it rounds twice."),
        Turn(speaker=Speaker.PERSON, text="canary-5: only here, please"),
        Turn(speaker=Speaker.AGENT, text="canary-6: so be it."),
        Turn(speaker=Speaker.PERSON, text="canary-7: and then?"),
    ),
)


@pytest.fixture
def program(request: pytest.FixtureRequest, programs: dict[str, Path], tmp_path: Path) -> Program:
    """The newest version, and an older one."""
    return KINDS[request.param](tmp_path / "programs")


class Target:
    """Codex with a private home and a model of its own, started as Segue starts it."""

    def __init__(self, program: Program, sandbox: Sandbox, workspace: Path) -> None:
        self.program = program
        self.sandbox = sandbox
        self.workspace = workspace
        self.env = {"HOME": str(sandbox.home)}
        self.id = agent.new_id("h-1")

    def write(self, conversation: Conversation = TALK) -> Path:
        self.program.configure(self.sandbox.home, self.sandbox.url)
        written = agent.write(conversation, self.id, self.workspace, str(self.program.executable), self.env)
        assert written.admit == ()
        return written.path

    def start(self, **more: Any) -> Launch:
        asked: dict[str, Any] = {"mode": Mode.HEADLESS, "prompt": BRIEF, "resume": self.id, **more}
        return agent.command(
            Start(program=str(self.program.executable), project=self.workspace, **asked), self.env
        )

    def run(self, launch: Launch, script: Script | list[Reply]) -> ModelServer:
        """A headless run to its end, with what it is given to read."""
        given = self.sandbox.root / "stdin"
        given.write_text(launch.stdin or "")
        with ModelServer(script, self.sandbox.listener) as server:
            self.program.configure(self.sandbox.home, server.url)
            process = self.sandbox.start(
                ["/bin/sh", "-c", FROM_A_FILE, given, *launch.argv],
                cwd=self.workspace,
                environment={**self.program.environment(server.url), **launch.env},
                timeout=WITHIN_S,
            )
            assert process.wait() == 0, process.stdout + process.stderr
        return server


@pytest.fixture
def target(program: Program, workspace: Path) -> Any:
    with program.sandbox() as sandbox:
        yield Target(program, sandbox, workspace)


def told(server: ModelServer) -> list[dict[str, Any]]:
    """What the model was given of the conversation, without what Codex says of itself."""
    [request] = server.main_requests
    items = request.body["input"]
    own = ("developer", "system")
    is_own = [item.get("role") in own or "<environment_context>" in json.dumps(item) for item in items]
    return [item for item, own in zip(items, is_own, strict=True) if not own]


def said(role: str, kind: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def expected(prompt: str) -> list[dict[str, Any]]:
    """The conversation as its model must see it, and the prompt as the newest message."""
    items: list[dict[str, Any]] = []
    for turn in TALK.turns:
        is_person = turn.speaker is Speaker.PERSON
        role, kind = ("user", "input_text") if is_person else ("assistant", "output_text")
        items.append(said(role, kind, turn.text))
        for use in turn.uses:
            output = FAILED + use.result if use.is_error else use.result
            items += [
                {
                    "type": "function_call",
                    "name": use.tool,
                    "call_id": use.id,
                    "arguments": use.arguments,
                },
                {"type": "function_call_output", "call_id": use.id, "output": output},
            ]
    return [*items, said("user", "input_text", prompt)]


def plain(item: dict[str, Any]) -> dict[str, Any]:
    """An item without what one version adds to it."""
    kept = {key: item[key] for key in ("type", "role", "content", "name", "call_id", "output") if key in item}
    return kept | ({"arguments": json.loads(item["arguments"])} if "arguments" in item else {})


@pytest.mark.parametrize("program", [NEW, OLD], indirect=True)
def test_the_model_gets_the_whole_conversation_as_real_calls_and_then_the_brief(target: Target) -> None:
    path = target.write()
    before = path.read_bytes()
    server = target.run(target.start(), [Reply("canary-8: done.")])

    assert [plain(item) for item in told(server)] == expected(BRIEF)
    assert server.main_requests[0].model == target.program.model

    # What Codex adds goes into the same file, and is read by our reader.
    assert path.read_bytes().startswith(before) and path.stat().st_size > len(before)
    [source] = agent_reader.find(target.env, [])
    assert source.path == str(path)
    found = list(agent_reader.read(source))
    prompts = [entry for entry in found if entry.kind is EntryKind.PROMPT]
    assert [entry.text for entry in prompts][-2:] == ["canary-7: and then?", BRIEF]
    assert {entry.origin for entry in prompts} == {Origin.HUMAN} and len(prompts) == 4
    replies = [entry.text for entry in found if entry.kind is EntryKind.REPLY]
    assert [text[:8] for text in replies] == ["canary-2", "canary-4", "canary-6", "canary-8"]
    scanned = index_scan.scan(agent_reader.read(source))
    assert len(scanned.spends) == 1, "only the new answer was paid for here"
    assert (scanned.transcript.id, scanned.transcript.ending) == (target.id, Ending.ENDED)
    assert scanned.transcript.model == target.program.model

    # A second try finds the work under way, and leaves it.
    after = path.read_bytes()
    assert target.write() == path and path.read_bytes() == after


@pytest.mark.parametrize("program", [NEW], indirect=True)
@pytest.mark.parametrize(
    "prompt", ["-x --help", "/compact", "@a.py go", "!touch pwned", "- a list\n", "exec"]
)
def test_any_prompt_arrives_as_it_is(target: Target, prompt: str) -> None:
    server = target.run(target.start(resume="", prompt=prompt), [Reply("Yes.")])
    assert told(server)[-1]["content"] == [{"type": "input_text", "text": prompt}]
    assert list(target.workspace.iterdir()) == []


@pytest.mark.parametrize("program", [NEW, OLD], indirect=True)
def test_a_question_is_asked_with_nothing_to_be_changed_by_it(target: Target) -> None:
    path = target.write()
    started = target.sandbox.root / "server-started"
    target.program.configure(target.sandbox.home, target.sandbox.url)
    with (target.sandbox.home / ".codex" / "config.toml").open("a") as config:
        config.write(f'[mcp_servers.x]\ncommand = "/bin/touch"\nargs = ["{started}"]\n')
    launch = target.start(is_question=True, prompt="What may not be touched?")
    server = target.run(launch, [Reply('{"answers": {}}')])
    assert not started.exists()

    assert [item["content"][0]["text"] for item in told(server)[-1:]] == ["What may not be touched?"]
    contexts = [
        record["payload"]
        for record in map(json.loads, path.read_text().splitlines())
        if record["type"] == "turn_context"
    ]
    assert [context["approval_policy"] for context in contexts] == ["never"]
    assert ["read-only" in json.dumps(context["sandbox_policy"]) for context in contexts] == [True]
    if target.program.name == "codex":
        [tools] = [
            item for item in server.main_requests[0].body["input"] if item["type"] == "additional_tools"
        ]
        assert "### `apply_patch`" in json.dumps(tools) and "### `exec_command`" not in json.dumps(tools)


@pytest.mark.parametrize("program", [NEW], indirect=True)
def test_another_model_goes_on_with_the_same_transcript(target: Target) -> None:
    path = target.write()
    target.run(target.start(), [Reply("One.")])
    server = target.run(target.start(model="my-model", prompt="Go on."), [Reply("Two.")])

    assert server.main_requests[0].model == "my-model"
    texts = [item["content"][0]["text"] for item in told(server) if item["type"] == "message"]
    assert texts[-3:] == [BRIEF, "One.", "Go on."]
    assert [Path(source.path) for source in agent_reader.find(target.env, [])] == [path]


@pytest.mark.parametrize("program", [NEW, OLD], indirect=True)
def test_a_transcript_is_found_beside_sessions_that_codex_has_of_its_own(target: Target) -> None:
    target.run(target.start(resume="", prompt="Something of its own"), [Reply("Yes.")])
    target.write()
    server = target.run(target.start(), [Reply("Done.")])
    assert [plain(item) for item in told(server)] == expected(BRIEF)


@pytest.mark.parametrize("program", [NEW], indirect=True)
def test_a_transcript_that_was_taken_away_is_missed_by_nothing(target: Target) -> None:
    path = target.write()
    target.run(target.start(), [Reply("One.")])
    agent.discard(Source(agent="codex", path=str(path)), str(target.program.executable), target.env)
    assert list(agent_reader.find(target.env, [])) == []

    server = target.run(target.start(resume="", prompt="Something else"), [Reply("Yes.")])
    assert "canary" not in json.dumps(server.main_requests[0].body)
    [other] = agent_reader.find(target.env, [])
    assert target.id not in other.path

    assert target.write() == path
    server = target.run(target.start(), [Reply("Again.")])
    assert [plain(item) for item in told(server)] == expected(BRIEF)


@pytest.mark.parametrize("program", [NEW], indirect=True)
@pytest.mark.parametrize(("prompt", "arrives"), [(BRIEF, BRIEF), ("!touch pwned", "\n!touch pwned")])
def test_on_a_terminal_the_person_sees_what_was_said_and_the_prompt_is_only_words(
    target: Target, prompt: str, arrives: str
) -> None:
    target.program.model = "my-model"  # of one that it knows, Codex would ask whether a newer one is wanted
    target.write()
    launch = target.start(mode=Mode.OPEN, prompt=prompt, arguments=("--no-daemon",))
    script = Script(then=Reply("canary-8: done."))
    with ModelServer(script, target.sandbox.listener) as server:
        target.program.configure(target.sandbox.home, server.url)
        process = target.sandbox.start(
            [sys.executable, "-c", IN_A_TERMINAL, *launch.argv],
            cwd=target.workspace,
            environment=target.program.environment(server.url),
            timeout=WITHIN_S,
        )
        deadline = time.monotonic() + WITHIN_S / 2
        while "canary-8" not in process.stdout and time.monotonic() < deadline:
            time.sleep(0.1)
        shown = process.stdout
        process.stop()
    assert [number for number in (1, 2, 4, 5, 6, 7, 8) if f"canary-{number}" not in shown] == [], shown[
        -3000:
    ]
    texts = [message.text for message in server.main_requests[0].messages if message.role == "user"]
    assert texts[-1] == arrives
    assert list(target.workspace.iterdir()) == []
