"""Handoffs between the real programs: what reached the model is in the request log."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from segue.ops.common import process as processes
from segue.ops.common.desk import open_desk
from segue.ops.handoff import handoff_records

from . import matrix
from .claude import SUBSCRIPTION, refusal
from .household import KINDS, Household, git, saying
from .matrix import CONSTRAINTS, SECRET
from .model_server import Fault, Reply, Request, Script

CELLS = [
    (source, target, way)
    for source in KINDS
    for target in KINDS
    for way in ("native", "prompt")
    if source != target
] + [(name, name, "resume") for name in KINDS]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory, programs: dict[str, Path]) -> Iterator[Household]:
    """One home for all cells; each source works once, and is handed on from copies of its project's state."""
    with Household(tmp_path_factory.mktemp("household")) as household:
        yield household


@pytest.mark.parametrize(("source", "target", "way"), CELLS, ids=lambda part: part)
def test_every_source_to_every_target(machine: Household, source: str, target: str, way: str) -> None:
    project = matrix.begun(machine, source)
    cell = matrix.hand_over(machine, source, target, way, project)
    undone = machine.segue("undo", cwd=project)
    assert cell.is_good, f"{matrix.table([cell])}\n{cell.ran.report}"
    assert cell.way == way
    assert undone.exit_code == 0, undone.report


# There and back


def test_there_and_back_is_one_conversation_that_knows_what_happened_meanwhile(household: Household) -> None:
    project = household.project("p")
    assert household.segue("init", "--yes", cwd=project).exit_code == 0
    claude, codex = household.programs["claude"], household.programs["codex"]
    id = household.work("claude", project, matrix.PROMPT, [Reply("I will look at it.")])

    away = household.segue(
        *("to", "codex", "--headless", "--yes", "--json"),
        cwd=project,
        script=[
            codex.write_file(project / "done.txt", "by the other\n"),
            Reply("canary-done: I wrote done.txt."),
        ],
    )
    assert away.exit_code == 0, away.report

    # Claude Code was left open, and goes on by itself: it may look, and may not write.
    alone = claude.run(
        "Go on",
        project,
        [claude.write_file(project / "mine.txt", "x\n"), claude.shell("ls"), Reply("Refused.")],
        sandbox=household.sandbox,
        resume=id,
        environment=household.environment,
    )
    assert not (project / "mine.txt").exists(), alone.report
    refused, looked = alone.requests[-1].results[-2:]
    assert "Codex" in refused.text and "segue back" in refused.text
    assert "done.txt" in looked.text

    back = household.segue("back", "--headless", "--json", cwd=project, script=saying("I know."))
    assert back.exit_code == 0, back.report
    told = back.requests[0].text
    assert "Back from Codex" in told and "done.txt" in told and "canary-done" in told
    assert "I will look at it." in told, "the conversation of before goes on"
    assert told.count("canary-ask-4711") <= 2, "what it knew is not told again"
    assert back.data["handoff"]["delivery"]["transcript"] == id
    main = [p for p in household.home.glob(".claude/projects/*/*.jsonl") if not p.name.startswith("agent-")]
    assert [p.stem for p in main] == [id], "one conversation, and no copy"

    free = claude.run(
        "Go on",
        project,
        [claude.write_file(project / "mine.txt", "x\n"), Reply("Done.")],
        sandbox=household.sandbox,
        resume=id,
        environment=household.environment,
    )
    assert (project / "mine.txt").exists(), free.report


# Limits


def limited(household: Household, project: Path, claim: str, resets_at: int) -> None:
    claude = household.programs["claude"]
    claude.run(
        matrix.PROMPT,
        project,
        [claude.shell("true"), refusal(resets_at, claim)],
        sandbox=household.sandbox,
        arguments=["--model", "opus"],
        environment={**household.environment, **SUBSCRIPTION},
    )


def test_at_the_limit_of_one_model_another_is_a_way_out(household: Household) -> None:
    project = household.project("p")
    limited(household, project, "seven_day_opus", int(time.time()) + 3600)
    ran = household.segue("to", "sonnet", "--headless", "--json", cwd=project, script=saying("Going on."))
    assert ran.exit_code == 0, ran.report
    assert ran.data["handoff"]["delivery"]["way"] == "resume"
    assert "sonnet" in ran.requests[0].model
    assert all(constraint in ran.requests[0].text for constraint in CONSTRAINTS)
    again = household.segue("to", "opus", "--headless", cwd=project)
    assert again.exit_code == 5 and "opus" in again.stderr.lower(), again.report


def test_at_the_limit_of_the_account_another_model_of_it_is_refused_with_the_reason(
    household: Household,
) -> None:
    project = household.project("p")
    limited(household, project, "five_hour", int(time.time()) + 3600)
    ran = household.segue("to", "sonnet", "--headless", cwd=project)
    assert ran.exit_code == 5, ran.report
    assert "account" in ran.stderr and "switching models won't help" in ran.stderr
    assert ran.server.requests == ()


# Questions


def from_the_message(request: Request) -> Reply:
    """A model that answers from what is in the request, and from nothing else."""
    from segue.agents.demo import answer

    text = next((m.text for m in reversed(request.messages) if "# Handoff h-" in m.text), "")
    return Reply(answer.reply_to(text))


@pytest.mark.parametrize("target", list(KINDS))
def test_what_arrived_is_proved_by_questions(household: Household, target: str) -> None:
    source = "codex" if target == "claude" else "claude"
    project = household.project("p")
    matrix.begin(household, source, project)
    script = Script(then=from_the_message, auxiliary=from_the_message)
    before = transcripts_of(household, target)
    ran = household.segue(
        "to", target, "--headless", "--yes", "--prove", "--json", cwd=project, script=script
    )
    assert ran.exit_code == 0, ran.report
    report = ran.data["proof"]["report"]
    assert report["score"] == 1.0, json.dumps(report, indent=1)
    kinds = {graded["probe"]["kind"] for graded in report["results"]}
    assert {"constraint", "next step", "file", "command", "branch"} <= kinds
    assert len(transcripts_of(household, target) - before) == 1, "the copy that was asked is thrown away"
    shown = household.segue("handoff", "validate", ran.data["handoff"]["id"], cwd=project)
    assert shown.exit_code == 0 and "validated" in shown.stdout, shown.report


def transcripts_of(household: Household, agent: str) -> set[str]:
    ran = household.segue("transcripts", "--agent", agent, "--json", cwd=household.home)
    return {one["transcript"]["id"] for one in ran.data["transcripts"]}


# Killed


def prompts_with(household: Household, mark: str) -> list[Path]:
    """The rollouts of Codex in which a handoff was said, once for each time that it was."""
    found = []
    for path in household.home.glob(".codex/sessions/**/*.jsonl"):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            payload = record.get("payload", {})
            if record["type"] == "response_item" and payload.get("role") == "user" and mark in line:
                found.append(path)
    return found


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_any_write_the_same_command_finishes_and_nothing_happens_twice(
    household: Household, when: str
) -> None:
    killer = Path(__file__).with_name("killing.py")
    for number in range(1, 30):
        project = household.project(f"p{number}")
        matrix.begin(household, "claude", project)
        command = ("to", "codex", "--headless", "--yes", "--json")
        killed = household.segue(
            *command, cwd=project, script=saying("Taken."), under=(str(killer), when, str(number))
        )
        if killed.exit_code != -signal.SIGKILL:
            break
        again = household.segue(*command, cwd=project, script=saying("Taken."))
        assert again.exit_code == 0 or "already" in again.stderr, f"{when} {number}: {again.report}"
        listed = household.segue("handoff", "list", "--json", cwd=project).data
        own = [one for one in listed if one["delivery"]["project"] == str(project)]
        alive = [one for one in own if one["state"] not in ("cancelled", "failed")]
        assert [one["state"] for one in alive] == ["completed"], (when, number, own)
        said = [path for one in own for path in prompts_with(household, f"# Handoff {one['id']}")]
        assert len(said) == 1, (when, number, said)
        check = household.segue("log", "verify", cwd=project)
        assert check.exit_code == 0, check.report
    assert number >= 6, "it was killed at every write"
    assert git(project, "status", "--porcelain")


# What must not be


def test_without_a_terminal_and_without_consent_nothing_leaves(household: Household) -> None:
    project = household.project("p")
    matrix.begin(household, "claude", project)
    ran = household.segue("to", "codex", "--headless", cwd=project)
    assert ran.exit_code == 5 and "--yes" in ran.stderr, ran.report
    assert ran.server.requests == () and prompts_with(household, "# Handoff") == []
    opened = household.segue("to", "codex", cwd=project)
    assert opened.exit_code == 2 and "--headless" in opened.stderr


def test_a_target_that_is_not_installed_is_named_and_nothing_is_changed(household: Household) -> None:
    project = household.project("p")
    matrix.begin(household, "claude", project)
    (household.bin / "codex").unlink()
    ran = household.segue("to", "codex", "--headless", "--yes", cwd=project)
    assert ran.exit_code == 6 and "codex" in ran.stderr and "segue doctor" in ran.stderr, ran.report
    assert household.segue("handoff", "list", "--json", cwd=project).data == []


def test_a_session_is_handed_over_by_one_at_a_time(household: Household) -> None:
    project = household.project("p")
    matrix.begin(household, "claude", project)
    codex = household.programs["codex"]
    first, server = household.start(
        *("to", "codex", "--headless", "--yes"),
        cwd=project,
        script=[codex.shell("touch started; sleep 5"), Reply("Done.")],
    )
    with server:
        deadline = time.monotonic() + 60
        while not (project / "started").exists():
            assert time.monotonic() < deadline, first.stderr
            time.sleep(0.05)
        second = household.sandbox.start(
            [sys.executable, "-m", "segue", "to", "codex", "--headless", "--yes"],
            cwd=project,
            environment=household.environment,
        )
        code = second.wait()
        assert code == 5 and "right now" in second.stderr, second.stderr
        assert first.wait() == 0, first.stderr


def test_a_target_that_dies_before_it_has_the_handoff_is_told_of(household: Household) -> None:
    project = household.project("p")
    matrix.begin(household, "claude", project)
    (household.bin / "codex").unlink()
    broken = household.bin / "codex"
    broken.write_text("#!/bin/sh\necho cannot start >&2\nexit 0\n")
    broken.chmod(0o755)
    ran = household.segue("to", "codex", "--headless", "--yes", cwd=project)
    assert ran.exit_code == 6 and "cannot start" in ran.stderr, ran.report
    assert "Codex exited (code 0) without taking the handoff" in ran.stderr
    assert rollouts(household) == [], "what was written for it is removed"
    (one,) = household.segue("handoff", "list", "--json", cwd=project).data
    assert one["state"] == "failed" and not one["delivery"]["has_arrived"]
    broken.unlink()
    broken.symlink_to(household.programs["codex"].executable)
    again = household.segue("to", "codex", "--headless", "--yes", cwd=project, script=saying("Taken."))
    assert again.exit_code == 0, again.report


def rollouts(household: Household) -> list[Path]:
    return list(household.home.glob(".codex/sessions/**/*.jsonl"))


def configure_codex(household: Household, old: str, new: str) -> None:
    config = household.home / ".codex" / "config.toml"
    config.write_text(config.read_text().replace(old, new))


def assert_nothing_is_left(household: Household, project: Path) -> None:
    """The handoff failed, Codex's history is as it was, and undo takes back the handoff and nothing else."""
    (one,) = household.segue("handoff", "list", "--json", cwd=project).data
    assert one["state"] == "failed" and rollouts(household) == []
    undone = household.segue("undo", cwd=project)
    assert undone.exit_code == 0 and f"Undid handoff {one['id']}" in undone.stdout, undone.report
    (one,) = household.segue("handoff", "list", "--json", cwd=project).data
    assert one["state"] == "rolled back"


def test_a_target_without_a_login_leaves_nothing_and_says_what_to_do(household: Household) -> None:
    project = household.project("p")
    matrix.begin(household, "claude", project)
    configure_codex(household, 'env_key = "LOCAL_KEY"', 'env_key = "MISSING_KEY"')
    ran = household.segue("to", "codex", "--headless", "--yes", cwd=project)
    assert ran.exit_code == 6, ran.report
    assert "Codex exited (code 1) without taking the handoff: it is not signed in" in ran.stderr, ran.report
    assert "codex login" in ran.stderr and "MISSING_KEY" in ran.stderr
    assert_nothing_is_left(household, project)


def test_a_target_whose_server_is_down_leaves_nothing(household: Household) -> None:
    project = household.project("p")
    matrix.begin(household, "claude", project)
    down = Script(then=Fault(503, {"error": {"message": "Service unavailable"}}))
    ran = household.segue("to", "codex", "--headless", "--yes", cwd=project, script=down)
    assert ran.exit_code == 6, ran.report
    assert "without taking the handoff: its vendor cannot be reached" in ran.stderr, ran.report
    assert_nothing_is_left(household, project)


def refused(status: int, said: str) -> Fault:
    return Fault(status, {"type": "error", "error": {"type": "error", "message": said}})


@pytest.mark.parametrize(
    ("target", "sign_in"),
    [
        ("claude", "start `claude` and enter `/login`"),
        ("codex", "run `codex login`"),
        ("gemini", "start `gemini` and enter `/auth`, or set GEMINI_API_KEY"),
        ("opencode", "run `opencode auth login`"),
    ],
)
def test_a_target_that_got_the_brief_alone_and_did_nothing_has_not_taken_it(
    household: Household, target: str, sign_in: str
) -> None:
    source = "gemini" if target == "claude" else "claude"
    project = household.project("p")
    matrix.begin(household, source, project)
    command = ("to", target, "--headless", "--yes", "--way", "prompt", "--json")
    before = transcripts_of(household, source)
    failed = household.segue(*command, cwd=project, script=Script(then=refused(401, "invalid x-api-key")))
    assert failed.exit_code == 6, failed.report
    assert f"without taking the handoff: it is not signed in; {sign_in} (" in failed.stderr, failed.report
    (one,) = household.segue("handoff", "list", "--json", cwd=project).data
    assert one["state"] == "failed" and not one["delivery"]["has_arrived"]
    (transcript,) = before
    again = household.segue(*command, cwd=project, script=saying("Taken."))
    assert again.exit_code == 0, again.report
    assert again.data["handoff"]["transcript"] == transcript, "the work is still where it was"


@pytest.mark.parametrize("way", ["native", "prompt"])
@pytest.mark.parametrize("target", ["codex", "gemini"])
def test_a_target_that_sent_too_many_requests_says_so(household: Household, target: str, way: str) -> None:
    project = household.project("p")
    matrix.begin(household, "claude", project)
    command = ("to", target, "--headless", "--yes", "--way", way)
    ran = household.segue(*command, cwd=project, script=Script(then=refused(429, "Too many requests")))
    assert ran.exit_code == 6, ran.report
    assert "without taking the handoff: its vendor is rate limiting requests" in ran.stderr, ran.report
    (one,) = household.segue("handoff", "list", "--json", cwd=project).data
    assert one["state"] == "failed" and not one["delivery"]["has_arrived"]


def test_a_target_that_stopped_in_mid_work_has_it_and_says_why(household: Household) -> None:
    project = household.project("p")
    matrix.begin(household, "claude", project)
    codex = household.programs["codex"]
    script = Script([codex.shell("touch begun")], then=refused(401, "Unauthorized"))
    ran = household.segue("to", "codex", "--headless", "--yes", "--way", "prompt", cwd=project, script=script)
    said = "Codex has the work, but stopped: it is not signed in; run `codex login`"
    assert ran.exit_code == 6 and said in ran.stderr, ran.report
    (one,) = household.segue("handoff", "list", "--json", cwd=project).data
    assert one["state"] == "acknowledged"


def test_a_signal_ends_the_target_and_the_handoff_can_be_continued(household: Household) -> None:
    project = household.project("p")
    matrix.begin(household, "claude", project)
    codex = household.programs["codex"]
    process, server = household.start(
        *("to", "codex", "--headless", "--yes"),
        cwd=project,
        script=[codex.shell("echo $PPID > started; sleep 60"), Reply("Done.")],
    )
    with server:
        deadline = time.monotonic() + 60
        while not (project / "started").exists():
            assert time.monotonic() < deadline, process.stderr
            time.sleep(0.05)
        (signed,) = household.home.glob("**/runs/h-*/pid")
        folder = signed.parent
        assert processes.is_running(folder)
        process.signal(signal.SIGTERM)
        assert process.wait() == 128 + signal.SIGTERM, process.stderr
    assert not processes.is_running(folder)
    assert "segue to codex resumes it" in process.stderr
    (one,) = household.segue("handoff", "list", "--json", cwd=project).data
    assert one["state"] == "acknowledged"
    again = household.segue("to", "codex", "--headless", cwd=project, script=saying("Taken."))
    assert again.exit_code == 0, again.report


def test_secrets_do_not_reach_another_vendor(household: Household) -> None:
    project = household.project("p")
    matrix.begin(household, "claude", project)
    ran = household.segue(
        "to", "codex", "--headless", "--yes", "--preserve", "complete", cwd=project, script=saying(".")
    )
    assert ran.exit_code == 0, ran.report
    assert "GITHUB_TOKEN=" in ran.requests[0].text and SECRET not in ran.requests[0].text


def own_home(household: Household) -> dict[str, str]:
    """Where Segue keeps its things, for a test that looks into them."""
    return {"SEGUE_HOME": str(household.home / "segue"), "HOME": str(household.home)}


def take_out(household: Household, project: Path, id: str, line: str) -> None:
    """Take one line out of what a prepared handoff would say."""
    desk = open_desk(env=own_home(household), cwd=project)
    handoff = handoff_records.get(desk, id)
    brief = handoff_records.brief_of(desk, handoff)
    sections = tuple(
        msgspec.structs.replace(section, lines=tuple(one for one in section.lines if line not in one))
        for section in brief.sections
    )
    assert sections != brief.sections
    kept = desk.shared.keep(msgspec.json.encode(msgspec.structs.replace(brief, sections=sections)))
    handoff_records.change(
        desk,
        id,
        "handoff.settled",
        lambda known: msgspec.structs.replace(
            known, package=msgspec.structs.replace(known.package, brief=kept.hash)
        ),
    )
    desk.close()


@pytest.mark.parametrize(
    ("line", "kind"), [("Branch: main", "branch"), ("sum.py: created", "file"), ("cat secret.env", "command")]
)
def test_a_fact_that_is_taken_out_of_the_delivery_fails_exactly_its_question_and_is_said_again(
    household: Household, line: str, kind: str
) -> None:
    project = household.project("p")
    matrix.begin(household, "claude", project)
    home = own_home(household)
    prepared = household.segue(
        *("handoff", "prepare", "--to", "codex", "--way", "prompt", "--json"), cwd=project, environment=home
    )
    id = prepared.data["id"]
    take_out(household, project, id, line)
    script = Script(then=from_the_message, auxiliary=from_the_message)
    ran = household.segue(
        *("handoff", "execute", id, "--yes", "--prove", "--json"),
        cwd=project,
        script=script,
        environment=home,
    )
    assert ran.exit_code == 0, ran.report
    results = ran.data["proof"]["report"]["results"]
    assert [one["probe"]["kind"] for one in results if one["lost"]] == [kind]
    told = ran.server.requests[-1].text
    assert (
        "Important: a copy" in told
        and line.partition(":")[2].strip() in told.partition("Important: a copy")[2]
    )
    checked = household.segue("handoff", "validate", id, cwd=project, environment=home)
    assert checked.exit_code == 1, checked.report


def test_what_a_person_insists_on_survives_a_chain_of_agents(household: Household) -> None:
    project = household.project("p")
    matrix.begin(household, "claude", project)
    for target in ("codex", "gemini", "opencode"):
        ran = household.segue(
            *("to", target, "--headless", "--yes", "--way", "prompt", "--json"),
            cwd=project,
            script=saying(f"I am {target}."),
        )
        assert ran.exit_code == 0, ran.report
        text = ran.requests[0].text
        assert all(text.count(constraint) == 1 for constraint in CONSTRAINTS), (target, text)
        assert "sum.py: created" in text, "what the first agent did is known to the last"
        assert SECRET not in text
