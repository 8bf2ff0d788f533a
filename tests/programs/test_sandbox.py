"""The sandbox keeps its promises: nothing leaks in, nothing gets out, nothing stays alive."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs.model_server import ModelServer, Reply, Script
from tests.programs.sandbox import DEAD_PROXY, ISOLATION, Isolation, Sandbox, SandboxError

ROOT = Path(__file__).parents[2]
ISOLATIONS: list[Isolation] = sorted({"environment", ISOLATION})

DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("daemon", "w").write(str(os.getpid()))
        os.rename("daemon", "daemon.pid")
        time.sleep(600)
    os._exit(0)
os.wait()
while not os.path.exists("daemon.pid"):
    time.sleep(0.01)
time.sleep(float(sys.argv[1]))
"""
ASK = """
import sys, urllib.request
body = b'{"model": "m", "messages": [{"role": "user", "content": "' + sys.argv[2].encode() + b'"}]}'
print(urllib.request.urlopen(sys.argv[1] + "/v1/chat/completions", body).read().decode())
"""
CONNECT = """
import errno, socket, sys
family, kind, address = sys.argv[1:]
try:
    with socket.socket(getattr(socket, family), getattr(socket, kind)) as outward:
        outward.settimeout(5)
        outward.connect((address, 80))
        print("connected")
except OSError as error:
    print(errno.errorcode.get(error.errno, error))
"""
OBEY = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture(params=ISOLATIONS)
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    with Sandbox(tmp_path / "sandbox", isolation=request.param) as box:
        yield box


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-c", code, *arguments]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition: object, seconds: float = 20.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.02)


def test_a_program_gets_no_environment_but_what_is_stated(
    sandbox: Sandbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary-of-the-caller")
    show = python("import json, os; print(json.dumps(dict(os.environ)))")
    process = sandbox.start(show, cwd=workspace, environment={"STATED": "yes"})

    assert process.wait() == 0
    environment = json.loads(process.stdout)
    assert environment == {**sandbox.environment, "STATED": "yes"}
    assert "canary" not in process.stdout
    private = [environment[name] for name in environment if name.endswith(("HOME", "DIR"))]
    assert len(private) == 7
    assert all(Path(folder).is_dir() for folder in private)
    short = [Path(folder) for folder in private if not Path(folder).is_relative_to(sandbox.root)]
    assert short == [sandbox.tmp, sandbox.tmp / "run"]
    assert len(str(short[1])) < 80, "no room for the path of a socket"


def test_a_program_gets_no_input_and_no_open_files(sandbox: Sandbox, workspace: Path) -> None:
    process = sandbox.start(
        python("import os, sys; print(repr(sys.stdin.read()), sorted(os.listdir('/dev/fd')))"), cwd=workspace
    )

    assert process.wait() == 0
    assert process.stdout == "'' ['0', '1', '2', '3']\n"  # 3 is the folder that it lists


def test_exit_codes_and_output_are_the_programs_own(sandbox: Sandbox, workspace: Path) -> None:
    process = sandbox.start(
        python("import sys; print('o' * 1_000_000); print('e', file=sys.stderr); sys.exit(7)"), cwd=workspace
    )

    assert process.wait() == 7
    assert len(process.stdout) == 1_000_001
    assert process.stderr == "e\n"
    assert not process.timed_out


def test_a_signal_reaches_the_program(sandbox: Sandbox, workspace: Path) -> None:
    process = sandbox.start(python(OBEY), cwd=workspace)
    wait_until(lambda: process.stdout)
    process.signal(signal.SIGTERM)

    assert process.wait() == 3


def test_a_killed_program_has_minus_nine_as_exit_code(sandbox: Sandbox, workspace: Path) -> None:
    process = sandbox.start(python("import time; time.sleep(600)"), cwd=workspace)
    process.kill()

    assert process.wait() == -9
    assert not process.timed_out


def test_a_program_that_is_not_there_is_named(sandbox: Sandbox, workspace: Path) -> None:
    with pytest.raises(SandboxError, match="no-such-program"):
        sandbox.start(["no-such-program"], cwd=workspace)
    assert sandbox.start(python("pass"), cwd=workspace).wait() == 0


def test_the_watchdog_ends_a_program_that_hangs_and_its_daemon(sandbox: Sandbox, workspace: Path) -> None:
    process = sandbox.start(python(DAEMON, "600"), cwd=workspace, timeout=3)
    wait_until((workspace / "daemon.pid").exists)
    daemon = int((workspace / "daemon.pid").read_text())

    assert is_alive(daemon)
    assert process.wait() == -9
    assert process.timed_out
    assert not is_alive(process.pid)
    assert not is_alive(daemon)


def test_a_daemon_does_not_outlive_its_program(sandbox: Sandbox, workspace: Path) -> None:
    process = sandbox.start(python(DAEMON, "0"), cwd=workspace)

    assert process.wait() == 0
    assert len(process.strays) == 1
    assert not is_alive(int((workspace / "daemon.pid").read_text()))


def test_closing_the_sandbox_ends_what_runs_in_it(tmp_path: Path, workspace: Path) -> None:
    with Sandbox(tmp_path / "sandbox") as sandbox:
        processes = [sandbox.start(python("import time; time.sleep(600)"), cwd=workspace) for _ in range(2)]
        assert all(is_alive(process.pid) for process in processes)

    assert not any(is_alive(process.pid) for process in processes)
    assert not sandbox.tmp.exists()


def test_nothing_outlives_a_test_that_is_killed(tmp_path: Path, workspace: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from tests.programs.sandbox import Sandbox
sandbox = Sandbox(Path({str(tmp_path / "sandbox")!r}))
process = sandbox.start([sys.executable, "-I", "-c", {DAEMON!r}, "600"], cwd=Path({str(workspace)!r}))
print(process.pid, flush=True)
process.wait()
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # a killed test can't clear its temporary folder
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=subprocess.PIPE
    ) as test:
        assert test.stdout is not None
        program = int(test.stdout.readline())
        wait_until((workspace / "daemon.pid").exists)
        test.kill()

    wait_until(lambda: not is_alive(program))
    wait_until(lambda: not is_alive(int((workspace / "daemon.pid").read_text())))


def test_a_program_reaches_the_model_of_its_own_sandbox(
    sandbox: Sandbox, tmp_path: Path, workspace: Path
) -> None:
    with (
        Sandbox(tmp_path / "other", isolation=sandbox.isolation) as other,
        ModelServer(listener=sandbox.listener) as model,
        ModelServer(listener=other.listener) as other_model,
    ):
        asking = [
            box.start(python(ASK, server.url, f"canary-{number}"), cwd=workspace)
            for number, (box, server) in enumerate([(sandbox, model), (other, other_model)])
        ]
        assert [process.wait() for process in asking] == [0, 0], asking[0].stderr
        assert (model.texts(), other_model.texts()) == (("canary-0",), ("canary-1",))
        assert model.url == sandbox.url


def test_one_sandbox_serves_one_model_after_another(sandbox: Sandbox, workspace: Path) -> None:
    for number in range(2):
        answer = Reply(f"canary-{number}")
        with ModelServer(Script(auxiliary=answer), sandbox.listener) as model:
            process = sandbox.start(python(ASK, model.url, "hello"), cwd=workspace)
            assert process.wait() == 0, process.stderr
            assert answer.text in process.stdout


@pytest.mark.parametrize(
    ("family", "kind", "address", "refusals"),
    [
        ("AF_INET", "SOCK_STREAM", "192.0.2.1", {"ENETUNREACH"}),
        ("AF_INET", "SOCK_DGRAM", "192.0.2.1", {"ENETUNREACH"}),
        ("AF_INET6", "SOCK_STREAM", "2001:db8::1", {"ENETUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT"}),
    ],
)
def test_nothing_but_loopback_can_be_reached(
    family: str, kind: str, address: str, refusals: set[str], tmp_path: Path, workspace: Path
) -> None:
    with Sandbox(tmp_path / "sandbox") as sandbox:
        if sandbox.isolation == "environment":  # no address is tried where the way out is open
            assert {sandbox.environment[name] for name in ("HTTP_PROXY", "https_proxy")} == {DEAD_PROXY}
            return
        began = time.monotonic()
        process = sandbox.start(python(CONNECT, family, kind, address), cwd=workspace)

        assert process.wait() == 0, process.stderr
        assert process.stdout.strip() in refusals
        assert time.monotonic() - began < 5
