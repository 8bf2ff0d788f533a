"""The script that agents' hooks run, and what it needs beside it. It is written by `segue init`: where Segue is, which
Python runs it, and how each agent is answered are known then, and need not be found out while an agent waits."""

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
"""Where Segue is loaded from: a hook's Python looks nowhere else."""
NAMED = ("SEGUE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")
"""What says where Segue's things are: an agent may have been started without it."""


def reach(desk: Desk) -> Reach:
    """How an agent's settings reach Segue."""
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
    """How an agent is answered; nothing where it has no hooks."""
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
    # What a killed process left half-written goes too: only whoever holds the lock writes there.
    left = [data / SCRIPT, data / OLD_SCRIPT, *manners.glob("*.json"), *manners.glob(f"{files.TEMPORARY}*")]
    with settings_backup.writing(data / SCRIPT):
        for path in (*left, data / "now", data / "tended"):
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # somebody keeps something there by now, or it is gone
        manners.rmdir()


def is_there(desk: Desk, agent: str) -> bool:
    """Whether the script and what it needs for an agent are there, as this version makes them."""
    kept = settings_backup.content(guard.manner_of(desk.places.data, agent)) or b""
    return is_whole(desk) and kept == manner(agent)


def is_whole(desk: Desk) -> bool:
    path = desk.places.data / SCRIPT
    return os.access(path, os.X_OK) and settings_backup.content(path) == script(desk)
