"""What outlives the call that started it, commands and the work of other agents: what came of it so far, and how it
ends."""

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
"""After how many messages of the person a command is no longer told to run, if nobody looked at it."""
LONGEST_PRINTED = 20_000
"""How much is kept of what a command printed so far that goes on."""


class Running(Struct):
    """A command, or the work of another agent, that goes on."""

    act: Act
    call: Entry
    printed: str = ""
    """What it printed so far, the end of it."""
    said: int = 0
    """How much the person had said when it was last looked at."""
    is_over: bool = False
    """Whether it was noted that it ended, and nobody has looked yet at what it printed."""


def start(tracker: Tracker, handle: str, act: Act, call: Entry, result: Entry) -> None:
    tracker.running.pop(handle, None)
    tracker.running[handle] = Running(act, call, result.text[-LONGEST_PRINTED:], _said(tracker))
    for oldest in list(tracker.running)[:-MOST_RUNNING]:
        del tracker.running[oldest]
    if act.deed is Deed.DELEGATE:
        return
    # How it ended before says nothing of this time.
    tracker.facts.get("command", {}).pop(_command(tracker, act), None)


def end(tracker: Tracker, act: Act, call: Entry, result: Entry, is_done: bool) -> None:
    """A command has ended: of the same one, if it passed, nothing runs any more that was started before."""
    command_results.add(tracker, act, call, result, is_done)
    if tracker.running and is_done:
        command = _command(tracker, act)
        tracker.running = {
            handle: one for handle, one in tracker.running.items() if _command(tracker, one.act) != command
        }


def follow(tracker: Tracker, going: Going | None, result: Entry, is_done: bool = False) -> None:
    """A command that goes on was looked at. One that is over is judged by all that it printed."""
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
    """Some agents say by themselves that a command has ended. These words are not what it printed: that may be looked
    at later."""
    running = tracker.running.get(going.handle) if going else None
    if going is None or running is None or running.is_over:
        return
    follow(tracker, going, msgspec.structs.replace(note, text=""))
    if going.is_over and going.end is not End.STOPPED:
        running.is_over = True
        tracker.running[going.handle] = running


def still(tracker: Tracker) -> list[Running]:
    """Those that run as far as anybody knows."""
    said = _said(tracker)
    return [one for one in tracker.running.values() if not one.is_over and said - one.said < FORGOTTEN]


def _command(tracker: Tracker, act: Act) -> str:
    return commands.plain(act.subject, tracker.folder)


def _said(tracker: Tracker) -> int:
    """How many messages the person has sent."""
    return len(tracker.facts.get("instruction", {}))
