"""`segue redact`: print a file without its secrets."""

from __future__ import annotations

import io
import sys
from typing import BinaryIO

import click

from segue.errors import CannotPrint
from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.ops.common import redaction
from segue.ops.common.redaction import Report

FOUND = 1
"""Exit code of --check if there are secrets."""
SHOWN = 20


def write(frame: Frame, content: bytes) -> None:
    """Write bytes to stdout."""
    if not sys.stdout:
        raise CannotPrint(what="it is closed")
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        else:
            sys.stdout.write(content.decode("utf-8", "replace"))
    except BrokenPipeError:
        frame.print_no_more()
    except OSError as error:
        frame.print_no_more()
        raise CannotPrint(what=error.strerror) from error


def exit_code(report: Report) -> int:
    return FOUND if report.is_check and report.findings else 0


def no_screen(_report: Report) -> str:
    """The text has been written already."""
    return ""


def talk(report: Report) -> str:
    if not report.findings:
        return f"No secrets found ({report.rules})."
    kinds = ", ".join(f"{count} {kind}" for kind, count in report.kinds.items())
    lines = []
    if report.is_check:
        name = render.clean(report.file)
        lines = [f"{name}:{found.line}:{found.column} {found.kind}" for found in report.findings[:SHOWN]]
        if len(report.findings) > SHOWN:
            lines.append(f"... and {len(report.findings) - SHOWN} more (--json lists all)")
    done = "found" if report.is_check else "replaced"
    lines.append(f"{render.plural(len(report.findings), 'secret')} {done}: {kinds} ({report.rules}).")
    return "\n".join(lines)


@click.command()
@click.argument("file")
@click.option("--check", is_flag=True, help="Print no text; exits 1 if there are secrets.")
@click.option(
    "--allow",
    multiple=True,
    metavar="PATTERN",
    help="Not a secret: a text, a pattern with * and ?, or a /regular expression/.",
)
@answers(no_screen, exit_code=exit_code)
def redact(frame: Frame, file: str, check: bool, allow: tuple[str, ...]) -> Report:
    """Print FILE with its secrets replaced by placeholders; - is stdin.

    With --json, print the position and kind of each secret instead of the text. The same secret always has the same
    placeholder. The setting redact.allow lists what is not a secret.
    """
    stdin: BinaryIO | None = None if sys.stdin is None else sys.stdin.buffer
    report = redaction.redact_file(
        frame.desk,
        file,
        stdin=stdin,
        write=None if check else lambda content: None if frame.as_json else write(frame, content),
        allow=allow,
    )
    if not frame.as_json:
        frame.say(talk(report))
    return report


COMMANDS = {"redact": redact}
