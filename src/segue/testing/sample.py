"""A sample, copied to where it may be read and damaged, and one pass over it."""

from __future__ import annotations

import glob
import hashlib
import shutil
from pathlib import Path
from typing import NamedTuple

from segue.agents import Reader
from segue.agents.shared.transcripts.reader import Reading
from segue.model import Entry, Mark, Source


class Pass(NamedTuple):
    """A finished reading, with its entries."""

    entries: list[Entry]
    reading: Reading


def ensure(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise AssertionError(otherwise)


def placed(sample: Path, scratch: Path) -> Path:
    """A copy of the sample and of files next to it with the same stem, in a folder of the same name."""
    folder = scratch / sample.parent.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for one in {sample, *sample.parent.glob(glob.escape(sample.stem) + ".*")}:
        if one.is_file():
            shutil.copy2(one, folder / one.name)
    return folder / sample.name


def source_of(reader: Reader, path: Path, part: str = "") -> Source:
    found = path.stat()
    return Source(
        agent=reader.AGENT.name, path=str(path), part=part, size=found.st_size, stamp=found.st_mtime_ns
    )


def state_of(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in folder.iterdir()
        if path.is_file()
    }


def read_all(reader: Reader, source: Source, mark: Mark | None = None) -> Pass:
    reading = reader.read(source, mark)
    return Pass(list(reading), reading)
