"""Transcripts with one entry per line, as the programs that ship with Segue write them.

They are read as carefully as any other agent's: anyone may have changed the file.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from segue.agents.shared.transcripts import entry_links, reader
from segue.agents.shared.transcripts.reader import Reading
from segue.model import Entry, EntryKind, Limit, Mark, Origin, Source, Spend

ORIGINS = {
    EntryKind.REPLY: (Origin.ASSISTANT,),
    EntryKind.THOUGHT: (Origin.ASSISTANT,),
    EntryKind.CALL: (Origin.ASSISTANT, Origin.HUMAN),
    EntryKind.RESULT: (Origin.TOOL,),
    EntryKind.PROMPT: (Origin.HUMAN, Origin.ASSISTANT, Origin.SYSTEM),
}
"""Whose words an entry of a kind can be."""


def read(source: Source, mark: Mark | None = None, *, beside: tuple[str, ...] = ()) -> Reading:
    """The entries of a file. Its name up to the first dot is the transcript's id. `beside` are the keys of
    known records that are no entries."""
    return Reading(source, mark, functools.partial(_entries, beside=beside))


def _entries(reading_: Reading, beside: tuple[str, ...]) -> Iterator[Entry]:
    reading_.learn(id=Path(reading_.source.path).name.split(".")[0])
    for record in reader.records(reading_):
        state = reading_.mark.state
        state["records"] = state.get("records", 0) + 1
        entry = _entry(record)
        known = next((key for key in beside if key in record), "")
        if entry is None and not known:
            reading_.unknown["record"] += 1
        piece = entry or entry_links.note(known or "record")
        name = piece.id or f"note-{state['records']}"
        yield from entry_links.chained(state, name, piece.parent, [piece], native=record)


def _entry(record: dict[str, Any]) -> Entry | None:
    """The entry in a record; None if any of its values is invalid."""
    try:
        entry = msgspec.convert(record, Entry)
    except msgspec.ValidationError:
        return None
    is_limited = bool(entry.limits) or entry.kind is not EntryKind.LIMIT
    is_sound = entry.origin in ORIGINS.get(entry.kind, Origin) and is_limited
    if not is_sound or not all(map(_is_sound_limit, entry.limits)) or not _is_sound_spend(entry.spend):
        return None
    return entry_links.placed(
        entry,
        at=reader.moment_of(entry.at),
        spend=entry.spend and msgspec.structs.replace(entry.spend, at=reader.moment_of(entry.spend.at)),
        limits=tuple(map(_timed, entry.limits)),
    )


def _is_sound_spend(spend: Spend | None) -> bool:
    if spend is None:
        return True
    counts = msgspec.structs.astuple(spend.tokens)
    is_counted = all(reader.count_of(count) == count for count in counts)
    is_priced = spend.cost_usd is None or (spend.cost_usd >= 0 and math.isfinite(spend.cost_usd))
    return bool(spend.key) and is_counted and is_priced and counts[4] <= counts[3]


def _is_sound_limit(limit: Limit) -> bool:
    used = limit.used_percent
    return used is None or (used >= 0 and math.isfinite(used))


def _timed(limit: Limit) -> Limit:
    at, resets_at = reader.moment_of(limit.at), reader.moment_of(limit.resets_at)
    return msgspec.structs.replace(limit, at=at, resets_at=resets_at)


def line(entry: Entry, **first: Any) -> bytes:
    """An entry as a line of such a file, without empty fields. `first` are fields to put before it."""
    told = {key: value for key, value in msgspec.structs.asdict(entry).items() if value not in _NOTHING}
    needed = {"text": entry.text} if not entry.text else {}
    return msgspec.json.encode({**first, **told, **needed}) + b"\n"


_NOTHING: tuple[Any, ...] = (None, "", False, ())
