"""Which entries survive in Codex: a compaction keeps the user's messages, a rollback removes turns."""

from __future__ import annotations

from segue.agents.codex.records import envelope
from segue.agents.shared.transcripts.reader import count_of
from segue.conversation import Kept
from segue.model import Entry, EntryKind


def kept(entry: Entry) -> Kept | None:
    if entry.kind is EntryKind.SUMMARY:
        return Kept(is_said=True)
    if entry.tool == "thread_rolled_back":
        count = count_of(envelope(entry.native or {})[1].get("num_turns"))
        return Kept(back=count) if count else None
    return None
