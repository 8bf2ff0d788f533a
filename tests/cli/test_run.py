"""Runs on a made-up machine: its screens, what it refuses, and what it leaves when something goes wrong.

The agents are stand-ins that keep transcripts as Claude Code and Codex do; what the real ones do is tested in
tests/programs/test_run.py.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from segue.base import files
from segue.model import Handoff
from segue.ops.common import process
from segue.ops.run.supervisor import Supervisor
from segue.ops.work import run_records
from segue.routing import Leg
from tests.conftest import CommandLine

AGENT = """\
#!{python}
import json, os, pathlib, re, sys, time, uuid

NAME, PLAN = {name!r}, pathlib.Path({plan!r})
steps = PLAN.read_text().splitlines() if PLAN.exists() else []
step = steps[0] if steps else "done"
PLAN.write_text("\\n".join(steps[1:]))
said = sys.stdin.read() or sys.argv[-1]
options = dict(arg[2:].split("=", 1) for arg in sys.argv if arg.startswith("--") and "=" in arg)
id = options.get("resume") or options.get("session-id") or str(uuid.uuid4())
folder = re.sub("[^A-Za-z0-9]", "-", os.path.realpath(os.getcwd()))
path = pathlib.Path(os.environ["HOME"], ".claude/projects", folder, id + ".jsonl")
path.parent.mkdir(parents=True, exist_ok=True)
last = [json.loads(line)["uuid"] for line in path.read_text().splitlines()][-1:] if path.exists() else []

def write(kind, message, **more):
    time.sleep(0.002)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + ".%03dZ" % (time.time() % 1 * 1000)
    record = dict(type=kind, message=message, uuid=str(uuid.uuid4()), parentUuid=last[-1] if last else None,
                  timestamp=stamp, sessionId=id, cwd=os.getcwd(), version="2.1.325", **more)
    last.append(record["uuid"])
    with path.open("a") as file:
        file.write(json.dumps(record) + "\\n")

def reply(text, **more):
    usage = dict(input_tokens=1000, output_tokens=10)
    message = dict(id="msg_" + uuid.uuid4().hex, role="assistant", model="claude-opus-4-5", stop_reason="end_turn",
                   content=[dict(type="text", text=text)], usage=usage)
    write("assistant", message, **more)
    print(json.dumps(dict(type="assistant", message=message, **more)), flush=True)

if not step.startswith("deaf"):
    write("user", dict(role="user", content=said))
if step == "deaf done":
    print(json.dumps(dict(type="result", subtype="success", is_error=False, result="It is done.")))
    sys.exit(0)
if step == "stubborn":
    import signal, subprocess
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(90)"
    child = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
    child.stdout.readline()
    pathlib.Path(os.environ["HOME"], "child").write_text(str(child.pid))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    time.sleep(90)
if step.startswith("fill "):
    with open(step[5:], "wb", buffering=0) as filler:
        try:
            while True:
                filler.write(b"x" * 4096)
        except OSError:
            pass
    step = "done"
if step.startswith("write "):
    reply("I am at it.")
    write("user", dict(role="user", content="And then?"))
    pathlib.Path(step.split()[1]).write_text("changed")
    step = step.split(maxsplit=2)[2]
if step.startswith(("done", "refused")):
    reply(step.partition(" ")[2] or "It is done.")
    denials = [dict(tool_name="Write", tool_use_id="t1", tool_input={{}})] if step.startswith("refused") else []
    print(json.dumps(dict(type="result", subtype="success", is_error=False, result="It is done.",
                          permission_denials=denials)))
elif step == "overloaded":
    reply("API Error: 529 Overloaded", isApiErrorMessage=True, error="server_error")
    print(json.dumps(dict(type="result", subtype="success", is_error=True, api_error_status=529,
                          result="API Error: 529 Overloaded")))
    sys.exit(1)
elif step == "spending":
    reply("I am at it.")
    write("user", dict(role="user", content="And then?"))
    time.sleep(60)
elif step == "silent":
    time.sleep(60)
else:
    sys.exit(3)
"""


class Agents:
    """Stand-ins on the PATH, and what each of them does next."""

    def __init__(self, cli: CommandLine) -> None:
        self.cli = cli
        (cli.folder / "bin").mkdir(exist_ok=True)
        self.add("claude")

    def add(self, name: str) -> None:
        path = self.cli.folder / "bin" / name
        path.write_text(AGENT.format(python=sys.executable, name=name, plan=str(self.plan_of(name))))
        path.chmod(0o755)

    def plan_of(self, name: str) -> Path:
        return self.cli.folder / f"{name}.plan"

    def do(self, *steps: str) -> None:
        self.plan_of("claude").write_text("\n".join(steps))


@pytest.fixture
def agents(cli: CommandLine) -> Iterator[Agents]:
    yield Agents(cli)
    # A command that left a supervisor in the background has ended long before; here its process lives on.
    until = time.monotonic() + 10
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < until:
            os.waitpid(-1, os.WNOHANG)
            time.sleep(0.02)


def plain(text: str, cli: CommandLine) -> str:
    """A screen without what differs from run to run."""
    text = text.replace(str(cli.folder), "/ada")
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-11-16 09:30", text)
    return re.sub(r"\$\d+\.\d\d", "$0.00", text)


RUN = ("run", "Mend the totals", "--chain", "claude")


def test_a_run_to_its_end_and_how_it_is_shown(cli: CommandLine, agents: Agents) -> None:
    agents.do("done The totals are right now.")
    result = cli(*RUN)
    assert result.code == 0, result
    assert plain(result.out, cli) == snapshot("""\
✓ Run r-000000000001: done
  Task   Mend the totals
  Chain  claude
  Used   1,010 tokens, $0.00, 0 min; agents are skipped from 60% of their weekly limit
  Who    2026-11-16 09:30  claude  done
  Log    /ada/home/data/supervised/r-000000000001/log.txt

  The totals are right now.

  Check the claims: segue verify · See the changes: git diff
""")
    assert plain(result.err, cli) == snapshot("""\
Run r-000000000001. Press Ctrl-C to stop it; segue run resume resumes it.
Claude Code gets the task.
Claude Code says it is done.
The run is done.
""")
    shown = cli("run", "status")
    assert shown.code == 0 and shown.out == result.out


@pytest.mark.parametrize(
    ("step", "ended"),
    [
        ("done I created `sum.py`.", "done, 1 claim not confirmed"),
        ("refused I could not write it.", "done, 1 call refused"),
        ("refused I created `a.py` and `b.py`.", "done, 2 claims not confirmed, 1 call refused"),
    ],
)
def test_a_run_with_a_false_claim_or_a_refused_call_is_not_plainly_done(
    cli: CommandLine, agents: Agents, step: str, ended: str
) -> None:
    agents.do(step)
    result = cli(*RUN)
    assert result.code == 11, result
    assert result.out.startswith(f"✗ Run r-000000000001: {ended}\n"), result.out
    assert f"The run is {ended}.\n" in result.err
    assert cli("run", "status").out == result.out
    agents.do("done I know.")
    assert cli("run", "Another task", "--chain", "claude").code == 0
    assert f"r-000000000001  {ended}  " in cli("run", "status").out, "in the list of older ones as well"


def test_a_crash_is_tried_again_and_then_told(cli: CommandLine, agents: Agents) -> None:
    agents.do("crash", "done It is done.")
    assert cli(*RUN).code == 0
    agents.do("crash", "crash", "crash")
    result = cli("run", "Another task", "--chain", "claude")
    assert result.code == 6
    assert plain(result.out, cli) == snapshot("""\
✗ Run r-000000000002: failed (claude: it crashed 3 times)
  Task   Another task
  Chain  claude
  Used   0 tokens, $0.00, 1 min; agents are skipped from 60% of their weekly limit
  Who    2026-11-16 09:30  claude  crashed: exit code 3
  Log    /ada/home/data/supervised/r-000000000002/log.txt
  Resume: segue run resume r-000000000002
""")


def test_a_prepared_handoff_that_a_run_replaces_is_named(
    cli: CommandLine, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents.add("codex")
    agents.do("crash", "crash", "crash")
    own = Supervisor.handoff_for

    def meanwhile(supervisor: Supervisor, leg: Leg) -> Handoff:
        cli("handoff", "prepare", "--to", "codex", "--session", supervisor.run.session)
        return own(supervisor, leg)

    monkeypatch.setattr(Supervisor, "handoff_for", meanwhile)
    result = cli("run", "Mend the totals", "--chain", "claude,demo", "--yes")
    assert " to Codex is cancelled: a new one replaces it." in result.out + result.err, result


def test_an_overloaded_vendor_is_waited_for(cli: CommandLine, agents: Agents) -> None:
    agents.do("overloaded", "done It is done.")
    result = cli(*RUN)
    assert result.code == 0, result
    assert "Waiting until" in result.err and "overloaded" in result.err


def test_what_shows_no_sign_of_life_is_given_up(cli: CommandLine, agents: Agents) -> None:
    agents.do("silent", "silent", "silent")
    result = cli(*RUN, "--patience", "1s", "--json")
    assert result.code == 6
    assert "hung 3 times" in json.loads(result.out)["run"]["why"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run", "Mend it"], 2, "The chain of agents is empty"),
        (["run", "Mend it", "--chain", ", ,"], 2, "The chain of agents is empty"),
        (["run", "", "--chain", "claude"], 2, "The task is empty"),
        (["run", "Mend it", "--chain", "claude,claude"], 2, "twice"),
        (["run", "Mend it", "--chain", "nobody"], 1, "nobody"),
        (["run", "Mend it", "--chain", "claude:"], 2, "has no model"),
        (["run", "Mend it", "--chain", "gemini"], 6, "not installed"),
        (["run", "Mend it", "--chain", "claude", "--max-time", "soon"], 2, "Invalid duration"),
        (["run", "Mend it", "--chain", "claude", "--max-usd", "-1"], 2, "max-usd"),
        (["run", "Mend it", "--chain", "claude", "--week", "0%"], 2, "percentage"),
        (["run", "Mend it", "--chain", "claude", "--pass", "codex=--yolo"], 2, "not an option for an agent"),
        (["run", "Mend it", "--chain", "claude", "--pass", "claude=word"], 2, "not an option for an agent"),
        (["run", "Mend it", "--chain", "claude", "--pass", "claude"], 2, "Invalid --pass"),
        (["run", "status", "r-9"], 1, "no run 'r-9'"),
        (["run", "status", "../../etc"], 1, "no run"),
        (["run", "stop"], 1, "no run in"),
        (["run", "resume"], 1, "no run in"),
        (["run", "attach"], 1, "no run in"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(
    cli: CommandLine, agents: Agents, arguments: list[str], code: int, said: str
) -> None:
    result = cli(*arguments)
    assert (result.code, said in result.err) == (code, True), result
    assert "segue" in result.err.rpartition("\n")[0]
    assert not (cli.home / "data" / run_records.FOLDER).exists(), "nothing was begun"


def test_without_a_terminal_nothing_is_begun_that_would_need_to_ask(cli: CommandLine, agents: Agents) -> None:
    agents.add("codex")
    result = cli("run", "Mend it", "--chain", "claude,codex")
    assert result.code == 5 and "--yes" in result.err
    assert not (cli.home / "data" / run_records.FOLDER).exists()


def test_the_chain_of_the_settings_is_taken_where_none_is_named(cli: CommandLine, agents: Agents) -> None:
    assert cli("config", "set", "run.chain", "claude").code == 0
    result = cli("run", "Mend it", "--json")
    assert result.code == 0 and json.loads(result.out)["run"]["chain"] == ["claude"]


def test_one_run_at_a_time_in_a_folder_and_the_same_words_go_on(
    cli: CommandLine, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = left_behind(cli, agents, monkeypatch)
    other = cli("run", "Something else", "--chain", "claude")
    assert other.code == 5 and f"segue run stop {begun}" in other.err
    shown = cli("run", "status")
    assert "abandoned, no supervisor" in shown.out and f"segue run resume {begun}" in shown.out
    agents.do("done")
    again = cli(*RUN, "--json")
    assert again.code == 0 and json.loads(again.out)["run"]["id"] == begun
    assert "has the same task" in again.err


def left_behind(cli: CommandLine, agents: Agents, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run whose supervisor died before it could start the agent: as a kill leaves it."""
    agents.do("silent")

    def die(*_arguments: object, **_more: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(process, "run", die)
        assert cli(*RUN).code == 70
    [shown] = json.loads(cli("run", "status", "--json").out)
    assert shown["run"]["state"] == "working"
    found: str = shown["run"]["id"]
    return found


def test_what_nobody_supervises_can_be_stopped(
    cli: CommandLine, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = left_behind(cli, agents, monkeypatch)
    stopped = cli("run", "stop", begun, "--json")
    assert stopped.code == 0 and json.loads(stopped.out)["run"]["state"] == "stopped"
    assert cli("run", "stop", begun).code == 5
    agents.do("done")
    assert cli("run", "resume", begun[:6]).code == 0
    assert cli("run", "resume", begun).code == 5


def test_a_full_disk_in_the_middle_is_told_and_nothing_is_lost(
    cli: CommandLine, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full from the nth time on that the run is put on record."""
    write = files.write_file
    written, number = 0, 0

    def full(path: Path, data: bytes, **more: bool) -> None:
        nonlocal written
        written += path.name == run_records.FILE
        if written >= number and path.name == run_records.FILE:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write(path, data, **more)

    for number in range(1, 12):
        written = 0
        agents.do("done")
        task = ("run", f"Task {number}", "--chain", "claude", "--json")
        with monkeypatch.context() as patched:
            patched.setattr(files, "write_file", full)
            result = cli(*task)
        if result.code == 0:
            break
        assert result.code == 4 and "No space is left" in result.err, result
        again = cli(*task)
        assert again.code == 0, (number, again)
        replies = [leg["reply"] for leg in json.loads(again.out)["run"]["legs"]]
        assert replies == ["It is done."], "it was done once"
    assert number > 4


@pytest.fixture
def small_disk(cli: CommandLine) -> Iterator[Path]:
    cli.home.mkdir(exist_ok=True)
    options = "size=4m,mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(cli.home)], check=True)
    yield cli.home
    subprocess.run(["umount", "-l", str(cli.home)], check=True)


@pytest.mark.needs_root
def test_a_disk_that_the_agent_fills_is_told_and_the_work_is_taken_up_where_it_is(
    cli: CommandLine, small_disk: Path, agents: Agents
) -> None:
    filler = small_disk / "filler"
    agents.do(f"fill {filler}")
    result = cli(*RUN)
    assert result.code == 4 and "No space is left" in result.err and "free some space" in result.err, result
    filler.unlink()
    agents.do("done It was done a second time.")
    again = cli(*RUN, "--json")
    assert again.code == 0, again
    assert [leg["reply"] for leg in json.loads(again.out)["run"]["legs"]] == ["It is done."]


def test_a_record_that_cannot_be_read_stops_nobody(cli: CommandLine, agents: Agents) -> None:
    agents.do("done")
    cli(*RUN)
    [path] = (cli.home / "data" / run_records.FOLDER).glob(f"*/{run_records.FILE}")
    path.write_text("{")
    assert cli("run", "status").out.startswith("No runs yet.")
    agents.do("done")
    assert cli("run", "Another", "--chain", "claude").code == 0


def test_what_is_done_is_done_whatever_it_took(cli: CommandLine, agents: Agents) -> None:
    agents.do("done")
    result = cli(*RUN, "--max-tokens", "5", "--json")
    assert result.code == 0 and json.loads(result.out)["run"]["state"] == "done"


def test_what_ended_well_and_left_no_transcript_is_not_said_again(cli: CommandLine, agents: Agents) -> None:
    agents.do("deaf done", "done It was done a second time.")
    result = cli(*RUN, "--json")
    assert result.code == 5 and "no transcript" in json.loads(result.out)["run"]["why"]
    assert agents.plan_of("claude").read_text() == "done It was done a second time."


def test_secrets_are_in_neither_the_record_nor_the_log_nor_on_the_screen(
    cli: CommandLine, agents: Agents
) -> None:
    secret = "ghp_" + "Zq7Rk2Vb9Xw4Tn6Lm1Pd8Sf3Hc5Jg0Ya2Ue9"
    agents.do(f"done The key is {secret} as you asked.")
    result = cli(*RUN)
    assert result.code == 0 and secret not in result.out + result.err
    for path in (cli.home / "data" / run_records.FOLDER).rglob("*"):
        if path.is_file() and not path.parent.name.startswith("start-"):
            assert secret.encode() not in path.read_bytes(), path


def test_while_a_run_works_nobody_else_gets_the_worktree(cli: CommandLine, agents: Agents) -> None:
    agents.do("silent")
    env = {**os.environ, **cli.env, "PATH": f"{cli.env['PATH']}:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "segue", *RUN]
    with subprocess.Popen(
        command, cwd=cli.cwd, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as one:
        until = time.monotonic() + 30
        while not list(cli.folder.glob(".claude/projects/*/*.jsonl")) and time.monotonic() < until:
            time.sleep(0.05)
        assert list((cli.home / "data" / "leases").glob("*.json"))
        second = cli("run", "Another", "--chain", "claude")
        assert second.code == 5 and "segue run attach" in second.err, second
        handed = cli("to", "claude:sonnet", "--headless", "--yes")
        assert handed.code == 5 and "segue run stop" in handed.err, handed
        stopped = cli("run", "stop", "--json")
        assert json.loads(stopped.out)["run"]["state"] == "stopped"
        assert one.wait(30) == 5
    assert list((cli.home / "data" / "leases").glob("*.json")) == []


def test_an_agent_that_a_dead_supervisor_left_is_ended_by_stop_with_all_that_it_started(
    cli: CommandLine, agents: Agents
) -> None:
    agents.do("stubborn")
    env = {**os.environ, **cli.env, "PATH": f"{cli.env['PATH']}:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "segue", *RUN]
    note = cli.folder / "child"
    with subprocess.Popen(
        command, cwd=cli.cwd, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as one:
        until = time.monotonic() + 30
        while not note.exists() and time.monotonic() < until:
            time.sleep(0.05)
        one.kill()
    child = int(note.read_text())
    assert Path(f"/proc/{child}").exists()
    assert cli("run", "stop").code == 0
    until = time.monotonic() + 5
    while _is_alive(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _is_alive(child)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("name", ["msgspec.py", "segue.py", "json.py"])
def test_in_the_background_nothing_of_the_projects_own_is_loaded(
    cli: CommandLine, agents: Agents, name: str
) -> None:
    (cli.cwd / name).write_text(f"open({str(cli.folder / 'evil')!r}, 'w')\n")
    agents.do("done")
    result = cli(*RUN, "--background", "--json")
    assert result.code == 0, result
    until = time.monotonic() + 30
    while (
        json.loads(cli("run", "status", "--json").out)[0]["run"]["state"] != "done"
        and time.monotonic() < until
    ):
        time.sleep(0.1)
    assert json.loads(cli("run", "status", "--json").out)[0]["run"]["state"] == "done"
    assert not (cli.folder / "evil").exists()


def test_the_same_words_with_other_caps_have_those(
    cli: CommandLine, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_behind(cli, agents, monkeypatch)
    agents.do("done")
    result = cli(*RUN, "--max-tokens", "77", "--return", "--pass", "claude=--verbose", "--json")
    run = json.loads(result.out)["run"]
    assert (run["caps"]["tokens"], run["returns"], run["arguments"]) == (77, True, [["claude", "--verbose"]])


def test_all_that_were_left_are_taken_up_whatever_is_wrong_with_one(
    cli: CommandLine, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_behind(cli, agents, monkeypatch)
    [path] = (cli.home / "data" / run_records.FOLDER).glob(f"*/{run_records.FILE}")
    gone = json.loads(path.read_text()) | {"id": "r-gone", "project": str(cli.folder / "gone")}
    files.write_file(path.parent.parent / "r-gone" / run_records.FILE, json.dumps(gone).encode())
    agents.do("done")
    result = cli("run", "resume", "--all", "--json")
    assert result.code == 0 and "does not exist" in result.err
    assert len(json.loads(result.out)) == 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda run: run | {"id": "../../elsewhere"},
        lambda run: run | {"created_at": "yesterday"},
        lambda run: run | {"state": "levitating"},
        lambda run: {"id": run["id"]},
    ],
)
def test_a_record_that_segue_did_not_write_is_not_believed(
    cli: CommandLine, agents: Agents, spoil: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    agents.do("done")
    cli(*RUN)
    [path] = (cli.home / "data" / run_records.FOLDER).glob(f"*/{run_records.FILE}")
    path.write_text(json.dumps(spoil(json.loads(path.read_text()))))
    shown = cli("run", "status")
    assert shown.code == 0 and "cannot be read" in shown.err
    for command in (["status"], ["resume"], ["stop"]):
        refused = cli("run", *command, path.parent.name)
        assert refused.code == 5 and "cannot be read" in refused.err


@pytest.mark.parametrize(
    "caps", [["--max-usd", "nan"], ["--max-usd", "inf"], ["--max-time", "9" * 400 + "h"]]
)
def test_a_cap_that_is_none_is_refused(cli: CommandLine, agents: Agents, caps: list[str]) -> None:
    result = cli(*RUN, *caps)
    assert result.code == 2 and "nvalid cap" in result.err


@pytest.mark.parametrize(
    ("cap", "said"), [(["--max-usd", "0.001"], "of $0.00"), (["--max-time", "25s"], "time is over")]
)
def test_an_agent_at_work_is_ended_when_the_money_or_the_time_is_used_up(
    cli: CommandLine, agents: Agents, cap: list[str], said: str
) -> None:
    agents.do("spending")
    begun = time.monotonic()
    result = cli(*RUN, *cap, "--json")
    run = json.loads(result.out)["run"]
    assert (result.code, run["state"]) == (5, "capped") and said in run["why"], run
    assert run["spent"]["usd"] > 0.001 and len(run["legs"]) == 1
    assert time.monotonic() - begun < 40, "the agent was ended"


def test_a_word_that_is_nearly_a_command_starts_nobody(cli: CommandLine, agents: Agents) -> None:
    cli("config", "set", "run.chain", "claude")
    result = cli("run", "stauts")
    assert result.code == 2 and "segue run status" in result.err


def test_a_folder_that_is_gone_starts_nobody(cli: CommandLine, agents: Agents) -> None:
    cli.cwd = cli.folder / "gone"
    result = cli(*RUN)
    assert result.code == 2 and "cannot be started in" in result.err
