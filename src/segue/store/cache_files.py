"""Cache files: briefs and trackers, each a small file that can be rebuilt.

No transactions and no migrations: a file that cannot be read counts as missing, and the oldest files are deleted.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import zstandard

from segue.base import files
from segue.store import blobs
from segue.store.os_errors import translated

LARGEST = 512 << 20


class Papers:
    """A folder of cache files."""

    def __init__(self, folder: Path, *, suffix: str, most: int) -> None:
        self.folder = folder
        self.suffix = suffix
        self.most = most

    def put(self, name: str, content: bytes) -> None:
        with translated(self.folder):
            files.write_file(self._path(name), blobs.pack(content), is_lasting=False)
            self._thin()

    def get(self, name: str) -> bytes | None:
        try:
            packed = files.read_file(self._path(name), LARGEST)
            if zstandard.frame_content_size(packed) > LARGEST:
                return None
            return zstandard.ZstdDecompressor().decompress(packed)
        except (OSError, zstandard.ZstdError):
            return None

    def names(self) -> list[str]:
        """Names of the files, newest first."""
        found = []
        for path in self._files():
            with contextlib.suppress(OSError):  # another process may have deleted it
                found.append((path.stat().st_mtime_ns, path.name.removesuffix(self.suffix)))
        return [name for _, name in sorted(found, reverse=True)]

    def drop(self, name: str) -> None:
        with contextlib.suppress(OSError):
            self._path(name).unlink()

    def _files(self) -> list[Path]:
        try:
            return list(self.folder.glob("*" + self.suffix))
        except OSError:
            return []

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{self.suffix}"

    def _thin(self) -> None:
        for name in self.names()[self.most :]:
            self.drop(name)
