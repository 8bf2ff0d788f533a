"""`segue show`: what a brief or a handoff passed, what it did not, and why."""

from __future__ import annotations

from typing import Any

import click
from msgspec import Struct

from segue.briefs import select
from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.faces.screens import receipts as receipts_screen
from segue.ops.briefs.make import Made
from segue.ops.handoff import receipts
from segue.ops.handoff.receipts import Listed


def list_screen(listed: list[Listed]) -> str:
    if not listed:
        return "No briefs yet. Make one: segue pack"
    rows = [("id", "tier", "tokens", "of")]
    rows += [
        (one.id, one.tier.value, f"{one.tokens:,}", render.clean(render.short(one.title, 70)))
        for one in listed
    ]
    return render.table(rows, right={2}) + "\nDetails of one: segue show ID"


class Asked(Struct, frozen=True):
    shown: Made | list[Listed]
    with_facts: bool


def _shown(asked: Asked) -> str:
    if isinstance(asked.shown, list):
        return list_screen(asked.shown)
    screen = receipts_screen.receipt(asked.shown)
    if not asked.with_facts:
        return screen
    lines = [screen, ""]
    for line in asked.shown.receipt.lines:
        where = f"  {line.pointer}" if line.pointer else ""
        why = f" ({line.reason})" if line.reason else ""
        lines.append(
            render.clean(f"{line.fate.value:<12} {receipts_screen.fact_line(line.fact)}{why}{where}")
        )
    return "\n".join(lines)


def show_data(asked: Asked) -> Any:
    shown = asked.shown
    if not isinstance(shown, Made):
        return shown
    fields = {name: getattr(shown, name) for name in shown.__struct_fields__}
    return {**fields, "preservation": select.preservation(shown.receipt)}


@click.command()
@click.argument("id", required=False)
@click.option("--facts", "with_facts", is_flag=True, help="List every fact and whether it was passed.")
@answers(_shown, data=show_data)
def show(frame: Frame, id: str | None, with_facts: bool) -> Asked:
    """Show what a brief or a handoff passed, what it did not, and why.

    Without an ID, list the latest briefs. `segue transcripts show POINTER` shows a recoverable fact.
    """
    return Asked(receipts.listed(frame.desk) if id is None else receipts.get(frame.desk, id), with_facts)


COMMANDS = {"show": show}
