"""Each real program that carries work to a model of Ollama's asks that model, where OLLAMA_HOST says it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from segue import agents
from segue.agents.ollama import CARRIERS
from segue.agents.ollama import target as ollama
from segue.agents.shared.launch import Start
from segue.model import EntryKind
from segue.model.delivery import Mode
from tests.programs import install
from tests.programs.codex import CONFIG
from tests.programs.model_server import ModelServer, Reply, Script
from tests.programs.program import Program, write_new

BRIEF = "# Handoff h-1\n\n- go on with `x` at /y\n"
MODEL = "qwen3-coder:30b"
FROM_A_FILE = 'exec "$@" < "$0"'


@pytest.mark.parametrize("program", CARRIERS, indirect=True)
def test_the_brief_reaches_the_model_and_is_kept_by_the_program_that_carried_it(
    program: Program, workspace: Path, tmp_path: Path
) -> None:
    only = tmp_path / "bin"
    only.mkdir()
    (only / program.name).symlink_to(install.executable(program.name))
    given = tmp_path / "brief"
    script = Script(then=Reply("canary-answer"))
    with program.sandbox() as sandbox, ModelServer(script, sandbox.listener) as server:
        # The person has a provider of their own, which nothing may go to.
        write_new(sandbox.home / ".codex" / "config.toml", CONFIG.format(model="m", url="http://127.0.0.1:9"))
        found = {"HOME": str(sandbox.home), "PATH": str(only)}
        env = {**sandbox.environment, **found, "OLLAMA_HOST": server.url.removeprefix("http://")}
        path = ollama.program(env)
        assert path == str(only / program.name) and ollama.keeps_transcripts_as(env) == program.name
        start = Start(program=path, project=workspace, mode=Mode.HEADLESS, model=MODEL, prompt=BRIEF)
        launch = ollama.command(start, env)
        given.write_text(launch.stdin or "")
        process = sandbox.start(
            ["/bin/sh", "-c", FROM_A_FILE, given, *launch.argv],
            cwd=workspace,
            environment={**_quiet(program), **launch.env, "PATH": f"{only}:{os.environ['PATH']}"},
            timeout=90,
        )
        assert process.wait() == 0, process.stdout + process.stderr
    assert {request.model for request in server.requests if request.protocol} == {MODEL}
    assert BRIEF.strip() in server.main_requests[0].said("user")
    [source] = agents.reader(program.name).find(env, [workspace])
    entries = list(agents.reader(program.name).read(source))
    prompts = [entry.text.strip() for entry in entries if entry.kind is EntryKind.PROMPT]
    assert prompts == [BRIEF.strip()]
    assert "canary-answer" in [entry.text for entry in entries if entry.kind is EntryKind.REPLY]


def _quiet(program: Program) -> dict[str, str]:
    """What keeps a program to itself in tests, without what points it at a model."""
    own = program.environment("http://127.0.0.1:9")
    return {name: value for name, value in own.items() if not name.startswith(("ANTHROPIC_", "LOCAL_"))}
