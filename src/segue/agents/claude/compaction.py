"""Which entries survive a compaction of Claude Code: newer versions keep the last messages."""

from __future__ import annotations

from segue.agents.shared.transcripts.reader import dict_of, list_of, text_of
from segue.conversation import Kept
from segue.model import Entry

_BOUNDARY = "compact_boundary"


def kept(entry: Entry) -> Kept | None:
    if entry.tool != _BOUNDARY:
        return None
    about = dict_of(dict_of(entry.native).get("compactMetadata"))
    listed = list_of(dict_of(about.get("preservedMessages")).get("uuids"))
    since = text_of(dict_of(about.get("preservedSegment")).get("headUuid"))
    ids = tuple(id for one in listed if (id := text_of(one)))
    return Kept(ids=ids) if ids else Kept(since=since)
