"""The real Gemini CLI goes on with what Segue wrote for it; its requests show what reached the model."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segue.agents.gemini import reader as agent_reader
from segue.agents.gemini import target as agent
from segue.agents.shared.launch import Launch, Start
from segue.agents.shared.transcripts import index_scan
from segue.model import Ending, EntryKind, Origin, Source
from segue.model.conversation import Conversation, Speaker, ToolUse, Turn
from segue.model.delivery import Mode
from tests.programs import gemini
from tests.programs.model_server import ModelServer, Reply, Script, Step
from tests.programs.program import Program
from tests.programs.sandbox import Sandbox

pytestmark = pytest.mark.parametrize("program", ["gemini"], indirect=True)

FROM_A_FILE = 'exec "$@" < "$0"'
IN_A_TERMINAL = """
import pty, sys
sys.exit(pty.spawn(["sh", "-c", 'stty rows 50 cols 160; exec "$@"', "sh", *sys.argv[1:]]))
"""
WITHIN_S = 60.0

BRIEF = "# Handoff h-1\n\n- not `x`: use /y, !w\n- ask a@property.org; see @src, @property.py and @cli_help\n\nÜber 🙂 …\n"
ARRIVED = BRIEF.replace("@", "\\@")
LONG = "".join(f"{number}: one line of a long output\n" for number in range(1000))
TALK = Conversation(
    title="Rounding",
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
                    tool="exec_command",
                    arguments={"cmd": ["a", {"b": 1}]},
                    result="canary-3: no such file",
                    is_error=True,
                ),
            ),
        ),
        Turn(speaker=Speaker.AGENT, text="canary-4: it rounds twice."),
        Turn(speaker=Speaker.PERSON, text="/canary-5 is a file: look only there"),
        Turn(speaker=Speaker.AGENT, text="canary-6: so be it."),
        Turn(speaker=Speaker.PERSON, text="? canary-7"),
    ),
)


class Target:
    """Gemini CLI with a private home and a model of its own, started as Segue starts it."""

    def __init__(self, program: Program, sandbox: Sandbox, workspace: Path) -> None:
        self.program = program
        self.sandbox = sandbox
        self.workspace = workspace
        self.env = {"HOME": str(sandbox.home)}
        self.id = agent.new_id("h-1")

    def write(self) -> Path:
        written = agent.write(TALK, self.id, self.workspace, str(self.program.executable), self.env)
        assert written.admit == ()
        return written.path

    def start(self, **more: Any) -> Launch:
        asked: dict[str, Any] = {"mode": Mode.HEADLESS, "prompt": BRIEF, "resume": self.id, **more}
        program, model = str(self.program.executable), self.program.model
        return agent.command(Start(program=program, project=self.workspace, model=model, **asked), self.env)

    def run(self, launch: Launch, script: Script | list[Step]) -> ModelServer:
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
        assert server.problems == ()
        return server


@pytest.fixture
def target(program: Program, workspace: Path) -> Iterator[Target]:
    (workspace / "src").mkdir()
    for name in ("property.py", "src/all.py"):
        (workspace / name).write_text("canary-of-a-file that nobody asked for\n")
    with program.sandbox() as sandbox:
        yield Target(program, sandbox, workspace)


def told(server: ModelServer) -> list[tuple[str, dict[str, Any]]]:
    """What the model was given of the conversation: each part with its role, without what the program says of itself."""
    contents = server.main_requests[0].body["contents"]
    found = [(content["role"], part) for content in contents for part in content["parts"]]
    assert found[0][1]["text"].startswith("<session_context>")
    return [(role, {name: part[name] for name in part if name != "thought"}) for role, part in found[1:]]


def expected(prompt: str) -> list[tuple[str, dict[str, Any]]]:
    """The conversation as its model must see it, and the prompt as the newest message."""
    found: list[tuple[str, dict[str, Any]]] = []
    for turn in TALK.turns:
        found.append(("user" if turn.speaker is Speaker.PERSON else "model", {"text": turn.text}))
        for use in turn.uses:
            call = {"id": use.id, "name": use.tool, "args": use.arguments}
            found.append(("model", {"functionCall": call}))
        for use in turn.uses:
            answer = {"id": use.id, "name": use.tool}
            answer["response"] = {"error" if use.is_error else "output": use.result}  # type: ignore[assignment]
            found.append(("user", {"functionResponse": answer}))
    return [*found, ("user", {"text": prompt})]


def test_the_model_gets_the_whole_conversation_as_real_calls_and_then_the_brief(target: Target) -> None:
    path = target.write()
    before = path.read_bytes()
    server = target.run(target.start(), [Reply("canary-8: done.")])

    assert told(server) == expected(ARRIVED)
    assert agent.spoken(BRIEF) == ARRIVED
    assert "canary-of-a-file" not in json.dumps(server.main_requests[0].body), "no file was read for it"

    # What it adds goes into the same file, and is read by our reader.
    assert path.read_bytes().startswith(before) and path.stat().st_size > len(before)
    found = list(agent_reader.read(Source(agent="gemini", path=str(path))))
    prompts = [entry for entry in found if entry.kind is EntryKind.PROMPT]
    assert [entry.text for entry in prompts][-2:] == ["? canary-7", ARRIVED]
    assert {entry.origin for entry in prompts} == {Origin.HUMAN} and len(prompts) == 4
    replies = [entry.text for entry in found if entry.kind is EntryKind.REPLY]
    assert [text[:8] for text in replies] == ["canary-2", "canary-4", "canary-6", "canary-8"]
    scanned = index_scan.scan(agent_reader.read(Source(agent="gemini", path=str(path))))
    assert len(scanned.spends) == 1, "only the new answer was paid for here"
    assert (scanned.transcript.id, scanned.transcript.ending) == (target.id, Ending.ENDED)

    # Neither a session of its own in the same folder nor a second try changes that.
    target.run(target.start(resume="", prompt="Something else"), [Reply("Yes.")])
    after = path.read_bytes()
    assert target.write() == path and path.read_bytes() == after
    server = target.run(target.start(prompt="Go on."), [Reply("Two.")])
    assert told(server) == [
        *expected(ARRIVED),
        ("model", {"text": "canary-8: done."}),
        ("user", {"text": "Go on."}),
    ]


@pytest.mark.parametrize(
    ("prompt", "arrives"),
    [
        ("-x --yolo", "-x --yolo"),
        ("/help me", "\\/help me"),
        ("@src look", "\\@src look"),
        ("!touch pwned", "!touch pwned"),
    ],
)
def test_any_prompt_is_only_words(target: Target, prompt: str, arrives: str) -> None:
    server = target.run(target.start(resume="", id=target.id, prompt=prompt), [Reply("Yes.")])
    assert told(server) == [("user", {"text": arrives})]
    [source] = agent_reader.find(target.env, [])
    assert index_scan.scan(agent_reader.read(source)).transcript.id == target.id, (
        "a new session has the id it was told"
    )
    assert not (target.workspace / "pwned").exists()


def test_a_question_is_asked_with_nothing_to_be_changed_by_it(target: Target) -> None:
    target.write()
    started = target.sandbox.root / "server-started"
    servers = {"x": {"command": "/bin/touch", "args": [str(started)]}}
    settings = target.sandbox.home / ".gemini" / "settings.json"
    settings.write_text(json.dumps({**gemini.SETTINGS, "mcpServers": servers}))
    script: list[Step] = [target.program.shell("touch pwned"), Reply("Nothing.")]
    server = target.run(target.start(is_question=True), Script(script, is_main=lambda _: True))
    assert [request.tools for request in server.requests] == [(), ()]
    assert not started.exists() and not (target.workspace / "pwned").exists()


def test_a_session_of_its_own_outlives_being_resumed(target: Target) -> None:
    target.run(target.start(resume="", id=target.id, prompt="Remember canary-9"), [Reply("I will.")])
    [source] = agent_reader.find(target.env, [])
    own = Path(source.path)
    own = own.rename(own.with_name(f"session-2026-11-01T00-00-{target.id[:8]}.jsonl"))  # begun earlier
    target.run(target.start(prompt="Go on."), [Reply("Yes.")])
    agent.tidy(target.id, target.env)
    target.run(target.start(resume="", prompt="Something else"), [Reply("Yes.")])

    server = target.run(target.start(prompt="What was it?"), [Reply("canary-9")])
    assert [part["text"] for _, part in told(server)][:2] == ["Remember canary-9", "I will."]
    assert own.exists()


@pytest.mark.parametrize("prompt", [BRIEF, "/help me"])
def test_on_a_terminal_the_person_sees_what_was_said_and_the_prompt_is_only_words(
    target: Target, prompt: str
) -> None:
    target.write()
    launch = target.start(mode=Mode.OPEN, prompt=prompt)
    with ModelServer(Script(then=Reply("canary-8: done.")), target.sandbox.listener) as server:
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
    assert "Function Response" not in shown
    assert told(server) == expected(agent.spoken(prompt).strip())
