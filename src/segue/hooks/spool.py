"""What agents' own calls of Segue left to be read later: each call writes a line and is gone.

The lines are written by faces that must be quick and therefore load none of this; here they are read back.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from segue.base import clock, files
from segue.base.clock import Moment
from segue.model import Value

FOLDER = "spool"
STATUS_FILES = ("statusline.1.jsonl", "statusline.jsonl")
"""The full one first, then the one that is being written."""
MOMENT_FILES = ("moments.1", "moments")
FULL = 1 << 20
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


class Noted(Value, frozen=True):
    """A moment that an agent's hook noted: a conversation was about to be shortened, or ended."""

    at: Moment
    event: str
    agent: str
    session: str
    transcript: str = ""
    cwd: str = ""
    why: str = ""
    """What set it off, in the agent's own word."""


def read_moments(data: Path, session: str = "") -> list[Noted]:
    """Every moment that was noted, or those of one conversation, newest last. A line that is none is passed over."""
    found = []
    for name in MOMENT_FILES:
        for line in _content(data / FOLDER / name).splitlines():
            noted = _noted(line)
            if noted is not None and session in ("", noted.session):
                found.append(noted)
    return sorted(found, key=lambda noted: noted.at)


def set_moments_aside(data: Path) -> None:
    """A file that is full becomes the one before it."""
    path, before = (data / FOLDER / name for name in reversed(MOMENT_FILES))
    if path.is_file() and path.stat().st_size > FULL:
        path.replace(before)


def _noted(line: bytes) -> Noted | None:
    try:
        at, event, agent, given = line.decode().split(" ", 3)
        found = json.loads(given)
        texts = {
            name: found[key]
            for name, key in (("session", "session_id"), ("transcript", "transcript_path"), ("cwd", "cwd"))
            if isinstance(found.get(key), str)
        }
        why = found.get("trigger") or found.get("reason")
        moment = clock.moment(clock.parse(at))
        return Noted(at=moment, event=event, agent=agent, why=why if isinstance(why, str) else "", **texts)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


def _content(path: Path) -> bytes:
    try:
        if files.is_no_file(path):
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
