"""The program behind an agent's hook: asked before the agent changes something, it says no while another one holds the
worktree, and otherwise nothing.

    python -m segue.faces.hook DATA AGENT

It is run by the script that `segue init` leaves in DATA, and only while anything is held at all. Whatever goes wrong
here is kept for `segue doctor`, and the agent goes on: a guard that is broken must not stop the work.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def main(argv: list[str], given: bytes, env: Mapping[str, str]) -> int:
    """Always 0: the agent is told no by what is printed."""
    data, agent = (*argv, "", "")[:2]
    try:
        from pathlib import Path  # lazy: what cannot be loaded must not stop the work either

        from segue import clock
        from segue.ops.guarding import answer

        _print(answer(agent, Path(data), given, env, clock.now()))
    except Exception as error:  # noqa: BLE001 - see above
        _note(data, error)
    return 0


def _note(data: str, error: Exception) -> None:
    try:
        from pathlib import Path  # lazy: as above

        from segue import clock, guard

        if data:
            guard.note_failure(Path(data), error, clock.now())
    except Exception:  # noqa: BLE001, S110 - there is nobody left to tell
        pass


def _print(answer: bytes) -> None:
    try:
        sys.stdout.buffer.write(answer)
        sys.stdout.flush()
    except OSError:
        # The agent did not wait. What is still in the buffer must not fail once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin.buffer.read(), os.environ))
