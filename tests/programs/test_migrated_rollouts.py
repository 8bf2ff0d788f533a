"""`codex migrate-rollouts --apply` rewrites the rollouts of older versions in place: they are read as before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from segue.agents.codex import reader as agent
from segue.agents.shared.transcripts.reader import Reading
from segue.model import EntryKind, Mark

from .codex import Codex, Codex050
from .model_server import Reply, Step


def opened(home: Path, mark: Mark | None = None) -> Reading:
    (source,) = agent.find({"HOME": str(home)}, ())
    return agent.read(source, mark)


def told(reading: Reading) -> list[Any]:
    """What was said and done, and what it used; the ids are the places in the file."""
    entries = list(reading)
    said = [
        (one.kind, one.origin, one.text, one.at, one.model, one.tool, one.call, one.status, one.is_error)
        for one in entries
        if one.kind is not EntryKind.NOTE
    ]
    return [*said, *(one.spend.tokens for one in entries if one.spend)]


@pytest.mark.program("codex")
def test_a_rollout_that_codex_migrated_is_read_with_the_same_entries(
    programs: dict[str, Path], workspace: Path, tmp_path: Path
) -> None:
    old, new = Codex050(tmp_path / "old"), Codex(tmp_path / "new")
    with old.sandbox() as sandbox:
        steps: list[Step] = [old.shell("echo canary-output; exit 3"), Reply("It fails: canary-reply.")]
        run = old.run("Does it pass? canary-prompt", workspace, steps, sandbox=sandbox)
        assert run.exit_code == 0, run.report
        (path,) = sandbox.home.rglob("rollout-*.jsonl")
        legacy, reading = path.read_bytes(), opened(sandbox.home)
        before = told(reading)
        assert {"canary-output\n", "It fails: canary-reply."} <= {one[2] for one in before[:4]}

        migration = sandbox.start(
            [str(new.executable), "migrate-rollouts", "--apply"],
            cwd=workspace,
            environment=new.environment(""),
            timeout=60,
        )
        assert migration.wait() == 0, migration.stderr
        assert path.read_bytes() != legacy and b'"history_mode":"paginated"' in path.read_bytes()
        assert told(opened(sandbox.home)) == before
        # Whoever had read it before the migration reads all of it once more.
        assert told(opened(sandbox.home, reading.mark)) == before
