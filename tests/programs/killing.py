"""Runs Segue, and kills it with SIGKILL at its nth write to the shared store: before it, or right after it.

    python killing.py before|after N COMMAND...

Exit code 86 if it came to its end without that many.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from segue.faces.cli import main
from segue.store.shared import Shared

NOT_KILLED = 86


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run(when: str, number: int, arguments: list[str]) -> int:
    written = 0
    record = Shared.record

    def counted(self: Shared, *args: Any, **kwargs: Any) -> Any:
        nonlocal written
        written += 1
        if when == "before" and written == number:
            die()
        change = record(self, *args, **kwargs)
        if when == "after" and written == number:
            die()
        return change

    Shared.record = counted  # type: ignore[method-assign]
    return main(arguments) or NOT_KILLED


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
