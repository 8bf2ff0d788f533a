"""The installed version of an agent's program, cached until the program's file changes."""

from __future__ import annotations

import contextlib
import os
import re

import msgspec

from segue import agents
from segue.base import files
from segue.model import Agent
from segue.ops.common.desk import Desk

FILE = "versions.json"
LARGEST = 1 << 20


def of(desk: Desk, agent: Agent, program: str) -> str:
    """The version of a program; empty if it does not report one."""
    found = os.stat(program)  # noqa: PTH116 - follows links, as running it does
    key = f"{os.path.realpath(program)} {found.st_size} {found.st_mtime_ns}"
    path = desk.places.data / FILE
    known: dict[str, str] = {}
    with contextlib.suppress(OSError, msgspec.DecodeError):
        known = msgspec.json.decode(files.read_file(path, LARGEST), type=dict[str, str])
    if key not in known:
        known = {
            each: told for each, told in known.items() if each.partition(" ")[0] != key.partition(" ")[0]
        }
        known[key] = agents.ask_version(agent, desk.env).version or ""
        with contextlib.suppress(OSError):
            files.write_file(path, msgspec.json.encode(known))
    return known[key]


def why_unknown(desk: Desk, agent: Agent, program: str) -> str:
    """Why the installed version may not read Segue's transcripts; empty if it does, or if the version is unknown."""
    return judged(agent, of(desk, agent, program)) if agent.oldest else ""


def judged(agent: Agent, version: str) -> str:
    """Why a version may not read Segue's transcripts; empty if it does."""
    if not version:
        return ""
    told, oldest, tested = _parts(version), _parts(agent.oldest), _parts(agent.tested)
    if told < oldest:
        return (
            f"{agent.title} {version} is too old for the transcripts that Segue writes (needs {agent.oldest})"
        )
    if told[:1] > tested[:1]:
        return f"{agent.title} {version} may need newer transcripts than Segue writes (tested with {agent.tested})"
    return ""


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,9}", version)[:3])
