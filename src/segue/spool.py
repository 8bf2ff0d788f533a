"""What agents' own calls of Segue left to be read later: each call writes a line and is gone.

The lines are written by faces that must be quick and therefore load none of this; here they are read back.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from segue import clock, disk
from segue.clock import Moment
from segue.model import Value

FOLDER = "spool"
STATUS_FILES = ("statusline.1.jsonl", "statusline.jsonl")
"""The full one first, then the one that is being written."""
FAILURES = "failures"
LARGEST = 8 << 20
"""Of a file that grew beyond all sense, only the end is read."""


class Report(Value, frozen=True):
    """What an agent told its status line, and when."""

    at: Moment
    status: dict[str, Any]


def read_status(data: Path) -> list[Report]:
    """Every report that is still there, newest last. A line that is none is passed over."""
    reports = []
    for name in STATUS_FILES:
        for line in _content(data / FOLDER / name).splitlines():
            report = _report(line)
            if report is not None:
                reports.append(report)
    return sorted(reports, key=lambda report: report.at)


class Failure(Value, frozen=True):
    """A call that went wrong: told here because the agent could not be told."""

    at: Moment
    error: str
    path: str


def read_failures(data: Path) -> list[Failure]:
    """Every call that is known to have gone wrong, newest last."""
    path = data / FOLDER / FAILURES
    found = []
    for line in _content(path).splitlines():
        try:
            record = json.loads(line)
            clock.parse(record["at"])
            found.append(Failure(at=record["at"], error=str(record["error"])[:200], path=str(path)))
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
    return found


def _content(path: Path) -> bytes:
    try:
        if disk.is_no_file(path):
            return b""
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LARGEST))
            return file.read(LARGEST)
    except OSError:
        return b""


def _report(line: bytes) -> Report | None:
    try:
        found = json.loads(line)
        clock.parse(found["at"])
        status = found["status"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return Report(at=found["at"], status=status) if isinstance(status, dict) else None
