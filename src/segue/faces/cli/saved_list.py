"""`segue list`: the saved states of the work."""

from __future__ import annotations

from typing import Any

import click

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.ops.briefs import saved_handoffs

RULE = "=" * 70


def list_screen(found: list[dict[str, Any]]) -> str:
    lines = ["", RULE, "Available Handoffs", RULE, ""]
    for one in found:
        lines += [
            f"ID: {render.clean(one['handoff_id'])}",
            f"  Time: {render.clean(one['timestamp'])}",
            f"  Task: {render.clean(one['current_task'])}",
            f"  Reason: {render.clean(one['reason'])}",
            f"  Tokens: {one['token_usage']:,}",
            "",
        ]
    return "\n".join(lines)


@click.command("list")
@answers(list_screen)
def list_all(frame: Frame) -> list[dict[str, Any]]:
    """List all saved states, newest first."""
    return saved_handoffs.listed(frame.desk)


COMMANDS = {"list": list_all}
