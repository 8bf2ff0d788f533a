"""Warnings about limits, shown to the user of an agent once per threshold and limit.

A hook shows a warning with the user's next message and starts no process for it. So the warning lies ready as the
agent's own answer, in a file named after the conversation.
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
"""Number of conversations whose shown warnings are remembered."""
NAMEABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
RANKS = (Urgency.MEDIUM.value, Urgency.HIGH.value)

Told = dict[str, dict[str, str]]
"""The shown warnings by conversation: limit and urgency."""


class Crossed(Struct, frozen=True):
    """A limit that has passed a threshold."""

    window: str
    urgency: Urgency


def news(told: dict[str, str], crossed: Crossed | None) -> tuple[bool, dict[str, str]]:
    """Whether there is a new warning, and the warnings shown from then on. A context that was compacted can fill
    up again; every other limit has a new reset time then."""
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
    """Write a warning for the hook; False if the conversation's id is not usable as a file name."""
    if not NAMEABLE.fullmatch(session):
        return False
    files.write_file(data / FOLDER / f"{agent}-{session}", answer, is_lasting=False)
    return True


def sweep(data: Path, before: float) -> None:
    """Delete old warnings that were never shown."""
    for path in (data / FOLDER).glob("[!.]*"):
        try:
            if path.stat().st_mtime < before:
                path.unlink()
        except OSError:
            continue  # it was shown in the meantime
