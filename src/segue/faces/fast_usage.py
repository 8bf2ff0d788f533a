"""Fast path for the calls that programs make most often; it skips loading the command line.

    segue usage [BY] --json
    segue check --json

Any other call, or a failure, falls back to the command line, which gives the same answer.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from segue.errors import SegueError

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing is slow
    from typing import Any

    from segue.ops.common.desk import Desk

BARE = ("daily", "weekly", "blocks", "models")
"""Reports without transcript titles: they need no settings if there is no settings file."""


def answer(argv: Sequence[str]) -> int | None:
    """Answer a call and return its exit code; None if it is not answered here."""
    asked = _asked(argv)
    if asked is None or sys.stdout is None:
        return None
    try:
        told = _bare(argv) or _proper(asked)
        if told is None:
            return None
        text, code = told
        sys.stdout.write(text)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        return 0  # the reader closed the pipe
    except (SegueError, OSError, UnicodeError):
        return None


def _bare(argv: Sequence[str]) -> tuple[str, int] | None:
    by = argv[1] if len(argv) > 2 else "daily"
    if argv[0] != "usage" or by not in BARE:
        return None
    from segue.faces.fast_json import to_json  # lazy: each answer loads only its own
    from segue.ops.usage import fast_desk, totals  # lazy: as above

    desk = fast_desk.open_bare(os.environ)
    if desk is None:
        return None
    try:
        report = totals.report(desk, by)
    finally:
        desk.close()
    return (to_json(report) + "\n", 0) if report else None


def _proper(asked: Callable[[Desk], tuple[Any, int]]) -> tuple[str, int] | None:
    from pathlib import Path  # lazy: not needed without a settings file

    from segue.faces.encode import to_json  # lazy: as above
    from segue.ops.common import desk as desks  # lazy: as above

    desk = desks.open_desk(env=os.environ, cwd=Path.cwd())
    try:
        if desk.resolved.ignored or (desk.project_file and desk.project_file.problem):
            return None  # the command line reports these
        value, code = asked(desk)
    finally:
        desk.close()
    return to_json(value) + "\n", code


def _asked(argv: Sequence[str]) -> Callable[[Desk], tuple[Any, int]] | None:
    match argv:
        case ["usage", "--json"]:
            return lambda desk: _usage(desk, "daily")
        case ["usage", by, "--json"] if by.isalpha():
            return lambda desk: _usage(desk, by)
        case ["check", "--json"]:
            return _check
    return None


def _usage(desk: Desk, by: str) -> tuple[Any, int]:
    from segue.ops.usage import report as usage_report  # lazy: each answer loads only its own

    if by not in list(usage_report.By):
        raise SegueError(what=f"there is no '{by}'")
    return usage_report.report(desk, usage_report.By(by)), 0


def _check(desk: Desk) -> tuple[Any, int]:
    from segue.ops.usage import folder_status  # lazy: as above

    found = folder_status.check(desk)
    return found, found.exit_code
