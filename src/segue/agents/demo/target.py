"""Starting the demo agent, and removing its transcripts."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

from segue.agents.demo.reader import PATTERN
from segue.agents.shared.launch import Launch, Start
from segue.model import Source


def program(env: Mapping[str, str]) -> str:
    """Segue's own Python: the agent is a script of Segue."""
    return sys.executable


def command(start: Start, env: Mapping[str, str]) -> Launch:
    program = Path(__file__).with_name("answer.py")
    name = "asked" if start.is_question else "received"
    transcript = start.project / PATTERN.replace("*", f"{name}-{start.id}" if start.id else name)
    return Launch(argv=(start.program, "-I", "-S", str(program), str(transcript)), stdin=start.prompt)


def new_id(seed: str) -> str:
    return hashlib.sha256(seed.encode()).hexdigest()[:12]


def discard(source: Source, program: str, env: Mapping[str, str]) -> None:
    Path(source.path).unlink(missing_ok=True)
