"""`segue watch`: the status screen, refreshed until you press Ctrl-C."""

from __future__ import annotations

import sys
import time

import click

from segue.errors import BadInput
from segue.faces.cli.frame import Frame, to_json
from segue.faces.screens import overview as screens
from segue.ops import overview as ops

SHORTEST_WATCH = 0.2


@click.command()
@click.option(
    "--every",
    type=click.FloatRange(SHORTEST_WATCH, 3600),
    default=2.0,
    show_default=True,
    help="Seconds between refreshes.",
)
@click.option("--count", type=click.IntRange(1), help="Stop after this many refreshes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per refresh.")
@click.pass_obj
def watch(frame: Frame, every: float, count: int | None, as_json: bool) -> None:
    """Show the screen of `segue`, and refresh it until you press Ctrl-C."""
    frame.as_json = frame.as_json or as_json
    if every != every:  # not a number
        raise BadInput(what="Invalid --every: expected a number of seconds.", next="segue watch --every 2")
    looks = 0
    try:
        while True:
            shown = ops.overview(frame.desk)
            if frame.as_json:
                frame.print(to_json(shown, indent=0))
            else:
                start = "\x1b[H\x1b[2J" if sys.stdout.isatty() else ""
                frame.print(start + screens.overview(shown))
            looks += 1
            if count and looks >= count:
                return
            time.sleep(every)
    except KeyboardInterrupt:
        return


COMMANDS = {"watch": watch}
