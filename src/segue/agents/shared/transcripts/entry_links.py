"""Links between entries: unique ids, and parents that never form a cycle.

A record may name a parent that comes later, as agents with parallel calls write it; only then can a cycle
arise. So a parent that is still to come is remembered, with the entries below it. When it arrives, it may not
be linked below one of them. All of this is kept in the mark's state and is bounded: a cycle between records
that are further apart is not noticed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from segue.base.hashes import short_hash
from segue.model import Entry, EntryKind, Origin

REMEMBERED = 128
"""How many of the latest links are remembered at least."""

State = dict[str, Any]


# Entries without id and parent


def bare(kind: EntryKind, origin: Origin, text: str, **fields: Any) -> Entry:
    return Entry(id="", kind=kind, origin=origin, text=text, **fields)


def note(tool: str, text: str = "", origin: Origin = Origin.SYSTEM) -> Entry:
    return bare(EntryKind.NOTE, origin, text, tool=tool)


def placed(entry: Entry, **fields: Any) -> Entry:
    return msgspec.structs.replace(entry, **fields)


# Ids and parents


def chained(
    state: State, name: str, parent: str | None, pieces: list[Entry], **shared: Any
) -> Iterator[Entry]:
    """A record's entries with ids and parents. The last one has the record's own id, the others come before
    it, and a result's parent is its call. `shared` are fields for all of them."""
    own = unused(state, name.replace("#", "_"))
    calls: dict[str, str] = state.setdefault("calls", {})
    parent = unringed(state, own, parent and parent.replace("#", "_"))
    for number, piece in enumerate(pieces, 1):
        id = own if number == len(pieces) else f"{own}#{number}"
        if piece.call and piece.kind is EntryKind.RESULT:
            parent = unringed(state, own, calls.pop(piece.call, None)) or parent
        if piece.call and piece.kind is EntryKind.CALL:
            calls[piece.call] = id
        link(state, id, parent)
        yield placed(piece, id=id, parent=parent, **shared)
        parent = id
    arrived(state, own)


def unused(state: State, id: str, at_least: int | None = None) -> str:
    """The id, or a variant if an entry already has it: a record may be written twice. Remembers all ids, or
    at least the latest `at_least`."""
    used: dict[str, int] = state.setdefault("used", {})
    while times := used.get(key := short(id), 0):
        remember(used, key, times + 1, at_least)
        id = f"{id}~{times + 1}"
    remember(used, key, 1, at_least)
    return id


def is_known(state: State, id: str) -> bool:
    """Whether an entry with this id is remembered."""
    return short(id) in state.get("used", ())


def unringed(state: State, own: str, parent: str | None) -> str | None:
    """The parent of an entry; None if that is the entry itself or one below it."""
    if not parent or parent == own:
        return None
    awaited = state.get("awaited")
    if not awaited or (wanted := short(own)) not in awaited:
        return parent
    links: dict[str, str] = state.get("links", {})
    here = short(parent)
    for _ in range(len(links) + 1):
        if here == wanted:
            return None
        if here not in links:
            return parent
        here = links[here]
    return None


def link(state: State, id: str, parent: str | None) -> None:
    """Remember what is below a parent that is still to come. Call this for every entry, in order."""
    links, newest = state.get("links"), state.get("newest")
    state["newest"] = id
    if not parent or (not links and parent == newest):
        return
    used, above = state.get("used", {}), short(parent)
    is_awaited = above not in used and short(parent.partition("#")[0]) not in used
    if is_awaited:
        remember(state.setdefault("awaited", {}), above, 1)
    if is_awaited or (links and above in links):
        remember(state.setdefault("links", {}), short(id), above)


def arrived(state: State, own: str) -> None:
    """Forget a parent that has arrived."""
    if awaited := state.get("awaited"):
        awaited.pop(short(own), None)


def remember(known: dict[str, Any], key: str, value: Any, at_least: int | None = REMEMBERED) -> None:
    """Store a value as the newest; drop the oldest now and then."""
    known.pop(key, None)
    known[key] = value
    if at_least and len(known) > 2 * at_least:
        for old in list(known)[:at_least]:
            del known[old]


def short(id: str) -> str:
    """A hash of an id, short enough to remember thousands."""
    return short_hash(id.encode("utf-8", "replace")).hex()[:10]
