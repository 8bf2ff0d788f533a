"""Handoffs that are refused, fail or are interrupted: what was prepared is kept, and nothing is left behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import segue
from segue.briefs import prompt
from segue.errors import AgentError, NoConsent
from segue.hooks import waiting_handoffs
from segue.model import HandoffState, Source
from segue.model.brief_format import RESUME
from segue.ops import background
from segue.ops.common import process
from segue.ops.common.desk import open_desk
from segue.ops.handoff import handoff_records, leftovers
from segue.ops.handoff.execution import Trip
from tests.cli.test_to import DEMO, PROMPT, add, install, states
from tests.conftest import CommandLine
from tests.world import Conversation


@pytest.fixture
def worked(cli: CommandLine) -> CommandLine:
    """A folder in which Claude Code has worked."""
    conversation = Conversation(cli.folder, cli.cwd, "6f0c1a52-0000-4000-8000-000000000001")
    conversation.prompt(PROMPT)
    conversation.reply("Next I will round each line.")
    return cli


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demonstration agent is run by a vendor that must be allowed."""
    monkeypatch.setattr("segue.agents.demo.vendor_of", lambda _model, _env: "elsewhere", raising=False)


def program(cli: CommandLine, name: str, script: str) -> None:
    install(cli, name)
    (cli.folder / "bin" / name).write_text(f"#!{sys.executable}\n{script}\n")


def rollouts(cli: CommandLine) -> list[Path]:
    return list(cli.folder.glob(".codex/sessions/**/*.jsonl"))


TO_CODEX = ("to", "codex", "--headless", "--yes")


# Consent


@pytest.mark.usefixtures("elsewhere")
def test_a_refused_handoff_stays_prepared_and_yes_continues_it(worked: CommandLine) -> None:
    assert worked(*DEMO).code == 5 and states(worked) == ["prepared"]
    assert worked("handoff", "execute").code == 5 and states(worked) == ["prepared"]
    done = worked("handoff", "execute", "--yes")
    assert done.code == 0 and states(worked) == ["completed"], done


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("id", [[], ["h-000000000001"]], ids=["the last", "named"])
def test_execute_packs_again_if_the_work_went_on(worked: CommandLine, id: list[str]) -> None:
    ordered = ("--way", "prompt", "--preserve", "complete", "--reason", "it is late", "--", "--flag")
    assert worked("to", "demo:other", "--headless", *ordered).code == 5
    add(worked, "New rule: don't touch src/api.py. Round half to even.")
    done = worked("handoff", "execute", *id, "--yes")
    assert done.code == 0 and states(worked) == ["completed", "cancelled"], done
    assert "h-000000000001 to Demonstration agent (other) is cancelled: the work continued since" in done.err
    (received,) = worked.cwd.glob("received*.demo.jsonl")
    assert "Round half to even" in received.read_text()
    new, old = json.loads(worked("handoff", "list", "--json").out)
    for field in ("source", "target", "tier"):
        assert new[field] == old[field]
    for field in ("way", "why", "arguments", "reason", "model", "mode"):
        assert new["delivery"][field] == old["delivery"][field]


@pytest.mark.usefixtures("elsewhere")
def test_to_with_yes_continues_what_was_refused(worked: CommandLine) -> None:
    assert worked(*DEMO).code == 5
    assert worked(*DEMO, "--yes").code == 0 and states(worked) == ["completed"]


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("answer", ["n", ""])
def test_declining_at_the_prompt_keeps_the_handoff(
    worked: CommandLine, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)

    def confirm(*_args: object, **_more: object) -> bool:
        import click

        if not answer:
            raise click.Abort
        return False

    monkeypatch.setattr("click.confirm", confirm)
    declined = worked(*DEMO)
    (handoff,) = json.loads(worked("handoff", "list", "--json").out)
    assert handoff["state"] == "prepared", declined
    assert f"segue handoff execute {handoff['id']} to continue" in declined.err
    assert worked("handoff", "execute", handoff["id"], "--yes").code == 0


@pytest.mark.usefixtures("elsewhere")
def test_python_keeps_a_handoff_that_was_refused(
    worked: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in worked.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(worked.cwd)
    handoff = segue.prepare(to="demo", preserve="minimal")
    with pytest.raises(NoConsent, match="stays prepared"):
        segue.execute(handoff)
    assert segue.execute(handoff, yes=True).state is HandoffState.COMPLETED


def test_a_prepared_handoff_that_is_replaced_is_named(worked: CommandLine) -> None:
    worked("handoff", "prepare", "--to", "demo")
    said = worked("handoff", "prepare", "--to", "demo:other").err
    assert "note: handoff h-000000000001 to Demonstration agent is cancelled: a new one replaces it" in said
    add(worked, "And round half to even.")
    assert "is cancelled: the work continued since" in worked("to", "demo:other", "--headless").err


def test_consent_that_is_given_later_reaches_a_waiting_handoff(worked: CommandLine) -> None:
    install(worked, "codex")
    assert worked("handoff", "prepare", "--to", "codex").code == 0
    data = worked.home / "data"

    def words() -> str:
        (note,) = waiting_handoffs.notes(data)
        return note.text

    assert "may not go" in words() and PROMPT not in words()
    assert worked("config", "set", "vendors.allowed", "openai").code == 0
    assert "may not go" not in words() and PROMPT in words()
    assert worked("config", "unset", "vendors.allowed").code == 0
    assert "may not go" in words() and PROMPT not in words()


def prepared_for_codex(worked: CommandLine) -> Callable[[], str]:
    """A handoff that waits; gives what Codex's hook says of it."""
    install(worked, "codex")
    (worked.cwd / ".git").mkdir()
    assert worked("handoff", "prepare", "--to", "codex").code == 0

    def words() -> str:
        (note,) = waiting_handoffs.notes(worked.home / "data")
        return note.text_under(worked.env)

    return words


def test_settings_of_another_folder_do_not_change_what_a_waiting_handoff_tells(worked: CommandLine) -> None:
    other, own = worked.folder / "other", worked.cwd
    (other / ".git").mkdir(parents=True)
    (own / ".segue.toml").write_text('[vendors]\nallowed = ["google"]\n')
    words = prepared_for_codex(worked)
    worked.cwd = other
    assert worked("config", "set", "vendors.allowed", "openai,google").code == 0
    worked.cwd = own
    assert "may not go" in words() and PROMPT not in words()
    # The other way round: what holds here is not withdrawn there.
    (own / ".segue.toml").unlink()
    assert worked("config", "set", "vendors.allowed", "openai,google").code == 0
    assert PROMPT in words()
    (other / ".segue.toml").write_text('[vendors]\nallowed = ["google"]\n')
    worked.cwd = other
    assert worked("config", "set", "limits.urgent", "93%").code == 0
    worked.cwd = own
    assert PROMPT in words()


def test_consent_that_is_withdrawn_by_hand_is_withdrawn_from_the_hook_at_once(worked: CommandLine) -> None:
    assert worked("config", "set", "vendors.allowed", "openai").code == 0
    words = prepared_for_codex(worked)
    assert PROMPT in words()
    (worked.home / "settings.toml").write_text("")
    assert "may not go" in words() and PROMPT not in words()
    (worked.home / "settings.toml").write_text('[vendors]\nallowed = ["openai"]\n')
    assert worked("config", "set", "limits.urgent", "93%").code == 0
    assert PROMPT in words()
    (worked.cwd / ".segue.toml").write_text('[vendors]\nallowed = ["google"]\n')
    assert PROMPT not in words()
    (worked.cwd / ".segue.toml").unlink()
    worked.env["SEGUE_VENDORS_ALLOWED"] = "google"
    assert PROMPT not in words()


def test_trusting_a_project_file_and_looking_after_conversations_renew_what_waits(
    worked: CommandLine,
) -> None:
    (worked.cwd / ".segue.toml").write_text('[vendors]\nallowed = ["openai"]\n')
    words = prepared_for_codex(worked)
    assert PROMPT not in words()
    assert worked("trust").code == 0
    assert PROMPT in words()
    assert worked("trust", "--undo").code == 0
    assert PROMPT not in words()
    (worked.home / "settings.toml").write_text('[vendors]\nallowed = ["openai"]\n')
    with contextlib.closing(open_desk(env=worked.env, cwd=Path("/"))) as desk:
        background.look(desk)
    assert PROMPT in words()


def test_a_handoff_is_executed_from_elsewhere_by_the_settings_of_its_own_folder(worked: CommandLine) -> None:
    (worked.cwd / ".segue.toml").write_text('[vendors]\nallowed = ["google"]\n')
    prepared_for_codex(worked)
    worked.cwd = worked.folder / "other"
    (worked.cwd / ".git").mkdir(parents=True)
    assert worked("config", "set", "vendors.allowed", "openai,google").code == 0
    assert worked("handoff", "execute", "h-000000000001").code == 5


# Failing


def test_a_failed_handoff_leaves_no_transcript_and_undo_takes_it_back(worked: CommandLine) -> None:
    program(worked, "codex", "import sys; sys.exit('Error: Not logged in.')")
    failed = worked(*TO_CODEX)
    assert failed.code == 6, failed
    assert "Codex exited (code 1) without taking the handoff: it is not signed in" in failed.err
    assert "run `codex login`" in failed.err
    assert states(worked) == ["failed"] and rollouts(worked) == []
    undone = worked("undo")
    assert undone.code == 0 and "Undid handoff h-000000000001" in undone.out, undone
    assert states(worked) == ["rolled back"]


@pytest.mark.parametrize(
    ("said", "is_untaken"), [(RESUME.text, True), ("What is left to do?", False)], ids=["Segue", "a person"]
)
def test_what_segue_says_to_a_target_does_not_make_the_work_taken(
    worked: CommandLine, said: str, is_untaken: bool
) -> None:
    worked("handoff", "prepare", "--to", "demo", "--way", "prompt")
    desk = open_desk(env=worked.env, cwd=worked.cwd)
    (handoff,) = handoff_records.listed(desk, 1)
    path = worked.cwd / "received.demo.jsonl"
    texts = (f"{prompt.marker(handoff.id)}\nFrom Claude Code.", said)
    entries = [{"id": text[:4], "kind": "prompt", "origin": "human", "text": text} for text in texts]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    assert leftovers.is_untaken(handoff, Source(agent="demo", path=str(path))) is is_untaken
    desk.close()


WAITING = """
import json, sys, time
if 'exec' in sys.argv:
    for _ in range(12):
        print(json.dumps({'type': 'error', 'message': 'Reconnecting... waiting for network'}), flush=True)
    time.sleep(90)
"""


def test_a_target_that_waits_for_a_network_is_ended(worked: CommandLine) -> None:
    program(worked, "codex", WAITING)
    failed = worked(*TO_CODEX)
    assert failed.code == 6 and "was ended without taking the handoff" in failed.err, failed
    assert "its vendor cannot be reached or is overloaded (Reconnecting... waiting for network" in failed.err
    assert states(worked) == ["failed"] and rollouts(worked) == []


USING = """
import glob, json, os
(path,) = glob.glob(os.environ['HOME'] + '/.codex/sessions/**/*.jsonl', recursive=True)
said = {'timestamp': '2027-01-01T00:00:00Z', 'type': 'event_msg', 'payload': {'type': 'agent_message', 'message': 'Mine.'}}
print(json.dumps(said), file=open(path, 'a'))
"""


def test_a_transcript_that_the_target_has_used_stays_and_is_named(worked: CommandLine) -> None:
    program(worked, "codex", USING)
    failed = worked(*TO_CODEX)
    assert failed.code == 6 and "so it stays in its history" in failed.err, failed
    assert len(rollouts(worked)) == 1
    undone = worked("undo")
    assert undone.code == 0 and "so it stays in its history" in undone.out
    assert len(rollouts(worked)) == 1


def test_undo_takes_back_no_earlier_step_in_place_of_a_cancelled_handoff(worked: CommandLine) -> None:
    worked("session", "create", "--title", "mine")
    worked("handoff", "prepare", "--to", "demo", "--session", session(worked))
    (handoff,) = json.loads(worked("handoff", "list", "--json").out)
    assert worked("handoff", "cancel", handoff["id"]).code == 0
    refused = worked("undo")
    assert refused.code == 5 and f"handoff {handoff['id']}, is cancelled" in refused.err, refused
    assert "mine" in worked("session", "list", "--all").out


def session(cli: CommandLine) -> str:
    found = json.loads(cli("session", "list", "--json").out)
    return str(next(one["session"]["id"] for one in found if one["session"]["title"] != "mine"))


# Cut short between a transcript and the note of it


def broken_note(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*_args: object) -> None:
        raise error

    monkeypatch.setattr(leftovers, "note", fail)


def test_a_transcript_that_cannot_be_read_back_is_removed_and_the_brief_alone_goes(
    worked: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(worked, "codex")
    broken_note(monkeypatch, AgentError(agent="Codex", what="this cannot be read"))
    failed = worked(*TO_CODEX)
    assert failed.code == 6 and "Only the brief is sent." in failed.err, failed
    assert states(worked) == ["failed"] and rollouts(worked) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("a bug")], ids=["signal", "bug"])
def test_what_cuts_a_handoff_short_leaves_no_transcript(
    worked: CommandLine, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    install(worked, "codex")
    broken_note(monkeypatch, error)
    assert worked(*TO_CODEX).code and states(worked) == ["prepared"]
    assert rollouts(worked) == []


@pytest.mark.parametrize("is_used", [False, True], ids=["unused", "used"])
def test_cancelling_what_was_killed_removes_its_transcript_or_names_it(
    worked: CommandLine, monkeypatch: pytest.MonkeyPatch, is_used: bool
) -> None:
    install(worked, "codex")
    with monkeypatch.context() as killed:
        broken_note(killed, KeyboardInterrupt())
        killed.setattr(Trip, "remove_leftover", lambda _trip: None)
        worked(*TO_CODEX)
    (path,) = rollouts(worked)
    if is_used:
        said = {"type": "user_message", "message": "And what of the readme?"}
        line = {"timestamp": "2027-01-01T00:00:00Z", "type": "event_msg", "payload": said}
        path.write_text(path.read_text() + json.dumps(line) + "\n")
    (handoff,) = json.loads(worked("handoff", "list", "--json").out)
    cancelled = worked("handoff", "cancel", handoff["id"])
    assert cancelled.code == 0 and states(worked) == ["cancelled"], cancelled
    assert ("so it stays in its history" in cancelled.err) is is_used, cancelled
    assert rollouts(worked) == ([path] if is_used else [])


# Interrupting


WITH_A_STUBBORN_CHILD = """
import os, signal, subprocess, sys, time
if 'exec' in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(90)'])
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    print(os.getpid(), child.pid, file=open('pid', 'w'), flush=True)
    time.sleep(90)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_target_and_what_it_started(worked: CommandLine, number: signal.Signals) -> None:
    program(worked, "codex", WITH_A_STUBBORN_CHILD)
    process = subprocess.Popen(
        [sys.executable, "-m", "segue", *TO_CODEX],
        cwd=worked.cwd,
        env=dict(worked.env),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    mark = worked.cwd / "pid"
    deadline = time.monotonic() + 60
    while not (mark.exists() and mark.read_text().strip()):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    said = process.communicate(timeout=30)[1]
    assert process.returncode == 128 + number, said
    assert "Stopped before Codex had the handoff" in said
    target, child = (int(word) for word in mark.read_text().split())
    with pytest.raises(ProcessLookupError):
        os.kill(target, 0)
    try:
        assert is_gone(child), "it outlived the target"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    assert states(worked) == ["failed"] and rollouts(worked) == []
    assert re.search(r"Undid handoff", worked("undo").out)


def is_gone(pid: int) -> bool:
    """Whether a process has ended, also where nobody has taken note of it yet."""
    deadline = time.monotonic() + 5
    while process._started(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not process._started(pid)
