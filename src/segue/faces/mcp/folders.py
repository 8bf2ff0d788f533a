"""Folder of a call: inside the client's roots, or the folder that the server was started in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from segue.errors import Refused

HERE = ("", "localhost")


def of_roots(uris: Iterable[str], started_in: Path) -> tuple[Path, ...]:
    """The client's roots that exist; without any, the folder that the server was started in."""
    found = [folder for uri in uris if (folder := _folder(uri)) is not None]
    return tuple(dict.fromkeys(found)) or (started_in,)


def _folder(uri: str) -> Path | None:
    try:
        parts = urlsplit(uri)
        path = unquote(parts.path, errors="surrogateescape")
        is_ours = parts.scheme == "file" and parts.netloc in HERE and os.path.isabs(path)  # noqa: PTH117
        return Path(path) if is_ours and Path(path).is_dir() else None
    except (ValueError, OSError):  # not a URI, or not a valid path
        return None


def chosen(asked: str, roots: Sequence[Path]) -> Path:
    """The requested folder if it is inside a root (links resolved); the first root if none is requested."""
    if not asked:
        return roots[0]
    try:
        real = Path(os.path.realpath(roots[0] / asked, strict=True))
        if real.is_dir() and any(real.is_relative_to(os.path.realpath(root)) for root in roots):
            return real
    except (ValueError, OSError):  # as above
        pass
    raise Refused(
        what=f"'{asked[:200]}' is not a folder inside {', '.join(map(str, roots))}.",
        next="leave the folder out, or start the agent in that folder",
    )
