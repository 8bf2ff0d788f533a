"""Spool of hook calls: each call appends a line, and this module reads them back.

The hooks that write the lines must be fast, so they load nothing from here.
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
"""The full file first, then the current one."""
MOMENT_FILES = ("moments.1", "moments")
FULL = 1 << 20
FAILURES = "failures"
LARGEST = 8 << 20
"""Bytes read from the end of a file that grew too large."""


class Report(Value, frozen=True):
    """A status-line report of an agent."""

    at: Moment
    status: dict[str, Any]


def read_status(data: Path) -> list[Report]:
    """All reports, newest last. Invalid lines are skipped."""
    reports = [report for line in _lines(data, STATUS_FILES) if (report := _report(line))]
    return sorted(reports, key=lambda report: report.at)


class Failure(Value, frozen=True):
    """A failed call. It is shown here because it could not be shown to the agent."""

    at: Moment
    error: str
    path: str


def read_failures(data: Path) -> list[Failure]:
    """All recorded failures, newest last."""
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
    """A hook event of a conversation: it is about to be compacted, or has ended."""

    at: Moment
    event: str
    agent: str
    session: str
    transcript: str = ""
    cwd: str = ""
    why: str = ""
    """The trigger, as the agent names it."""


def read_moments(data: Path, session: str = "") -> list[Noted]:
    """All recorded events, or those of one conversation, newest last. Invalid lines are skipped."""
    found = [noted for line in _lines(data, MOMENT_FILES) if (noted := _noted(line))]
    return sorted((one for one in found if session in ("", one.session)), key=lambda one: one.at)


def set_moments_aside(data: Path) -> None:
    """Rotate a full file."""
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


def _lines(data: Path, names: tuple[str, ...]) -> list[bytes]:
    return [line for name in names for line in _content(data / FOLDER / name).splitlines()]


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
