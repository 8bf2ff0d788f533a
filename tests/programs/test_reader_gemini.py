"""What the real Gemini CLI leaves on disk is read: found by its folder alone, with every call and every token."""

from __future__ import annotations

from pathlib import Path

import pytest

from segue.agents.gemini import reader as gemini
from segue.agents.shared.transcripts import index_scan
from segue.model import Ending, Entry, EntryKind, Origin, Relation, Source, Tokens
from tests.programs.model_server import Call, Reply, Step
from tests.programs.model_server import Tokens as Used
from tests.programs.program import Program

pytestmark = pytest.mark.parametrize("program", ["gemini"], indirect=True)


def transcript(home: Path) -> Source:
    [found] = gemini.find({"HOME": str(home)}, ())
    return found


def of_kind(found: list[Entry], kind: EntryKind) -> list[Entry]:
    return [entry for entry in found if entry.kind is kind]


def test_a_session_with_tools_is_read_as_it_went(program: Program, workspace: Path) -> None:
    run = program.run(
        "Look around: canary-prompt",
        workspace,
        [
            Reply("Looking.", calls=(program.shell("echo canary-out; exit 3"),)),
            program.write_file(workspace / "notes.txt", "hello\n"),
            Call("read_file", {"file_path": str(workspace / "missing.txt")}),
            Reply("Done: canary-answer", tokens=Used(input=100, output=7, cached=30)),
        ],
    )
    assert run.exit_code == 0, run.report

    source = transcript(run.home)
    reading = gemini.read(source)
    found = list(reading)
    [prompt] = [e for e in of_kind(found, EntryKind.PROMPT) if e.origin is Origin.HUMAN]
    assert prompt.text == "Look around: canary-prompt"
    assert [e.text for e in of_kind(found, EntryKind.REPLY)] == ["Looking.", "Done: canary-answer"]
    calls, results = of_kind(found, EntryKind.CALL), of_kind(found, EntryKind.RESULT)
    assert (
        [e.tool for e in calls]
        == [e.tool for e in results]
        == ["run_shell_command", "write_file", "read_file"]
    )
    assert [e.parent for e in results] == [e.id for e in calls]
    assert [e.status for e in results] == [3, None, None]
    assert [e.is_error for e in results] == [False, False, True]
    assert "canary-out" in results[0].text
    assert found[-1].at
    assert reading.broken == 0 and not reading.unknown

    scan = index_scan.scan(gemini.read(source))
    assert len(scan.spends) == len(run.requests) == 4
    assert scan.spends[-1].tokens == Tokens(input=70, output=7, cache_read=30)
    assert scan.transcript.id == program.session_id(run.stdout)
    assert Path(scan.transcript.project) == workspace
    assert (scan.transcript.ending, scan.transcript.model) == (Ending.ENDED, program.model)
    assert gemini.recognise(Path(source.path).read_bytes()[:4096])


def test_a_resumed_session_is_told_once(program: Program, workspace: Path) -> None:
    with program.sandbox() as sandbox:
        script: list[Step] = [program.shell("echo one"), Reply("I will.")]
        first = program.run("Remember canary-first", workspace, script, sandbox=sandbox)
        source = transcript(first.home)
        begun = gemini.read(source)
        found = list(begun)
        session = program.session_id(first.stdout)
        second = program.run("Go on", workspace, [Reply("Yes.")], sandbox=sandbox, resume=session)
        assert second.exit_code == 0, second.report

    later = list(gemini.read(source, begun.mark))
    assert found + later == list(gemini.read(source))
    said = [e.text for e in found + later if e.kind in (EntryKind.PROMPT, EntryKind.REPLY)]
    assert said == ["Remember canary-first", "I will.", "Go on", "Yes."]
    assert len(of_kind(found + later, EntryKind.CALL)) == len(of_kind(found + later, EntryKind.RESULT)) == 1
    resumed = next(e for e in later if e.text == "Go on")
    assert resumed.parent in {e.id for e in found if e.text == "I will."}


def test_a_sub_agent_is_a_transcript_of_its_own(program: Program, workspace: Path) -> None:
    asked = {"agent_name": "generalist", "prompt": "Find canary-price"}
    script: list[Step] = [
        Call("invoke_agent", asked),
        Call("complete_task", {"result": {"response": "Three uses."}}),
        Reply("There are three."),
    ]
    run = program.run("Ask your helper", workspace, script)
    assert run.exit_code == 0, run.report

    scans = [index_scan.scan(gemini.read(found)) for found in gemini.find({"HOME": str(run.home)}, ())]
    [session] = [scan.transcript for scan in scans if scan.transcript.relation is None]
    [helper] = [scan.transcript for scan in scans if scan.transcript.relation is Relation.SUBAGENT]
    assert (helper.parent, helper.project) == (session.id, session.project)
    assert (session.turns, helper.turns) == (1, 0), "what the agent asked was not typed by anybody"
    assert sum(len(scan.spends) for scan in scans) == len(run.requests) == 3


def test_a_session_that_met_a_limit_is_left_open(program: Program, workspace: Path) -> None:
    run = program.run("Try it", workspace, [program.usage_limit(0)] * 3)
    assert run.exit_code != 0
    scan = index_scan.scan(gemini.read(transcript(run.home)))
    assert scan.transcript.ending is Ending.OPEN, "the program writes nothing of a limit into its transcript"
    assert scan.transcript.turns == 1
