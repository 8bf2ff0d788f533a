"""The program that agents' hooks run: it prints a report or nothing.

    run([DATA, EVENT, AGENT])

The script that `segue init` leaves in DATA calls it only when there is something to report: at an `edit` while any
worktree is locked, at a `start` while any handoff waits. The agent waits for the answer, so Python starts without
site-packages and loads only a few files of Segue. Nobody waits for `tend`, which may load everything.

Failures are recorded for `segue doctor`; a broken hook must not stop the agent.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NICE = 10
"""Niceness of background work."""


def main(argv: list[str], env: Mapping[str, str]) -> int:
    """Always 0: a refusal is printed."""
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
    raise ValueError(f"unknown hook event '{event}'")


def _tend(env: Mapping[str, str]) -> None:
    """Work in the background, in a session of its own: it must outlive the agent that started it."""
    from pathlib import Path  # lazy: for start-up time

    from segue.ops import background

    if os.getsid(0) != os.getpid():
        os.setsid()
    os.nice(NICE)
    background.tend(env, Path("/"))


def _note(data: str, error: Exception) -> None:
    try:
        from segue.hooks import guard  # lazy: for start-up time

        if data:
            guard.note_failure(data, error, guard.now())
    except Exception:  # noqa: BLE001, S110 - a failure to record a failure is dropped
        pass


def _print(answer: str) -> None:
    try:
        os.write(1, answer.encode())
    except OSError:
        return  # the agent did not wait


def run(argv: list[str]) -> None:
    # Everything is written: skip the interpreter's shutdown.
    os._exit(main(argv, os.environ))


if __name__ == "__main__":
    run(sys.argv[1:])
