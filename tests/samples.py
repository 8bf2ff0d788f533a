"""The sample transcripts of the tests, by agent: tests/data/<agent>, each written by hand or cut from a published
one that is named beside it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple

from segue.agents import demo

DATA = Path(__file__).parent / "data"
THIRD_PARTY = DATA / "thirdparty"
ENDINGS = (".jsonl", ".json", ".md", ".db")
BESIDE = (".meta.json",)
"""Files that lie beside a transcript and are none."""


class Sample(NamedTuple):
    agent: str
    path: Path
    part: str = ""

    def __str__(self) -> str:
        return "-".join(filter(None, (self.agent, self.path.stem, self.part)))


def samples(agent: str) -> list[Sample]:
    if agent == demo.AGENT.name:
        return [Sample(agent, Path(demo.__file__).with_name("demo_transcript.jsonl"))]
    paths = sorted(path for path in (DATA / agent).rglob("*") if is_sample(path))
    return [Sample(agent, path, part) for path in paths for part in parts(path)]


def is_sample(path: Path) -> bool:
    return (
        path.is_file()
        and path.suffix in ENDINGS
        and not path.name.endswith(BESIDE)
        and path.name != "README.md"
    )


def parts(path: Path) -> list[str]:
    """The transcripts in one file: one without a name, unless it is a database."""
    if path.suffix != ".db":
        return [""]
    connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    try:
        return [str(row[0]) for row in connection.execute("SELECT id FROM session ORDER BY id")]
    finally:
        connection.close()
