"""Background commands and delegations: their output so far, and how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from segue.facts import command_results
from segue.model import Entry
from segue.model.tool_action import Act, Deed, End, Going
from segue.shell import commands

if TYPE_CHECKING:
    from segue.facts.tracker import Tracker

MOST_RUNNING = 50
FORGOTTEN = 2
"""Number of user messages after which an unchecked command no longer counts as running."""
LONGEST_PRINTED = 20_000
"""Characters of a command's output that are kept."""


class Running(Struct):
    """A background command, or the work of another agent."""

    act: Act
    call: Entry
    printed: str = ""
    """The end of the output so far."""
    said: int = 0
    """Number of user messages at the last check."""
    is_over: bool = False
    """Whether it is reported as ended, but its output has not been read yet."""


def start(tracker: Tracker, handle: str, act: Act, call: Entry, result: Entry) -> None:
    tracker.running.pop(handle, None)
    tracker.running[handle] = Running(act, call, result.text[-LONGEST_PRINTED:], _said(tracker))
    for oldest in list(tracker.running)[:-MOST_RUNNING]:
        del tracker.running[oldest]
    if act.deed is Deed.DELEGATE:
        return
    # An earlier result says nothing about this run.
    tracker.facts.get("command", {}).pop(_command(tracker, act), None)


def end(tracker: Tracker, act: Act, call: Entry, result: Entry, is_done: bool) -> None:
    """Record a finished command. If it passed, earlier runs of the same command no longer count as running."""
    command_results.add(tracker, act, call, result, is_done)
    if tracker.running and is_done:
        command = _command(tracker, act)
        tracker.running = {
            handle: one for handle, one in tracker.running.items() if _command(tracker, one.act) != command
        }


def follow(tracker: Tracker, going: Going | None, result: Entry, is_done: bool = False) -> None:
    """Record a status check of a background command. A finished one is judged by its whole output."""
    running = tracker.running.get(going.handle) if going else None
    if going is None or running is None:
        return
    between = "\n" if running.printed and not running.printed.endswith("\n") else ""
    printed = running.printed + between + result.text
    running.printed, running.said = printed[-LONGEST_PRINTED:], _said(tracker)
    if not going.is_over:
        return
    del tracker.running[going.handle]
    if running.act.deed is Deed.DELEGATE:
        if going.end in (None, End.PASSED):
            tracker.report(running.act, going.report or result.text, result)
    elif going.end is not End.STOPPED:
        status = result.status if going.status is None else going.status
        result = msgspec.structs.replace(result, text=printed, status=status)
        is_done = going.end is End.PASSED if going.end else is_done
        end(tracker, running.act, running.call, result, is_done)


def notice(tracker: Tracker, going: Going | None, note: Entry) -> None:
    """Record an agent's own notice that a command has ended. The notice is not its output, which may be read
    later."""
    running = tracker.running.get(going.handle) if going else None
    if going is None or running is None or running.is_over:
        return
    follow(tracker, going, msgspec.structs.replace(note, text=""))
    if going.is_over and going.end is not End.STOPPED:
        running.is_over = True
        tracker.running[going.handle] = running


def still(tracker: Tracker) -> list[Running]:
    """Commands that run as far as is known."""
    said = _said(tracker)
    return [one for one in tracker.running.values() if not one.is_over and said - one.said < FORGOTTEN]


def _command(tracker: Tracker, act: Act) -> str:
    return commands.plain(act.subject, tracker.folder)


def _said(tracker: Tracker) -> int:
    """Number of user messages."""
    return len(tracker.facts.get("instruction", {}))
