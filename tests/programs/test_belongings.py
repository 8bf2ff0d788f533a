"""What Segue says that each real program loads is what reaches its model, and nothing else does."""

from __future__ import annotations

import subprocess
from pathlib import Path

from segue.agents.shared.settings import project_config
from tests.programs.model_server import Reply
from tests.programs.program import Program

NAMES = (
    *(
        "CLAUDE.md",
        ".claude/CLAUDE.md",
        "CLAUDE.local.md",
        ".claude/rules/a.md",
        "GEMINI.md",
        ".gemini/GEMINI.md",
    ),
    *("AGENTS.md", "CONTEXT.md", "docs/imported.md"),
)
OWN = (".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md", ".config/opencode/AGENTS.md")


def test_what_it_loads_is_what_is_told_of_it(program: Program, workspace: Path) -> None:
    folder = workspace / "repo" / "sub"
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder.parent)], check=True)
    with program.sandbox() as sandbox:
        planted = {}
        places = [(base, name) for base in (workspace, folder.parent, folder) for name in NAMES]
        for n, (base, name) in enumerate([*places, *((sandbox.home, name) for name in OWN)]):
            path = base / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"Note canary-{n:03d}-x. See @docs/imported.md\n")
            planted[path] = f"canary-{n:03d}-x"
        run = program.run("Hello", folder, [Reply("Hello.")], sandbox=sandbox)
        told = project_config.of(program.name, sandbox.environment, folder).instructions
    assert run.exit_code == 0, run.report
    sent = str([request.body for request in run.requests])
    assert {path for path, canary in planted.items() if canary in sent} == set(told)
