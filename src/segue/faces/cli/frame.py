"""The environment of a command: desk, `--json`, colour, output streams.

A command's function returns a value, printed as JSON with `--json` and as a screen otherwise. Data goes to stdout,
messages to stderr.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import click

from segue.base import clock as clocks
from segue.base.clock import Clock
from segue.base.text import printable
from segue.errors import CannotPrint
from segue.faces.encode import to_json as to_json
from segue.ops.common import desk as desks
from segue.ops.common.desk import Desk, NewId

V = TypeVar("V")

PATIENCE_S = 1.0
"""Seconds before a progress bar appears."""
NOTES = 5
"""Maximum number of ignored values that are reported: an untrusted file could hold thousands."""


class Frame:
    """One run of the command line."""

    def __init__(
        self,
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        clock: Clock = clocks.now,
        new_id: NewId = desks.new_id,
    ) -> None:
        self.env = os.environ if env is None else env
        self.cwd = cwd or _where()
        self.clock = clock
        self.new_id = new_id
        self.flags: tuple[str, ...] = ()
        self.debug = False
        self.as_json = False
        self.is_quiet = False
        self.exit_code = 0

    @cached_property
    def desk(self) -> Desk:
        desk = desks.open_desk(
            env=self.env, cwd=self.cwd, flags=self.flags, clock=self.clock, new_id=self.new_id
        )
        if not self.is_quiet:
            self._tell_what_was_left_out(desk)
        return desk

    def close(self) -> None:
        if "desk" in self.__dict__:
            self.desk.close()

    def make_streams_forgiving(self) -> None:
        """Replace characters that the terminal cannot show, instead of failing."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")

    def print(self, text: str) -> None:
        """Print data. A closed pipe (`segue log | head`) is not an error."""
        try:
            click.echo(text, color=self.has_colour(sys.stdout))
        except BrokenPipeError:
            self.print_no_more()
        except OSError as error:
            self.print_no_more()
            raise CannotPrint(what=error.strerror) from error

    def print_no_more(self) -> None:
        # Otherwise flushing the buffer at exit fails again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def say(self, text: str) -> None:
        """Print a message to stderr; it is lost if stderr is closed."""
        with contextlib.suppress(OSError):
            click.echo(text, err=True, color=self.has_colour(sys.stderr))

    def progress(self, label: str) -> Callable[[int, int], None]:
        """Progress bar for work that takes over a second; shown only on a terminal."""
        started = time.monotonic()
        is_shown = sys.stderr.isatty() and not self.as_json

        def show(done: int, whole: int) -> None:
            if is_shown and time.monotonic() - started > PATIENCE_S:
                share = done / whole if whole else 1.0
                bar = "█" * round(20 * share) + "░" * (20 - round(20 * share))
                end = "\r\x1b[K" if done >= whole else ""
                sys.stderr.write(f"\r{label} {bar} {share:4.0%}{end}")
                sys.stderr.flush()

        return show

    def has_colour(self, stream: Any) -> bool:
        return (
            stream is not None
            and stream.isatty()
            and not self.env.get("NO_COLOR")
            and self.env.get("TERM") != "dumb"
        )

    def _tell_what_was_left_out(self, desk: Desk) -> None:
        project = desk.project_file
        if project and project.problem:
            self.say(printable(f"note: ignored, because this project is not trusted: {project.problem}"))
        for assignment in desk.resolved.ignored[:NOTES]:
            where = printable(f"{assignment.key} in {assignment.source.place}")
            self.say(
                f"note: ignored {where}: an untrusted project may only restrict settings "
                "(read the file, then run segue trust)"
            )


def _where() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        # The folder was deleted; PWD still has its name. No other folder may be used instead.
        return Path(os.environ.get("PWD") or "/(a folder that is gone)")


def answers(
    render: Callable[[V], str],
    exit_code: Callable[[V], int] = lambda _value: 0,
    data: Callable[[V], Any] = lambda value: value,
) -> Callable[[Callable[..., V]], Callable[..., None]]:
    """Turn a function that returns a value into a command's callback. `data` maps the value to its JSON. A group's
    function does not run when a subcommand was named."""

    def decorate(function: Callable[..., V]) -> Callable[..., None]:
        @functools.wraps(function)
        def callback(context: click.Context, /, *, as_json: bool, debug: bool, **values: Any) -> None:
            frame: Frame = context.obj
            frame.debug = frame.debug or debug
            frame.as_json = frame.as_json or as_json
            if context.invoked_subcommand is not None:
                return
            value = function(frame, **values)
            text = to_json(data(value)) if frame.as_json else render(value)
            frame.exit_code = exit_code(value)
            if text:
                frame.print(text)

        options: list[Callable[[Any], Any]] = [
            click.pass_context,
            click.option("--debug", is_flag=True, help="Show the traceback of an error."),
            click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        ]
        wrapped: Callable[..., None] = callback
        for option in options:
            wrapped = option(wrapped)
        return wrapped

    return decorate
