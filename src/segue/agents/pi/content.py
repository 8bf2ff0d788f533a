"""Content of pi's messages: text, images, limit errors and exit statuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from segue.agents.shared.transcripts import limit_text
from segue.agents.shared.transcripts.entry_links import bare
from segue.agents.shared.transcripts.image_ref import reference
from segue.agents.shared.transcripts.reader import dict_of, list_of, text_of
from segue.base.clock import Moment
from segue.model import Entry, EntryKind, Limit, Origin

_REFUSED = re.compile(r"\b429\b|quota|resource.?exhausted|credit balance|insufficient funds", re.IGNORECASE)
"""Signs of a limit in an error, besides what providers usually write."""
_EXITED = re.compile(r"Command exited with code (-?\d{1,9})\s*\Z")


def limit(text: str, at: Moment | None) -> Limit | None:
    said = text[: limit_text.LONGEST]
    is_limit = limit_text.tells_of_limit(said) or _REFUSED.search(said)
    return limit_text.limit_in(said, at) if is_limit else None


def exit_status(tool: str, text: str) -> int | None:
    """The exit status of a failed command, from the last line. Success is not written."""
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
            yield bare(EntryKind.IMAGE, origin, picture(block))


def picture(block: dict[str, Any]) -> str:
    return reference(text_of(block.get("mimeType")), text_of(block.get("data")))
