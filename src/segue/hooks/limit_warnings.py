"""Warnings about limits, for the person at an agent: once for each threshold of each limit. Pure, and the files.

A hook shows a warning when the person next says something, and starts nothing for it: so it lies ready as the agent's
own answer, in a file that is named after the conversation.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from msgspec import Struct

from segue.base import files
from segue.model import Urgency

FOLDER = "warnings"
TOLD = ".told"
LARGEST = 1 << 20
MOST = 200
"""Conversations that it is remembered of what was told."""
NAMEABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
RANKS = (Urgency.MEDIUM.value, Urgency.HIGH.value)

Told = dict[str, dict[str, str]]
"""Of each conversation, the limits that it was warned of, with how urgent that was."""


class Crossed(Struct, frozen=True):
    """A limit that is past a threshold."""

    window: str
    urgency: Urgency


def news(told: dict[str, str], crossed: Crossed | None) -> tuple[bool, dict[str, str]]:
    """Whether there is something to warn of that was not told yet, and what is told from then on. A context that has
    become smaller since may fill up once more; any other limit has a new end then."""
    if crossed is None:
        return False, {window: urgency for window, urgency in told.items() if window != "context"}
    before = told.get(crossed.window)
    if before is not None and RANKS.index(before) >= RANKS.index(crossed.urgency.value):
        return False, told
    return True, {**told, crossed.window: crossed.urgency.value}


def read(data: Path) -> Told:
    try:
        return msgspec.json.decode(files.read_file(data / FOLDER / TOLD, LARGEST), type=Told)
    except (OSError, msgspec.MsgspecError):
        return {}


def keep(data: Path, told: Told) -> None:
    newest = dict(list(told.items())[-MOST:])
    files.write_file(data / FOLDER / TOLD, msgspec.json.encode(newest), is_lasting=False)


def put(data: Path, agent: str, session: str, answer: bytes) -> bool:
    """Lay a warning ready; whether the conversation has a name that a file can have."""
    if not NAMEABLE.fullmatch(session):
        return False
    files.write_file(data / FOLDER / f"{agent}-{session}", answer, is_lasting=False)
    return True


def sweep(data: Path, before: float) -> None:
    """Take away what nobody came back for."""
    for path in (data / FOLDER).glob("[!.]*"):
        try:
            if path.stat().st_mtime < before:
                path.unlink()
        except OSError:
            continue  # it was shown meanwhile
