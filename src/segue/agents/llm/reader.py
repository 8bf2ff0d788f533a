"""Transcripts of the chat program: files of entries among Segue's own data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from segue.agents.llm import AGENT
from segue.agents.shared.transcripts import reader
from segue.model import Mark, Source

if TYPE_CHECKING:
    from segue.agents.shared.transcripts.reader import Reading


ENDING = ".llm.jsonl"
FIRST = b'{"llm":1,'
"""How a transcript starts."""
FOLDER = "chats"


# Reading


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    if folder := chats(env):
        yield from reader.sources_like(AGENT.name, folder, [f"*{ENDING}"])


def chats(env: Mapping[str, str]) -> Path | None:
    """Where the transcripts are: among Segue's own data. None where nothing tells where that is."""
    from segue.base import paths  # lazy: so that it costs nothing to name the agent

    if env.get("SEGUE_HOME"):
        return paths.find(env).data / FOLDER
    home = env.get("HOME")
    usual = home and Path(home, "Library/Application Support" if sys.platform == "darwin" else ".local/share")
    shared = env.get("XDG_DATA_HOME") or usual
    return Path(shared, "segue", FOLDER) if shared else None


def recognise(start: bytes) -> bool:
    return start.startswith(FIRST)


def read(source: Source, mark: Mark | None = None) -> Reading:
    from segue.agents.shared.transcripts import entries_file  # lazy: finding does without it

    return entries_file.read(source, mark)


# Handing work to it: only who does so loads how


# Asking and rewriting
