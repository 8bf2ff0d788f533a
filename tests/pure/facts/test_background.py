"""Background commands: when they end, and with what result."""

from __future__ import annotations

import json

import msgspec
import pytest

from segue.facts.background import LONGEST_PRINTED
from segue.facts.tracker import Tracker, derive
from segue.model import Entry, EntryKind, Origin
from segue.ops.index.tracked_transcript import Meaning


def called(id: str, tool: str, **given: object) -> Entry:
    text = json.dumps(given)
    return Entry(id=id, call=id, kind=EntryKind.CALL, origin=Origin.ASSISTANT, text=text, tool=tool)


def returned(id: str, text: str, **more: object) -> Entry:
    told = {"status": None, "is_error": False, "native": None, **more}
    return Entry(id=f"{id}r", call=id, kind=EntryKind.RESULT, origin=Origin.TOOL, text=text, **told)  # type: ignore[arg-type]


def values(entries: list[Entry], kind: str, agent: str) -> dict[str, str]:
    found = derive(entries, Meaning(agent))
    return {fact.subject: fact.value for fact in found if fact.kind == kind}


# Claude Code, whose program reports the end of a command


def started(command: str, handle: str) -> list[Entry]:
    text = (
        f"Command running in background with ID: {handle}. Output is being written to: /tmp/{handle}.output"
    )
    return [called(handle, "Bash", command=command, run_in_background=True), returned(handle, text)]


def noticed(handle: str, status: str, summary: str) -> Entry:
    text = f"<task-id>{handle}</task-id>\n<status>{status}</status>\n<summary>{summary}</summary>"
    return Entry(
        id=f"{handle}n", kind=EntryKind.NOTE, origin=Origin.SYSTEM, text=text, tool="task-notification"
    )


@pytest.mark.parametrize(
    ("status", "summary", "expected"),
    [
        ("completed", 'Background command "All" completed (exit code 0)', {"make all": "passed"}),
        (
            "failed",
            'Background command "All" failed with exit code 143',
            {"make all": "failed with status 143, stopped"},
        ),
        ("killed", 'Background command "All" was stopped', {}),
    ],
)
def test_a_notice_ends_the_command_that_it_names(status: str, summary: str, expected: dict[str, str]) -> None:
    entries = [*started("make all", "b1"), *started("npm run dev", "b2"), noticed("b1", status, summary)]
    assert values(entries, "command", "claude") == expected
    assert values(entries, "pending", "claude") == {"npm run dev": "still running"}
    assert values(entries, "error", "claude") == {}


def test_a_command_that_was_stopped_neither_passed_nor_failed() -> None:
    stopped = [called("k", "TaskStop", task_id="b1"), returned("k", "Successfully stopped task: b1")]
    entries = [*started("npm run dev", "b1"), *stopped]
    assert values(entries, "command", "claude") == {}
    assert values(entries, "pending", "claude") == {}
    late = noticed("b1", "failed", 'Background command "Dev" failed with exit code 143')
    assert values([*entries, late], "command", "claude") == {}


def test_what_a_command_printed_may_be_looked_at_after_it_ended() -> None:
    note = noticed("b1", "completed", 'Background command "Test" completed (exit code 0)')
    told = "<status>completed</status>\n\n<exit_code>0</exit_code>\n\n<output>\nFAILED tests/a.py::x - boom\n1 failed in 3.0s\n"
    entries = [
        *started("pytest | tail", "b1"),
        note,
        called("o", "TaskOutput", task_id="b1"),
        returned("o", told),
        note,
    ]
    assert values(entries[:3], "command", "claude") == {"pytest": "passed"}
    assert values(entries, "command", "claude") == {"pytest": "failed"}
    assert values(entries, "test", "claude") == {"tests/a.py::x": "failing"}
    assert values(entries, "pending", "claude") == {}


# Codex, which reports output in pieces


def codex(id: str, header: str, text: str, status: int | None = None) -> Entry:
    output = f"Wall time: 1.0 seconds\n{header}\nOutput:\n{text}"
    return returned(id, text, status=status, native={"payload": {"output": output}})


def yielded(id: str, command: str, handle: int, text: str) -> list[Entry]:
    header = f"Process running with session ID {handle}"
    return [called(id, "exec_command", cmd=command), codex(id, header, text)]


def polled(id: str, handle: int, text: str, status: int | None = None) -> list[Entry]:
    header = (
        f"Process running with session ID {handle}"
        if status is None
        else f"Process exited with code {status}"
    )
    return [called(id, "write_stdin", session_id=handle, chars=""), codex(id, header, text, status)]


def test_a_command_is_judged_by_all_that_it_printed() -> None:
    entries = [
        *yielded(
            "1", "git commit -m Mend && pytest && git push", 7, "[main 1a2b3c4] Mend\n 1 file changed\n"
        ),
        *polled("2", 7, "FAILED tests/a.py::x - boom\n"),
        *polled("3", 7, "1 failed in 3.0s", status=1),
    ]
    assert values(entries, "commit", "codex") == {"1a2b3c4": "Mend"}
    assert values(entries, "test", "codex") == {"tests/a.py::x": "failing"}
    assert "failed with status 1" in values(entries, "command", "codex").values()


def test_the_end_of_a_commands_output_is_stored() -> None:
    pieces = [entry for n in range(50) for entry in polled(f"p{n}", 7, f"{n} " * 1000)]
    tracker = Tracker()
    for entry in [*yielded("1", "make", 7, "begun"), *pieces]:
        tracker.add(entry, Meaning("codex"))
    printed = tracker.running["7"].printed
    assert len(printed) == LONGEST_PRINTED
    assert printed.endswith("49 ")


# Commands whose end nobody reports


def test_a_later_run_of_the_same_command_ends_an_earlier_one() -> None:
    again = [called("2", "exec_command", cmd="make all"), codex("2", "Process exited with code 0", "ok", 0)]
    first = [*yielded("1", "make all", 7, ""), *yielded("3", "make dev", 8, "")]
    assert values([*first, *again], "pending", "codex") == {"make dev": "still running"}
    assert values([*first, *again], "command", "codex") == {"make all": "passed"}


def spoken(id: str) -> Entry:
    return Entry(id=id, kind=EntryKind.PROMPT, origin=Origin.HUMAN, text="Go on with the next part.")


def test_a_command_that_nobody_looked_at_is_not_reported_as_running_for_ever() -> None:
    first = yielded("1", "npm run dev", 7, "")
    told = {"npm run dev": "still running"}
    assert values([*first, spoken("a")], "pending", "codex") == told
    assert values([*first, spoken("a"), spoken("b")], "pending", "codex") == {}
    looked_at = [*first, spoken("a"), *polled("2", 7, ""), spoken("b")]
    assert values(looked_at, "pending", "codex") == told
    late = [*first, spoken("a"), spoken("b"), *polled("2", 7, "", status=1)]
    assert values(late, "command", "codex") == {"npm run dev": "failed with status 1"}


# Delegations


def launched(handle: str, errand: str) -> list[Entry]:
    text = f"Async agent launched successfully.\nagentId: {handle} (internal ID - do not mention to user.)"
    return [called(handle, "Agent", description=errand, prompt="…"), returned(handle, text)]


def test_an_agent_in_the_background_is_at_work_until_it_reports() -> None:
    entries = launched("a1", "Look for races")
    assert values(entries, "delegation", "claude") == {"Look for races": "pending"}
    assert values(entries, "findings", "claude") == {}
    ended = noticed("a1", "completed", 'Agent "Look for races" completed')
    report = "<result>Two &lt;races&gt;.\n\nBoth in pool.py.</result>\n<usage></usage>"
    over = [*entries, msgspec.structs.replace(ended, text=f"{ended.text}\n{report}")]
    assert values(over, "delegation", "claude") == {"Look for races": "done"}
    assert values(over, "findings", "claude") == {"Look for races": "Two <races>.\n\nBoth in pool.py."}


def test_an_agent_that_was_stopped_has_reported_nothing() -> None:
    ended = noticed("a1", "killed", 'Agent "Look for races" was stopped')
    over = [*launched("a1", "Look for races"), ended]
    assert values(over, "delegation", "claude") == values(over, "findings", "claude") == {}


def test_a_member_of_a_team_that_was_started_has_reported_nothing() -> None:
    text = "Spawned successfully.\nagent_id: mender@invoices\nname: mender\nThe agent is now running."
    entries = [called("t", "Task", description="Mend the totals", prompt="…"), returned("t", text)]
    assert values(entries, "delegation", "claude") == {"Mend the totals": "pending"}
    assert values(entries, "findings", "claude") == {}


def test_of_what_an_agent_reports_at_once_only_the_report_is_reported() -> None:
    text = (
        "Two races.\nagentId: a1 (for resuming to continue this agent's work)\n<usage>total_tokens: 9</usage>"
    )
    entries = [called("t", "Task", description="Look", prompt="…"), returned("t", text)]
    assert values(entries, "findings", "claude") == {"Look": "Two races."}
    assert values(entries, "delegation", "claude") == {"Look": "done"}
