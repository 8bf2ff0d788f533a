"""What was found, in four words: rigorous, accurate, interpretable, transparent. Pure.

*Rigorous* is the check: how much of what was asserted could be checked at all, and was. *Accurate* is the agent: how
much of that holds. *Interpretable*: for each assertion that does not hold, the sentence and the evidence, for anyone to
look up.
*Transparent*: what could not be checked and why, and what Segue did to find out.
"""

from __future__ import annotations

from collections.abc import Sequence

from segue.assertions.assertion import Checked, Verdict
from segue.base.fence import one_line
from segue.model import Value

LONGEST = 160


class Word(Value, frozen=True):
    """One of the four, with its figure or statement and the assertions behind it."""

    statement: str
    share: float | None = None
    """From 0 to 1; None where there is nothing to take a share of."""
    assertions: tuple[int, ...] = ()
    """Their places in the list of what was checked."""


class Rait(Value, frozen=True):
    rigorous: Word
    accurate: Word
    interpretable: Word
    transparent: Word


def report(checked: Sequence[Checked], done: str) -> Rait:
    """The four words on what was checked. `done` says what Segue did for it."""
    by = {verdict: tuple(n for n, one in enumerate(checked) if one.verdict is verdict) for verdict in Verdict}
    held, false, unknown = by[Verdict.SUPPORTED], by[Verdict.UNSUPPORTED], by[Verdict.UNKNOWN]
    told = tuple(sorted((*held, *false)))
    return Rait(
        rigorous=Word(
            statement=f"{len(told)} of {_counted(len(checked))} could be checked, whatever came of it",
            share=_share(len(told), len(checked)),
            assertions=told,
        ),
        accurate=Word(
            statement=f"{len(held)} of the {len(told)} that were checked {_hold(len(held))}",
            share=_share(len(held), len(told)),
            assertions=held,
        ),
        interpretable=Word(
            statement=f"{_counted(len(false))} {'does' if len(false) == 1 else 'do'} not hold, each with its evidence"
            if false
            else "there is none that does not hold",
            assertions=false,
        ),
        transparent=Word(
            statement=f"{_counted(len(unknown))} could not be told; {done}" if unknown else done,
            assertions=unknown,
        ),
    )


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _hold(count: int) -> str:
    return "holds" if count == 1 else "hold"


def _counted(count: int) -> str:
    return f"{count} assertion{'' if count == 1 else 's'}"


def in_words(checked: Checked) -> str:
    """An assertion with its evidence, in a line."""
    return f'"{one_line(checked.assertion.sentence, LONGEST)}" ({label(checked)}): {one_line(checked.evidence, 240)}'


def label(checked: Checked) -> str:
    """What is asserted, in a few words."""
    assertion = checked.assertion
    place = f" in {assertion.place}" if assertion.place and assertion.is_exact else ""
    return one_line(
        f"{assertion.kind}: {assertion.subject}{place}" if assertion.subject else assertion.kind.value, 100
    )
