"""Script that agents' hooks run, and each agent's hook protocol beside it. `segue init` writes them, so that the path
of Segue, the Python and the protocol need not be looked up while an agent waits."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from pathlib import Path

import msgspec

from segue import agents
from segue.agents.shared.settings.settings_patch import OLD_SCRIPT, SCRIPT, Reach
from segue.base import files
from segue.hooks import guard
from segue.ops.common.desk import Desk
from segue.ops.setup import settings_backup

TEMPLATE = Path(__file__).with_name(SCRIPT)
ROOT = Path(__file__).parents[3]
"""Folder from which a hook's Python loads Segue."""
NAMED = ("SEGUE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
"""Variables that locate Segue's files; an agent may run without them."""


def reach(desk: Desk) -> Reach:
    """Data folder and command with which an agent's settings call Segue."""
    beside = Path(sys.executable).with_name("segue")
    program = (str(beside),) if os.access(beside, os.X_OK) else (sys.executable, "-P", "-m", "segue")
    return Reach(str(desk.places.data), program)


def script(desk: Desk) -> bytes:
    chosen = [f"export {name}={shlex.quote(desk.env[name])}" for name in NAMED if desk.env.get(name)]
    filled = {
        "data": shlex.quote(str(desk.places.data)),
        "python": shlex.quote(sys.executable),
        "root": shlex.quote(str(ROOT)),
        "environment": "\n".join(chosen),
    }
    text = re.sub(r"@(\w+)@", lambda found: filled[found[1]], TEMPLATE.read_text())
    return text.encode(errors="surrogateescape")


def manner(agent: str) -> bytes:
    """Hook protocol of an agent as JSON; empty if it has no hooks."""
    offered = agents.load(agent).hooks
    return msgspec.json.encode(offered()) if offered else b""


def write(desk: Desk, agent: str) -> None:
    data = desk.places.data
    path = data / SCRIPT
    with settings_backup.writing(path):
        files.write_file(path, script(desk), mode=0o700)
        if said := manner(agent):
            files.write_file(guard.manner_of(data, agent), said)
        (data / OLD_SCRIPT).unlink(missing_ok=True)


def remove(desk: Desk) -> None:
    data = desk.places.data
    manners = data / guard.MANNERS
    # Half-written files go too: only the holder of the lock writes there.
    left = [data / SCRIPT, data / OLD_SCRIPT, *manners.glob("*.json"), *manners.glob(f"{files.TEMPORARY}*")]
    with settings_backup.writing(data / SCRIPT):
        for path in (*left, data / "now", data / "tended"):
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not empty, or already gone
        manners.rmdir()


def is_there(desk: Desk, agent: str) -> bool:
    """Whether the script and an agent's hook protocol are as this version writes them."""
    kept = settings_backup.content(guard.manner_of(desk.places.data, agent)) or b""
    return is_whole(desk) and kept == manner(agent)


def is_whole(desk: Desk) -> bool:
    path = desk.places.data / SCRIPT
    return os.access(path, os.X_OK) and settings_backup.content(path) == script(desk)
