"""All of it in one figure: HQ = 100 · BR^0.5 · min(1, F1f/F1f_oracle)^0.3 · (1−ST)^0.2, and 0 over budget."""

from __future__ import annotations

from msgspec import Struct, field

from bench._judge import found
from bench._judge.forward import Ahead, forward
from bench._judge.prose import Prose
from bench._judge.stale import staleness
from bench._judge.tokens import count
from bench._judge.truth import TYPES, Fact, Truth


class Score(Struct):
    """How one brief did."""

    tokens: int
    hq: float
    br: float
    types: dict[str, float]
    """Recall by type: what BR is the mean of."""
    kinds: dict[str, float]
    fr: float
    fp: float
    f1: float
    ideal: float
    """The oracle's F1: what `f1` is measured by."""
    st: float
    code: float | None
    """The share of quoted code that is no longer there; None where none is quoted."""
    missed: list[Fact] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)


def score(brief: str, truth: Truth, rest: Ahead, ideal: float, budget: int) -> Score:
    """`ideal` is the F1 of the oracle at the same budget."""
    prose = Prose(brief)
    hits: dict[str, list[bool]] = {}
    missed = []
    for fact in truth.facts:
        hit = found.is_found(prose, fact, truth)
        hits.setdefault(fact.kind, []).append(hit)
        if not hit:
            missed.append(fact)
    types = {}
    for name, members in TYPES.items():
        some = [hit for kind in members for hit in hits.get(kind, ())]
        if some:
            types[name] = sum(some) / len(some)
    kinds = {kind: sum(some) / len(some) for kind, some in hits.items()}
    recall = sum(types.values()) / len(types) if types else 0.0
    named = forward(prose, rest)
    old = staleness(prose, truth)
    tokens = count(brief)
    reached = min(1.0, named.f1 / ideal) if ideal else 1.0
    hq = 100 * recall**0.5 * reached**0.3 * (1 - old.share) ** 0.2
    return Score(
        tokens=tokens,
        hq=hq if tokens <= budget else 0.0,
        br=recall,
        types=types,
        kinds=kinds,
        fr=named.recall,
        fp=named.precision,
        f1=named.f1,
        ideal=ideal,
        st=old.share,
        code=old.code,
        missed=missed,
        stale=old.stale,
        unused=named.unused,
        unnamed=named.missed,
    )
