"""Tokens and money that a run has used, including subagents."""

from __future__ import annotations

from collections.abc import Iterable

from segue.model import Transcript
from segue.ops.common.desk import Desk
from segue.ops.usage import totals
from segue.routing import Spent


def of_transcripts(desk: Desk, ids: Iterable[str], seconds: float) -> Spent:
    """Tokens and money used by transcripts and all their descendants."""
    known = {id: entry for entry in desk.index.transcripts().values() if (id := _id(entry.transcript))}
    own = set(ids)
    while grown := {id for id, entry in known.items() if id not in own and _parent(entry.transcript) in own}:
        own |= grown
    sources = {known[id].id: known[id].transcript for id in own if id in known}
    purse = totals.Purse(desk.index)
    tokens, usd = 0, 0.0
    for row in desk.index.sum_rows("source"):
        if row[0] not in sources:
            continue
        transcript = sources[row[0]]
        day = ((transcript.updated_at if transcript else None) or desk.clock())[:10]
        _source, _model, _class, _answers, fresh, said, cached, put_in_cache, *_rest = row
        tokens += fresh + said + cached + put_in_cache
        usd += purse.cost(row, day) or 0.0
    return Spent(usd=usd, tokens=tokens, seconds=seconds, unpriced=tuple(sorted(purse.unknown)))


def _id(transcript: Transcript | None) -> str:
    return transcript.id if transcript else ""


def _parent(transcript: Transcript | None) -> str:
    return transcript.parent if transcript else ""
