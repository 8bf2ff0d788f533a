"""Blobs: content addressed by its hash, compressed; SQLite's store keeps them as files.

A file is written under a temporary name, fsynced, read back and compared, then renamed, and its folder fsynced. Only
then may a row reference it.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import zstandard

from segue.base import files
from segue.base.text import printable
from segue.errors import BlobDamaged
from segue.model import Hash
from segue.store import os_errors

LEVEL = 3
LARGEST = 2**31
"""Maximum size of unpacked content: a small file can claim any size."""


def hash_of(content: bytes) -> Hash:
    return hashlib.sha256(content).hexdigest()


def pack(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=LEVEL, write_content_size=True, write_checksum=True).compress(
        content
    )


def unpack(packed: bytes | None, hash: Hash, place: str) -> bytes:
    """Decompress content and check its hash."""
    if packed is None:
        raise BlobDamaged(hash=hash, place=place, what="it is missing")
    try:
        if zstandard.frame_content_size(packed) > LARGEST:
            raise BlobDamaged(hash=hash, place=place, what="it claims to be too large")
        content = zstandard.ZstdDecompressor().decompress(packed)
    except (zstandard.ZstdError, MemoryError) as error:
        raise BlobDamaged(hash=hash, place=place, what=str(error)) from error
    if hash_of(content) != hash:
        raise BlobDamaged(hash=hash, place=place, what="its content does not match its name")
    return content


class BlobFiles:
    """A folder of packed content: ab/cdef... for the hash abcdef..."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, hash: Hash) -> Path:
        if not isinstance(hash, str) or not re.fullmatch(r"[0-9a-f]{64}", hash):
            raise BlobDamaged(hash=printable(hash), place=self.folder, what="that is not a valid hash")
        return self.folder / hash[:2] / hash[2:]

    def put(self, hash: Hash, packed: bytes) -> None:
        path = self.path(hash)
        with os_errors.translated(self.folder):
            if path.exists() and path.read_bytes() == packed:
                # Its writer may not have synced the folder yet.
                files.sync_folder(path.parent)
                return
            with files.replacing(path) as temporary:
                fd = files.open_private(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL)
                try:
                    files.write_all(fd, packed)
                    os.fsync(fd)
                finally:
                    os.close(fd)
                if temporary.read_bytes() != packed:
                    raise BlobDamaged(hash=hash, place=self.folder, what="the disk returned different bytes")

    def get(self, hash: Hash) -> bytes | None:
        with os_errors.translated(self.folder):
            try:
                return self.path(hash).read_bytes()
            except FileNotFoundError:
                return None

    def leftovers(self) -> list[Path]:
        """Temporary files of killed processes."""
        return sorted(self.folder.glob(f"*/{files.TEMPORARY}*"))
