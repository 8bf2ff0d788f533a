"""`segue` alone, `segue status` and `segue watch`: what each agent has left, and what this folder was doing."""

from __future__ import annotations

import sys
import time

import click

from segue.errors import BadInput
from segue.faces.cli.frame import Frame, answers, to_json
from segue.faces.screens import status
from segue.ops import overview as ops
from segue.ops.overview import Overview

SHORTEST_WATCH = 0.2


@click.command()
@answers(status.overview)
def home(frame: Frame) -> Overview:
    """Show every agent's limits, this folder's session, and what to do next."""
    return ops.overview(frame.desk, frame.progress("Reading transcripts"))


@click.command()
@click.option(
    "--every",
    type=click.FloatRange(SHORTEST_WATCH, 3600),
    default=2.0,
    show_default=True,
    help="Seconds between looks.",
)
@click.option("--count", type=click.IntRange(1), help="Stop after so many looks.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object for each look.")
@click.pass_obj
def watch(frame: Frame, every: float, count: int | None, as_json: bool) -> None:
    """Show the same as `segue`, and keep it up to date until you press Ctrl-C."""
    frame.as_json = frame.as_json or as_json
    if every != every:  # not a number
        raise BadInput(what="--every takes seconds.", next="segue watch --every 2")
    looks = 0
    try:
        while True:
            shown = ops.overview(frame.desk)
            if frame.as_json:
                frame.print(to_json(shown, indent=0))
            else:
                start = "\x1b[H\x1b[2J" if sys.stdout.isatty() else ""
                frame.print(start + status.overview(shown))
            looks += 1
            if count and looks >= count:
                return
            time.sleep(every)
    except KeyboardInterrupt:
        return


COMMANDS = {"status": home, "watch": watch}
