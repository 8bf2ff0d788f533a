"""A brief made by one who sees the rest: what forward scores are measured by.

It takes whole blocks of the prefix, as a message, a call or a result is one, greedily: always the one that brings
the most weight of what the rest will use for its tokens, until no other fits or brings anything. A brief that is
written rather than taken in blocks can do better; such a score counts as 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from msgspec import Struct

from bench._judge.forward import Ahead, measure
from bench._judge.records import CALL, SUMMARY, Record
from bench._judge.tokens import count
from bench._judge.words import references

LONGEST = 40_000


def said(record: Record) -> str:
    """A record in words, as a strategy without rules would print it."""
    if record.kind == CALL:
        return f"{record.tool} {json.dumps(record.arguments, ensure_ascii=False)}"
    return record.text


def blocks(records: list[Record]) -> Iterator[str]:
    """Each different block once."""
    texts = (said(record)[:LONGEST] for record in records if record.kind != SUMMARY)
    return iter(dict.fromkeys(text for text in texts if text.strip()))


class Block(Struct, frozen=True):
    named: set[str]
    cost: int


def useful(records: list[Record], rest: Ahead) -> list[Block]:
    """The blocks that name anything that the rest will use."""
    found = ((block, set(references(block, rest.folder))) for block in blocks(records))
    return [Block(named, count(block)) for block, named in found if named & rest.weights.keys()]


def oracle(pool: list[Block], rest: Ahead, budget: int) -> float:
    """The F1 that its brief reaches."""
    chosen: set[str] = set()
    left = budget
    while pool := [one for one in pool if one.cost <= left and (one.named - chosen) & rest.weights.keys()]:
        best = max(pool, key=lambda one: _worth(one.named - chosen, one.cost, rest))
        chosen |= best.named
        left -= best.cost
    return measure(chosen, rest).f1


def _worth(named: set[str], cost: int, rest: Ahead) -> float:
    return sum(rest.weights.get(one, 0.0) for one in named) / cost
