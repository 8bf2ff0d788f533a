"""The demonstration does the real thing: a separate program that knows what it was given, and no more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from segue import agents
from segue.agents.demo import answer
from segue.agents.demo import target as demo
from segue.agents.shared.launch import Launch, Start
from segue.errors import AgentError, NotArrived, Stopped
from segue.model import Handoff, HandoffState
from segue.model.delivery import Mode, Way
from segue.ops import demo as ops
from segue.ops.common.desk import Desk
from segue.ops.handoff import handoffs, plan
from segue.ops.handoff.plan import Order
from segue.store import HANDOFF
from tests.conftest import CommandLine


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return ops.open_in(tmp_path / "home", tmp_path / "project")


def test_the_story_ends_well(desk: Desk, tmp_path: Path) -> None:
    story = ops.play(desk, tmp_path / "project")
    assert story.report.proof is not None and story.report.proof.report.is_proved
    assert len(story.report.proof.report.results) >= 5
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


def launched(folder: Path, text: str) -> Launch:
    start = Start(program=sys.executable, project=folder, mode=Mode.HEADLESS, prompt=text)
    return demo.command(start, {})


def test_the_program_answers_only_from_what_it_is_told(tmp_path: Path) -> None:
    asked = "# Check ab\n1. What did the agent say that it would do next?\n2. Which tests fail?\n"
    launch = launched(tmp_path, f"# Handoff h-1\n\n## Next step\n- mend credit.py\n\n{asked}")
    done = subprocess.run(launch.argv, input=launch.stdin, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"answers": {"1": ["mend credit.py"], "2": []}}


def test_the_program_can_reach_neither_segue_nor_the_store(tmp_path: Path) -> None:
    source = Path(answer.__file__).read_text()
    assert "segue" not in [
        line.split()[1].split(".")[0] for line in source.splitlines() if line.startswith(("import", "from"))
    ]
    argv = launched(tmp_path, "").argv
    assert argv[:3] == (sys.executable, "-I", "-S")
    tried = subprocess.run([*argv[:3], "-c", "import segue"], capture_output=True, text=True)
    assert "ModuleNotFoundError" in tried.stderr


def prepared(desk: Desk, folder: Path) -> Handoff:
    order = Order(to=ops.TARGET, mode=Mode.HEADLESS, way=Way.PROMPT, budget=400, reason="test")
    ops.begin(desk, folder)
    return handoffs.prepare(desk, plan.plan(desk, order), print)


@pytest.mark.parametrize(
    ("program", "error", "says"),
    [
        ("import sys; sys.exit('no memory')", NotArrived, "no memory"),
        ("print('I have it, trust me')", NotArrived, "without taking the handoff: I have it"),
        (
            "open('x.demo.jsonl', 'w').write('{\"kind\": \"nonsense\"}')",
            NotArrived,
            "without taking the handoff",
        ),
        (
            "import json, sys; text = sys.stdin.read()[:40]; json.dump({'id': '1', 'kind': 'prompt', "
            "'origin': 'human', 'text': text}, open('x.demo.jsonl', 'w'))",
            NotArrived,
            "without taking the handoff",
        ),
        (
            "import json, sys; json.dump({'id': '1', 'kind': 'prompt', 'origin': 'human', "
            "'text': sys.stdin.read()}, open('x.demo.jsonl', 'w'))",
            NotArrived,
            "without taking the handoff",
        ),
        (
            "import json, sys; file = open('x.demo.jsonl', 'w'); said = sys.stdin.read()\n"
            "print(json.dumps({'id': '1', 'kind': 'prompt', 'origin': 'human', 'text': said}), file=file)\n"
            "print(json.dumps({'id': '2', 'kind': 'call', 'origin': 'assistant', 'text': 'ls'}), file=file)",
            Stopped,
            "the task is not finished",
        ),
    ],
    ids=[
        "dies",
        "says so",
        "leaves nonsense",
        "has a part of it",
        "has it and does nothing",
        "has it and does something",
    ],
)
def test_a_target_that_does_not_prove_itself_has_not_received(
    desk: Desk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    error: type[AgentError],
    says: str,
) -> None:
    handoff = prepared(desk, tmp_path / "project")
    monkeypatch.setattr(
        demo, "command", lambda start, _env: Launch(argv=(sys.executable, "-c", program), stdin=start.prompt)
    )
    with pytest.raises(error, match=says):
        handoffs.execute(desk, handoff, may=lambda _handoff: True, tell=lambda _text: None)
    has_it = HandoffState.ACKNOWLEDGED if error is Stopped else HandoffState.FAILED
    assert desk.shared.get(HANDOFF, handoff.id).state is has_it
    assert desk.shared.verify()[1] == []
    desk.close()


def test_the_source_is_never_written_to(desk: Desk, tmp_path: Path) -> None:
    ops.play(desk, tmp_path / "project")
    (path,) = (tmp_path / "project").glob("work-*.demo.jsonl")
    assert path.read_bytes() == ops.TRANSCRIPT.read_bytes()
    desk.close()


def test_agents_that_cannot_be_started_yet_say_so() -> None:
    with pytest.raises(Exception, match="cannot start it yet"):
        agents.starter("aider")
    with pytest.raises(Exception, match="no agent 'nonsense'"):
        agents.get("nonsense")
