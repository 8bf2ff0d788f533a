"""The scorecard of checked assertions: rigorous, accurate, interpretable, transparent (RAIT). Pure.

*Rigorous* rates the check: how many of the assertions could be checked. *Accurate* rates the agent: how many of those
hold. *Interpretable* lists the assertions that do not hold, each with its sentence and evidence. *Transparent* lists
what could not be checked and why, and what Segue did to find out.
"""

from __future__ import annotations

from collections.abc import Sequence

from segue.assertions.assertion import Checked, Verdict
from segue.base.fence import one_line
from segue.model import Value

LONGEST = 160


class Word(Value, frozen=True):
    """One of the four criteria, with its result and the assertions behind it."""

    statement: str
    share: float | None = None
    """From 0 to 1; None if there is nothing to count."""
    assertions: tuple[int, ...] = ()
    """Their indexes in the list of checked assertions."""


class Rait(Value, frozen=True):
    rigorous: Word
    accurate: Word
    interpretable: Word
    transparent: Word


def report(checked: Sequence[Checked], done: str) -> Rait:
    """The scorecard of checked assertions. `done` says what Segue looked at."""
    by = {verdict: tuple(n for n, one in enumerate(checked) if one.verdict is verdict) for verdict in Verdict}
    held, false, unknown = by[Verdict.SUPPORTED], by[Verdict.UNSUPPORTED], by[Verdict.UNKNOWN]
    told = tuple(sorted((*held, *false)))
    return Rait(
        rigorous=Word(
            statement=f"{len(told)} of {_counted(len(checked))} could be checked",
            share=_share(len(told), len(checked)),
            assertions=told,
        ),
        accurate=Word(
            statement=f"{len(held)} of {len(told)} checked assertions {'holds' if len(held) == 1 else 'hold'}",
            share=_share(len(held), len(told)),
            assertions=held,
        ),
        interpretable=Word(
            statement=f"{_counted(len(false))} {'does' if len(false) == 1 else 'do'} not hold, each with its evidence"
            if false
            else "no assertion is unsupported",
            assertions=false,
        ),
        transparent=Word(
            statement=f"{_counted(len(unknown))} could not be checked; {done}" if unknown else done,
            assertions=unknown,
        ),
    )


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _counted(count: int) -> str:
    return f"{count} assertion{'' if count == 1 else 's'}"


def in_words(checked: Checked) -> str:
    """An assertion with its evidence, in one line."""
    return f'"{one_line(checked.assertion.sentence, LONGEST)}" ({label(checked)}): {one_line(checked.evidence, 240)}'


def label(checked: Checked) -> str:
    """The assertion in a few words."""
    assertion = checked.assertion
    place = f" in {assertion.place}" if assertion.place and assertion.is_exact else ""
    return one_line(
        f"{assertion.kind}: {assertion.subject}{place}" if assertion.subject else assertion.kind.value, 100
    )
