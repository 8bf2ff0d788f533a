"""Which entries survive a compaction of pi: the last messages, from one that it names."""

from __future__ import annotations

from segue.agents.shared.transcripts.reader import dict_of, text_of
from segue.conversation import Kept
from segue.model import Entry, EntryKind


def kept(entry: Entry) -> Kept | None:
    first = text_of(dict_of(entry.native).get("firstKeptEntryId"))
    return Kept(since=first) if entry.kind is EntryKind.SUMMARY and first else None
