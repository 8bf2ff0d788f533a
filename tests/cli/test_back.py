"""`segue back` on a made-up machine: which work it returns, what it says where it cannot, and what goes on after it
was broken off. The real programs come back in tests/programs/."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from segue.faces.cli import handoff_options
from segue.faces.cli.frame import Frame
from segue.hooks import guard
from segue.model import Handoff, HandoffState, Package, Tier
from segue.model.delivery import Delivery, Mode, Way
from segue.model.exit_reason import Output
from segue.ops.handoff import stays
from segue.ops.handoff.execution import _last_line
from tests.cli.test_run import Agents
from tests.cli.test_to import install
from tests.conftest import CommandLine
from tests.world import Conversation

FIRST = "6f0c1a52-0000-4000-8000-000000000001"
SECOND = "6f0c1a52-0000-4000-8000-000000000002"
TO = ("to", "demo", "--headless", "--way", "prompt")
BACK = ("back", "--headless")


@pytest.fixture
def agents(cli: CommandLine) -> Agents:
    return Agents(cli)


@pytest.fixture
def away(cli: CommandLine, agents: Agents) -> CommandLine:
    """Claude Code's work has gone to the demonstration agent."""
    talk = Conversation(cli.folder, cli.cwd, FIRST)
    talk.prompt("Our invoices are a cent off. Find out why.")
    talk.reply("Next I will round each line.")
    assert cli(*TO).code == 0
    return cli


def begin_another(cli: CommandLine) -> None:
    """The person starts a new conversation in the same folder, and it is the newest from then on."""
    talk = Conversation(cli.folder, cli.cwd, SECOND)
    talk.minutes = 60 * 24 * 365 * 20
    talk.prompt("Something else: tidy the readme.")
    talk.reply("Done.")


def returns(cli: CommandLine) -> list[dict[str, Any]]:
    return [one for one in json.loads(cli("handoff", "list", "--json").out) if one.get("returns")]


def next_of(cli: CommandLine) -> str:
    return str(json.loads(cli("--json").out)["next"])


# Which work


@pytest.mark.parametrize("hours", [0, 13], ids=["held", "its lease ran out"])
def test_what_was_handed_over_comes_back_though_another_conversation_was_begun_since(
    away: CommandLine, agents: Agents, hours: int
) -> None:
    begin_another(away)
    away.clock.time = f"2026-11-16T{10 + hours}:00:00.000000Z"
    assert next_of(away).startswith("segue back returns to Claude Code")
    assert away("back", "--dry-run").out.startswith("Work   Our invoices are a cent off.")
    agents.do("done I know.")
    back = away(*BACK, "--json")
    assert back.code == 0, back
    assert json.loads(back.out)["handoff"]["delivery"]["transcript"] == FIRST
    again = away(*BACK)
    assert again.code == 5 and "nowhere to return from" in again.err


def test_of_two_that_were_handed_over_the_one_that_holds_the_worktree_comes_back(away: CommandLine) -> None:
    away.clock.time = "2026-11-16T23:00:00.000000Z"
    begin_another(away)
    first = json.loads(away("back", "--dry-run", "--json").out)["session"]
    assert away(*TO).code == 0
    assert away("session", "use", first).code == 0
    assert json.loads(away("back", "--dry-run", "--json").out)["session"] != first
    assert json.loads(away("back", "--session", first, "--dry-run", "--json").out)["session"] == first


def test_a_session_that_is_named_is_the_one(away: CommandLine) -> None:
    begin_another(away)
    sessions = json.loads(away("session", "list", "--json").out)
    other = next(one["session"]["id"] for one in sessions if "readme" in one["session"]["title"])
    refused = away(*BACK, "--session", other)
    assert refused.code == 5 and "nowhere to return from" in refused.err


def test_the_command_that_does_what_was_looked_at_keeps_what_was_asked_for(away: CommandLine) -> None:
    session = json.loads(away("back", "--dry-run", "--json").out)["session"]
    assert away("back", "--dry-run").out.endswith("Nothing was sent. To hand over, run: segue back\n")
    shown = away("back", "--session", session, "--anyway", "--dry-run").out
    assert shown.endswith(f"Nothing was sent. To hand over, run: segue back --session {session} --anyway\n")
    shown = away("to", "demo:other", "--reason", "it is late", "--way", "prompt", "--dry-run").out
    assert shown.endswith(
        "Nothing was sent. To hand over, run: segue to demo:other --way prompt --reason 'it is late'\n"
    )


def test_without_a_terminal_the_headless_form_of_the_same_command_is_named(away: CommandLine) -> None:
    refused = away("back")
    assert refused.code == 2 and "next: segue back --headless" in refused.err
    refused = away("handoff", "execute", "--open")
    assert refused.code == 2 and "next: segue handoff execute --headless" in refused.err


def test_a_password_that_was_seen_where_the_work_was_does_not_come_back(
    away: CommandLine, agents: Agents
) -> None:
    (path,) = away.cwd.glob("received*.demo.jsonl")
    seen: list[dict[str, Any]] = [
        {"kind": "call", "origin": "assistant", "text": "cat .env", "tool": "shell"},
        {
            "kind": "result",
            "origin": "tool",
            "text": "DB_PASSWORD=Garden-Xylo-77q",
            "status": 0,
            "parent": "n0",
        },
        {"kind": "reply", "origin": "assistant", "text": "What you type into the form is Garden-Xylo-77q."},
    ]
    with path.open("a") as file:
        for number, entry in enumerate(seen):
            file.write(json.dumps({"id": f"n{number}", "at": "2026-11-16T11:00:00.000000Z", **entry}) + "\n")
    agents.do("done I know.")
    assert away(*BACK).code == 0
    (back,) = returns(away)
    shown = away("show", back["id"], "--json").out
    assert "into the form is [secret:" in shown and "Garden-Xylo" not in shown
    assert json.loads(shown)["receipt"]["redacted"] == 1


# Over several agents


def test_two_returns_report_every_stay_in_order(cli: CommandLine, agents: Agents) -> None:
    talk = Conversation(cli.folder, cli.cwd, FIRST)
    talk.prompt("Our invoices are a cent off. Find out why.")
    talk.reply("I will look at it.")
    agents.do("done I created `sum.py`. Next I will write the tests.", "done Next I will round each line.")
    assert cli("to", "claude:haiku", "--headless", "--way", "prompt").code == 0
    (other,) = [path for path in talk.path.parent.glob("*.jsonl") if path.stem != FIRST]
    assert cli(*TO).code == 0
    first = cli(*BACK, "--json")
    assert first.code == 0 and json.loads(first.out)["handoff"]["delivery"]["transcript"] == other.stem, first
    assert next_of(cli).startswith("segue back returns to Claude Code")
    assert f"transcript {other.stem}, last written" in cli("back", "--dry-run").out.splitlines()[1]

    agents.do("done I know.")
    shown = cli(*BACK)
    assert (
        shown.code == 0
        and "1 of 1 claim could not be confirmed; Claude Code (Opus 4.5) has the list:" in shown.out
    )
    assert "file created: sum.py" in shown.out and "segue back returns" not in shown.out, shown
    last = returns(cli)[0]
    assert (last["source"], last["target"].partition(":")[0], last["delivery"]["transcript"]) == (
        "claude",
        "claude",
        FIRST,
    )
    sections = json.loads(cli("show", last["id"], "--json").out)["brief"]["sections"]
    told = {section["title"]: section["lines"] for section in sections}
    one, two, three = told["Agents that worked on this since you left, in order"]
    assert one.startswith("1. Claude Code:") and "Said: I created `sum.py`" in one
    assert "next step then: Next I will write the tests." in one and "round each line" not in one
    assert one.endswith("1 of 1 claim could not be confirmed: file created: sum.py")
    assert two.startswith("2. Demonstration agent:") and "sum.py" not in two
    assert three.startswith("3. Claude Code again:") and "Next I will round each line." in three
    assert "sum.py" not in three and told["Next step"] == ["Next I will round each line."]
    assert cli(*BACK).code == 5, "the work is at home"


def handoff(id: str, source: str, target: str, *, returns: str = "", is_taken: bool = True) -> Handoff:
    return Handoff(
        id=id,
        session="s-1",
        source=source,
        target=target,
        tier=Tier.SELECTIVE,
        state=HandoffState.COMPLETED,
        reason="",
        package=Package(context=None, size=0, stored=0, brief="0"),
        receipt="0",
        created_at=f"2026-11-16T09:0{id[-1]}:00.000000Z",
        updated_at="2026-11-16T10:00:00.000000Z",
        transcript=f"of {source}",
        returns=returns,
        delivery=Delivery(
            way=Way.RESUME if returns else Way.PROMPT,
            mode=Mode.HEADLESS,
            transcript=f"of {target}",
            has_arrived=is_taken,
        ),
    )


TRIPS = {
    "out": ([("h1", "claude", "codex", "")], ["h1: h1"]),
    "out and back": ([("h1", "claude", "codex", ""), ("h2", "codex", "claude", "h1")], []),
    "two out, one back": (
        [("h1", "claude", "codex", ""), ("h2", "codex", "gemini", ""), ("h3", "gemini", "codex", "h2")],
        ["h1: h1 h2 h3"],
    ),
    "and on to another": (
        [
            ("h1", "claude", "codex", ""),
            ("h2", "codex", "gemini", ""),
            ("h3", "gemini", "codex", "h2"),
            ("h4", "codex", "opencode", ""),
        ],
        ["h1: h1 h2 h3", "h4: h4"],
    ),
    "two out, back from the first": (
        [("h1", "claude", "codex", ""), ("h2", "codex", "gemini", ""), ("h3", "gemini", "claude", "h1")],
        [],
    ),
    "twice from the same, one back": (
        [("h1", "claude", "codex", ""), ("h2", "claude", "gemini", ""), ("h3", "gemini", "claude", "h2")],
        ["h1: h1"],
    ),
}


@pytest.mark.parametrize("name", TRIPS)
def test_a_return_closes_its_trip_and_the_one_before_keeps_the_stays(name: str) -> None:
    moves, expected = TRIPS[name]
    handoffs = [handoff(id, source, target, returns=returns) for id, source, target, returns in moves]
    never_taken = handoff("h9", "claude", "pi", is_taken=False)
    trips = stays.open_trips([never_taken, *reversed(handoffs)])
    assert [f"{trip.out.id}: {' '.join(one.id for one in trip.stays)}" for trip in trips] == expected


WROTE_NOTES: list[dict[str, Any]] = [
    {"id": "7", "kind": "call", "origin": "assistant", "text": "echo '# Notes' > notes.md", "tool": "shell"},
    {"id": "8", "kind": "result", "origin": "tool", "text": "", "status": 0, "parent": "7"},
    {
        "id": "9",
        "kind": "reply",
        "origin": "assistant",
        "text": "I created `notes.md`.",
    },
]


def write_notes(away: CommandLine, claim: str = "") -> None:
    """The demonstration agent writes a file and says so, and makes another claim."""
    (path,) = away.cwd.glob("received*.demo.jsonl")
    (away.cwd / "notes.md").write_text("# Notes\n")
    with path.open("a") as file:
        for entry in WROTE_NOTES:
            said = {**entry, "text": f"{entry['text']}{claim}"} if entry["kind"] == "reply" else entry
            file.write(json.dumps({"at": "2026-11-16T11:00:00.000000Z", **said}) + "\n")


def test_claims_that_all_hold_are_not_mentioned(away: CommandLine, agents: Agents) -> None:
    write_notes(away)
    [handoff] = json.loads(away("handoff", "list", "--json").out)
    [claim] = json.loads(away("verify", "--since", handoff["id"], "--json").out)["checked"]
    assert claim["verdict"] == "supported"
    agents.do("done I know.")
    shown = away(*BACK)
    assert shown.code == 0 and "confirmed" not in shown.out and "segue verify" not in shown.out, shown


def test_claims_that_could_not_be_confirmed_are_counted_and_named(away: CommandLine, agents: Agents) -> None:
    write_notes(away, " I also created `sum.py`.")
    assert "1 of 2 claims could not be confirmed" in away("back", "--dry-run").out
    agents.do("done I know.")
    back = json.loads(away(*BACK, "--json").out)
    assert back["claims"]["unconfirmed"] == 1 and back["claims"]["checked"] == 2
    assert back["claims"]["since"] == [back["handoff"]["returns"]]
    (named,) = back["unconfirmed"]
    assert "file created: sum.py" in named and "there is no such file" in named


# Broken off


def test_a_return_that_stopped_in_the_middle_is_gone_on_with(away: CommandLine, agents: Agents) -> None:
    agents.do("crash")
    stopped = away(*BACK)
    assert stopped.code == 6 and "next: segue back resumes it" in stopped.err, stopped
    begin_another(away)
    assert next_of(away).startswith("segue back continues the return")
    agents.do("done I know.")
    assert away(*BACK).code == 0
    (only,) = returns(away)
    assert only["state"] == "completed", "the same one, and no other beside it"


def test_a_prepared_handoff_that_a_return_replaces_is_named(away: CommandLine, agents: Agents) -> None:
    install(away, "codex")
    assert away("handoff", "prepare", "--to", "codex").code == 0
    agents.do("done I know.")
    said = away(*BACK).err
    assert "note: handoff h-000000000002 to Codex is cancelled: a new one replaces it." in said


def test_a_return_that_never_arrived_is_tried_again(away: CommandLine, agents: Agents) -> None:
    agents.do("deaf")
    failed = away(*BACK)
    assert failed.code == 6 and "next: segue back tries again" in failed.err, failed
    begin_another(away)
    assert next_of(away).startswith("segue back tries again")
    agents.do("done I know.")
    assert away(*BACK).code == 0
    assert sorted(one["state"] for one in returns(away)) == ["completed", "failed"]


def test_undo_takes_back_a_return_that_never_began_and_then_the_handoff(
    away: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_args: object, **_named: object) -> None:
        raise KeyboardInterrupt

    write_notes(away, " I also created `sum.py`.")
    monkeypatch.setattr("segue.ops.verify.back.execute", killed)
    assert away(*BACK).code
    (out, back) = sorted(
        json.loads(away("handoff", "list", "--json").out), key=lambda one: bool(one["returns"])
    )
    undone = away("undo")
    assert undone.code == 0 and f"Undid handoff {back['id']}" in undone.out, undone
    assert [one["state"] for one in returns(away)] == ["rolled back"]
    undone = away("undo")
    assert undone.code == 0 and f"Undid handoff {out['id']}" in undone.out, undone
    assert away("undo").code == 5 and away("log", "verify").code == 0


def test_an_error_of_the_vendor_is_told_in_its_own_words(away: CommandLine, agents: Agents) -> None:
    agents.do("overloaded")
    stopped = away(*BACK)
    assert stopped.code == 6 and "overloaded (API Error: 529 Overloaded)" in stopped.err, stopped
    assert "{" not in stopped.err


@pytest.mark.parametrize(
    ("stderr", "stdout", "said"),
    [
        ("", '{"type":"result"}\n', ""),
        ("", 'Hello.\n{"type":"result"}\n', "Hello."),
        ('Fatal: no such model\n{\n  "error": {\n    "code": 1\n  }\n}\n', "", "Fatal: no such model"),
        ('{"type":"error"}\n', "[main] it is gone\n", "[main] it is gone"),
        ('e":"the end of a long record"}\n', "", ""),
    ],
)
def test_a_record_for_programs_is_nobodys_last_words(stderr: str, stdout: str, said: str) -> None:
    assert _last_line(Output(exit_code=1, stdout=stdout, stderr=stderr)) == said


# Undone


def returned(cli: CommandLine, agents: Agents) -> None:
    agents.do("done I know.")
    assert cli(*BACK).code == 0


def failed(cli: CommandLine, agents: Agents) -> None:
    agents.do("deaf")
    assert cli(*BACK).code == 6


@pytest.mark.parametrize("come_back", [returned, failed])
def test_undo_takes_back_the_return_then_the_handoff_and_nothing_in_between(
    away: CommandLine, agents: Agents, come_back: Callable[[CommandLine, Agents], None]
) -> None:
    come_back(away, agents)
    assert "Undid handoff h-000000000002 (demo to claude)" in away("undo").out
    assert "Undid handoff h-000000000001 (claude to demo)" in away("undo").out
    nothing = away("undo")
    assert nothing.code == 5 and "You have nothing to undo" in nothing.err, nothing


@pytest.mark.parametrize("come_back", [returned, failed])
def test_after_undo_the_worktree_is_held_again_for_the_agent_that_has_the_work(
    away: CommandLine, agents: Agents, come_back: Callable[[CommandLine, Agents], None]
) -> None:
    (before,) = guard.notes(away.home / "data")
    come_back(away, agents)
    assert guard.notes(away.home / "data") == []
    assert away("undo").code == 0
    (held,) = guard.notes(away.home / "data")
    assert (held.root, held.handoff, held.holder) == (before.root, before.handoff, before.holder)
    assert away("undo").code == 0
    assert guard.notes(away.home / "data") == []


def test_undoing_a_second_handoff_gives_the_worktree_back_to_the_first(
    cli: CommandLine, agents: Agents
) -> None:
    Conversation(cli.folder, cli.cwd, FIRST).prompt("Our invoices are a cent off. Find out why.")
    agents.do("done Next I will round each line.")
    assert cli("to", "claude:haiku", "--headless", "--way", "prompt").code == 0
    assert cli(*TO).code == 0
    assert [held.handoff for held in guard.notes(cli.home / "data")] == ["h-000000000002"]
    assert cli("undo").code == 0
    assert [held.handoff for held in guard.notes(cli.home / "data")] == ["h-000000000001"]


# When


def test_whoever_is_at_a_limit_is_returned_to_after_it(away: CommandLine) -> None:
    talk = Conversation(away.folder, away.cwd, "6f0c1a52-0000-4000-8000-000000000003")
    talk.prompt("And this?")
    talk.limit("You've hit your 5-hour limit · resets 12pm (UTC)")
    assert next_of(away).startswith("segue back returns to Claude Code after 2026-11-16 12:00 UTC ·")
    assert "segue back returns to Claude Code after 2026-11-16 12:00 ·" in away().out
    away.clock.time = "2026-11-16T12:00:01.000000Z"
    assert next_of(away).startswith("segue back returns to Claude Code ·")


# What a person is told, and when


class Terminal:
    """Streams that a person sits at."""

    @staticmethod
    def isatty() -> bool:
        return True


def test_that_an_agent_is_at_work_is_told_once_it_may_be(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    def agree(question: str, **_: object) -> bool:
        told.append(question)
        return True

    monkeypatch.setattr("segue.agents.demo.vendor_of", lambda _model, _env: "elsewhere", raising=False)
    monkeypatch.setattr(
        handoff_options, "sys", SimpleNamespace(stdin=Terminal, stdout=Terminal, stderr=Terminal)
    )
    monkeypatch.setattr("click.confirm", agree)
    monkeypatch.setattr(Frame, "say", lambda _frame, text: told.append(text))
    Conversation(cli.folder, cli.cwd, FIRST).prompt("Find out why.")
    question, at_work = (
        "Let this project's context go there?",
        "Demonstration agent is working; press Ctrl-C to stop it.",
    )

    assert cli(*TO).code == 0
    assert told[-2:] == [question, at_work] and told.count(at_work) == 1
    cli("undo")
    told.clear()
    assert cli(*TO).code == 0
    assert question not in told and told[-1] == at_work, "it was allowed before"
