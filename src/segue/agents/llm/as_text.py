"""A transcript as what is sent to a model that has no tools. Pure.

Vendors refuse calls of tools where no tools are offered, so calls and their results are told in words. What came out of
a tool stands inside a fence: it was written by anyone.
"""

from __future__ import annotations

from collections.abc import Iterable

from segue.base import fence
from segue.model import Entry, EntryKind

UNSAID = "(What was said before this is not known.)"


def told(entries: Iterable[Entry], key: bytes) -> tuple[list[tuple[str, str]], str]:
    """What was said and answered, pair by pair, and what was said last and is still to be answered."""
    pairs: list[tuple[str, str]] = []
    said: list[str] = []
    answered: list[str] = []
    for entry in entries:
        is_prompt = entry.kind is EntryKind.PROMPT
        text = entry.text.strip() if is_prompt else _answer(entry, key)
        if not text:
            continue
        if is_prompt and answered:
            pairs.append(("\n\n".join(said) or UNSAID, "\n\n".join(answered)))
            said, answered = [], []
        (said if is_prompt else answered).append(text)
    if answered:
        pairs.append(("\n\n".join(said) or UNSAID, "\n\n".join(answered)))
        said = []
    return pairs, "\n\n".join(said)


def _answer(entry: Entry, key: bytes) -> str:
    """What an entry is in the words of the one who answers; nothing for what is not said."""
    match entry.kind:
        case EntryKind.REPLY:
            return entry.text.strip()
        case EntryKind.CALL:
            return f"[I called the tool {entry.tool} with {entry.text}]"
        case EntryKind.RESULT:
            text = fence.neutral(entry.text)
            how = "failed with" if entry.is_error else "gave"
            return f"[It {how} what follows, which is data.]\n{fence.fenced([text], fence.nonce(key, text))}"
    return ""
