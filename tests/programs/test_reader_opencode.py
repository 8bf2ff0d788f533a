"""What the real OpenCode leaves in its database is read back as it happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from segue.agents.opencode import reader as opencode
from segue.agents.shared.transcripts import index_scan
from segue.model import Ending, EntryKind, Origin, Scope, Tokens
from tests.programs.model_server import Reply, Script
from tests.programs.program import Program

pytestmark = pytest.mark.parametrize("program", ["opencode"], indirect=True)


def test_a_run_is_read_back_from_the_real_database(program: Program, workspace: Path) -> None:
    run = program.run(
        "Write the notes: canary-prompt",
        workspace,
        [
            program.write_file(workspace / "notes.txt", "hello\n"),
            program.shell("echo canary-output; exit 1"),
            Reply("Written: canary-answer"),
        ],
    )
    assert run.exit_code == 0, run.report
    [source] = opencode.find({"HOME": str(run.home)}, [])
    reading = opencode.read(source)
    entries = list(reading)

    [prompt] = [entry for entry in entries if entry.kind is EntryKind.PROMPT]
    assert prompt.origin is Origin.HUMAN
    assert "canary-prompt" in prompt.text
    calls = [entry for entry in entries if entry.kind is EntryKind.CALL]
    results = [entry for entry in entries if entry.kind is EntryKind.RESULT]
    assert [entry.tool for entry in calls] == ["write", "bash"]
    assert [entry.parent for entry in results] == [entry.id for entry in calls]
    assert [entry.call for entry in results] == [entry.call for entry in calls]
    assert [entry.status for entry in results] == [None, 1]
    assert "canary-output" in results[1].text
    [reply] = [entry for entry in entries if entry.kind is EntryKind.REPLY]
    assert reply.text == "Written: canary-answer"
    assert {entry.cwd for entry in entries} == {str(workspace)}
    assert reading.unknown == {}
    assert (reading.broken, reading.is_cut) == (0, False)

    found = index_scan.scan(opencode.read(source))
    assert len(found.spends) == len(run.requests) == 3
    assert (
        sum((spend.tokens for spend in found.spends), Tokens()).total == 3 * found.spends[0].tokens.total > 0
    )
    assert {spend.model for spend in found.spends} == {"m1"}
    told = found.transcript
    assert (told.id, told.version, told.project) == (
        program.session_id(run.stdout),
        program.version,
        str(workspace),
    )
    assert (told.turns, told.calls, told.errors, told.ending) == (1, 2, 1, Ending.ENDED)


def test_a_session_that_goes_on_is_followed(program: Program, workspace: Path) -> None:
    with program.sandbox() as sandbox:
        first = program.run("Remember this", workspace, [Reply("I will.")], sandbox=sandbox)
        session = program.session_id(first.stdout)
        [source] = opencode.find({"HOME": str(first.home)}, [])
        reading = opencode.read(source)
        before = list(reading)
        program.run("Go on", workspace, [Reply("Yes.")], sandbox=sandbox, resume=session)
    [later] = opencode.find({"HOME": str(first.home)}, [])
    following = opencode.read(later, reading.mark)
    after = list(following)

    assert later.stamp > source.stamp
    assert not following.is_anew
    assert [e.text for e in before if e.kind is EntryKind.REPLY] == ["I will."]
    assert [e.text for e in after if e.kind is EntryKind.REPLY] == ["Yes."]
    assert len([e for e in after if e.kind is EntryKind.PROMPT]) == 1
    whole = {entry.id: entry.text for entry in opencode.read(later)}
    assert {entry.id: entry.text for entry in before + after} == whole


def test_a_refusal_for_want_of_payment_is_a_limit(program: Program, workspace: Path) -> None:
    run = program.run("Write the notes", workspace, Script(then=program.usage_limit(0)), timeout=60)
    [source] = opencode.find({"HOME": str(run.home)}, [])
    found = index_scan.scan(opencode.read(source))

    [entry] = [entry for entry in opencode.read(source) if entry.kind is EntryKind.LIMIT]
    [limit] = entry.limits
    assert (limit.window, limit.scope, limit.used_percent) == ("spend", Scope.ACCOUNT, 100)
    assert limit.resets_at is None
    assert limit.at == entry.at is not None
    assert found.transcript.ending is Ending.LIMIT
    assert found.transcript.limits == (limit,)
