"""Transcripts of the chat program: files of entries in Segue's data folder."""

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
"""The start of every transcript."""
FOLDER = "chats"


def find(env: Mapping[str, str], projects: Iterable[Path]) -> Iterator[Source]:
    if folder := chats(env):
        yield from reader.sources_like(AGENT.name, folder, [f"*{ENDING}"])


def chats(env: Mapping[str, str]) -> Path | None:
    """The folder with the transcripts, in Segue's data folder; None if nothing says where that is."""
    from segue.base import paths  # lazy: describing the agent needs none of it

    if env.get("SEGUE_HOME"):
        return paths.find(env).data / FOLDER
    home = env.get("HOME")
    usual = home and Path(home, "Library/Application Support" if sys.platform == "darwin" else ".local/share")
    shared = env.get("XDG_DATA_HOME") or usual
    return Path(shared, "segue", FOLDER) if shared else None


def recognise(start: bytes) -> bool:
    return start.startswith(FIRST)


def read(source: Source, mark: Mark | None = None) -> Reading:
    from segue.agents.shared.transcripts import entries_file  # lazy: finding needs none of it

    return entries_file.read(source, mark)
