"""The program behind agents' hooks: it says what there is to say, and otherwise nothing.

    run([DATA, EVENT, AGENT])

It is called by the script that `segue init` leaves in DATA, and only where there may be something to say: at an `edit`
while any worktree is held, at a `start` while any handoff waits. The agent waits for it, so Python is started without
the packages of its environment, and loads a few files of Segue and no more. `tend` is another matter: nobody waits for
that, and it may load all.

Whatever goes wrong here is kept for `segue doctor`, and the agent goes on: a hook that is broken must not stop the
work.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NICE = 10
"""Whatever the person does comes before what nobody waits for."""


def main(argv: list[str], env: Mapping[str, str]) -> int:
    """Always 0: the agent is told no by what is printed."""
    data, event, agent = (*argv, "", "", "")[:3]
    try:
        if event == "tend":
            _tend(env)
        else:
            _print(_answer(data, event, agent, sys.stdin.buffer.read(), env))
    except Exception as error:  # noqa: BLE001 - see above
        _note(data, error)
    return 0


def _answer(data: str, event: str, agent: str, given: bytes, env: Mapping[str, str]) -> str:
    from segue.hooks import guard, waiting_handoffs

    if event == "edit":
        return guard.answer(data, agent, given, env.get("SEGUE_HANDOFF", ""))
    if event == "start":
        return waiting_handoffs.answer(data, agent, given, env)
    raise ValueError(f"'{event}' is nothing that a hook is asked about")


def _tend(env: Mapping[str, str]) -> None:
    """Away from the agent that started it: what ends that must not end this."""
    from pathlib import Path  # lazy: as above

    from segue.ops import background

    if os.getsid(0) != os.getpid():
        os.setsid()
    os.nice(NICE)
    background.tend(env, Path("/"))


def _note(data: str, error: Exception) -> None:
    try:
        from segue.hooks import guard  # lazy: as above

        if data:
            guard.note_failure(data, error, guard.now())
    except Exception:  # noqa: BLE001, S110 - there is nobody left to tell
        pass


def _print(answer: str) -> None:
    try:
        os.write(1, answer.encode())
    except OSError:
        return  # the agent did not wait


def run(argv: list[str]) -> None:
    # All is written: taking the interpreter down in order would only take time.
    os._exit(main(argv, os.environ))


if __name__ == "__main__":
    run(sys.argv[1:])
