"""How a headless run of each real program stopped is read from what it really prints, started as Segue starts it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from segue import agents
from segue.agents.claude import exit_reason as claude_exit
from segue.agents.shared.launch import Start
from segue.base import clock
from segue.model import Scope
from segue.model.delivery import Mode
from segue.model.exit_reason import Output, Stop, Why
from tests.programs import claude, gemini
from tests.programs.conftest import PROGRAMS
from tests.programs.model_server import Fault, Hang, ModelServer, Reply, Script
from tests.programs.program import Program
from tests.programs.sandbox import Process, Sandbox

FROM_A_FILE = 'exec "$@" < "$0"'
WITHIN_S = 60.0
NOWHERE = "http://127.0.0.1:9"

When = Callable[[Process, ModelServer], bool]


class Bench:
    """The four programs, each with one home for all its runs: the first start in a home takes long."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.boxes: dict[str, Sandbox] = {}
        self.work = root / "work"
        self.work.mkdir()

    def box(self, name: str) -> tuple[Program, Sandbox]:
        program = PROGRAMS[name](self.root / "programs")
        if name not in self.boxes:
            self.boxes[name] = Sandbox(self.root / name)
            if name == "gemini":  # to try again mostly teaches nothing here, and takes seconds
                let_gemini_try(1, self.boxes[name].home)
            program.configure(self.boxes[name].home, self.boxes[name].url)
        return program, self.boxes[name]

    def run(
        self,
        name: str,
        script: Script | Fault | Reply | Hang,
        *,
        environment: Mapping[str, str] | None = None,
        arguments: tuple[str, ...] = (),
        kill_when: When | None = None,
    ) -> Output:
        """What a run printed, to its end, or until it was killed."""
        program, box = self.box(name)
        server = ModelServer(script if isinstance(script, Script) else Script(then=script), box.listener)
        variables = {**program.environment(server.url), **(environment or {})}
        try:
            process = self._start(program, box, variables, arguments)
            deadline = time.monotonic() + WITHIN_S
            while kill_when and not kill_when(process, server):
                assert time.monotonic() < deadline, f"{process.stdout[-3000:]}\n{process.stderr[-3000:]}"
                time.sleep(0.1)
            if kill_when:
                process.kill()
            code = process.wait()
        finally:
            server.close()
        assert not process.timed_out, f"{process.stdout[-3000:]}\n{process.stderr[-3000:]}"
        return Output(exit_code=code, stdout=process.stdout, stderr=process.stderr)

    def _start(
        self, program: Program, box: Sandbox, variables: dict[str, str], arguments: tuple[str, ...]
    ) -> Process:
        start = Start(
            program=str(program.executable),
            project=self.work,
            mode=Mode.HEADLESS,
            prompt="Go on.",
            model=program.model,
            arguments=arguments,
        )
        launch = agents.starter(program.name).command(start, {"HOME": str(box.home), **variables})
        said = self.root / "said"
        said.write_text(launch.stdin or "")
        argv = ["sh", "-c", FROM_A_FILE, str(said), *launch.argv]
        return box.start(argv, cwd=self.work, environment={**variables, **launch.env}, timeout=WITHIN_S)

    def close(self) -> None:
        for box in self.boxes.values():
            box.close()


def let_gemini_try(times: int, home: Path) -> None:
    general = {**gemini.SETTINGS["general"], "maxAttempts": times}
    settings = home / ".gemini" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({**gemini.SETTINGS, "general": general}))


@pytest.fixture(scope="module")
def bench(programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    bench = Bench(tmp_path_factory.mktemp("stopping"))
    yield bench
    bench.close()


@pytest.fixture(autouse=True)
def on_the_wall_of_the_programs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Some messages name a time and no zone: it is the one where the program ran."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def told(name: str, output: Output) -> Stop | None:
    stop_of = agents.load(name).stop_of
    return stop_of(output, clock.now()) if stop_of else None


def stop(name: str, output: Output) -> Stop:
    found = told(name, output)
    report = f"exit code {output.exit_code}\n{output.stdout[-3000:]}\n{output.stderr[-3000:]}"
    assert found is not None, report
    assert found.said, report
    return found


def need_not_be_waited_for(name: str) -> When:
    """Whether what a program has printed so far tells that it will not end by itself."""

    def is_told(process: Process, _: ModelServer) -> bool:
        return told(name, Output(exit_code=None, stdout=process.stdout, stderr=process.stderr)) is not None

    return is_told


def named(case: str) -> Any:
    return pytest.param(case, marks=pytest.mark.program(case), id=case)


ALL = [named(name) for name in PROGRAMS]
ALL_BUT_OPENCODE = [named(name) for name in PROGRAMS if name != "opencode"]


# What the vendors answer


def anthropic(status: int, kind: str, message: str) -> Fault:
    return Fault(status, {"type": "error", "error": {"type": kind, "message": message}})


def openai(status: int, code: str, message: str) -> Fault:
    return Fault(status, {"error": {"message": message, "type": "invalid_request_error", "code": code}})


def google(status: int, kind: str, message: str) -> Fault:
    return Fault(status, {"error": {"code": status, "message": message, "status": kind, "details": []}})


WRONG_KEY = {
    "claude": anthropic(401, "authentication_error", "invalid x-api-key"),
    "codex": openai(401, "invalid_api_key", "Incorrect API key provided: dummy."),
    "gemini": google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "opencode": openai(401, "invalid_api_key", "Incorrect API key provided: dummy."),
}
TOO_LONG = {
    "claude": anthropic(400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"),
    "codex": openai(400, "context_length_exceeded", "Your input exceeds the context window of this model."),
    "gemini": google(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1048600) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "opencode": openai(
        400, "context_length_exceeded", "This model's maximum context length is 128000 tokens, not 200001."
    ),
}
OVERLOADED = {"claude": Fault(529), "codex": Fault(503), "gemini": Fault(503), "opencode": Fault(503)}


# All of them


@pytest.mark.parametrize("name", ALL)
def test_neither_a_reply_about_limits_nor_trouble_that_passed_is_a_stop(bench: Bench, name: str) -> None:
    said = "Rate limit reached. API Error: 429 RESOURCE_EXHAUSTED. Prompt is too long. Not logged in."
    # Gemini CLI is set to try once here.
    trouble = [Fault(503, headers={"retry-after": "1"})] if name != "gemini" else []
    output = bench.run(name, Script([*trouble, Reply(said)]))
    assert output.exit_code == 0
    assert "Rate limit reached" in output.stdout
    assert told(name, output) is None


@pytest.mark.parametrize("name", ALL)
def test_a_wrong_key_is_a_refusal(bench: Bench, name: str) -> None:
    found = stop(name, bench.run(name, WRONG_KEY[name]))
    assert found.why is Why.REFUSED
    assert found.limit is None


@pytest.mark.parametrize("name", ALL_BUT_OPENCODE)
def test_too_many_requests_are_no_limit_of_a_plan(bench: Bench, name: str) -> None:
    found = stop(name, bench.run(name, Fault(429)))
    assert (found.why, found.limit) == (Why.OVERLOADED, None)


@pytest.mark.parametrize("name", ALL_BUT_OPENCODE)
def test_a_vendor_in_trouble_is_one(bench: Bench, name: str) -> None:
    found = stop(name, bench.run(name, OVERLOADED[name]))
    assert (found.why, found.limit) == (Why.OVERLOADED, None)


@pytest.mark.parametrize("name", ALL_BUT_OPENCODE)
def test_a_conversation_that_does_not_fit_is_told(bench: Bench, name: str) -> None:
    assert stop(name, bench.run(name, TOO_LONG[name])).why is Why.CONTEXT


@pytest.mark.parametrize("name", ALL)
def test_a_program_that_is_killed_tells_nothing(bench: Bench, name: str) -> None:
    output = bench.run(name, Hang("I begin"), kill_when=lambda _, server: bool(server.main_requests))
    assert output.exit_code == -9
    assert told(name, output) is None


# Claude Code


@pytest.fixture
def resets_at() -> int:
    """In two hours and some minutes, to the minute, and never on the hour."""
    minute = int(time.time()) // 60 + 123
    return (minute + (minute % 60 == 0)) * 60


def limit_of(found: Stop) -> tuple[str, Scope, str, str | None]:
    assert found.limit is not None
    assert found.limit.used_percent == 100
    return found.limit.window, found.limit.scope, found.limit.model, found.limit.resets_at


def moment(seconds: int) -> str:
    return clock.moment(datetime.fromtimestamp(seconds, UTC))


@pytest.mark.program("claude")
@pytest.mark.parametrize(
    ("claim", "window", "scope", "model"),
    [
        ("five_hour", "5h", Scope.ACCOUNT, ""),
        ("seven_day", "week", Scope.ACCOUNT, ""),
        ("seven_day_opus", "week", Scope.MODEL, "opus"),
    ],
)
def test_claude_at_a_limit_tells_which_and_until_when(
    bench: Bench, resets_at: int, claim: str, window: str, scope: Scope, model: str
) -> None:
    output = bench.run("claude", claude.refusal(resets_at, claim), environment=claude.SUBSCRIPTION)
    found = stop("claude", output)
    assert found.why is Why.LIMIT
    assert limit_of(found) == (window, scope, model, moment(resets_at))


@pytest.mark.program("claude")
def test_claude_tells_how_much_of_the_week_is_used(bench: Bench, resets_at: int) -> None:
    headers = claude.plan_limits("allowed_warning", 0.91, resets_at, "seven_day")
    output = bench.run("claude", Reply("Fine.", headers=headers), environment=claude.SUBSCRIPTION)
    assert told("claude", output) is None
    limits = claude_exit.reports_of(output.stdout, clock.now())
    assert {limit.window: limit.used_percent for limit in limits} == {"5h": 30, "week": 91}


@pytest.mark.program("claude")
@pytest.mark.parametrize(
    ("environment", "fault", "has_limit"),
    [
        ({"ANTHROPIC_API_KEY": ""}, Reply("never"), False),
        ({}, anthropic(404, "not_found_error", "model: claude-nope"), False),
        ({}, anthropic(400, "invalid_request_error", "Your credit balance is too low to go on."), True),
    ],
    ids=["no login", "no such model", "no credit"],
)
def test_what_only_the_person_can_mend_is_a_refusal_of_claude(
    bench: Bench, environment: dict[str, str], fault: Fault | Reply, has_limit: bool
) -> None:
    found = stop("claude", bench.run("claude", fault, environment=environment))
    assert found.why is Why.REFUSED
    assert (found.limit is not None and found.limit.window == "spend") is has_limit


@pytest.mark.program("claude")
def test_claude_without_a_server_is_a_vendor_in_trouble(bench: Bench) -> None:
    output = bench.run("claude", Reply("never"), environment={"ANTHROPIC_BASE_URL": NOWHERE})
    assert stop("claude", output).why is Why.OVERLOADED


# Codex


@pytest.mark.program("codex")
def test_codex_at_a_limit_tells_until_when(bench: Bench, resets_at: int) -> None:
    program, _ = bench.box("codex")
    found = stop("codex", bench.run("codex", program.usage_limit(resets_at)))
    assert found.why is Why.LIMIT
    assert limit_of(found) == ("5h", Scope.ACCOUNT, "", moment(resets_at))


@pytest.mark.program("codex")
def test_codex_that_is_ended_while_it_waits_for_a_network_says_so(bench: Bench) -> None:
    output = bench.run(
        "codex",
        Reply("never"),
        arguments=("-c", f'model_providers.local.base_url="{NOWHERE}/v1"'),
        kill_when=lambda process, _: "waiting for network" in process.stdout,
    )
    assert stop("codex", output).why is Why.OVERLOADED


# Gemini CLI


@pytest.mark.program("gemini")
def test_gemini_tells_the_quota_of_a_day(bench: Bench) -> None:
    program, _ = bench.box("gemini")
    found = stop("gemini", bench.run("gemini", program.usage_limit(0)))
    assert found.why is Why.LIMIT
    assert limit_of(found) == ("day", Scope.MODEL, program.model, None)


@pytest.mark.program("gemini")
def test_gemini_that_waits_for_hours_need_not_be_waited_for(bench: Bench) -> None:
    kind = "type.googleapis.com/google.rpc."
    reason = {
        "@type": kind + "ErrorInfo",
        "reason": "QUOTA_EXHAUSTED",
        "domain": "cloudcode-pa.googleapis.com",
    }
    error = {
        "code": 429,
        "message": "You have exhausted your capacity on this model. Your quota will reset after 2h5m0s.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [reason, {"@type": kind + "RetryInfo", "retryDelay": "7500s"}],
    }
    program, box = bench.box("gemini")
    let_gemini_try(2, box.home)
    try:
        output = bench.run("gemini", Fault(429, {"error": error}), kill_when=need_not_be_waited_for("gemini"))
    finally:
        let_gemini_try(1, box.home)
    found = stop("gemini", output)
    window, scope, model, resets_at = limit_of(found)
    assert (found.why, window, scope, model) == (Why.LIMIT, "", Scope.MODEL, program.model)
    assert resets_at and abs(clock.parse(resets_at).timestamp() - time.time() - 7500) < 60


# OpenCode


@pytest.mark.program("opencode")
def test_opencode_without_money_is_refused(bench: Bench) -> None:
    found = stop("opencode", bench.run("opencode", Fault(402)))
    assert found.why is Why.REFUSED
    assert limit_of(found) == ("spend", Scope.ACCOUNT, "", None)


@pytest.mark.program("opencode")
def test_opencode_that_waits_for_the_end_of_a_limit_need_not_be_waited_for(
    bench: Bench, resets_at: int
) -> None:
    when = datetime.fromtimestamp(resets_at, UTC)
    said = f"Usage limit reached for 5 hour. Your limit will reset at {when:%Y-%m-%d %H:%M:%S}"
    output = bench.run("opencode", openai(429, "1308", said), kill_when=need_not_be_waited_for("opencode"))
    found = stop("opencode", output)
    assert (found.why, found.said) == (Why.LIMIT, said)
    assert limit_of(found) == ("5h", Scope.ACCOUNT, "", moment(resets_at))


@pytest.mark.program("opencode")
def test_opencode_that_is_ended_while_it_waits_in_silence_says_what_for(bench: Bench) -> None:
    waits = Fault(429, headers={"retry-after": "3600"})
    output = bench.run("opencode", waits, kill_when=lambda process, _: "stream error" in process.stderr)
    assert output.stdout == ""
    assert stop("opencode", output).why is Why.OVERLOADED


@pytest.mark.program("opencode")
def test_opencode_that_compacts_for_ever_need_not_be_waited_for(bench: Bench) -> None:
    output = bench.run("opencode", TOO_LONG["opencode"], kill_when=need_not_be_waited_for("opencode"))
    assert stop("opencode", output).why is Why.CONTEXT
