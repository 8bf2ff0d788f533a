"""The demonstration does the real thing: a separate program that knows what it was given, and no more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from segue import agents
from segue.agents import demo
from segue.agents.demo import program as demo_program
from segue.errors import AgentFailed
from segue.model import Handoff, HandoffState
from segue.ops import demo as ops
from segue.ops import handoffs, sessions
from segue.ops.desk import Desk, open_desk
from segue.store import HANDOFF
from tests.conftest import CommandLine


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return open_desk(env={"SEGUE_HOME": str(tmp_path / "home")}, cwd=tmp_path)


def test_the_story_ends_well(desk: Desk, tmp_path: Path) -> None:
    story = ops.play(desk, tmp_path / "project")
    assert story.report.right == len(story.report.probes) == 4
    assert story.report.handoff.state is HandoffState.VALIDATED
    assert story.log.flaws == ()
    desk.close()


def test_it_leaves_nothing_behind_and_can_be_kept(cli: CommandLine, tmp_path: Path) -> None:
    assert cli("demo").code == 0
    assert not cli.home.exists()
    kept = tmp_path / "kept"
    assert cli("demo", "--keep", str(kept)).code == 0
    listed = cli("log", SEGUE_HOME=str(kept))
    assert listed.code == 0 and "handoff.validated" in listed.out
    again = cli("demo", "--keep", str(kept))
    assert again.code == 2 and "not an empty folder" in again.err


def test_the_program_answers_only_from_its_brief(tmp_path: Path) -> None:
    brief = tmp_path / "brief.md"
    brief.write_text("# Handoff\n\n## Next step\n- mend credit.py\n")
    questions = [
        {"section": "Next step"},
        {"section": "Tests"},
        {"section": "Next step", "about": "elsewhere"},
    ]
    done = subprocess.run(
        demo.command(brief, tmp_path), input=json.dumps(questions), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == ["mend credit.py", None, None]


def test_the_program_can_reach_neither_segue_nor_the_store() -> None:
    source = Path(demo_program.__file__).read_text()
    assert "segue" not in [
        line.split()[1].split(".")[0] for line in source.splitlines() if line.startswith(("import", "from"))
    ]
    argv = demo.command(Path("b"), Path("p"))
    assert argv[:3] == [sys.executable, "-I", "-S"]
    tried = subprocess.run([*argv[:3], "-c", "import segue"], capture_output=True, text=True)
    assert "ModuleNotFoundError" in tried.stderr


def prepared(desk: Desk, folder: Path) -> Handoff:
    folder.mkdir(mode=0o700)
    (folder / "work.demo.jsonl").write_bytes(ops.TRANSCRIPT.read_bytes())
    (source,) = demo.find({}, [folder])
    session = sessions.create(desk, project=folder).value
    assert session is not None
    entries = list(demo.read(source))
    return handoffs.prepare(desk, session, "demo", entries, to="demo", reason="test", budget=400)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("import sys; sys.exit('no memory')", "no memory"),
        ("print('not json')", "malformed"),
        ("print('[]')", "0 answers to 4 questions"),
        (
            "print('[null, null, null, null]'); open('x.demo.jsonl', 'w').write('{\"kind\": \"nonsense\"}')",
            "not what was sent",
        ),
        ("import sys, json; json.dump([None] * len(json.load(sys.stdin)), sys.stdout)", "not what was sent"),
    ],
)
def test_a_target_that_does_not_prove_itself_has_not_received(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, says: str
) -> None:
    handoff = prepared(desk, tmp_path / "project")
    monkeypatch.setattr(demo, "command", lambda _brief, _project: [sys.executable, "-c", program])
    with pytest.raises(AgentFailed, match=says):
        handoffs.execute(desk, handoff, tmp_path / "project")
    assert desk.shared.get(HANDOFF, handoff.id).state is HandoffState.FAILED
    assert desk.shared.verify()[1] == []
    desk.close()


def test_the_source_is_never_written_to(desk: Desk, tmp_path: Path) -> None:
    ops.play(desk, tmp_path / "project")
    assert (tmp_path / "project" / "work.demo.jsonl").read_bytes() == ops.TRANSCRIPT.read_bytes()
    desk.close()


def test_agents_that_cannot_be_started_yet_say_so() -> None:
    with pytest.raises(Exception, match="cannot start it yet"):
        agents.starter("codex")
    with pytest.raises(Exception, match="no agent 'nonsense'"):
        agents.get("nonsense")
