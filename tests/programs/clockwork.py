"""Runs Segue by a clock that a test can put forward, and no other program by it.

    python clockwork.py FILE COMMAND...

FILE holds how many seconds the clock is ahead; it is read again whenever somebody asks for the time.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from segue.base import clock

ahead = Path(sys.argv[1])


def now() -> clock.Moment:
    seconds = float(ahead.read_text()) if ahead.exists() else 0.0
    return clock.moment(datetime.now(UTC) + timedelta(seconds=seconds))


clock.now = now

from segue.faces.cli import main  # noqa: E402 - after the clock is in its place

if __name__ == "__main__":
    sys.exit(main(sys.argv[2:]))
