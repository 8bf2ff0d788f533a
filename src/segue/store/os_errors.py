"""Convert OSErrors of the store to Segue's errors."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from segue.errors import StoreError, StoreFull, StoreReadOnly

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
CLOSED = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextlib.contextmanager
def translated(place: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = error.strerror or str(error)
        if error.errno in FULL:
            raise StoreFull(place=place, what=what) from error
        if error.errno in CLOSED:
            raise StoreReadOnly(place=place, what=what) from error
        raise StoreError(place=place, what=what) from error
