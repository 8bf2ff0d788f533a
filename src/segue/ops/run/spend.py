"""Tokens and money that a run has used, including subagents."""

from __future__ import annotations

from collections.abc import Iterable

from segue.ops.common.desk import Desk
from segue.ops.usage import totals
from segue.routing import Spent


def of_transcripts(desk: Desk, ids: Iterable[str], seconds: float) -> Spent:
    """Tokens and money used by transcripts and all their descendants."""
    known = {
        entry.transcript.id: (entry.id, entry.transcript)
        for entry in desk.index.transcripts().values()
        if entry.transcript and entry.transcript.id
    }
    own = set(ids)
    while grown := {id for id, (_, one) in known.items() if id not in own and one.parent in own}:
        own |= grown
    sources = dict(known[id] for id in own if id in known)
    purse = totals.Purse(desk.index)
    tokens, usd = 0, 0.0
    for row in desk.index.sum_rows("source"):
        if row[0] not in sources:
            continue
        day = (sources[row[0]].updated_at or desk.clock())[:10]
        _source, _model, _class, _answers, fresh, said, cached, put_in_cache, *_rest = row
        tokens += fresh + said + cached + put_in_cache
        usd += purse.cost(row, day) or 0.0
    return Spent(usd=usd, tokens=tokens, seconds=seconds, unpriced=tuple(sorted(purse.unknown)))
