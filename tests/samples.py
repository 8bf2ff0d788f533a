"""The sample transcripts of the tests, by agent: tests/data/<agent>, each written by hand or cut from a published
one that is named beside it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from segue.agents.demo import AGENT
from segue.agents.demo import reader as demo

DATA = Path(__file__).parent / "data"
THIRD_PARTY = DATA / "thirdparty"
ENDINGS = (".jsonl", ".json", ".md")
BESIDE = (".meta.json",)
"""Files that lie beside a transcript and are none."""


class Sample(NamedTuple):
    agent: str
    path: Path
    part: str = ""

    def __str__(self) -> str:
        return "-".join(filter(None, (self.agent, self.path.stem, self.part)))


def samples(agent: str) -> list[Sample]:
    if agent == AGENT.name:
        return [Sample(agent, Path(demo.__file__).with_name("transcript.jsonl"))]
    return [Sample(agent, path) for path in sorted((DATA / agent).rglob("*")) if is_sample(path)]


def is_sample(path: Path) -> bool:
    return (
        path.is_file()
        and path.suffix in ENDINGS
        and not path.name.endswith(BESIDE)
        and path.name != "README.md"
    )


# A database cannot be looked at as a file can, so it is made from a sample that can.

SCHEMA = """
CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT,
  title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER);
CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, time_created INTEGER,
  time_updated INTEGER, data TEXT);
"""


def opencode_database(folder: Path) -> Sample:
    """The exported session of the samples in a database as OpenCode keeps it."""
    export = json.loads((DATA / "opencode" / "export.json").read_text())
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "opencode.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(SCHEMA)
        info = export["info"]
        names = ("id", "projectID", "parentID", "slug", "directory", "title", "version")
        times = (info["time"]["created"], info["time"]["updated"])
        values = (*(info.get(name) for name in names), *times)
        connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        for message in export["messages"]:
            at = message["info"]["time"]["created"]
            row = (message["info"]["id"], info["id"], at, at, cell(message["info"]))
            connection.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)
            rows = [(one["id"], row[0], info["id"], at, at, cell(one)) for one in message["parts"]]
            connection.executemany("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", rows)
    return Sample("opencode", path, info["id"])


def cell(record: dict[str, Any]) -> str:
    """A record as its row has it: the ids are columns."""
    return json.dumps({k: v for k, v in record.items() if k not in ("id", "sessionID", "messageID")})
