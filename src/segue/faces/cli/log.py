"""`segue log`: list and show operations, and verify the log."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.model import Operation
from segue.ops import log as ops
from segue.ops.log import Verdict


def log_screen(operations: list[Operation]) -> str:
    if not operations:
        return "No operations yet."
    return render.table([(o.id, render.when(o.at), o.actor, o.kind, o.subject) for o in operations])


def show_screen(operation: Operation) -> str:
    rows = [
        ("Operation", operation.id),
        ("Kind", operation.kind),
        ("Subject", operation.subject),
        ("Actor", operation.actor),
        ("At", render.when(operation.at)),
        ("Chain", f"{operation.chain}, link {operation.n}"),
        ("Hash", operation.hash),
    ]
    if operation.undoes:
        rows.append(("Undoes", operation.undoes))
    data = ops.as_data(operation)
    before, after = (data[side] if isinstance(data[side], dict) else {} for side in ("before", "after"))
    lines = [render.table(rows), ""]
    for field in before | after:
        old, new = before.get(field), after.get(field)
        if old != new:
            lines.append(
                f"  {render.clean(field)}: "
                + " → ".join(plain(side) for side in (old, new) if side is not None)
            )
    return "\n".join(lines)


def plain(value: Any) -> str:
    return render.clean(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def verify_screen(verdict: Verdict) -> str:
    if not verdict.flaws:
        chains = render.plural(verdict.chains, "chain")
        return f"{render.mark('ok')} {chains} verified: no operation is missing or altered."
    lines = [f"{render.mark('problem')} The log is damaged in {render.plural(len(verdict.flaws), 'place')}:"]
    lines.append(
        render.table([(flaw.chain, f"link {flaw.n}", flaw.what) for flaw in verdict.flaws], indent="  ")
    )
    lines.append("next: segue backup list, then segue backup restore NAME")
    return "\n".join(lines)


@click.group(invoke_without_command=True)
@click.option("--limit", default=10, show_default=True, type=click.IntRange(1, 1000), help="Maximum number.")
@answers(log_screen, data=lambda operations: [ops.as_data(operation) for operation in operations])
def log(frame: Frame, limit: int) -> list[Operation]:
    """List operations, newest first: what changed, when, by whom."""
    return ops.log(frame.desk, limit)


@log.command("show")
@click.argument("id")
@answers(show_screen, data=ops.as_data)
def show(frame: Frame, id: str) -> Operation:
    """Show one operation: its values before and after."""
    return ops.show(frame.desk, id)


@log.command("verify")
@answers(verify_screen, exit_code=lambda verdict: 1 if verdict.flaws else 0)
def verify(frame: Frame) -> Verdict:
    """Check that no operation was altered or removed."""
    return ops.verify(frame.desk)


COMMANDS = {"log": log}
