"""`segue diff`: compare two briefs, handoffs or moments."""

from __future__ import annotations

import itertools

import click

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.faces.screens.receipts import fact_line
from segue.ops.handoff import compare
from segue.ops.handoff.compare import Changed, Difference

LINES = 12
"""Maximum number of facts listed in each group."""


def diff_screen(found: Difference) -> str:
    lines = [f"{render.clean(found.before)} -> {render.clean(found.after)}"]
    lines += _part("New", [fact_line(fact) for fact in found.added])
    lines += _part("Changed", [_turned(change) for change in found.changed])
    lines += _part("Removed", [fact_line(fact) for fact in found.gone])
    lines += _part("Passed by only one", [_turned(change) for change in found.fates])
    return "\n".join(lines) if len(lines) > 1 else f"{lines[0]}\nNo differences."


def _turned(change: Changed) -> str:
    subject = render.short(" ".join(change.subject.split()), 80)
    about = f"{change.kind}: {subject}: " if subject else f"{change.kind}: "
    before, after = (" ".join(value.split()) for value in (change.before, change.after))
    # Cut the common start of two long values.
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    same = max(0, len([*alike]) - 10) if len(before) > 40 else 0
    before, after = (f"…{value[same:]}" if same else value for value in (before, after))
    return f"{about}{render.short(before, 40)} -> {render.short(after, 40)}"


def _part(title: str, items: list[str]) -> list[str]:
    if not items:
        return []
    shown = ["  " + render.clean(item) for item in items[:LINES]]
    more = [render.dim(f"  and {len(items) - LINES} more (--json lists all)")] if len(items) > LINES else []
    return ["", f"{title} ({len(items)})", *shown, *more]


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@answers(diff_screen)
def diff(frame: Frame, before: str, after: str) -> Difference:
    """Compare two briefs, handoffs or moments.

    A and B are each a brief or handoff (its id), a transcript (its id or file), or a transcript at a moment:
    ID@2026-11-16T10:00:00Z.
    """
    return compare.compare(frame.desk, before, after)


COMMANDS = {"diff": diff}
