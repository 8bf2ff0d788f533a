"""What stands inside pi's messages: text, pictures, the words that tell of a limit or of an exit status."""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Iterator
from typing import Any

from segue.agents.limit_text import reset_in
from segue.agents.reading import dict_of, list_of, text_of
from segue.clock import Moment
from segue.model import Entry, EntryKind, Limit, Origin, Scope

SENTENCE = 4096

_LIMIT = re.compile(
    r"usage limit|rate.?limit|quota|too many requests|resource.?exhausted|\b429\b|credit balance|insufficient funds",
    re.IGNORECASE,
)
_LENGTHS = (
    ("day", re.compile(r"daily|per.?day", re.IGNORECASE)),
    ("week", re.compile(r"weekly|per.?week", re.IGNORECASE)),
    ("month", re.compile(r"monthly|per.?month", re.IGNORECASE)),
    ("1m", re.compile(r"per.?minute", re.IGNORECASE)),
    ("spend", re.compile(r"credit balance|insufficient funds|billing", re.IGNORECASE)),
)
_EXITED = re.compile(r"Command exited with code (-?\d{1,9})\s*\Z")


def limit(text: str, at: Moment | None) -> Limit | None:
    if not _LIMIT.search(text[:SENTENCE]):
        return None
    window = next((name for name, words in _LENGTHS if words.search(text[:SENTENCE])), "")
    resets_at = reset_in(text.replace("~", ""), at)  # "in ~30 min"
    return Limit(window=window, scope=Scope.ACCOUNT, used_percent=100, resets_at=resets_at, at=at)


def exit_status(tool: str, text: str) -> int | None:
    """pi tells of an exit status only where it is a failure, in the last line."""
    found = _EXITED.search(text[-200:]) if tool == "bash" else None
    return int(found.group(1)) if found else None


def text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = (dict_of(block) for block in list_of(content))
    return "\n".join(text_of(block.get("text")) for block in blocks if block.get("type") == "text")


def images(content: Any, origin: Origin) -> Iterator[Entry]:
    for block in list_of(content):
        if dict_of(block).get("type") == "image":
            yield bare(EntryKind.IMAGE, origin, reference(block))


def reference(block: dict[str, Any]) -> str:
    """What stands for a picture: its kind, its size and its hash, never the data."""
    data = text_of(block.get("data"))
    try:
        content = binascii.a2b_base64(data)
    except (binascii.Error, ValueError):
        content = data.encode()
    digest = hashlib.sha256(content).hexdigest()
    return f"{text_of(block.get('mimeType')) or 'image'}, {len(content):,} bytes, sha256:{digest[:16]}…"


def bare(kind: EntryKind, origin: Origin, text: str, **fields: Any) -> Entry:
    """An entry that has no place yet."""
    return Entry(id="", kind=kind, origin=origin, text=text, **fields)


def note(tool: str, text: str = "") -> Entry:
    return bare(EntryKind.NOTE, Origin.SYSTEM, text, tool=tool)
