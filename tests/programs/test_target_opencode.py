"""The real OpenCode goes on with what Segue wrote for it; its requests show what reached the model."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segue.agents.opencode import reader as opencode_reader
from segue.agents.opencode import target as opencode
from segue.agents.shared.launch import Launch, Start
from segue.agents.shared.transcripts import index_scan
from segue.model import Ending, EntryKind, Origin, Source
from segue.model.conversation import Conversation, Speaker, ToolUse, Turn
from segue.model.delivery import Mode
from tests.programs.model_server import ModelServer, Reply, Script, Step
from tests.programs.program import Program
from tests.programs.sandbox import Sandbox

pytestmark = pytest.mark.parametrize("program", ["opencode"], indirect=True)

FROM_A_FILE = 'exec "$@" < "$0"'
IN_A_TERMINAL = """
import pty, sys
sys.exit(pty.spawn(["sh", "-c", 'stty rows 50 cols 160; exec "$@"', "sh", *sys.argv[1:]]))
"""
WITHIN_S = 90.0

BRIEF = "# Handoff h-1\n\n- not `x`: use /y, !w\n- ask a@property.org; see @src, @property.py and @cli_help\n\nÜber 🙂 …\n"
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
    """OpenCode with a private home and a model of its own, started as Segue starts it."""

    def __init__(self, program: Program, sandbox: Sandbox, workspace: Path) -> None:
        self.program = program
        self.sandbox = sandbox
        self.workspace = workspace
        self.env = {"HOME": str(sandbox.home)}
        self.id = opencode.new_id("h-1")
        program.configure(sandbox.home, sandbox.url)

    def write(self) -> None:
        written = opencode.write(TALK, self.id, self.workspace, str(self.program.executable), self.env)
        assert written.id == self.id
        self.run(Launch(argv=written.admit), [])

    def start(self, **more: Any) -> Launch:
        asked: dict[str, Any] = {"mode": Mode.HEADLESS, "prompt": BRIEF, "resume": self.id, **more}
        program = str(self.program.executable)
        return opencode.command(Start(program=program, project=self.workspace, **asked), self.env)

    def run(self, launch: Launch, script: Script | list[Step]) -> ModelServer:
        """A headless run to its end, with what it is given to read."""
        given = self.sandbox.root / "stdin"
        given.write_text(launch.stdin or "")
        with ModelServer(script, self.sandbox.listener) as server:
            process = self.sandbox.start(
                ["/bin/sh", "-c", FROM_A_FILE, given, *launch.argv],
                cwd=self.workspace,
                environment={**self.program.environment(server.url), "PWD": "/", **launch.env},
                timeout=WITHIN_S,
            )
            assert process.wait() == 0, process.stdout + process.stderr
        assert server.problems == ()
        return server

    def open(self, launch: Launch) -> tuple[ModelServer, str]:
        """A run on a terminal until it has shown its model's answer; what it showed."""
        with ModelServer(Script(then=Reply("canary-8: done.")), self.sandbox.listener) as server:
            process = self.sandbox.start(
                [sys.executable, "-c", IN_A_TERMINAL, *launch.argv],
                cwd=self.workspace,
                environment={**self.program.environment(server.url), **launch.env},
                timeout=WITHIN_S,
            )
            deadline = time.monotonic() + WITHIN_S / 2
            while "canary-8" not in process.stdout and time.monotonic() < deadline:
                time.sleep(0.1)
            shown = process.stdout
            process.stop()
        return server, shown

    @property
    def source(self) -> Source:
        [source] = [one for one in opencode_reader.find(self.env, []) if one.part == self.id]
        return source


@pytest.fixture
def target(program: Program, workspace: Path) -> Iterator[Target]:
    (workspace / "src").mkdir()
    for name in ("property.py", "src/all.py"):
        (workspace / name).write_text("canary-of-a-file that nobody asked for\n")
    with program.sandbox() as sandbox:
        yield Target(program, sandbox, workspace)


def told(server: ModelServer) -> list[dict[str, Any]]:
    """What the model was given of the conversation, without what the program says of itself."""
    messages = server.main_requests[0].body["messages"]
    assert [message["role"] for message in messages].count("system") == 1
    return [message for message in messages if message["role"] != "system"]


def expected(prompt: str) -> list[dict[str, Any]]:
    """The conversation as its model must see it, and the prompt as the newest message."""
    found: list[dict[str, Any]] = []
    for turn in TALK.turns:
        role = "user" if turn.speaker is Speaker.PERSON else "assistant"
        calls = [
            {
                "id": use.id,
                "type": "function",
                "function": {
                    "name": use.tool,
                    "arguments": json.dumps(use.arguments, ensure_ascii=False, separators=(",", ":")),
                },
            }
            for use in turn.uses
        ]
        found.append({"role": role, "content": turn.text, **({"tool_calls": calls} if calls else {})})
        found += [{"role": "tool", "tool_call_id": use.id, "content": use.result} for use in turn.uses]
    return [*found, {"role": "user", "content": prompt}]


def test_the_model_gets_the_whole_conversation_as_real_calls_and_then_the_brief(target: Target) -> None:
    target.write()
    server = target.run(target.start(), [Reply("canary-8: done.")])

    assert told(server) == expected(BRIEF)
    assert "question" not in server.main_requests[0].tools, "nobody is there to be asked"
    assert "canary-of-a-file" not in json.dumps(server.main_requests[0].body), "no file was read for it"

    # What it adds goes into the same session, and is read by our reader.
    found = list(opencode_reader.read(target.source))
    prompts = [entry for entry in found if entry.kind is EntryKind.PROMPT]
    assert [entry.text for entry in prompts] == [
        *(turn.text for turn in TALK.turns if turn.speaker is Speaker.PERSON),
        BRIEF,
    ]
    assert {entry.origin for entry in prompts} == {Origin.HUMAN}
    replies = [entry.text for entry in found if entry.kind is EntryKind.REPLY]
    assert [text[:8] for text in replies] == ["canary-2", "canary-4", "canary-6", "canary-8"]
    results = {entry.call: (entry.tool, entry.is_error) for entry in found if entry.kind is EntryKind.RESULT}
    assert results == {"toolu_1": ("Bash", False), "toolu_2": ("exec_command", True)}
    scanned = index_scan.scan(opencode_reader.read(target.source))
    assert len(scanned.spends) == 1, "only the new answer was paid for here"
    told_of = scanned.transcript
    assert (told_of.id, told_of.title, told_of.ending) == (target.id, "Rounding", Ending.ENDED)
    assert told_of.project == str(target.workspace), "not where PWD said"

    # A second try finds the work under way, and leaves it.
    target.write()
    after = [(entry.id, entry.kind, entry.text, entry.at) for entry in opencode_reader.read(target.source)]
    assert after == [(entry.id, entry.kind, entry.text, entry.at) for entry in found]

    # What Segue made can be taken away again.
    launch = opencode.discard(target.source, str(target.program.executable), target.env)
    assert launch
    target.run(launch, [])
    assert list(opencode_reader.find(target.env, [])) == []


@pytest.mark.parametrize(
    "prompt", ["-x --auto", "/init now", "@src/all.py look", "!touch pwned", '"all of it"']
)
def test_any_prompt_arrives_as_it_is(target: Target, prompt: str) -> None:
    server = target.run(target.start(resume="", prompt=prompt), [Reply("Yes.")])
    assert told(server) == [{"role": "user", "content": prompt}]
    assert not (target.workspace / "pwned").exists()


def test_a_question_is_asked_with_nothing_to_be_changed_by_it(target: Target) -> None:
    target.write()
    script: list[Step] = [target.program.shell("touch pwned"), Reply("Nothing.")]
    server = target.run(target.start(is_question=True), Script(script, is_main=lambda _: True))
    assert [request.tools for request in server.requests] == [(), ()]
    assert not (target.workspace / "pwned").exists()


def test_on_a_terminal_the_person_sees_what_was_said_and_the_prompt_is_only_words(target: Target) -> None:
    target.write()
    server, shown = target.open(target.start(mode=Mode.OPEN))
    missing = [number for number in (1, 2, 4, 5, 6, 7, 8) if f"canary-{number}" not in shown]
    assert missing == [], shown[-3000:]
    assert told(server) == expected(BRIEF)


def test_on_a_terminal_a_new_session_is_told_words_and_no_command(target: Target) -> None:
    server, _ = target.open(target.start(mode=Mode.OPEN, resume="", prompt="/init now"))
    assert told(server) == [{"role": "user", "content": "\n/init now"}]
