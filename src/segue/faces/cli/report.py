"""Error messages: what happened and the next command. Tracebacks go to the log file; `--debug` shows them."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
from pathlib import Path

import click
import msgspec

from segue.base import clock, files, paths
from segue.errors import BadInput, Bug, CannotPrint, SegueError
from segue.faces import render
from segue.faces.cli.frame import Frame

LOG_LIMIT = 1_000_000
INTERRUPTED = 130


def from_click(error: click.ClickException) -> SegueError:
    """Convert a usage error of click."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "segue"
    message = " ".join(error.format_message().split())
    if not message.endswith((".", "?")):
        message += "."
    return BadInput(what=message[:1].upper() + message[1:], next=f"{path} --help")


def from_output(frame: Frame, error: Exception) -> SegueError | None:
    """Convert an error of writing to stdout (one that names no file)."""
    if (
        isinstance(error, OSError)
        and error.filename is None
        and error.errno in (errno.ENOSPC, errno.EIO, errno.EBADF)
    ):
        frame.print_no_more()
        return CannotPrint(what=error.strerror)
    return None


def failed(frame: Frame, error: BaseException, as_json: bool) -> int:
    """Report an error, log its traceback, and return the exit code."""
    if isinstance(error, SegueError):
        shown = error
        if error.__cause__ is not None:
            write_log(frame, error)
    else:
        kept = write_log(frame, error)
        where = f"The details are in {kept}." if kept else "The details could not be logged."
        shown = Bug(what=f"{type(error).__name__}: {error}", kept=where)
    if frame.debug:
        traceback.print_exception(error)
    if as_json:
        body = {
            "error": shown.kind,
            "message": render.clean(str(shown)),
            "next": render.clean(shown.next_step),
            "exit_code": shown.exit_code,
        }
        frame.say(msgspec.json.encode(body).decode())
    else:
        frame.say(click.style("error: ", fg="red", bold=True) + render.clean(str(shown)))
        frame.say(click.style(" next: ", fg="cyan", bold=True) + render.clean(shown.next_step))
    return shown.exit_code


def write_log(frame: Frame, error: BaseException) -> Path | None:
    """Append a traceback to the log file; returns its path, or None if it cannot be written."""
    with contextlib.suppress(OSError):
        path = paths.find(frame.env).log
        files.make_private_folder(path.parent)
        if path.exists() and path.stat().st_size > LOG_LIMIT:
            path.replace(path.with_suffix(".log.old"))
        fd = files.open_private(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            # Only the command's name: arguments may contain secrets.
            head = f"{clock.now()} segue {' '.join(word for word in sys.argv[1:2] if word.isalpha())}\n"
            files.write_all(
                fd, (head + "".join(traceback.format_exception(error)) + "\n").encode(errors="replace")
            )
        finally:
            os.close(fd)
        return path
    return None
