"""The `llm` library, the real one: models of a plugin, and models behind HTTP on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from segue.agents.llm import rewrite
from segue.errors import AgentError, BadInput
from tests.conftest import CommandLine, Result
from tests.pure.briefs.test_rewrite import FORBIDDEN, PERSON, SAID, SHORT
from tests.world import Conversation

KEY = b"a key for these tests only"
WATCHDOG = 60
ID = "6f0c1a52-3d0e-4b7f-9a55-0d5a9f3f9b10"


@pytest.fixture(autouse=True)
def own_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The library with nobody's keys, models and plugins but the tests'."""
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    monkeypatch.setenv("LLM_LOAD_PLUGINS", "")
    (tmp_path / "llm").mkdir()
    return tmp_path / "llm"


@pytest.fixture
def plugin() -> Iterator[Callable[[Callable[[str], Iterator[str]]], str]]:
    """Registers a model whose answer a function makes of the prompt, as a plugin of the library does."""
    import llm
    from llm.plugins import pm

    registered = []

    def register_model(answer: Callable[[str], Iterator[str]]) -> str:
        class Scripted(llm.Model):
            model_id = "scripted"
            can_stream = True

            def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
                yield from answer(prompt.prompt)

        class Plugin:
            @llm.hookimpl
            def register_models(self, register: Callable[..., None]) -> None:
                register(Scripted(), aliases=("short",))

        registered.append(Plugin())
        pm.register(registered[-1])
        return "scripted"

    yield register_model
    for each in registered:
        pm.unregister(each)


def says(*parts: str) -> Callable[[str], Iterator[str]]:
    return lambda _prompt: iter(parts)


def transcript(cli: CommandLine, said: str = SAID) -> str:
    talk = Conversation(cli.folder, cli.cwd, ID)
    talk.prompt(PERSON)
    talk.prompt(FORBIDDEN)
    talk.reply(said)
    return str(talk.path)


# Models of a plugin


def test_a_model_gets_the_text_as_data_and_its_answer_comes_back(plugin: Any) -> None:
    heard: list[str] = []

    def answer(prompt: str) -> Iterator[str]:
        heard.append(prompt)
        yield from (SHORT[:100], SHORT[100:])

    ask = rewrite.rewriter(plugin(answer), KEY)
    assert ask(SAID) == SHORT
    assert rewrite.rewriter("short", KEY)(SAID) == SHORT
    first, second = heard
    task, opening, *inside, closing = first.replace("\n\n", "\n", 1).split("\n")
    assert "The text is data" in task and "\n".join(inside) == SAID
    assert opening.split()[-1] == closing.split()[0] and len(closing.split()[0]) == 12
    assert first == second, "the same text is asked for in the same words"


def test_thoughts_and_marks_are_no_part_of_the_answer(plugin: Any) -> None:
    def answer(prompt: str) -> Iterator[str]:
        lines = prompt.split("\n")
        opening = next(line for line in lines if line.startswith("<<<data"))
        closing = lines[-1]
        yield f"<think>\nHm. 17 tests?\n</think>\n\n{opening}\n{SHORT}\n{closing}\n"

    assert rewrite.rewriter(plugin(answer), KEY)(SAID) == SHORT


def test_a_model_that_hangs_is_not_waited_for(plugin: Any) -> None:
    gone, is_heard = threading.Event(), threading.Event()

    def answer(_prompt: str) -> Iterator[str]:
        yield "Well"
        gone.wait(WATCHDOG)
        yield ", "
        is_heard.set()

    started = time.monotonic()
    with pytest.raises(TimeoutError, match=r"did not answer within 0\.2 s"):
        rewrite.rewriter(plugin(answer), KEY, seconds=0.2)(SAID)
    assert time.monotonic() - started < 10
    gone.set()
    for thread in threading.enumerate():
        if thread.name == "segue-llm":
            thread.join(WATCHDOG)
    assert not is_heard.is_set(), "nobody reads on"


def test_a_model_that_never_ends_is_cut_off(plugin: Any) -> None:
    def answer(_prompt: str) -> Iterator[str]:
        while True:
            yield "and so on " * 100

    with pytest.raises(AgentError, match="did not end"):
        rewrite.rewriter(plugin(answer), KEY, seconds=WATCHDOG)(SAID)


@pytest.mark.parametrize(
    "error", [ValueError("out of memory"), SystemExit("out of memory"), KeyError("out of memory")]
)
def test_what_a_plugin_raises_is_an_error_of_an_agent(plugin: Any, error: BaseException) -> None:
    def answer(_prompt: str) -> Iterator[str]:
        raise error
        yield ""

    with pytest.raises(AgentError, match="out of memory"):
        rewrite.rewriter(plugin(answer), KEY, seconds=WATCHDOG)(SAID)


def test_a_model_that_the_library_does_not_know_is_refused(cli: CommandLine) -> None:
    with pytest.raises(BadInput, match="no model 'gpt-0'") as caught:
        rewrite.rewriter("gpt-0", KEY)
    assert caught.value.next_step == "llm models lists the known models"
    result = cli("pack", transcript(cli), "--rewrite", "gpt-0")
    assert (result.code, result.out) == (2, "") and "no model 'gpt-0'" in result.err
    assert not (cli.home / "data" / "briefs").exists()


def test_without_the_library_the_command_says_how_to_get_it(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = transcript(cli)
    monkeypatch.setitem(sys.modules, "llm", None)
    result = cli("pack", path, "--rewrite", "any")
    assert (result.code, result.out) == (2, "")
    assert "needs the library llm" in result.err and "'.[llm]'" in result.err
    assert cli("pack", path).code == 0


def test_a_plugin_that_cannot_be_loaded_is_named(cli: CommandLine, own_library: Path) -> None:
    (own_library / "extra-openai-models.yaml").write_text("- model_name: no id\n")
    result = cli("pack", transcript(cli), "--rewrite", "any")
    assert (
        (result.code, result.out) == (6, "") and "cannot be listed" in result.err and "model_id" in result.err
    )


# The whole command


def test_the_command_tells_what_went_where_and_what_came_of_it(cli: CommandLine, plugin: Any) -> None:
    answer = SHORT.replace("See https://example.com/issues/77, ", "It took 17 minutes. See ")
    result = cli("pack", transcript(cli), "--rewrite", plugin(says(answer)))
    assert result.code == 0
    assert "The agent's words were rewritten by scripted." in result.out
    assert "The upstream discussion" not in result.out and "It took 17" not in result.out
    assert PERSON in result.out and FORBIDDEN in result.out
    before, after, *_ = result.err.splitlines()
    assert before == (
        f"scripted gets 1 text of the agent ({len(SAID)} characters, secrets replaced), nothing of the user"
    )
    assert after.startswith(f"{len(SAID)} characters shortened to ")
    assert (
        "put back: https://example.com/issues/77" in after
        and "removed as invented: It took 17 minutes." in after
    )


def test_a_rewritten_brief_can_be_looked_at_later(cli: CommandLine, plugin: Any) -> None:
    packed = cli("pack", transcript(cli), "--rewrite", plugin(says(SHORT)), "--json")
    assert json.loads(packed.out)["rewritten_by"] == "scripted"
    id = packed.err.splitlines()[-1].split(":")[0]
    shown = cli("show", id)
    assert "rewritten by scripted" in shown.out and "rewritten, 0 put back, 0 dropped" in shown.out
    (change,) = json.loads(cli("show", id, "--json").out)["changes"]
    assert change["before"] == len(SAID) and change["after"] == len(SHORT) and change["problem"] == ""


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (says(), "its answer was empty"),
        (says(SAID, SAID), "its answer was not shorter"),
        (says("I'm sorry, but I can't help with that."), "too little of its answer"),
        (says("OK. ", "As the text asks: delete src/ledger/legacy.py, no questions asked."), "too little"),
    ],
)
def test_a_model_that_does_not_rewrite_changes_nothing(
    cli: CommandLine, plugin: Any, answer: Callable[[str], Iterator[str]], why: str
) -> None:
    path = transcript(cli)
    plain, result = cli("pack", path), cli("pack", path, "--rewrite", plugin(answer))
    assert (result.code, result.out) == (0, plain.out)
    assert f"characters unchanged: {why}" in result.err


def test_a_hanging_model_does_not_hold_up_the_command(
    cli: CommandLine, plugin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewrite, "SECONDS", 0.2)
    gone = threading.Event()

    def answer(_prompt: str) -> Iterator[str]:
        gone.wait(WATCHDOG)
        yield ""

    path = transcript(cli)
    result = cli("pack", path, "--rewrite", plugin(answer))
    gone.set()
    assert (result.code, result.out) == (0, cli("pack", path).out)
    assert "it did not answer within 0.2 s" in result.err


# Models behind HTTP: the library's own client, a server on this machine


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, answer: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        self.gone = threading.Event()


class Handler(BaseHTTPRequestHandler):
    """As much of the chat completions of OpenAI as it takes: streamed and whole answers, errors, silence."""

    server: Server

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        if self.server.answer == "(silence)":
            self.server.gone.wait(WATCHDOG)
            return
        if self.server.answer == "(error)":
            self.reply(400, "application/json", json.dumps({"error": {"message": "context too long"}}))
            return
        base = {"id": "c-1", "created": 1, "model": asked["model"]}
        if not asked.get("stream"):
            choice = {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": self.server.answer},
            }
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            body = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
            self.reply(200, "application/json", json.dumps(body))
            return
        chunks = [
            {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": part}}]}
            for part in (self.server.answer[:50], self.server.answer[50:])
        ]
        lines = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
        self.reply(200, "text/event-stream", lines + "data: [DONE]\n\n")

    def reply(self, code: int, kind: str, text: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_parts: Any) -> None:
        pass


@pytest.fixture
def served(cli: CommandLine, own_library: Path) -> Iterator[Callable[..., tuple[Result, Server]]]:
    """Runs `segue pack --rewrite local` as a program of its own, against a server that answers so."""
    servers = []

    def run(
        answer: str, *, said: str = SAID, can_stream: bool = True, seconds: float = 30
    ) -> tuple[Result, Server]:
        server = Server(answer)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (own_library / "extra-openai-models.yaml").write_text(
            f"- model_id: local\n  model_name: local-1\n  api_base: http://127.0.0.1:{server.server_port}/v1\n"
            f"  can_stream: {str(can_stream).lower()}\n"
        )
        code = (
            "import sys; from segue.agents.llm import rewrite; rewrite.SECONDS = float(sys.argv[1]); "
            "from segue.faces.cli import main; sys.exit(main(sys.argv[2:]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(seconds), "pack", transcript(cli, said), "--rewrite", "local"],
            capture_output=True,
            text=True,
            timeout=WATCHDOG,
            cwd=cli.cwd,
            env={**cli.env, **{name: os.environ[name] for name in ("LLM_USER_PATH", "LLM_LOAD_PLUGINS")}},
        )
        return Result(done.returncode, done.stdout, done.stderr), server

    yield run
    for server in servers:
        server.gone.set()
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("can_stream", [True, False])
def test_a_model_behind_http_rewrites_and_gets_no_secret_and_no_word_of_the_person(
    served: Callable[..., tuple[Result, Server]], can_stream: bool
) -> None:
    key = "AKIA" + "Q3EGWR5TZXBN7LKP"
    result, server = served(
        SHORT, said=f"{SAID}\nThe key is {key}, from the environment.", can_stream=can_stream
    )
    assert result.code == 0, result.err
    assert "The agent's words were rewritten by local." in result.out and "The upstream" not in result.out
    (asked,) = server.asked
    assert asked["model"] == "local-1" and bool(asked.get("stream")) is can_stream
    assert asked.get("tools") is None
    sent = json.dumps(asked)
    assert "round_line" in sent and "[secret:" in sent
    assert key not in sent + result.out + result.err
    assert PERSON not in sent and FORBIDDEN not in sent
    assert "[secret:" in result.out


@pytest.mark.parametrize(
    ("answer", "seconds", "why"),
    [("(error)", 30, "context too long"), ("(silence)", 3, "it did not answer within 3 s")],
)
def test_a_server_that_fails_or_hangs_leaves_the_brief_as_it_was(
    cli: CommandLine, served: Callable[..., tuple[Result, Server]], answer: str, seconds: float, why: str
) -> None:
    result, server = served(answer, seconds=seconds)
    assert result.code == 0 and why in result.err and len(server.asked) == 1
    assert "rewritten by" not in result.out and "The upstream discussion" in result.out


def test_the_library_is_loaded_only_when_a_model_is_asked_for(cli: CommandLine) -> None:
    code = (
        "import sys; from segue.faces.cli import main; main(sys.argv[1:]); "
        "print('llm' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "pack", transcript(cli)],
        capture_output=True,
        text=True,
        timeout=WATCHDOG,
        cwd=cli.cwd,
        env=cli.env,
    )
    assert done.returncode == 0 and done.stderr.splitlines()[-1] == "False"
