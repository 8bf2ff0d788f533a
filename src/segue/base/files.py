"""Files written so that a reader sees either the old or the new content.

Content is written to a temporary file in the same folder and synced; then the file is renamed and the folder
synced. A failed fsync aborts. Folders are 0700 and files 0600, whatever the umask.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

TYPE_CHECKING = False
if TYPE_CHECKING:  # not from typing, which is slow to load
    from pathlib import Path
    from typing import BinaryIO

TEMPORARY = ".tmp-"
"""Prefix of half-written files. A killed process leaves them behind; they are safe to remove."""


def make_private_folder(path: Path) -> None:
    """Create a folder and its parents for this user only. An existing folder is unchanged."""
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            folder.chmod(0o700)
        sync_folder(folder.parent)


def open_private(path: str | Path, flags: int) -> int:
    """Open a file that only this user can read; a new one ignores the umask."""
    fd = os.open(path, flags | os.O_CLOEXEC, 0o600)
    if flags & os.O_CREAT:
        os.fchmod(fd, 0o600)
    return fd


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextlib.contextmanager
def replacing(path: Path, *, is_lasting: bool = True) -> Iterator[Path]:
    """Yield a temporary path to write. On success it replaces `path`; on failure it is removed."""
    make_private_folder(path.parent)
    temporary = path.parent / f"{TEMPORARY}{os.urandom(8).hex()}"
    try:
        yield temporary
        temporary.replace(path)
        if is_lasting:
            sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def write_file(path: Path, data: bytes, *, mode: int = 0o600, is_lasting: bool = True) -> None:
    """Replace a file's content; it is whole and on disk when this returns. With `is_lasting=False` nothing waits
    for the disk, and a power cut can leave the file missing or empty."""
    with replacing(path, is_lasting=is_lasting) as temporary:
        fd = open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            os.fchmod(fd, mode)
            write_all(fd, data)
            if is_lasting:
                os.fsync(fd)
        finally:
            os.close(fd)


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading. Pipes, devices and folders are refused because reading them may never end."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(fd, "rb")


def read_file(path: Path, largest: int) -> bytes:
    """Content of a regular file; raises OSError if it is larger than `largest`."""
    with open_file(path) as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise OSError(errno.EFBIG, "the file is too large", str(path))
    return content


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock. The system frees it when the holder dies."""
    import fcntl  # lazy: totals do not need it

    make_private_folder(path.parent)
    fd = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def is_no_file(path: Path) -> bool:
    """Whether the path exists and is not a regular file. It calls stat once because journals come and go."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def is_ours(path: Path) -> bool:
    return path.stat().st_uid == os.getuid()


def is_writable_by_others(path: Path) -> bool:
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o022)


def exposure(path: Path) -> str | None:
    """How other users can access a file or folder; None if they cannot."""
    mode = stat.S_IMODE(path.stat().st_mode)
    return f"mode {mode:04o}" if mode & 0o077 else None
