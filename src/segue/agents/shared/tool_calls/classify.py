"""What a call does, and what came of it: from any agent's words to the acts that all of them share.

Agents call the same few things by many names. One table (`deeds`) serves them all, and a tool that is not in it is
taken by the shape of what it is given, so that a server of file tools is understood whatever it is called.
What an agent tells in a way of its own is in `<agent>/acts.py`, or in what another package brings
(docs/add-an-agent.md).
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable
from typing import Any

from segue import agents
from segue.agents.shared.tool_calls.tool_arguments import LONGEST_NAME, decoded, named, plain
from segue.agents.shared.tool_calls.tool_table import TOOLS, by_shape, command_of
from segue.errors import AgentError, NotFound
from segue.model import Entry, EntryKind
from segue.model.tool_action import Act, Answer, Deed, Going, Verdict

OTHER = (Act(deed=Deed.OTHER),)


def acts_of(entry: Entry, agent: str = "", *, result: Entry | None = None) -> tuple[Act, ...]:
    """What an entry does, or would have done; with its result, completed by what that tells."""
    own = _own(agent, "acts")
    found: tuple[Act, ...] | None = own(entry, result) if own else None
    if found is not None:
        return found
    return acts_of_call(entry.tool or "", entry.text) if entry.kind is EntryKind.CALL else ()


def answer_of(call: Entry, result: Entry, agent: str = "") -> Answer | None:
    """What the person said to a call that waited for them; None where it did not, or they said nothing.
    Some readers give the same words as a prompt beside the result."""
    own = _own(agent, "answer")
    found: Answer | None = own(call, result) if own else None
    return found


def is_done(entry: Entry, result: Entry | None, agent: str = "") -> bool:
    """Whether the acts of an entry came to be, as far as it is told: a call without a result is not done, nor is
    what a reply only proposes. Of a command that goes on (`going_of`), that it was started."""
    if entry.kind is not EntryKind.CALL:
        return entry.kind is not EntryKind.REPLY and not entry.is_error
    if result is None or result.is_error or result.status:
        return False
    answer = answer_of(entry, result, agent)
    return answer is None or answer.verdict not in (Verdict.REJECTED, Verdict.REFUSED)


def going_of(call: Entry, result: Entry, agent: str = "") -> Going | None:
    """A command that the call started and that outlives it, or one that it looked at again; None for all others.
    What such a command comes to is told by the result of the call that finds it over. Some agents note by themselves
    that it ended: then the note is given as both."""
    own = _own(agent, "going")
    found: Going | None = own(call, result) if own else None
    return found


@functools.cache
def _own(agent: str, what: str) -> Callable[..., Any] | None:
    """What an agent brings itself: a function, or None."""
    with contextlib.suppress(NotFound, AgentError):
        found = getattr(agents.load(agent), what)
        return found if callable(found) else None
    return None


# For an agent's own file, too


def acts_of_call(tool: str, text: str) -> tuple[Act, ...]:
    """What a call does, by the name of its tool and what it was given."""
    given = decoded(text)
    arguments = named(given)
    raw = "" if isinstance(given, dict) else given if isinstance(given, str) else command_of(given)
    name, is_foreign = _name_of(tool[:LONGEST_NAME])
    handler = None if is_foreign else TOOLS.get(name)
    found = handler(arguments, raw) if handler else ()
    return found or by_shape(name, arguments, raw) or OTHER


@functools.lru_cache(4096)
def _name_of(tool: str) -> tuple[str, bool]:
    """A tool's plain name, and whether some server brings it."""
    own = tool.removeprefix("functions.")
    last = re.split(r"__|[./:]", own)[-1]
    return plain(last), last != own


MOST_QUESTIONS = 50
LONGEST_ANSWER = 200_000


def answers_in(text: str, call: Entry) -> list[str]:
    """The answers in a result that repeats each question: "What?"="This", "How?"="So"."""
    acts = acts_of_call(call.tool or "", call.text)
    return between(text, [f'"{act.subject}"="' for act in acts if act.deed is Deed.ASK], '"')


def between(text: str, marks: list[str], end: str = "") -> list[str]:
    """What follows each mark in a text, up to the next one, and there to the last of some closing words."""
    text = text[:LONGEST_ANSWER]
    places = sorted((at, mark) for mark in marks[:MOST_QUESTIONS] if (at := text.find(mark)) >= 0)
    stops = [at for at, _ in places[1:]] + [len(text)]
    found = (text[at + len(mark) : stop] for (at, mark), stop in zip(places, stops, strict=False))
    said = (part.rpartition(end)[0] if end else part for part in found)
    return [answer for part in said if (answer := part.strip())]
